"""Synthetic data with structure to learn."""

import math
import torch
import torch.nn.functional as F


def gen(seed):
    return torch.Generator().manual_seed(seed)


def glyphs(n, seed, classes=10, size=16, noise=1.1, channels=1, world=7):
    """Images: a smooth prototype per class, shifted, scaled and noised."""
    g = gen(world)
    proto = torch.randn(classes, channels, 5, 5, generator=g)
    proto = F.interpolate(proto, size=(size, size), mode="bicubic")
    g = gen(seed + 1000)
    y = torch.randint(0, classes, (n,), generator=g)
    x = proto[y]
    sx = torch.randint(-2, 3, (n,), generator=g)
    sy = torch.randint(-2, 3, (n,), generator=g)
    x = torch.stack([torch.roll(a, (int(i), int(j)), (1, 2)) for a, i, j in zip(x, sx, sy)])
    x = x * (0.7 + 0.6 * torch.rand(n, 1, 1, 1, generator=g))
    x = x + noise * torch.randn(x.shape, generator=g)
    return x, y


def markov(n, length, vocab=32, seed=0, world=3, sharp=2.5):
    """Token sequences of a second-order-ish Markov chain."""
    g = gen(world)
    logits = sharp * torch.randn(vocab, vocab, generator=g)
    p = logits.softmax(-1)
    g = gen(seed + 500)
    x = torch.randint(0, vocab, (n, 1), generator=g)
    out = [x]
    for _ in range(length - 1):
        x = torch.multinomial(p[x[:, 0]], 1, generator=g)
        out.append(x)
    return torch.cat(out, 1)


def tabular(n, seed, dim=16, classes=None, world=11, noise=0.1):
    """A random two-layer teacher over correlated columns."""
    g = gen(world)
    mix = torch.randn(dim, dim, generator=g) / math.sqrt(dim)
    w1 = torch.randn(dim, 12, generator=g) / math.sqrt(dim) * 1.5
    w2 = torch.randn(12, classes or 1, generator=g)
    g = gen(seed + 77)
    x = torch.randn(n, dim, generator=g) @ (mix + torch.eye(dim))
    z = torch.tanh(x @ w1) @ w2
    if classes:
        z = z + noise * torch.randn(z.shape, generator=g)
        return x, z.argmax(-1)
    y = z[:, 0] + 0.3 * torch.sin(2 * x[:, 0])
    y = (y / 2.5) + noise * torch.randn(n, generator=g)
    return x, y


def waves(n, length, seed, noise=0.1):
    """Series: trend, two seasons and noise."""
    g = gen(seed + 31)
    t = torch.arange(length).float()
    a = 0.5 + torch.rand(n, 2, 1, generator=g)
    ph = 2 * math.pi * torch.rand(n, 2, 1, generator=g)
    per = torch.tensor([12.0, 7.0]).view(1, 2, 1)
    x = (a * torch.sin(2 * math.pi * t / per + ph)).sum(1)
    slope = 0.02 * torch.randn(n, 1, generator=g)
    return x + slope * t + noise * torch.randn(x.shape, generator=g)


def blocks(nodes, classes, seed, p_in=0.06, p_out=0.01, dim=16):
    """A stochastic block model with weak node features."""
    g = gen(seed + 13)
    y = torch.randint(0, classes, (nodes,), generator=g)
    same = y[:, None] == y[None]
    p = torch.where(same, p_in, p_out)
    a = (torch.rand(nodes, nodes, generator=g) < p).float().triu(1)
    a = a + a.T
    centre = torch.randn(classes, dim, generator=g)
    x = 0.5 * centre[y] + torch.randn(nodes, dim, generator=g)
    return x, a, y


def batches(seed, n, size):
    g = gen(seed + 99)
    while True:
        order = torch.randperm(n, generator=g)
        for i in range(0, n - size + 1, size):
            yield order[i : i + size]


def accuracy(logits, y):
    return (logits.argmax(-1) == y).float().mean().item()


def r2(pred, y):
    return 1 - ((pred - y) ** 2).mean().item() / y.var().item()
