"""Made-up texts."""

import numpy as np
import torch

VOCAB = 40


def grammar(seed, n, length=24):
    """Sentences from a sparse second order Markov chain, tokens 3.. ; 0 pad, 1 begin, 2 end."""
    rng = np.random.default_rng(77 + seed)
    succ = rng.integers(3, VOCAB, (VOCAB, 3))
    out = np.zeros((n, length), np.int64)
    out[:, 0] = 1
    for r in range(n):
        a, b = 1, int(rng.integers(3, VOCAB))
        stop = rng.integers(length // 2, length)
        out[r, 1] = b
        for t in range(2, stop):
            c = succ[b, [0, 0, 0, 0, 1, 1, 2][(a + int(rng.integers(0, 3))) % 7]]
            out[r, t] = c
            a, b = b, int(c)
        out[r, stop] = 2
    return torch.tensor(out)


def reviews(seed, n):
    """Word 1 negates the next word; words 2..60 good, 61..120 bad, others neutral."""
    rng = np.random.default_rng(seed + 5)
    x, y = np.zeros((n, 30), np.int64), np.zeros(n, np.float32)
    for r in range(n):
        m = rng.integers(12, 30)
        w = rng.integers(121, 200, m)
        lean = rng.random() < 0.5
        s = 0
        for p in rng.choice(m - 1, 5, replace=False) + 1:
            good = rng.random() < (0.8 if lean else 0.2)
            neg = rng.random() < 0.3
            w[p] = rng.integers(2, 61) if good != neg else rng.integers(61, 121)
            if neg:
                w[p - 1] = 1
        for p in range(m):
            v = 1 if 2 <= w[p] <= 60 else -1 if 61 <= w[p] <= 120 else 0
            s += -v if p and w[p - 1] == 1 else v
        x[r, :m], y[r] = w, s > 0 if s else lean
    return torch.tensor(x), torch.tensor(y)
