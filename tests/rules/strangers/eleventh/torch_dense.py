"""Segmentation, keypoints, detection, pixelwise regression, sets, audio-like spectra."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


def discs(n, seed, size=24, noise=0.3):
    """Images with one disc (class 1) and one square (class 2)."""
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    c = torch.rand(n, 4, generator=g) * (size - 8) + 4
    r = 2.5 + 1.5 * torch.rand(n, 2, generator=g)
    v = lambda t: t.view(-1, 1, 1)
    disc = ((xx - v(c[:, 0])) ** 2 + (yy - v(c[:, 1])) ** 2) < v(r[:, 0]) ** 2
    sq = ((xx - v(c[:, 2])).abs() < v(r[:, 1])) & ((yy - v(c[:, 3])).abs() < v(r[:, 1]))
    m = torch.zeros(n, size, size, dtype=torch.long)
    m[sq] = 2
    m[disc] = 1
    x = (m > 0).float() + noise * torch.randn(n, size, size, generator=g)
    return x.unsqueeze(1), m, c


class UNet(nn.Module):
    def __init__(self, out=3, w=12, norm=True, skip=True):
        super().__init__()
        n = (lambda k: nn.BatchNorm2d(k)) if norm else (lambda k: nn.Identity())
        blk = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), n(o), nn.ReLU())
        self.a, self.b, self.c = blk(1, w), blk(w, 2 * w), blk(2 * w, 2 * w)
        self.d, self.e = blk(4 * w, w), blk(2 * w, w)
        self.o, self.skip = nn.Conv2d(w, out, 1), skip

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = F.interpolate(self.c(F.max_pool2d(b, 2)), scale_factor=2)
        d = F.interpolate(self.d(torch.cat([b if self.skip else b * 0, c], 1)), scale_factor=2)
        return self.o(self.e(torch.cat([a if self.skip else a * 0, d], 1)))


def miou(p, m):
    q = []
    for k in (1, 2):
        i = ((p == k) & (m == k)).sum().float()
        q.append(i / ((p == k) | (m == k)).sum().clamp(min=1))
    return torch.stack(q).mean().item()


def train_seg(
    record,
    seed,
    loss="ce",
    mask_bug=None,
    steps=250,
    lr=4e-3,
    weights=None,
    ignore=-100,
    opt=None,
    model=None,
):
    torch.manual_seed(seed)
    x, m, _ = discs(800, seed)
    vx, vm, _ = discs(150, seed + 70)
    model = model() if model else UNet()
    opt = opt(model) if opt else torch.optim.AdamW(model.parameters(), lr)
    crit = nn.CrossEntropyLoss(weight=weights, ignore_index=ignore)
    with record(model, opt, crit) as hook:
        for s in range(steps):
            i = torch.randint(0, 800, (12,))
            xb, mb = x[i], m[i]
            flip = torch.rand(1) < 0.5
            if flip:
                xb = xb.flip(-1)
                if mask_bug != "noflip":
                    mb = mb.flip(-1)
            if mask_bug == "transpose":
                mb = mb.transpose(1, 2)
            o = model(xb)
            l = crit(o, mb)
            if loss == "dice":
                p, t = o.softmax(1), F.one_hot(mb, 3).permute(0, 3, 1, 2).float()
                l = (
                    l
                    + 1
                    - (
                        (2 * (p * t).sum((0, 2, 3)) + 1) / (p.sum((0, 2, 3)) + t.sum((0, 2, 3)) + 1)
                    ).mean()
                )
            opt.zero_grad()
            l.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            q = miou(model(vx).argmax(1), vm)
    score(q, 0.04)


@healthy
def unet_dice_ce(record, seed):
    train_seg(record, seed, "dice")


@healthy
def unet_weighted_classes_rmsprop(record, seed):
    train_seg(
        record,
        seed,
        weights=torch.tensor([0.5, 1.0, 1.0]),
        opt=lambda m: torch.optim.RMSprop(m.parameters(), 3e-3, alpha=0.95),
        steps=300,
    )


@pair("the mask is not flipped along with the image", "gross")
def seg_mask_not_flipped(record, seed, faulty):
    train_seg(record, seed, mask_bug="noflip" if faulty else None)


@pair("ignore_index is 1, a real class, rather than 255", "middling")
def seg_ignore_real_class(record, seed, faulty):
    train_seg(record, seed, ignore=1 if faulty else 255)


@pair(
    "the background's class weight is 250 times too small, too much becomes foreground", "middling"
)
def seg_background_weight(record, seed, faulty):
    train_seg(record, seed, weights=torch.tensor([0.002 if faulty else 0.5, 1.0, 1.0]))


def train_keypoints(
    record, seed, swap=False, sig=1.5, norm_bug=False, heat=True, steps=300, lr=3e-3, scale=10.0
):
    torch.manual_seed(seed)
    size = 24
    x, m, c = discs(800, seed, noise=0.2)
    vx, vm, vc = discs(200, seed + 70, noise=0.2)
    model = UNet(out=2)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.MSELoss()
    a = torch.arange(size).float()

    def maps(c):
        px, py = c[:, [0, 2]], c[:, [1, 3]]
        if swap:
            px, py = py, px
        return torch.exp(
            -(
                (a.view(1, 1, 1, -1) - px[..., None, None]) ** 2
                + (a.view(1, 1, -1, 1) - py[..., None, None]) ** 2
            )
            / (2 * sig**2)
        )

    with record(model, opt, crit) as hook:
        for s in range(steps):
            i = torch.randint(0, 800, (12,))
            opt.zero_grad()
            crit(model(x[i]), maps(c[i]) * scale).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            h = model(vx).flatten(2).argmax(-1)
            p = torch.stack([(h % size).float(), (h // size).float()], -1)
            t = torch.stack([vc[:, [0, 2]], vc[:, [1, 3]]], -1)
            q = ((p - t).norm(dim=-1) < 3).float().mean()
    score(q, 0.05)


@healthy
def heatmap_keypoints(record, seed):
    train_keypoints(record, seed)


@pair("the heat maps have a spread of 0.3 pixels: nearly all targets are zero", "middling")
def keypoints_sigma_tiny(record, seed, faulty):
    train_keypoints(record, seed, sig=0.3 if faulty else 1.5, scale=1.0)


class Detector(nn.Module):
    """A grid of 6 x 6 cells: objectness, box offset and size, class."""

    def __init__(self, prior=True):
        super().__init__()
        b = lambda i, o, s: nn.Sequential(
            nn.Conv2d(i, o, 3, s, 1), nn.BatchNorm2d(o), nn.LeakyReLU(0.1)
        )
        self.f = nn.Sequential(b(1, 16, 1), b(16, 24, 2), b(24, 32, 2), b(32, 32, 1))
        self.o = nn.Conv2d(32, 5, 1)
        if prior:
            nn.init.constant_(self.o.bias[0:1], -3.0)

    def forward(self, x):
        return self.o(self.f(x))


def target(c, off_bug):
    n = len(c)
    obj, cls, off = torch.zeros(n, 6, 6), torch.zeros(n, 6, 6), torch.zeros(n, 2, 6, 6)
    for k in (1, 0):
        gx, gy = (c[:, 2 * k] / 4).long().clamp(0, 5), (c[:, 2 * k + 1] / 4).long().clamp(0, 5)
        r = torch.arange(n)
        if off_bug:
            gx, gy = gy, gx
        obj[r, gy, gx], cls[r, gy, gx] = 1, float(k)
        off[r, 0, gy, gx], off[r, 1, gy, gx] = (
            c[:, 2 * k] / 4 - (c[:, 2 * k] / 4).floor(),
            c[:, 2 * k + 1] / 4 - (c[:, 2 * k + 1] / 4).floor(),
        )
    return obj, cls, off


def train_det(
    record, seed, box_w=1.0, obj_bug=False, off_bug=False, focal=True, steps=300, freeze=False
):
    torch.manual_seed(seed)
    x, m, c = discs(1000, seed, noise=0.2)
    vx, vm, vc = discs(200, seed + 70, noise=0.2)

    model = Detector()
    if freeze:
        model.f.requires_grad_(False)
    opt = torch.optim.SGD(
        [p for p in model.parameters() if p.requires_grad], 0.05, momentum=0.9, weight_decay=1e-4
    )
    obj, cls, off = target(c, off_bug)
    with record(model, opt, None) as hook:
        for s in range(steps):
            i = torch.randint(0, 1000, (16,))
            o = model(x[i])
            t = obj[i] * 0 if obj_bug else obj[i]
            bce = F.binary_cross_entropy_with_logits(o[:, 0], t, reduction="none")
            pt = torch.exp(-bce)
            l = ((1 - pt) ** 2 * bce).sum() / 32
            pos = obj[i] > 0
            l = l + F.binary_cross_entropy_with_logits(o[:, 1][pos], cls[i][pos])
            l = l + box_w * F.smooth_l1_loss(
                o[:, 2:4].permute(0, 2, 3, 1)[pos].sigmoid(), off[i].permute(0, 2, 3, 1)[pos]
            )
            opt.zero_grad()
            l.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            o = model(vx)
            hit = 0.0
            for k in (0, 1):
                s = o[:, 0].sigmoid() * (o[:, 1].sigmoid() if k else 1 - o[:, 1].sigmoid())
                b = s.flatten(1).argmax(1)
                gy, gx = b // 6, b % 6
                r = torch.arange(200)
                p = (
                    torch.stack([gx + o[r, 2, gy, gx].sigmoid(), gy + o[r, 3, gy, gx].sigmoid()], 1)
                    * 4
                )
                hit += ((p - vc[:, 2 * k : 2 * k + 2]).norm(dim=1) < 2.5).float().mean() / 2
    score(hit, 0.04)


@healthy
def grid_detector_focal(record, seed):
    train_det(record, seed)


@pair(
    "objectness targets are all zero because of an index bug after the target assignment",
    "middling",
)
def detector_no_positives(record, seed, faulty):
    train_det(record, seed, obj_bug=faulty)


@pair("the box loss is weighted 2,000 times, it drowns class and objectness", "middling")
def detector_box_weight(record, seed, faulty):
    train_det(record, seed, box_w=2000.0 if faulty else 1.0)


@pair("the randomly initialized backbone is frozen by a leftover requires_grad_(False)", "middling")
def detector_backbone_frozen(record, seed, faulty):
    train_det(record, seed, freeze=faulty)


@healthy
def superresolution_charbonnier(record, seed):
    """Residual over bilinear upsampling; the loss is small from the start."""
    torch.manual_seed(seed)
    hi, _, _ = discs(800, seed, noise=0.0)
    vhi, _, _ = discs(150, seed + 70, noise=0.0)
    lo, vlo = F.avg_pool2d(hi, 2), F.avg_pool2d(vhi, 2)
    model = nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1),
        nn.PReLU(),
        nn.Conv2d(24, 24, 3, padding=1),
        nn.PReLU(),
        nn.Conv2d(24, 4, 3, padding=1),
        nn.PixelShuffle(2),
    )
    up = lambda t: F.interpolate(t, scale_factor=2, mode="bilinear")
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.PolynomialLR(opt, 500, power=0.9)
    with record(model, opt, None) as hook:
        for s in range(500):
            i = torch.randint(0, 800, (16,))
            d = model(lo[i]) + up(lo[i]) - hi[i]
            l = (d**2 + 1e-6).sqrt().mean()
            opt.zero_grad()
            l.backward()
            opt.step()
            sched.step()
        with record.evaluation(hook), torch.no_grad():
            e, b = ((model(vlo) + up(vlo) - vhi) ** 2).mean(), ((up(vlo) - vhi) ** 2).mean()
    score(1 - (e / b).item(), 0.0)


@healthy
def deep_sets_count(record, seed):
    """Masked sum pooling over sets of various sizes."""
    torch.manual_seed(seed)

    def data(n):
        k = torch.randint(3, 20, (n, 1))
        x = torch.randn(n, 20, 2)
        m = (torch.arange(20) < k).float()
        return x, m, ((x.norm(dim=-1) < 1).float() * m).sum(1)

    phi = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 16))
    rho = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    model = nn.ModuleDict({"phi": phi, "rho": rho})
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    crit = nn.PoissonNLLLoss()
    f = lambda x, m: rho((phi(x) * m.unsqueeze(-1)).sum(1) / 5).squeeze(1)
    with record(model, opt, crit) as hook:
        for s in range(1500):
            x, m, y = data(64)
            opt.zero_grad()
            crit(f(x, m), y).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, m, y = data(1000)
            q = 1 - ((f(x, m).exp() - y) ** 2).mean() / y.var()
    score(q, 0.0)


@healthy
def keyword_spotting_1d(record, seed):
    """Raw waveforms of chirps, depthwise separable 1-d convolutions and SpecAugment-like masking."""
    torch.manual_seed(seed)

    def data(n, seed):
        g = torch.Generator().manual_seed(seed)
        y = torch.randint(0, 5, (n,), generator=g)
        t = torch.linspace(0, 1, 200)
        f0 = 8 + 5 * y[:, None] + 2 * torch.rand(n, 1, generator=g)
        up = torch.rand(n, 1, generator=g) * 3
        x = torch.sin(
            6.28 * (f0 * t + up * t**2) + 6.28 * torch.rand(n, 1, generator=g)
        ) + 0.5 * torch.randn(n, 200, generator=g)
        return x.unsqueeze(1), y

    x, y = data(1500, seed)
    vx, vy = data(400, seed + 7)
    model = nn.Sequential(
        nn.Conv1d(1, 24, 15, 4),
        nn.BatchNorm1d(24),
        nn.ReLU(),
        nn.Conv1d(24, 24, 9, groups=24),
        nn.Conv1d(24, 32, 1),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(32, 5),
    )
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for e in range(8):
            model.train()
            for i in torch.randperm(1500).split(50):
                xb = x[i].clone()
                a = int(torch.randint(0, 180, (1,)))
                xb[:, :, a : a + 20] = 0
                opt.zero_grad()
                crit(model(xb), y[i]).backward()
                opt.step()
            opt.param_groups[0]["lr"] *= 0.75
        model.eval()
        with record.evaluation(hook), torch.no_grad():
            a = (model(vx).argmax(1) == vy).float().mean()
    score(a, 0.2)
