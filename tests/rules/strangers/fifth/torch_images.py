"""Trainings on images: those that are fine."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from images_parts import Detector, UNet, ViT, dice, resnet, shapes, small_cnn
from registry import healthy, score
from synth import accuracy, batches, glyphs


@healthy
def resnet_sgd_onecycle(record, seed):
    """Small ResNet, SGD with momentum, one-cycle, label smoothing."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    model = resnet()
    opt = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    steps = 180
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.2, total_steps=steps)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    it = batches(seed, len(x), 128)
    with record(model, opt, criterion) as hook:
        for step in range(steps):
            model.train()
            i = next(it)
            loss = criterion(model(x[i]), y[i])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("train_loss", loss.item())
            hook.end_step()
            if (step + 1) % 60 == 0:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(xv), yv).item())
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@healthy
def cnn_bf16_autocast_accumulate(record, seed):
    """CNN under bf16 autocast, gradients accumulated over 2 micro-batches, clipped."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    model = small_cnn()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    it = batches(seed, len(x), 64)
    with record(model, opt) as hook:
        for step in range(150):
            opt.zero_grad()
            total = 0.0
            for _ in range(2):
                i = next(it)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = F.cross_entropy(model(x[i]), y[i]) / 2
                loss.backward()
                total += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("loss", total)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@healthy
def vit_adamw_mixup_cosine(record, seed):
    """Tiny ViT, AdamW, linear warm-up then cosine, mixup (so the loss stays high)."""
    torch.manual_seed(seed)
    x, y = glyphs(3072, seed, noise=0.6)
    xv, yv = glyphs(512, seed + 1, noise=0.6)
    model = ViT()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    steps = 250
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1, (s + 1) / 25) * 0.5 * (1 + math.cos(math.pi * s / steps))
    )
    it = batches(seed, len(x), 128)
    beta = torch.distributions.Beta(0.4, 0.4)
    with record(model, opt) as hook:
        for step in range(steps):
            i = next(it)
            lam = beta.sample().item()
            j = i[torch.randperm(len(i))]
            out = model(lam * x[i] + (1 - lam) * x[j])
            loss = lam * F.cross_entropy(out, y[i]) + (1 - lam) * F.cross_entropy(out, y[j])
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@healthy
def frozen_backbone_probe(record, seed):
    """A frozen random convolution backbone in eval mode and a linear probe trained with a large rate."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed, noise=0.8)
    xv, yv = glyphs(512, seed + 1, noise=0.8)
    pre = small_cnn()
    o = torch.optim.Adam(pre.parameters(), 2e-3)
    it = batches(seed, len(x), 128)
    half = y % 5  # a related task for pretraining
    for _ in range(80):
        i = next(it)
        l = F.cross_entropy(pre(x[i]), half[i])
        o.zero_grad()
        l.backward()
        o.step()
    model = nn.Sequential(pre[:-3], nn.Linear(32 * 16, 10))
    for p in model[0].parameters():
        p.requires_grad_(False)
    model[0].eval()
    opt = torch.optim.SGD(model[1].parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(300):
            i = next(it)
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)


@healthy
def unet_dice_bce(record, seed):
    """U-Net segmentation of rare foreground, BCE plus dice."""
    torch.manual_seed(seed)
    x, m, _ = shapes(1024, seed)
    xv, mv, _ = shapes(128, seed + 1)
    model = UNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    it = batches(seed, len(x), 16)
    with record(model, opt) as hook:
        for step in range(150):
            i = next(it)
            out = model(x[i])
            loss = F.binary_cross_entropy_with_logits(out, m[i]) + 1 - dice(out.sigmoid(), m[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.detach())
            hook.end_step()
        with torch.no_grad():
            score(dice((model(xv) > 0).float(), mv), dice(torch.ones_like(mv), mv))


@healthy
def detection_focal_prior_bias(record, seed):
    """Anchor-free detector, focal loss with prior bias, smooth L1 on the positive cell."""
    torch.manual_seed(seed)
    x, _, box = shapes(1024, seed)
    xv, _, bv = shapes(256, seed + 1)
    model = Detector()
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [150, 180], 0.1)

    def target(b):
        cell = (b[:, :2] * 6).floor().clamp(0, 5).long()
        off = b[:, :2] * 6 - cell
        return cell[:, 0] * 6 + cell[:, 1], torch.cat([off, b[:, 2:3] * 6], 1)

    it = batches(seed, len(x), 32)
    with record(model, opt) as hook:
        for step in range(200):
            i = next(it)
            c, r = model(x[i])
            cell, t = target(box[i])
            hot = F.one_hot(cell, 36).float()
            logit = c.flatten(1)
            p = logit.sigmoid()
            ce = F.binary_cross_entropy_with_logits(logit, hot, reduction="none")
            pt = torch.where(hot > 0, p, 1 - p)
            a = torch.where(hot > 0, 0.25, 0.75)
            l_cls = (a * (1 - pt) ** 2 * ce).sum() / len(i)
            picked = r.flatten(2).gather(2, cell.view(-1, 1, 1).expand(-1, 3, 1))[:, :, 0]
            l_reg = F.smooth_l1_loss(picked, t)
            loss = l_cls + l_reg
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("loss_cls", l_cls.item())
            hook.record_tensor_value("loss_reg", l_reg.item())
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv)[0].flatten(1), target(bv)[0]), 1 / 36)


@healthy
def qat_fake_quant_cnn(record, seed):
    """Quantisation-aware training with straight-through 8-bit fake quantisation of the weights."""
    torch.manual_seed(seed)

    class QConv(nn.Conv2d):
        def forward(self, x):
            s = self.weight.detach().abs().amax() / 127 + 1e-8
            w = self.weight + ((self.weight / s).round() * s - self.weight).detach()
            return self._conv_forward(x, w, self.bias)

    model = nn.Sequential(
        QConv(1, 12, 3, 2, 1),
        nn.BatchNorm2d(12),
        nn.ReLU6(),
        QConv(12, 24, 3, 2, 1),
        nn.BatchNorm2d(24),
        nn.ReLU6(),
        nn.Flatten(),
        nn.Linear(24 * 16, 10),
    )
    x, y = glyphs(2048, seed)
    xv, yv = glyphs(512, seed + 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 250)
    it = batches(seed, len(x), 384)
    with record(model, opt) as hook:
        for step in range(250):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.1)
