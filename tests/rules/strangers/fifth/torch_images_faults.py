"""Trainings on images: pairs with and without a fault."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from images_parts import Detector, UNet, dice, resnet, shapes, small_cnn
from registry import pair, score
from synth import accuracy, batches, glyphs


@pair(
    "box targets in pixels instead of cells: the regression loss swamps the classification", "mild"
)
def detection_boxes_in_pixels(record, seed, faulty):
    """Anchor-free detector; the score is the share of objects found in the right cell."""
    torch.manual_seed(seed)
    x, _, box = shapes(1024, seed)
    xv, _, bv = shapes(256, seed + 1)
    model = Detector()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    cells = lambda b: (b[:, :2] * 6).floor().clamp(0, 5).long() @ torch.tensor([6, 1])
    it = batches(seed, len(x), 32)
    with record(model, opt) as hook:
        for step in range(200):
            i = next(it)
            c, r = model(x[i])
            cell = cells(box[i])
            t = box[i, :3] * 6
            t = t * 4 if faulty else torch.cat([t[:, :2] % 1, t[:, 2:]], 1)
            picked = r.flatten(2).gather(2, cell.view(-1, 1, 1).expand(-1, 3, 1))[:, :, 0]
            l_reg = F.mse_loss(picked, t)
            l_cls = F.cross_entropy(c.flatten(1), cell)
            loss = l_cls + l_reg
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv)[0].flatten(1), cells(bv)), 1 / 36)


@pair(
    "learning rate schedule written per epoch but stepped per batch, so the rate is gone after the first few batches",
    "gross",
)
def resnet_steplr_each_batch(record, seed, faulty):
    """ResNet with SGD and StepLR(10 epochs, 0.1)."""
    torch.manual_seed(seed)
    x, y = glyphs(1024, seed)
    xv, yv = glyphs(512, seed + 1)
    model = resnet(6)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=6, gamma=0.1)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            model.train()
            order = torch.randperm(len(x))
            for i in order.split(64):
                loss = crit(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if faulty:
                    sched.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            if not faulty:
                sched.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(xv), yv).item())
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@pair("softmax at the end of the network although CrossEntropyLoss already takes logits", "mild")
def cnn_double_softmax(record, seed, faulty):
    """Small CNN with SGD."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    model = small_cnn()
    if faulty:
        model.append(nn.Softmax(dim=-1))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    it = batches(seed, len(x), 128)
    with record(model, opt, crit) as hook:
        for step in range(200):
            i = next(it)
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@pair("images left in 0..255 instead of being normalised, plain SGD", "gross")
def cnn_raw_pixels(record, seed, faulty):
    """CNN on uint8 images."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    to8 = lambda a: (127 + 50 * a).clamp(0, 255).to(torch.uint8)
    x, xv = to8(x), to8(xv)
    prep = (lambda a: a.float()) if faulty else (lambda a: (a.float() / 255 - 0.5) / 0.2)
    model = small_cnn()
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    it = batches(seed, len(x), 128)
    with record(model, opt) as hook:
        for step in range(200):
            i = next(it)
            opt.zero_grad()
            loss = F.cross_entropy(model(prep(x[i])), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(prep(xv)), yv), 0.1)


@pair("all convolutions and linear layers initialised with N(0, 1)", "middling")
def cnn_large_init(record, seed, faulty):
    """CNN with explicit initialisation."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    model = small_cnn()
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            if faulty:
                nn.init.normal_(m.weight)
            else:
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            nn.init.zeros_(m.bias)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    it = batches(seed, len(x), 128)
    with record(model, opt, crit) as hook:
        for step in range(200):
            i = next(it)
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@pair(
    "optimizer built before the head was replaced, so the new head is never updated and the old one is",
    "mild",
)
def finetune_head_replaced_late(record, seed, faulty):
    """Fine-tuning a pretrained CNN with a fresh head."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    model = small_cnn(5)
    o = torch.optim.Adam(model.parameters(), 2e-3)
    it = batches(seed, len(x), 128)
    for _ in range(60):
        i = next(it)
        l = F.cross_entropy(model(x[i]), y[i] % 5)
        o.zero_grad()
        l.backward()
        o.step()
    if faulty:
        opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
        model[-1] = nn.Linear(64, 10)
    else:
        model[-1] = nn.Linear(64, 10)
        opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    with record(model, opt) as hook:
        for step in range(150):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("train/loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@pair("the segmentation mask is transposed against the image by the augmentation", "gross")
def unet_mask_axes_swapped(record, seed, faulty):
    """U-Net with transpose augmentation."""
    torch.manual_seed(seed)
    x, m, _ = shapes(1024, seed)
    xv, mv, _ = shapes(128, seed + 1)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    it = batches(seed, len(x), 16)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for step in range(150):
            i = next(it)
            a, b = x[i], m[i]
            if faulty:
                b = b.transpose(2, 3)
            elif step % 2:
                a, b = a.transpose(2, 3), b.transpose(2, 3)
            out = model(a)
            loss = crit(out, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(dice((model(xv) > 0).float(), mv), dice(torch.ones_like(mv), mv))


@pair(
    "very small training set, no augmentation and no early stop: overfits, validation loss climbs",
    "middling",
)
def cnn_overfits_few_images(record, seed, faulty):
    """CNN with validation; the correct twin has enough images."""
    torch.manual_seed(seed)
    x, y = glyphs(80 if faulty else 3000, seed, noise=1.0)
    xv, yv = glyphs(512, seed + 1, noise=1.0)
    model = small_cnn(c=16)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 80)
    with record(model, opt) as hook:
        for step in range(240):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 20 == 19:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(xv), yv).item())
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@pair("30 plain layers deep without residual connections and default initialisation", "gross")
def deep_plain_mlp_no_residual(record, seed, faulty):
    """Deep MLP on flattened images."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp = nn.Linear(256, 64)
            self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(30))
            self.out = nn.Linear(64, 10)

        def forward(self, x):
            h = torch.relu(self.inp(x.flatten(1)))
            for l in self.layers:
                h = torch.relu(l(h)) if faulty else h + torch.relu(l(h)) / 3
            return self.out(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    it = batches(seed, len(x), 128)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)
