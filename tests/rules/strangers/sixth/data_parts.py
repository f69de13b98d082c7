"""Synthetic data sets for the toy trainings."""

import numpy as np
import torch

FONT = {
    0: "01110 10001 10011 10101 11001 10001 01110",
    1: "00100 01100 00100 00100 00100 00100 01110",
    2: "01110 10001 00001 00110 01000 10000 11111",
    3: "11110 00001 00001 01110 00001 00001 11110",
    4: "00010 00110 01010 10010 11111 00010 00010",
    5: "11111 10000 11110 00001 00001 10001 01110",
    6: "00110 01000 10000 11110 10001 10001 01110",
    7: "11111 00001 00010 00100 01000 01000 01000",
    8: "01110 10001 10001 01110 10001 10001 01110",
    9: "01110 10001 10001 01111 00001 00010 01100",
}


def digits(n, seed, size=16, noise=0.16, classes=10):
    """uint8 images N,1,size,size of printed digits at random places; labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = np.zeros((n, size, size), dtype=np.float32)
    glyphs = {}
    for k, s in FONT.items():
        g = np.array([[int(c) for c in row] for row in s.split()], dtype=np.float32)
        glyphs[k] = [
            g,
            np.kron(g, np.ones((1, 2), np.float32)),
            np.kron(g, np.ones((2, 1), np.float32)),
            np.kron(g, np.ones((2, 2), np.float32)),
        ]
    for i in range(n):
        g = glyphs[int(y[i])][rng.integers(0, 4 if size >= 14 else 1)]
        h, w = g.shape
        r, c = rng.integers(0, size - h + 1), rng.integers(0, size - w + 1)
        x[i, r : r + h, c : c + w] = g * rng.uniform(0.6, 1.0)
    x = np.clip(x + noise * rng.standard_normal(x.shape), 0, 1)
    return torch.from_numpy((x * 255).astype(np.uint8))[:, None], torch.from_numpy(y)


def shapes(n, seed, size=16, noise=0.15):
    """Colour images N,3,s,s of 6 kinds (disc, square, cross, ring, horizontal and vertical bars), labels, masks, boxes (cx,cy,w,h in 0..1)."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    X = np.empty((n, 3, size, size), np.float32)
    M = np.empty((n, size, size), np.float32)
    B = np.empty((n, 4), np.float32)
    y = rng.integers(0, 6, n)
    for i in range(n):
        r = rng.uniform(size * 0.18, size * 0.32)
        cx, cy = rng.uniform(r, size - 1 - r, 2)
        dx, dy = np.abs(xx - cx), np.abs(yy - cy)
        d = np.sqrt(dx**2 + dy**2)
        k = y[i]
        box = (dx <= r) & (dy <= r)
        m = [
            d <= r,
            box,
            box & ((dx <= r / 3) | (dy <= r / 3)),
            (d <= r) & (d >= r * 0.6),
            box & (np.floor(yy - cy + 20) % 3 < 1.5),
            box & (np.floor(xx - cx + 20) % 3 < 1.5),
        ][k]
        fg, bg = rng.uniform(0.5, 1, (3, 1, 1)), rng.uniform(0, 0.4, (3, 1, 1))
        X[i] = np.where(m[None], fg, bg) + noise * rng.standard_normal((3, size, size))
        M[i] = m
        B[i] = (cx / size, cy / size, 2 * r / size, 2 * r / size)
    return (
        torch.from_numpy(np.clip(X, 0, 1)),
        torch.from_numpy(y),
        torch.from_numpy(M),
        torch.from_numpy(B),
    )


def blobs(n, seed, features=20, classes=5, spread=1.0, modes=3, data_seed=0):
    """Gaussian mixture with several modes per class."""
    base = np.random.default_rng(1000 + data_seed)
    mu = base.standard_normal((classes * modes, features)) * 1.2
    rng = np.random.default_rng(seed)
    c = rng.integers(0, classes * modes, n)
    x = mu[c] + spread * rng.standard_normal((n, features))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(c % classes)


def houses(n, seed):
    """Raw house table: columns of very different scale, price in thousands."""
    rng = np.random.default_rng(seed)
    area = rng.gamma(6, 22, n) + 25
    rooms = np.round(area / 28 + rng.normal(0, 0.8, n)).clip(1)
    year = rng.integers(1900, 2024, n)
    dist = rng.exponential(6, n)
    income = rng.lognormal(10.6, 0.45, n)
    lat, lon = rng.uniform(47, 49, n), rng.uniform(8, 11, n)
    crime = rng.beta(2, 8, n)
    hill = np.sin(3 * (lat - 47)) * np.cos(2 * (lon - 8))
    price = (
        area * (2.2 + 1.2 * hill) * np.exp(-dist / 18)
        + 12 * rooms
        + 0.6 * np.abs(year - 1955)
        + income / 450 * (1 - crime)
    ) + rng.normal(0, 14, n)
    X = np.stack([area, rooms, year, dist, income, lat, lon, crime], 1)
    return torch.tensor(X, dtype=torch.float32), torch.tensor(price, dtype=torch.float32)


def churn(n, seed, rate=-1.5, cats=False):
    """Binary table task: numeric columns (standard), and optionally two category columns."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 10))
    a, b = rng.integers(0, 12, n), rng.integers(0, 30, n)
    base = np.random.default_rng(77)
    ea, eb = base.normal(0, 1.2, 12), base.normal(0, 1.2, 30)
    z = (
        rate
        + 1.5 * x[:, 0] * x[:, 1]
        + 1.2 * x[:, 2]
        - np.abs(x[:, 3])
        + 1.4 * np.sin(2 * x[:, 4])
        + (ea[a] + eb[b] if cats else 0)
    )
    y = rng.random(n) < 1 / (1 + np.exp(-2.5 * z))
    X, Y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    return (X, torch.tensor(np.stack([a, b], 1)), Y) if cats else (X, Y)


POS = list(range(10, 30))
NEG = list(range(30, 50))
NOT = 5
PAD = 0


def reviews(n, seed, length=24, vocab=200):
    """Token ids (0 pad), lengths, sentiment: sign of polar words, with negation flipping the next word."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, length), np.int64)
    L = rng.integers(8, length + 1, n)
    y = np.zeros(n, np.int64)
    for i in range(n):
        while True:
            t = rng.integers(50, vocab, L[i])
            k = rng.integers(2, 6)
            at = rng.choice(np.arange(1, L[i]), k, replace=False)
            lean = rng.random() < 0.5
            s = 0
            used = set()
            for j in at:
                if j in used or j - 1 in used:
                    continue
                p = rng.random() < (0.8 if lean else 0.2)
                t[j] = rng.choice(POS if p else NEG)
                used.add(j)
                v = 1 if p else -1
                if rng.random() < 0.25 and j - 1 not in used:
                    t[j - 1] = NOT
                    used.add(j - 1)
                    v = -v
                s += v
            if s != 0:
                break
        X[i, : L[i]] = t
        y[i] = s > 0
    return torch.from_numpy(X), torch.from_numpy(L), torch.from_numpy(y)


SUBJ = [
    "the cat",
    "a dog",
    "my sister",
    "the old man",
    "our teacher",
    "one bird",
    "the king",
    "a small child",
]
VERB = ["sees", "likes", "eats", "draws", "finds", "follows", "wants"]
OBJ = [
    "the red apple",
    "a fish",
    "some bread",
    "the blue house",
    "an open book",
    "two coins",
    "her garden",
]
TAIL = ["every day", "in the morning", "with joy", "at night", "near the river", "again and again"]


def corpus(n_sentences, seed):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n_sentences):
        s = f"{SUBJ[rng.integers(8)]} {VERB[rng.integers(7)]} {OBJ[rng.integers(7)]}"
        if rng.random() < 0.6:
            s += " " + TAIL[rng.integers(6)]
        if rng.random() < 0.2:
            s += f", but {SUBJ[rng.integers(8)]} does not"
        out.append(s + ". ")
    return "".join(out)


CHARS = "\n abcdefghijklmnopqrstuvwxyz.,"


def encode(text):
    table = {c: i for i, c in enumerate(CHARS)}
    return torch.tensor([table[c] for c in text])


def waves(n, seed, length=512, classes=6, noise=0.5):
    """Audio clips: chirps, tones, trills, bursts."""
    rng = np.random.default_rng(seed)
    t = np.arange(length) / length
    y = rng.integers(0, classes, n)
    X = np.empty((n, length), np.float32)
    for i in range(n):
        f = rng.uniform(15, 45)
        ph = rng.uniform(0, 6.28)
        X[i] = [
            np.sin(2 * np.pi * f * t + ph),
            np.sin(2 * np.pi * (f + f * t) * t + ph),
            np.sin(2 * np.pi * (2 * f - f * t) * t + ph),
            np.sin(2 * np.pi * f * t + ph) * (np.sin(2 * np.pi * 5 * t + ph) > 0),
            np.sign(np.sin(2 * np.pi * f * t + ph)),
            np.sin(2 * np.pi * f * t + 6 * np.sin(2 * np.pi * 4 * t)),
        ][y[i]]
    X = X * rng.uniform(0.6, 1.2, (n, 1)) + noise * rng.standard_normal(X.shape)
    return torch.tensor(X, dtype=torch.float32), torch.from_numpy(y)


def load(n, seed):
    """An hourly series like electric load: level 400, daily, weekly cycles, AR noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    e = np.zeros(n)
    for i in range(1, n):
        e[i] = 0.8 * e[i - 1] + rng.normal(0, 6)
    s = (
        400
        + 90 * np.sin(2 * np.pi * t / 24)
        + 30 * np.sin(4 * np.pi * t / 24 + 1)
        - 60 * ((t // 24) % 7 >= 5)
        + e
    )
    return torch.tensor(s, dtype=torch.float32)


def sbm(n, seed, classes=4, features=16, p_in=0.05, p_out=0.006, signal=0.35):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    p = np.where(y[:, None] == y[None], p_in, p_out)
    A = np.triu(rng.random((n, n)) < p, 1)
    A = (A | A.T).astype(np.float32)
    mu = np.random.default_rng(5).standard_normal((classes, features))
    X = signal * mu[y] + rng.standard_normal((n, features))
    return torch.tensor(X, dtype=torch.float32), torch.tensor(A), torch.tensor(y)


def norm_adj(A):
    A = A + torch.eye(len(A))
    d = A.sum(1).rsqrt()
    return d[:, None] * A * d[None]


def r2(p, y):
    return (1 - ((p - y) ** 2).mean() / ((y - y.mean()) ** 2).mean()).item()


def acc(logits, y):
    return (logits.argmax(-1) == y).float().mean().item()


def auc(s, y):
    """Area under the ROC curve."""
    o = s.argsort()
    r = torch.empty_like(s)
    r[o] = torch.arange(1, len(s) + 1, dtype=s.dtype)
    p = y.sum()
    q = len(y) - p
    return ((r[y > 0].sum() - p * (p + 1) / 2) / (p * q)).item()
