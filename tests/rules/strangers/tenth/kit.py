"""Synthetic data shared by the trainings."""

import math, random
import numpy as np, torch
import torch.nn.functional as F


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def digits(n, seed, k=10, size=12, noise=40, ch=1):
    """MNIST-like: uint8 images n x ch x size x size of k shifted prototypes, labels."""
    g = torch.Generator().manual_seed(77)
    p = F.interpolate(torch.randn(k, ch, 4, 4, generator=g), size=(size, size), mode="bicubic")
    p = torch.sigmoid(4 * (p - 0.3)) * 220
    g = torch.Generator().manual_seed(seed + 1000)
    y = torch.randint(0, k, (n,), generator=g)
    x = p[y]
    sh = torch.randint(-2, 3, (n, 2), generator=g)
    ix = (torch.arange(size)[None] - sh[:, :1]) % size
    iy = (torch.arange(size)[None] - sh[:, 1:]) % size
    x = x.gather(2, ix[:, None, :, None].expand_as(x)).gather(3, iy[:, None, None, :].expand_as(x))
    x = x * (0.6 + 0.5 * torch.rand(n, 1, 1, 1, generator=g)) + noise * torch.randn(
        x.shape, generator=g
    )
    return x.clamp(0, 255).to(torch.uint8), y


def textures(n, seed, k=8, size=16, noise=0.6):
    """CIFAR-like: n x 3 x size x size floats in 0..1; the class is orientation and hue of a grating."""
    g = torch.Generator().manual_seed(seed + 2000)
    y = torch.randint(0, k, (n,), generator=g)
    t = math.pi * (y // 2).float() / (k // 2) + 0.12 * torch.randn(n, generator=g)
    f = 0.9 + 0.2 * torch.rand(n, generator=g)
    ph = 6.28 * torch.rand(n, generator=g)
    a = torch.arange(size).float()
    u = a[None, :, None] * t.cos()[:, None, None] + a[None, None] * t.sin()[:, None, None]
    w = torch.sin(u * f[:, None, None] + ph[:, None, None])
    hue = torch.stack(
        [torch.ones(n), (y % 2).float() * 1.2 - 0.2, 1 - (y % 2).float()], 1
    ) + 0.2 * torch.randn(n, 3, generator=g)
    x = (
        0.48
        + 0.14 * w[:, None] * hue[:, :, None, None]
        + 0.14 * noise * torch.randn(n, 3, size, size, generator=g)
    )
    return x.clamp(0, 1), y


def text(n, seed):
    """A string of n characters of a small grammar."""
    r = random.Random(seed)
    who = ["the king", "a queen", "my lord", "the fool", "romeo", "juliet"]
    do = {
        "the king": ["speaks", "rules"],
        "a queen": ["weeps", "waits"],
        "my lord": ["rides", "sleeps"],
        "the fool": ["sings", "jests"],
        "romeo": ["dies", "loves"],
        "juliet": ["wakes", "dreams"],
    }
    how = ["softly", "in vain", "at night", "alone"]
    out = []
    while sum(map(len, out)) < n:
        w = r.choice(who)
        out.append(f"{w} {r.choice(do[w])} {r.choice(how)}.\n")
    return "".join(out)[:n]


def chars(n, seed):
    s = text(n, seed)
    voc = sorted(set(text(4000, 5)) | set(s))
    st = {c: i for i, c in enumerate(voc)}
    return torch.tensor([st[c] for c in s]), len(voc)


def markov(n, length, seed, v=20):
    """Token sequences of a second-order chain."""
    g = torch.Generator().manual_seed(99)
    nxt = torch.randint(0, v, (v, v, 2), generator=g)
    g = torch.Generator().manual_seed(seed + 3000)
    x = torch.zeros(n, length, dtype=torch.long)
    x[:, :2] = torch.randint(0, v, (n, 2), generator=g)
    for i in range(2, length):
        b = (torch.rand(n, generator=g) < 0.2).long()
        x[:, i] = nxt[x[:, i - 1], x[:, i - 2] % 4, b]
    return x


def table(n, seed, d=8, scales=True, noise=0.2):
    """Housing-like regression: columns of unlike scales, a target near 200."""
    g = torch.Generator().manual_seed(seed + 4000)
    z = torch.randn(n, d, generator=g)
    y = (
        z[:, 0] * 1.2
        + torch.sin(2 * z[:, 1])
        + z[:, 2] * z[:, 3]
        - 0.7 * z[:, 4].abs()
        + noise * torch.randn(n, generator=g)
    )
    x = (
        z * torch.tensor([1, 10, 100, 1000, 0.1, 5, 50, 1.0])[:d]
        + torch.tensor([3, 50, 300, 4000, 1, 20, -100, 0.0])[:d]
        if scales
        else z
    )
    return x, y * 60 + 200


def churn(n, seed, d=10, rate=0.5):
    """Binary classification table with categorical columns: x_num, x_cat (3 columns), y."""
    g = torch.Generator().manual_seed(seed + 5000)
    x = torch.randn(n, d, generator=g)
    c = torch.randint(0, 12, (n, 3), generator=g)
    h = torch.Generator().manual_seed(31)
    e = torch.randn(3, 12, generator=h)
    s = (
        x[:, 0]
        - x[:, 1] * x[:, 2]
        + 1.4 * e[0, c[:, 0]]
        + 1.4 * e[1, c[:, 1]] * x[:, 3].sign()
        + 0.4 * torch.randn(n, generator=g)
    )
    return x, c, (s > torch.quantile(s, 1 - rate)).float()


def wave(n, length, seed, season=12, noise=0.15, level=0.0):
    """Series: trend, season and an autoregressive part."""
    g = torch.Generator().manual_seed(seed + 6000)
    t = torch.arange(length).float()
    ph = 6.28 * torch.rand(n, 1, generator=g)
    a = 0.5 + torch.rand(n, 1, generator=g)
    s = (
        a * torch.sin(2 * math.pi * t / season + ph)
        + 0.4 * torch.sin(4 * math.pi * t / season + 2 * ph)
        + 0.3 * torch.randn(n, 1, generator=g)
    )
    return (
        level
        + s * (1 + level) ** 0.5
        + noise * (1 + level) ** 0.5 * torch.randn(n, length, generator=g)
    )


def sbm(seed, n=200, k=4, d=16, pin=0.08, pout=0.008):
    """A graph: features, adjacency (0/1, symmetric), labels."""
    g = torch.Generator().manual_seed(seed + 7000)
    y = torch.arange(n) % k
    p = torch.where(y[:, None] == y[None], pin, pout)
    a = (torch.rand(n, n, generator=g) < p).float().triu(1)
    h = torch.Generator().manual_seed(8)
    x = torch.randn(k, d, generator=h)[y] * 0.5 + torch.randn(n, d, generator=g)
    return x, a + a.t(), y


def clouds(n, seed, m=48):
    """Point clouds of four shapes, n x m x 3."""
    g = torch.Generator().manual_seed(seed + 8000)
    y = torch.randint(0, 4, (n,), generator=g)
    p = torch.randn(n, m, 3, generator=g)
    ball = p / p.norm(dim=-1, keepdim=True)
    cube = p / p.abs().amax(-1, keepdim=True) * 0.8
    cyl = torch.cat(
        [
            p[..., :2] / p[..., :2].norm(dim=-1, keepdim=True) * 0.9,
            torch.rand(n, m, 1, generator=g) * 2 - 1,
        ],
        -1,
    )
    tor = torch.cat(
        [
            p[..., :2] / p[..., :2].norm(dim=-1, keepdim=True) * (0.9 + 0.3 * ball[..., :1]),
            0.3 * ball[..., 2:],
        ],
        -1,
    )
    x = torch.stack([ball, cube, cyl, tor], 1)[torch.arange(n), y]
    return (
        x * (0.8 + 0.4 * torch.rand(n, 1, 1, generator=g))
        + 0.05 * torch.randn(n, m, 3, generator=g),
        y,
    )


def audio(n, seed, length=512, k=6):
    """Keyword-like signals: two-tone chirps in noise, n x 1 x length."""
    g = torch.Generator().manual_seed(seed + 9000)
    y = torch.randint(0, k, (n,), generator=g)
    t = torch.arange(length).float() / length
    f0 = 20 + 12 * (y % 3).float()[:, None]
    f1 = torch.where(y < 3, 25.0, -8.0)[:, None]
    x = torch.sin(6.28 * (f0 * t + f1 * t * t / 2) + 6.28 * torch.rand(n, 1, generator=g))
    return (x * (0.5 + torch.rand(n, 1, generator=g)) + 0.8 * torch.randn(n, length, generator=g))[
        :, None
    ], y


def ratings(n, seed, users=120, items=80):
    """user, item, rating in 1..5"""
    h = torch.Generator().manual_seed(3)
    u, v = torch.randn(users, 4, generator=h), torch.randn(items, 4, generator=h)
    bu, bi = 0.4 * torch.randn(users, generator=h), 0.4 * torch.randn(items, generator=h)
    g = torch.Generator().manual_seed(seed + 10000)
    a, b = torch.randint(0, users, (n,), generator=g), torch.randint(0, items, (n,), generator=g)
    r = 3.3 + bu[a] + bi[b] + 0.5 * (u[a] * v[b]).sum(1) + 0.3 * torch.randn(n, generator=g)
    return a, b, r.clamp(1, 5)


def blobs(n, seed, size=16):
    """Segmentation: images n x 1 x size x size with discs and stripes; masks of the discs."""
    g = torch.Generator().manual_seed(seed + 11000)
    a = torch.arange(size).float()
    m = torch.zeros(n, size, size)
    for _ in range(2):
        c = 2 + (size - 4) * torch.rand(n, 2, generator=g)
        r = 1.5 + 1.8 * torch.rand(n, generator=g)
        d = (a[None, :, None] - c[:, 0, None, None]) ** 2 + (
            a[None, None] - c[:, 1, None, None]
        ) ** 2
        m = torch.maximum(m, (d < r[:, None, None] ** 2).float())
    row = (torch.rand(n, size, 1, generator=g) < 0.15).float().expand(n, size, size)
    x = torch.maximum(m * 0.9, row * 0.9) + 0.25 * torch.randn(n, size, size, generator=g)
    return x[:, None], m[:, None]


def r2(pred, y):
    return float(1 - ((pred - y) ** 2).mean() / ((y - y.mean()) ** 2).mean())


def auc(s, y):
    s, y = s.flatten(), y.flatten()
    r = s.argsort().argsort().float()
    p = y > 0.5
    return float((r[p].mean() - r[~p].mean()) / len(y) + 0.5)


def mmd(a, b):
    """A squared kernel distance of two samples."""
    a, b = a.flatten(1), b.flatten(1)
    s = torch.cdist(b, b).median()
    k = lambda u, v: sum(
        torch.exp(-((torch.cdist(u, v) / (s * w)) ** 2)).mean() for w in (0.25, 0.5, 1)
    )
    return float(k(a, a) + k(b, b) - 2 * k(a, b))
