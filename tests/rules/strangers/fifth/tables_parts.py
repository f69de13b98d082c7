"""Trainings on tables, ratings, graphs and embeddings: models, data and loops."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from synth import gen, tabular


def mlp(*sizes, act=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def rare(n, seed, drop=0.03):
    x, y = tabular(n, seed)
    cut = torch.quantile(tabular(20000, 123)[1], 1 - drop)
    return x, (y > cut).float()


def average_precision(s, y):
    o = s.argsort(descending=True)
    t = y[o]
    return ((t.cumsum(0) / torch.arange(1, len(t) + 1)) * t).sum().item() / t.sum().item()


def ratings(n, seed, users=400, items=300):
    g = gen(21)
    u, v = torch.randn(users, 4, generator=g), torch.randn(items, 4, generator=g)
    bu, bi = 0.3 * torch.randn(users, generator=g), 0.5 * torch.randn(items, generator=g)
    g = gen(seed + 9)
    a, b = torch.randint(0, users, (n,), generator=g), torch.randint(0, items, (n,), generator=g)
    r = 3.5 + 0.5 * (u[a] * v[b]).sum(1) + bu[a] + bi[b] + 0.2 * torch.randn(n, generator=g)
    return a, b, r


class Factor(nn.Module):
    def __init__(self, users=400, items=300, k=8, std=0.05, mean=3.5):
        super().__init__()
        self.u, self.v = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.u, self.v):
            nn.init.normal_(e.weight, std=std) if std else nn.init.zeros_(e.weight)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bi.weight)
        self.mu = mean

    def forward(self, a, b):
        return self.mu + (self.u(a) * self.v(b)).sum(1) + self.bu(a)[:, 0] + self.bi(b)[:, 0]


class GCN(nn.Module):
    def __init__(self, dim=16, hidden=32, classes=4):
        super().__init__()
        self.l1, self.l2 = nn.Linear(dim, hidden), nn.Linear(hidden, classes)

    def forward(self, x, a):
        return self.l2(a @ F.dropout(F.relu(self.l1(a @ x)), 0.3, self.training))


def normalise(a):
    a = a + torch.eye(len(a))
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d


def embed_net():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 32),
    )


def retrieval(model, x, y):
    model.eval()
    with torch.no_grad():
        z = F.normalize(model(x), dim=-1)
        s = z @ z.T - 2 * torch.eye(len(z))
    return (y[s.argmax(1)] == y).float().mean().item()
