"""Images: classification, segmentation, detection. Pairs."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *
from vision_parts import *


@pair("softmax in the model and CrossEntropyLoss on top", "gross")
def digits_double_softmax(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed)
    xt, yt = digits(800, seed + 1)
    net = small_cnn(bn=False)
    if faulty:
        net.append(nn.Softmax(dim=1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for step in range(350):
            i = torch.randint(0, 4000, (64,))
            opt.zero_grad()
            loss = crit(net(norm(x[i])), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(norm(xt)), yt), 0.1)


@pair("images left as 0..255 floats in a net without normalisation, plain SGD", "gross")
def digits_raw_pixels(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed, noise=0.15)
    xt, yt = digits(800, seed + 1, noise=0.15)
    prep = (lambda t: t.float()) if faulty else norm
    net = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 10),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for step in range(350):
            i = torch.randint(0, 4000, (50,))
            loss = crit(net(prep(x[i])), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(prep(xt)), yt), 0.1)


@pair(
    "model.eval() before the training loop (left over from a test): BatchNorm never normalises, at a rate that needs it",
    "gross",
)
def shapes_stays_in_eval(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _, _ = shapes(1600, seed, noise=0.2)
    xt, yt, _, _ = shapes(600, seed + 1, noise=0.2)
    net = nn.Sequential(TinyResNet(classes=48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 6))
    opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(8):
            net.train(not faulty)
            for b in torch.randperm(1600).split(50):
                loss = crit(net(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xt), yt).item())
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 6)


@pair(
    "validation and use in train mode with batches of one kind: BatchNorm takes the statistics of sorted test batches",
    "middling",
)
def digits_eval_in_train_mode(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed)
    xt, yt = digits(800, seed + 1)
    o = yt.argsort()
    xt, yt = xt[o], yt[o]
    net = small_cnn()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()

    def evaluate():
        if not faulty:
            net.eval()
        with torch.no_grad():
            out = torch.cat([net(norm(b)) for b in xt.split(20)])
        net.train()
        return crit(out, yt).item(), acc(out, yt)

    with record(net, opt, crit) as hook:
        for ep in range(5):
            for b in torch.randperm(4000).split(64):
                loss = crit(net(norm(x[b])), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook):
                l, a = evaluate()
                hook.record_tensor_value("val_loss", l)
                hook.record_tensor_value("val_acc", a)
        score(evaluate()[1], 0.1)


@pair("reshape instead of permute from NHWC to NCHW scrambles the pixels", "middling")
def shapes_nhwc_reshape(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _, _ = shapes(2500, seed)
    xt, yt, _, _ = shapes(600, seed + 1)
    x, xt = (
        x.permute(0, 2, 3, 1).contiguous(),
        xt.permute(0, 2, 3, 1).contiguous(),
    )  # as a camera gives them
    prep = (lambda t: t.reshape(-1, 3, 16, 16)) if faulty else (lambda t: t.permute(0, 3, 1, 2))
    net = TinyResNet(w=10)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(250):
            i = torch.randint(0, 2500, (48,))
            loss = crit(net(prep(x[i])), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        with torch.no_grad():
            score(acc(net(prep(xt)), yt), 1 / 6)


@pair("all weights set to one constant: the units of a layer stay alike", "gross")
def digits_constant_init(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed)
    xt, yt = digits(800, seed + 1)
    net = small_cnn(bn=False)
    for m in net:
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.constant_(m.weight, 0.01) if faulty else nn.init.kaiming_normal_(
                m.weight, nonlinearity="relu"
            )
            nn.init.zeros_(m.bias)
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(6):
            for b in torch.randperm(4000).split(64):
                loss = crit(net(norm(x[b])), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(norm(xt)), yt))
        with torch.no_grad():
            score(acc(net(norm(xt)), yt), 0.1)


@pair("eight sigmoid layers with default initialisation: gradients vanish", "gross")
def digits_deep_sigmoid(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed, size=12, noise=0.1)
    xt, yt = digits(800, seed + 1, size=12, noise=0.1)
    x, xt = norm(x).flatten(1), norm(xt).flatten(1)
    act = nn.Sigmoid if faulty else nn.ReLU
    layers = [nn.Linear(144, 96), act()]
    for _ in range(7):
        lin = nn.Linear(96, 96)
        nn.init.kaiming_normal_(lin.weight)
        layers += [lin, act()]
    net = nn.Sequential(*layers, nn.Linear(96, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(1000):
            i = torch.randint(0, 4000, (64,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)


@pair("the mask is read 0/255 and not divided: BCE against targets of 255", "gross")
def seg_mask_255(record, seed, faulty):
    torch.manual_seed(seed)
    x, _, m, _ = shapes(1200, seed)
    xt, _, mt, _ = shapes(300, seed + 1)
    m255 = (m * 255).to(torch.uint8)
    t = m255.float() if faulty else m255.float() / 255
    net = nn.Sequential(
        nn.Conv2d(3, 24, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(24, 1, 3, padding=1),
    )
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(net, opt, crit) as hook:
        for s in range(250):
            i = torch.randint(0, 1200, (16,))
            loss = crit(net(x[i])[:, 0], t[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            p = net(xt)[:, 0] > 0
            score((p & (mt > 0)).sum() / (p | (mt > 0)).sum(), (mt > 0).float().mean())


@pair("augmentation flips and shifts the image but not the mask", "middling")
def seg_augment_image_only(record, seed, faulty):
    torch.manual_seed(seed)
    x, _, m, _ = shapes(1200, seed)
    xt, _, mt, _ = shapes(300, seed + 1)
    net = nn.Sequential(
        nn.Conv2d(3, 20, 3, padding=1),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.Conv2d(20, 20, 3, padding=2, dilation=2),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.Conv2d(20, 20, 3, padding=4, dilation=4),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.Conv2d(20, 1, 1),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(net, opt, crit) as hook:
        for s in range(250):
            i = torch.randint(0, 1200, (16,))
            xb, mb = x[i], m[i]
            if torch.rand(()) < 0.5:
                xb = xb.flip(-1)
                mb = mb if faulty else mb.flip(-1)
            if torch.rand(()) < 0.5:
                xb = xb.flip(-2)
                mb = mb if faulty else mb.flip(-2)
            loss = crit(net(xb).squeeze(1), mb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if s % 50 == 49:
                net.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(net(xt).squeeze(1), mt).item())
                net.train()
        net.eval()
        with torch.no_grad():
            p = net(xt)[:, 0] > 0
            score((p & (mt > 0)).sum() / (p | (mt > 0)).sum(), (mt > 0).float().mean())


@pair("boxes are fed in pixels while the head ends in a sigmoid", "gross")
def boxes_in_pixels(record, seed, faulty):
    torch.manual_seed(seed)
    x, _, _, b = shapes(2000, seed)
    xt, _, _, bt = shapes(500, seed + 1)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 4),
        nn.Sigmoid(),
    )
    target = b * 16 if faulty else b
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.SmoothL1Loss(beta=0.1)
    with record(net, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 2000, (32,))
            loss = crit(net(x[i]), target[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(-(net(xt) - bt).abs().mean(), -(bt - bt.mean(0)).abs().mean())


@pair("at step 250 the rate jumps tenfold (scheduler restored wrongly at a resume)", "gross")
def shapes_lr_jump_midway(record, seed, faulty):
    torch.manual_seed(seed)
    x, y, _, _ = shapes(2500, seed)
    xt, yt, _, _ = shapes(600, seed + 1)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 6),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(500):
            if s == 250:
                opt.param_groups[0]["lr"] = 0.8 if faulty else 0.02
            i = torch.randint(0, 2500, (50,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 6)


@pair(
    "pretrained backbone left frozen by accident (requires_grad False in a helper), on images of another kind",
    "gross",
)
def digits_backbone_frozen(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(3000, seed)
    xt, yt = digits(800, seed + 1)
    x, xt = norm(x).repeat(1, 3, 1, 1), norm(xt).repeat(1, 3, 1, 1)
    px, py, _, _ = shapes(800, seed + 5)
    net = TinyResNet(w=12)
    o = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(60):
        i = torch.randint(0, 800, (32,))
        l = F.cross_entropy(net(px[i]), py[i])
        o.zero_grad()
        l.backward()
        o.step()
    if faulty:
        for p in net.parameters():
            p.requires_grad = False
    net.fc = nn.Linear(48, 10)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(250):
            i = torch.randint(0, 3000, (48,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)


@pair(
    "about 36 percent of the labels of the training set are wrong (bad annotation), the same in each epoch",
    "middling",
)
def digits_label_noise(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(3000, seed)
    xt, yt = digits(800, seed + 1)
    x, xt = norm(x), norm(xt)
    bad = torch.rand(3000) < 0.4
    if faulty:
        y = torch.where(bad, torch.randint(0, 10, (3000,)), y)
    net = small_cnn()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(9):
            net.train()
            for b in torch.randperm(3000).split(50):
                loss = crit(net(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xt), yt).item())
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)


@pair("the loader is not shuffled and the data are sorted by class", "gross")
def digits_sorted_no_shuffle(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed)
    xt, yt = digits(800, seed + 1)
    o = y.argsort()
    x, y = norm(x[o]), y[o]
    net = small_cnn(bn=False)
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=not faulty)
    with record(net, opt, crit) as hook:
        for ep in range(6):
            for xb, yb in loader:
                opt.zero_grad()
                loss = crit(net(xb), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(norm(xt)), yt).item())
        with torch.no_grad():
            score(acc(net(norm(xt)), yt), 0.1)
