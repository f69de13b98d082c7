"""Data and small things the trainings share."""

import math
import numpy as np
import torch


def teacher(n, d, k, seed, hidden=12, scale=1.5):
    g = torch.Generator().manual_seed(1000 + seed)
    x = torch.randn(n, d, generator=g)
    w1 = torch.randn(d, hidden, generator=g) / d**0.5 * scale
    w2 = torch.randn(hidden, k, generator=g) / hidden**0.5
    z = torch.tanh(x @ w1) @ w2
    return x, (z - z.mean(0)) / z.std(0)


def batches(*ts, bs=64, shuffle=True):
    n = len(ts[0])
    p = torch.randperm(n) if shuffle else torch.arange(n)
    for i in range(0, n - bs + 1, bs):
        j = p[i : i + bs]
        yield tuple(t[j] for t in ts)


def r2(p, y):
    return float(1 - ((p - y) ** 2).mean() / ((y - y.mean(0)) ** 2).mean())


def acc(logits, y):
    return float((logits.argmax(-1) == y).float().mean())


def bal_acc(pred, y):
    return float(np.mean([(pred[y == c] == c).float().mean().item() for c in y.unique()]))


def auc(s, y):
    r = s.argsort().argsort().float() + 1
    n1 = (y == 1).sum().item()
    n0 = len(y) - n1
    return (r[y == 1].sum().item() - n1 * (n1 + 1) / 2) / (n1 * n0)


def shapes(n, seed, size=16, noise=0.25, colour=False):
    """Pictures of six kinds of figure: disc, ring, square, frame, plus, cross."""
    rng = np.random.default_rng(500 + seed)
    yy, xx = np.mgrid[:size, :size]
    k = rng.integers(0, 6, n)
    out = np.empty((n, 3 if colour else 1, size, size), np.float32)
    box = np.empty((n, 4), np.float32)
    msk = np.empty((n, size, size), np.int64)
    for i in range(n):
        r = rng.uniform(3, 5) * size / 16
        cx, cy = rng.uniform(r, size - 1 - r, 2)
        dx, dy = np.abs(xx - cx), np.abs(yy - cy)
        d = np.hypot(dx, dy)
        m = [
            d < r,
            (d < r) & (d > r * 0.6),
            np.maximum(dx, dy) < r * 0.85,
            (np.maximum(dx, dy) < r * 0.9) & (np.maximum(dx, dy) > r * 0.5),
            (np.minimum(dx, dy) < r * 0.3) & (np.maximum(dx, dy) < r),
            (np.abs(dx - dy) < r * 0.4) & (np.maximum(dx, dy) < r),
        ][k[i]]
        c = rng.uniform(0.5, 1, (out.shape[1], 1, 1))
        out[i] = m[None] * c + rng.normal(0, noise, out.shape[1:])
        box[i] = cx, cy, r * 2, r * 2
        msk[i] = m
    return torch.tensor(out), torch.tensor(k), torch.tensor(box), torch.tensor(msk)


_cache = {}


def shapes_cached(*a, **k):
    key = (a, tuple(sorted(k.items())))
    if key not in _cache:
        _cache[key] = shapes(*a, **k)
    return tuple(t.clone() for t in _cache[key])


def chain(n, length, seed, vocab=12, sharp=2.5):
    """Sentences of a second-order Markov chain."""
    g = torch.Generator().manual_seed(77 + seed)
    p = torch.softmax(torch.randn(vocab, vocab, vocab, generator=g) * sharp, -1)
    s = torch.randint(0, vocab, (n, length), generator=g)
    for t in range(2, length):
        s[:, t] = torch.multinomial(p[s[:, t - 2], s[:, t - 1]], 1, generator=g)[:, 0]
    return s
