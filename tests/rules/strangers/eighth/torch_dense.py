"""Segmentation, boxes, several tasks at once."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import shapes_cached, batches, acc, r2, teacher


class UNet(nn.Module):
    def __init__(self, c=10, skip=True, out=1):
        super().__init__()
        cv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.a, self.b, self.m = cv(1, c), cv(c, 2 * c), cv(2 * c, 2 * c)
        self.u, self.v = cv(4 * c, c), cv(2 * c, c)
        self.o = nn.Conv2d(c, out, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        z = self.m(F.max_pool2d(b, 2))
        z = self.u(torch.cat([F.interpolate(z, scale_factor=2), b], 1))
        z = self.v(torch.cat([F.interpolate(z, scale_factor=2), a], 1))
        return self.o(z)


def iou(logit, m):
    p = logit > 0
    t = m > 0.5
    return float(((p & t).sum() / (p | t).sum().clamp(min=1)))


def dice(logit, m, sig=True):
    p = torch.sigmoid(logit) if sig else logit
    return 1 - (2 * (p * m).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + m.sum((1, 2, 3)) + 1)


def seg(
    record,
    seed,
    *,
    loss=None,
    edit=None,
    aug=None,
    net=None,
    epochs=6,
    opt=None,
    noise=0.5,
    lr=3e-3,
    n=700,
    cut=520,
):
    torch.manual_seed(seed)
    x, _, _, m = shapes_cached(n, seed, noise=noise)
    m = m[:, None].float()
    xt, mt, xv, mv = x[:cut], m[:cut], x[cut:], m[cut:]
    if edit:
        xt, mt = edit(xt, mt)
    net = net() if net else UNet()
    loss = loss or F.binary_cross_entropy_with_logits
    opt = opt(net) if opt else torch.optim.Adam(net.parameters(), lr)
    with record(net, opt) as hook:
        for ep in range(epochs):
            net.train()
            for a, b in batches(xt, mt, bs=16):
                if aug:
                    a, b = aug(a, b)
                l = loss(net(a), b)
                opt.zero_grad()
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_iou", iou(net(xv), mv))
    with torch.no_grad():
        score(iou(net(xv), mv), float(mv.mean()))


@healthy
def segmentation_dice_and_bce(record, seed):
    seg(
        record,
        seed,
        loss=lambda o, m: dice(o, m).mean() + 0.5 * F.binary_cross_entropy_with_logits(o, m),
        opt=lambda n: torch.optim.AdamW(n.parameters(), 2e-3),
    )


@pair("pictures are flipped by augmentation, their masks are not", "middling")
def segmentation_flip_only_image(record, seed, faulty):
    seg(
        record,
        seed,
        aug=lambda a, b: (a.flip(2) if faulty else a, b) if torch.rand(()) < 0.5 else (a, b),
    )


@pair("masks are read as 0 and 255", "gross")
def segmentation_mask_255(record, seed, faulty):
    seg(record, seed, edit=lambda x, m: (x, m * 255 if faulty else m))


@pair("masks out by a pixel each way after resizing with other corners", "middling")
def segmentation_mask_offset(record, seed, faulty):
    seg(record, seed, edit=lambda x, m: (x, torch.roll(m, (1, 1), (2, 3)) if faulty else m))


@pair("Dice on raw logits without the sigmoid", "gross")
def segmentation_dice_logits(record, seed, faulty):
    seg(record, seed, loss=lambda o, m: dice(o, m, not faulty).mean())


@pair("pos_weight turned round: the rare foreground is weighted down", "middling")
def segmentation_pos_weight(record, seed, faulty):
    seg(
        record,
        seed,
        loss=nn.BCEWithLogitsLoss(pos_weight=torch.tensor(0.2 if faulty else 2.0)),
        epochs=7,
    )


def box_data(seed, n=1000):
    x, y, b, _ = shapes_cached(n, seed, noise=0.2)
    return x, y, b


def box_iou(p, sides, g, eps):
    lo = torch.maximum(p[:, :2] - p[:, 2:] / 2, g[:, :2] - g[:, 2:] / 2)
    hi = torch.minimum(p[:, :2] + p[:, 2:] / 2, g[:, :2] + g[:, 2:] / 2)
    i = (hi - lo).clamp(min=0).prod(1)
    return (i / (sides[:, 2:].prod(1) + g[:, 2:].prod(1) - i + eps)).mean()


def boxes(
    record,
    seed,
    *,
    fmt="ok",
    scale=16.0,
    lr=3e-3,
    epochs=10,
    loss=F.smooth_l1_loss,
    weight=None,
    net=None,
):
    """Class and box of the one figure."""
    torch.manual_seed(seed)
    x, y, b = box_data(seed)
    t = b / scale
    tt = t.clone()
    if fmt == "corners":
        tt = torch.cat([t[:, :2] - t[:, 2:] / 2, t[:, :2] + t[:, 2:] / 2], 1)
    elif fmt == "swapped":
        tt[:, :2] = tt[:, :2].flip(1)
    k = 800
    f = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 20, 3, padding=1),
        nn.BatchNorm2d(20),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(320, 48),
        nn.ReLU(),
    )
    m = nn.ModuleDict(dict(f=f, c=nn.Linear(48, 6), b=nn.Linear(48, 4)))
    opt = torch.optim.Adam(m.parameters(), lr)
    wc, wb = weight or (1.0, 5.0)
    with record(m, opt) as hook:
        for ep in range(epochs):
            m.train()
            for a, c, g in batches(x[:k], y[:k], tt[:k], bs=40):
                h = f(a)
                lc, lb = F.cross_entropy(m["c"](h), c), loss(m["b"](h), g)
                l = wc * lc + wb * lb
                opt.zero_grad()
                l.backward()
                opt.step()
                hook.record_tensor_value("cls_loss", lc)
                hook.record_tensor_value("box_loss", lb)
                hook.record_tensor_value("loss", l)
                hook.end_step()
            m.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_box", loss(m["b"](f(x[k:])), tt[k:]))
    with torch.no_grad():
        h = f(x[k:])
        p, g = m["b"](h) * scale, b[k:]
        mean = b[:k].mean(0).expand_as(g)
        io, ic = box_iou(p, p.clamp(min=0), g, 1e-6), box_iou(mean, mean, g, 0)
        score((io + acc(m["c"](h), y[k:])) / 2, (ic + 1 / 6) / 2)


@healthy
def detection_class_and_box(record, seed):
    boxes(record, seed)


@pair("boxes given as corners to a model read as centre and size", "middling")
def detection_box_format(record, seed, faulty):
    boxes(record, seed, fmt="corners" if faulty else "ok")


def tasks(
    record,
    seed,
    *,
    scale=1.0,
    weights=(1.0, 1.0),
    learn_weights=False,
    mask_missing=True,
    missing=0.0,
    detach=False,
    epochs=9,
    one_only=False,
    kendall_sign=1,
):
    """A regression and a classification share a trunk."""
    torch.manual_seed(seed)
    x, z = teacher(2400, 12, 5, seed)
    y, c = z[:, 0] * scale, z[:, 1:].argmax(1)
    gone = torch.rand(2400) < missing
    yt = torch.where(gone, torch.full_like(y, -1.0 if missing else 0.0), y)
    trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU())
    m = nn.ModuleDict(dict(trunk=trunk, r=nn.Linear(48, 1), c=nn.Linear(48, 4)))
    logv = nn.Parameter(torch.zeros(2))
    opt = torch.optim.Adam([*m.parameters(), *([logv] if learn_weights else [])], 2e-3)
    n = 1900
    with record(m, opt) as hook:
        for ep in range(epochs):
            for a, b, d, g in batches(x[:n], yt[:n], c[:n], gone[:n], bs=50):
                h = trunk(a)
                e = (m["r"](h.detach() if detach else h)[:, 0] - b) ** 2
                lr_ = e[~g].mean() if mask_missing else e.mean()
                lc = F.cross_entropy(m["c"](h), d)
                loss = weights[0] * lr_ + weights[1] * lc
                if learn_weights:
                    loss = (torch.exp(-logv) * torch.stack([lr_, lc]) + logv).sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("reg_loss", lr_)
                hook.record_tensor_value("cls_loss", lc)
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        h = trunk(x[n:])
        a, b = (
            max(-1.0, r2(m["r"](h)[:, 0] / scale, y[n:] / scale)),
            (acc(m["c"](h), c[n:]) - 0.25) / 0.75,
        )
        score((a + b) / 2, 0)


@healthy
def multitask_learned_weights(record, seed):
    tasks(record, seed, learn_weights=True)


@pair("missing labels coded as -1 enter the loss of a regression", "middling")
def multitask_missing_as_value(record, seed, faulty):
    tasks(record, seed, missing=0.5, mask_missing=not faulty)


@pair("one task's loss is ten thousand times larger by its unit", "middling")
def multitask_loss_scale(record, seed, faulty):
    tasks(record, seed, scale=100.0 if faulty else 1.0)


@pair("the second head reads detached features", "mild")
def multitask_detached_head(record, seed, faulty):
    tasks(record, seed, detach=faulty)
