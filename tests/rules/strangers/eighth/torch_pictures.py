"""Pictures: small convolutional networks on drawn figures."""

import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import shapes_cached, batches, acc


def cnn(c=1, k=6, w=12, bn=True, act=nn.ReLU):
    def block(i, o):
        return (
            [nn.Conv2d(i, o, 3, padding=1, bias=not bn)]
            + ([nn.BatchNorm2d(o)] if bn else [])
            + [act(), nn.MaxPool2d(2)]
        )

    return nn.Sequential(
        *block(c, w), *block(w, 2 * w), *block(2 * w, 2 * w), nn.Flatten(), nn.Linear(2 * w * 4, k)
    )


def pics(seed, n=1500, colour=False, m=1100):
    x, y, *_ = shapes_cached(n, seed, colour=colour, noise=0.18)
    return x[:m], y[:m], x[m:], y[m:]


def fit(
    record,
    seed,
    net,
    opt=None,
    data=None,
    epochs=9,
    bs=32,
    crit=None,
    aug=None,
    evalmode=True,
    sched=None,
    at_epoch=None,
    clip=None,
    xv_edit=None,
    amp=False,
):
    xt, yt, xv, yv = data or pics(seed)
    if xv_edit:
        xv = xv_edit(xv)
    opt = opt or torch.optim.Adam(net.parameters(), 2e-3)
    crit = crit or nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(epochs):
            if at_epoch:
                at_epoch(ep, net)
            if evalmode:
                net.train()
            for a, b in batches(xt, yt, bs=bs):
                if aug:
                    a = aug(a)
                opt.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                    loss = crit(net(a), b)
                loss.backward()
                if clip:
                    nn.utils.clip_grad_norm_(net.parameters(), clip)
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            if sched:
                sched.step()
            if evalmode:
                net.eval()
            with record.evaluation(hook), torch.no_grad():
                out = net(xv)
                hook.record_tensor_value("val_loss", crit(out, yv).item())
                hook.record_tensor_value("val_acc", acc(out, yv))
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 6)


@healthy
def pictures_sgd_multistep(record, seed):
    torch.manual_seed(seed)
    net = cnn(w=8)
    opt = torch.optim.SGD(
        [
            {"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 5e-4},
            {"params": [p for p in net.parameters() if p.dim() == 1], "weight_decay": 0.0},
        ],
        0.05,
        momentum=0.9,
    )
    fit(
        record,
        seed,
        net,
        opt,
        epochs=8,
        sched=torch.optim.lr_scheduler.MultiStepLR(opt, [5, 7], 0.1),
    )


@healthy
def pictures_bf16_autocast(record, seed):
    torch.manual_seed(seed)
    fit(record, seed, cnn(w=8), epochs=9, amp=True)


@healthy
def pictures_heavy_augmentation(record, seed):
    torch.manual_seed(seed)

    def aug(a):
        if torch.rand(()) < 0.5:
            a = a.flip(3)
        if torch.rand(()) < 0.5:
            a = a.transpose(2, 3)
        a = torch.roll(a, (int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (2, 3))
        return a * (0.8 + 0.4 * torch.rand(len(a), 1, 1, 1)) + 0.05 * torch.randn_like(a)

    fit(record, seed, cnn(w=8), aug=aug, epochs=8)


@healthy
def pictures_tiny_vit(record, seed):
    torch.manual_seed(seed)

    class ViT(nn.Module):
        def __init__(self, d=32):
            super().__init__()
            self.patch = nn.Conv2d(1, d, 4, 4)
            self.cls = nn.Parameter(torch.zeros(1, 1, d))
            self.pos = nn.Parameter(torch.randn(1, 17, d) * 0.02)
            layer = nn.TransformerEncoderLayer(d, 4, 64, 0.0, batch_first=True, norm_first=True)
            self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.head = nn.Linear(d, 6)

        def forward(self, x):
            t = self.patch(x).flatten(2).transpose(1, 2)
            t = torch.cat([self.cls.expand(len(t), -1, -1), t], 1) + self.pos
            return self.head(self.enc(t)[:, 0])

    net = ViT()
    fit(
        record,
        seed,
        net,
        torch.optim.AdamW(net.parameters(), 4e-3, weight_decay=0.02),
        epochs=14,
        clip=1.0,
    )


@healthy
def pictures_mixup(record, seed):
    torch.manual_seed(seed)
    xt, yt, xv, yv = pics(seed)
    net = cnn(w=10)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    with record(net, opt) as hook:
        for ep in range(8):
            net.train()
            for a, b in batches(xt, yt, bs=32):
                lam = float(torch.distributions.Beta(0.4, 0.4).sample())
                j = torch.randperm(len(a))
                out = net(lam * a + (1 - lam) * a[j])
                loss = lam * F.cross_entropy(out, b) + (1 - lam) * F.cross_entropy(out, b[j])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    net.eval()
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 6)


@healthy
def pictures_groupnorm_accumulate(record, seed):
    """Two small batches to a step."""
    torch.manual_seed(seed)
    xt, yt, xv, yv = pics(seed)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 24, 3, padding=1),
        nn.GroupNorm(4, 24),
        nn.SiLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(24 * 16, 6),
    )
    opt = torch.optim.AdamW(net.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(7):
            opt.zero_grad()
            for i, (a, b) in enumerate(batches(xt, yt, bs=20)):
                loss = crit(net(a), b) / 2
                loss.backward()
                if i % 2:
                    opt.step()
                    opt.zero_grad()
                    hook.record_tensor_value("loss", loss * 2)
                    hook.end_step()
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 6)


@pair("pixels 0 to 255 go in unscaled with SGD", "gross")
def pictures_raw_pixels(record, seed, faulty):
    torch.manual_seed(seed)
    d = pics(seed)
    s = 255.0 if faulty else 1.0
    net = cnn(bn=False)
    fit(
        record,
        seed,
        net,
        torch.optim.SGD(net.parameters(), 0.03, momentum=0.9),
        data=(d[0] * s, d[1], d[2] * s, d[3]),
        epochs=10,
    )


@pair("channels-last pictures are reshaped to channels-first instead of permuted", "middling")
def pictures_reshape_channels(record, seed, faulty):
    torch.manual_seed(seed)
    xt, yt, xv, yv = pics(seed, colour=True)
    hwc = lambda x: x.permute(0, 2, 3, 1).contiguous()
    back = (
        (lambda x: hwc(x).reshape(len(x), 3, 16, 16))
        if faulty
        else (lambda x: hwc(x).permute(0, 3, 1, 2))
    )
    fit(record, seed, cnn(3, w=8), data=(back(xt), yt, back(xv), yv))


@pair("validation pictures are not normalised as the training ones are", "gross")
def pictures_val_not_normalised(record, seed, faulty):
    torch.manual_seed(seed)
    xt, yt, xv, yv = pics(seed)
    m, s = xt.mean(), xt.std()
    norm = lambda x: (x - m) / s
    fit(record, seed, cnn(bn=False, w=16), data=(norm(xt), yt, (xv if faulty else norm(xv)), yv))


@pair("BatchNorm momentum 0.001: running statistics never arrive", "gross")
def pictures_bn_momentum(record, seed, faulty):
    torch.manual_seed(seed)
    net = cnn()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d) and faulty:
            m.momentum = 0.001
    fit(record, seed, net, epochs=8)


@pair("a dozen plain convolutions without skip connections", "gross")
def pictures_no_skip(record, seed, faulty):
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(1, 12, 3, stride=2, padding=1)
            self.b = nn.ModuleList([nn.Conv2d(12, 12, 3, padding=1) for _ in range(12)])
            self.head = nn.Linear(12 * 16, 6)

        def forward(self, x):
            x = F.relu(self.stem(x))
            for l in self.b:
                x = F.relu(l(x)) if faulty else x + F.relu(l(x)) * 0.5
            return self.head(F.avg_pool2d(x, 2).flatten(1))

    net = Net()
    fit(
        record, seed, net, torch.optim.SGD(net.parameters(), 0.02, momentum=0.9), epochs=7, clip=5.0
    )


@pair(
    "arrows: horizontal flips are used as augmentation though left and right are classes", "gross"
)
def pictures_flip_direction(record, seed, faulty):
    torch.manual_seed(seed)
    n = 1200
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(4, 12, (2,)).tolist()
        for k in range(-3, 4):
            cc = c + (3 - abs(k) if y[i] else abs(k) - 3)
            x[i, 0, r + k, max(0, min(15, cc))] += 1
    aug = lambda a: torch.where(torch.rand(len(a), 1, 1, 1) < 0.5, a.flip(3), a) if faulty else a
    net = cnn(k=2, w=8)
    xt, yt, xv, yv = x[:900], y[:900], x[900:], y[900:]
    opt, crit = torch.optim.Adam(net.parameters(), 2e-3), nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(7):
            net.train()
            for a, b in batches(xt, yt, bs=32):
                opt.zero_grad()
                loss = crit(net(aug(a)), b)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xv), yv))
    with torch.no_grad():
        score(acc(net(xv), yv), 0.5)


@pair(
    "zero_grad inside the accumulation loop: a step uses only the last of four parts, and its quarter",
    "gross",
)
def pictures_accumulation_lost(record, seed, faulty):
    torch.manual_seed(seed)
    xt, yt, xv, yv = pics(seed)
    net = cnn(bn=False, w=8)
    opt = torch.optim.SGD(net.parameters(), 0.03, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(16):
            for i, (a, b) in enumerate(batches(xt, yt, bs=16)):
                if faulty or i % 4 == 0:
                    opt.zero_grad()
                loss = crit(net(a), b) / 4
                loss.backward()
                if i % 4 == 3:
                    opt.step()
                    hook.record_tensor_value("loss", loss.item())
                    hook.end_step()
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 6)
