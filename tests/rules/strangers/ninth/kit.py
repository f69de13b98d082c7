"""Shared data and helpers of the trainings."""

import random

import numpy as np
import torch
from torch import nn


def start(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def picks(n, size, updates):
    """Index batches over reshuffled epochs."""
    done = 0
    while done < updates:
        order = torch.randperm(n)
        for k in range(0, n - size + 1, size):
            yield order[k : k + size]
            done += 1
            if done == updates:
                return


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(-1) == y).float().mean().item()


def r2(pred, y):
    pred, y = pred.detach().float(), y.float()
    return (1 - ((pred - y) ** 2).mean() / ((y - y.mean(0)) ** 2).mean()).item()


def gratings(n, classes=6, size=16, noise=0.7):
    """Striped images; the class is the orientation."""
    y = torch.randint(classes, (n,))
    a = y * np.pi / classes
    g = torch.linspace(-1, 1, size)
    u = a.cos()[:, None, None] * g[None, :, None] + a.sin()[:, None, None] * g[None, None, :]
    f = 5 + 3 * torch.rand(n, 1, 1)
    x = (u * f + 6.3 * torch.rand(n, 1, 1)).sin() * (0.6 + 0.6 * torch.rand(n, 1, 1))
    return (x + noise * torch.randn(n, size, size))[:, None], y


def shapes(n, size=16, noise=0.3):
    """Images of one shape each: (image, class of 5, mask, centre (row, column), radius)."""
    y = torch.randint(5, (n,))
    c = 4.5 + (size - 10) * torch.rand(n, 2)
    r = 3 + 1.5 * torch.rand(n)
    g = torch.arange(size).float()
    dy, dx = (g[None, :, None] - c[:, 0, None, None]).abs(), (
        g[None, None, :] - c[:, 1, None, None]
    ).abs()
    d, q = (dy**2 + dx**2).sqrt(), r[:, None, None]
    kinds = [
        d < q,
        (d - q).abs() < 0.9,
        torch.maximum(dx, dy) < 0.85 * q,
        ((dx < 1) & (dy < q)) | ((dy < 1) & (dx < q)),
        ((dx - dy).abs() < 1.2) & (d < q),
    ]
    mask = torch.stack(kinds)[y, torch.arange(n)]
    x = mask.float() * (0.7 + 0.6 * torch.rand(n, 1, 1)) + noise * torch.randn(n, size, size)
    return x[:, None], y, mask, c, r


def clusters(n, classes=8, dim=20, spread=1.0, per=2, seed_centres=None):
    """Each class is the union of `per` Gaussian clusters."""
    centres = torch.randn(classes * per, dim) * 1.0
    k = torch.randint(classes * per, (n,))
    return centres[k] + spread * torch.randn(n, dim), k % classes


def table(n, dim=10, noise=0.1):
    """A smooth nonlinear target of roughly unit variance."""
    x = torch.randn(n, dim)
    y = (x[:, 0] * x[:, 1] + (2 * x[:, 2]).sin() + 0.7 * x[:, 3] - 0.6 * x[:, 4].abs()) / 1.4
    return x, y + noise * torch.randn(n)


def small_cnn(channels, classes, width=12, drop=0.0):
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.LazyLinear(48),
        nn.ReLU(),
        nn.Dropout(drop),
        nn.Linear(48, classes),
    )


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class Residual(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(a, b, 3, stride, 1, bias=False),
            nn.BatchNorm2d(b),
            nn.ReLU(),
            nn.Conv2d(b, b, 3, 1, 1, bias=False),
            nn.BatchNorm2d(b),
        )
        self.short = nn.Sequential() if a == b and stride == 1 else nn.Conv2d(a, b, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


def resnet(channels, classes, width=8):
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        Residual(width, width),
        Residual(width, 2 * width, 2),
        Residual(2 * width, 3 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(3 * width, classes),
    )


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, d, heads=4, drop=0.0):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.att = nn.MultiheadAttention(d, heads, dropout=drop, batch_first=True)
        self.ff = nn.Sequential(
            nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d), nn.Dropout(drop)
        )

    def forward(self, x, mask=None, pad=None):
        h = self.n1(x)
        x = x + self.att(h, h, h, attn_mask=mask, key_padding_mask=pad, need_weights=False)[0]
        return x + self.ff(self.n2(x))


def causal(t):
    return torch.triu(torch.ones(t, t, dtype=torch.bool), 1)


class Decoder(nn.Module):
    def __init__(self, vocab, d=48, layers=2, length=32, masked=True):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, vocab)
        self.masked = masked

    def forward(self, t):
        x = self.tok(t) + self.pos(torch.arange(t.shape[1]))
        for b in self.blocks:
            x = b(x, causal(t.shape[1]) if self.masked else None)
        return self.out(self.norm(x))


def chains(n, length, vocab=9, noise=0.05, rule=7):
    """Token sequences in which two tokens fix the next (by a fixed table), with some noise."""
    g = torch.Generator().manual_seed(rule)
    nxt = torch.randint(vocab, (vocab, vocab), generator=g)
    s = [torch.randint(vocab, (n,)), torch.randint(vocab, (n,))]
    while len(s) < length:
        t = nxt[s[-2], s[-1]]
        s.append(torch.where(torch.rand(n) < noise, torch.randint(vocab, (n,)), t))
    return torch.stack(s, 1)


def sliced(a, b, directions=64):
    """Sliced Wasserstein distance of two samples of the same size."""
    g = torch.Generator().manual_seed(0)
    d = torch.randn(a.shape[1], directions, generator=g)
    d = d / d.norm(dim=0)
    return ((a @ d).sort(0)[0] - (b @ d).sort(0)[0]).abs().mean().item()


def ring_of_blobs(n, k=6, spread=0.08):
    a = torch.randint(k, (n,)) * 2 * np.pi / k
    return torch.stack([a.cos(), a.sin()], 1) * 1.5 + spread * torch.randn(n, 2)


def moons(n, noise=0.08):
    t = torch.rand(n) * np.pi
    up = torch.rand(n) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    return torch.stack([x - 0.5, y - 0.25], 1) + noise * torch.randn(n, 2), up.long()
