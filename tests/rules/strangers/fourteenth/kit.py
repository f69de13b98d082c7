"""Made-up data and small helpers for the trainings."""

import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def batches(n, size, shuffle=True, drop_last=True):
    order = torch.randperm(n) if shuffle else torch.arange(n)
    end = n - n % size if drop_last else n
    for i in range(0, end, size):
        yield order[i : i + size]


def tabular(n, d=16, classes=3, noise=0.0, spread=1.0):
    """Classes from a random teacher network."""
    x = torch.randn(n, d)
    a, b = torch.randn(d, 24) / d**0.5, torch.randn(24, classes)
    logits = torch.tanh(1.5 * x @ a) @ b
    logits = logits - logits.mean(0)
    y = logits.argmax(1)
    if noise:
        flip = torch.rand(n) < noise
        y = torch.where(flip, torch.randint(classes, (n,)), y)
    return x * spread, y


def table_regression(n, d=10, noise=0.1):
    x = torch.randn(n, d)
    w = torch.randn(d)
    y = torch.sin(x[:, 0] * 1.5) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * (x @ w) / d**0.5
    return x, (y + noise * torch.randn(n)).unsqueeze(1)


def gratings(n, size=16, classes=4, channels=1, noise=0.5):
    """Images of stripes; the class is their direction."""
    y = torch.randint(classes, (n,))
    angle = y * math.pi / classes + 0.1 * torch.randn(n)
    phase = torch.rand(n) * 6.28
    g = torch.arange(size) / size * 2 * math.pi * 2
    u, v = torch.meshgrid(g, g, indexing="ij")
    image = torch.sin(
        u * angle.cos()[:, None, None] + v * angle.sin()[:, None, None] + phase[:, None, None]
    )
    x = image[:, None].repeat(1, channels, 1, 1)
    return x + noise * torch.randn_like(x), y


def digits(n, size=12, noise=0.25, classes=10, templates=5):
    """Blurred random glyphs, shifted: ten fixed shapes."""
    g = torch.Generator().manual_seed(templates)
    glyphs = F.interpolate(
        (torch.rand(classes, 1, 4, 4, generator=g) > 0.5).float(), size=size - 4, mode="bilinear"
    )
    y = torch.randint(classes, (n,))
    x = torch.zeros(n, 1, size, size)
    dx, dy = torch.randint(0, 5, (n,)), torch.randint(0, 5, (n,))
    for i in range(n):
        x[i, :, dx[i] : dx[i] + size - 4, dy[i] : dy[i] + size - 4] = glyphs[y[i]]
    return x + noise * torch.randn_like(x), y


def discs(n, size=16, noise=0.3):
    """Images with one bright disc, its mask and its box (cx, cy, r in 0..1)."""
    g = (torch.arange(size) + 0.5) / size
    u, v = torch.meshgrid(g, g, indexing="ij")
    cx, cy = 0.2 + 0.6 * torch.rand(n), 0.2 + 0.6 * torch.rand(n)
    r = 0.1 + 0.15 * torch.rand(n)
    mask = (
        (u - cx[:, None, None]) ** 2 + (v - cy[:, None, None]) ** 2 < r[:, None, None] ** 2
    ).float()[:, None]
    x = mask * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + noise * torch.randn(n, 1, size, size)
    return x, mask, torch.stack([cx, cy, r], 1)


def texts(n, length=20, vocab=60, classes=4, pad=True):
    """Token sequences (0 pads) in which some words hint at the class."""
    y = torch.randint(classes, (n,))
    x = torch.randint(1, vocab, (n, length))
    hint = 1 + (y[:, None] * 6 + torch.randint(0, 6, (n, length)))
    x = torch.where(torch.rand(n, length) < 0.25, hint, x)
    lengths = torch.full((n,), length)
    if pad:
        lengths = torch.randint(length // 2, length + 1, (n,))
        x[torch.arange(length)[None] >= lengths[:, None]] = 0
    return x, y, lengths


def corpus(n, vocab=16, seed=3):
    """A Markov chain, mostly of first order, partly of second."""
    g = np.random.RandomState(seed)
    table = 0.7 * g.dirichlet(np.full(vocab, 0.12), size=(1, vocab)) + 0.3 * g.dirichlet(
        np.full(vocab, 0.08), size=(vocab, vocab)
    )
    table = table.cumsum(-1)
    out = [0, 1]
    u = np.random.rand(n)
    for i in range(n - 2):
        out.append(min(int(np.searchsorted(table[out[-2], out[-1]], u[i])), vocab - 1))
    return torch.tensor(out)


def windows(stream, length, size):
    at = torch.randint(0, len(stream) - length - 1, (size,))
    index = at[:, None] + torch.arange(length + 1)[None]
    chunk = stream[index]
    return chunk[:, :-1], chunk[:, 1:]


def tagged(n, length=16, vocab=40, tags=5):
    """Words with tags; the tag depends on the word and on the word before."""
    x = torch.randint(1, vocab, (n, length))
    before = torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], 1)
    y = (x % tags + (before > vocab // 2).long()) % tags
    return x, y


def waves(n, length=96, noise=0.1):
    """Series: two tones and a slope."""
    t = torch.arange(length).float()
    f1, f2 = 0.1 + 0.15 * torch.rand(n, 1), 0.4 + 0.3 * torch.rand(n, 1)
    p1, p2 = 6.28 * torch.rand(n, 1), 6.28 * torch.rand(n, 1)
    return torch.sin(f1 * t + p1) + 0.4 * torch.sin(f2 * t + p2) + noise * torch.randn(n, length)


def ratings(users=150, items=120, n=9000, rank=4, noise=0.3):
    p, q = torch.randn(users, rank), torch.randn(items, rank)
    bu, bi = 0.5 * torch.randn(users), 0.5 * torch.randn(items)
    u, i = torch.randint(users, (n,)), torch.randint(items, (n,))
    r = 3.5 + (p[u] * q[i]).sum(1) / rank**0.5 + bu[u] + bi[i] + noise * torch.randn(n)
    return u, i, r


def blocks(n=200, classes=4, d=12, p_in=0.08, p_out=0.01, noise=1.5):
    """A graph of communities: features, normalised adjacency, raw adjacency, labels."""
    y = torch.randint(classes, (n,))
    same = y[:, None] == y[None]
    a = (torch.rand(n, n) < torch.where(same, p_in, p_out)).float().triu(1)
    a = a + a.T
    centre = torch.randn(classes, d)
    x = centre[y] + noise * torch.randn(n, d)
    b = a + torch.eye(n)
    s = b.sum(1).rsqrt()
    return x, s[:, None] * b * s[None], a, y


def moons(n, noise=0.08):
    t = math.pi * torch.rand(n)
    k = torch.randint(2, (n,))
    x = torch.stack(
        [torch.where(k == 0, t.cos(), 1 - t.cos()), torch.where(k == 0, t.sin(), 0.5 - t.sin())], 1
    )
    return x + noise * torch.randn(n, 2), k


def r2(prediction, target):
    return 1 - ((prediction - target) ** 2).mean().item() / target.var().item()


@torch.no_grad()
def accuracy(model, x, y):
    mode = model.training
    model.eval()
    out = (model(x).argmax(1) == y).float().mean().item()
    model.train(mode)
    return out


def balanced(prediction, y, classes):
    return float(np.mean([(prediction[y == c] == c).float().mean().item() for c in range(classes)]))


def mlp(*sizes, act=nn.ReLU, norm=None, drop=0.0):
    layers = []
    for k, (i, o) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(i, o))
        if k < len(sizes) - 2:
            if norm is not None:
                layers.append(norm(o))
            layers.append(act())
            if drop:
                layers.append(nn.Dropout(drop))
    return nn.Sequential(*layers)


def small_cnn(channels=1, classes=4, width=12, bn=True):
    n = (lambda c: nn.BatchNorm2d(c)) if bn else (lambda c: nn.Identity())
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1),
        n(width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, width * 2, 3, padding=1),
        n(width * 2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(width * 8, classes),
    )


class Block(nn.Module):
    def __init__(self, d, heads, causal=True, drop=0.0):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(
            nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d), nn.Dropout(drop)
        )
        self.heads, self.causal = heads, causal

    def forward(self, x, mask=None):
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        )
        a = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=self.causal and mask is None
        )
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class TinyGPT(nn.Module):
    def __init__(
        self, vocab=16, d=32, layers=2, heads=4, length=64, causal=True, tie=False, drop=0.0
    ):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList(Block(d, heads, causal, drop) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.05)
        if tie:
            self.head.weight = self.tok.weight

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


@torch.no_grad()
def lm_score(model, stream, length=32, rounds=8):
    """Negative loss per token on held-out text."""
    model.eval()
    total = 0.0
    for _ in range(rounds):
        x, y = windows(stream, length, 32)
        total += F.cross_entropy(model(x).float().flatten(0, 1), y.flatten()).item()
    model.train()
    return -total / rounds
