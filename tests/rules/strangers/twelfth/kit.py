"""Data and small helpers that the trainings share."""

from __future__ import annotations

import copy
import random
import tempfile

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def gen(seed):
    return torch.Generator().manual_seed(seed)


def grammar(seed, n, length, vocab=16, classes=3, noise=0.1, rule=7):
    """Sequences in which a token follows from the last one and from the one before it."""
    table = torch.stack([torch.randperm(vocab, generator=gen(rule + i)) for i in range(classes)], 1)
    g = gen(1000 + seed)
    out = torch.randint(vocab, (n, length), generator=g)
    keep = torch.rand((n, length), generator=g) > noise
    for t in range(2, length):
        follow = table[out[:, t - 1], out[:, t - 2] % classes]
        out[:, t] = torch.where(keep[:, t], follow, out[:, t])
    return out


BOS, SEP, EOS, PAD = 0, 1, 2, 3


def translate(seed, n, length=5, vocab=16, rule=11, prompt=False):
    """BOS x SEP y EOS, where y spells x with another alphabet; ids from 4 on are letters."""
    code = torch.randperm(vocab, generator=gen(rule))
    x = torch.randint(vocab, (n, length), generator=gen(2000 + seed))
    y = code[x]
    one = torch.ones(n, 1, dtype=torch.long)
    ids = torch.cat([one * BOS, x + 4, one * SEP, y + 4, one * EOS], 1)
    labels = ids.clone()
    if prompt:
        labels[:, : length + 2] = -100
    return ids, labels


def padded_count(seed, n, length=16, vocab=24, classes=4):
    """Sequences of differing length; the class is the commonest of the first few letters."""
    g = gen(3000 + seed)
    ids = torch.randint(4, vocab, (n, length), generator=g)
    y = torch.randint(classes, (n,), generator=g)
    size = torch.randint(5, length + 1, (n,), generator=g)
    for c in range(classes):
        plant = (torch.rand((n, length), generator=g) < 0.4) & (y == c)[:, None]
        ids = torch.where(plant, torch.full_like(ids, 4 + c), ids)
    mask = torch.arange(length)[None] < size[:, None]
    ids = torch.where(mask, ids, torch.full_like(ids, PAD))
    return ids, mask.long(), y


def images(seed, n, classes=8, size=16, channels=1, noise=0.7, rule=5, modes=2, flip=0.3):
    """Smooth patterns, two a class, shifted at random, of either contrast, and noisy."""
    g = gen(rule)
    base = torch.randn(classes * modes, channels, size // 4, size // 4, generator=g)
    base = torch.nn.functional.interpolate(base, size=size, mode="bilinear")
    base = base / base.std(dim=(1, 2, 3), keepdim=True)
    g = gen(4000 + seed)
    y = torch.randint(classes, (n,), generator=g)
    which = y * modes + torch.randint(modes, (n,), generator=g)
    shift = torch.randint(-2, 3, (n, 2), generator=g)
    pic = torch.stack([base[c].roll((int(a), int(b)), (1, 2)) for c, (a, b) in zip(which, shift)])
    sign = torch.where(torch.rand(n, generator=g) < flip, -1.0, 1.0)
    pic = pic * sign[:, None, None, None]
    return pic + noise * torch.randn(pic.shape, generator=g), y


def tabular(seed, n, features=12, classes=4, rule=3, noise=0.0):
    """A random two-layer teacher says the class (or, with classes=0, a number)."""
    g = gen(rule)
    w1 = torch.randn(features, 8, generator=g) / features**0.5
    w2 = torch.randn(8, max(classes, 1), generator=g)
    g = gen(5000 + seed)
    x = torch.randn(n, features, generator=g)
    out = torch.tanh(2.0 * x @ w1) @ w2
    if not classes:
        return x, out[:, 0] + noise * torch.randn(n, generator=g)
    return x, out.argmax(1)


def waves(seed, n, length=40, rule=1):
    """Time series: two sines with random phase, a trend and noise."""
    g = gen(6000 + seed)
    t = torch.arange(length).float()
    f = 0.25 + 0.25 * torch.rand(n, 1, generator=g)
    p = 6.28 * torch.rand(n, 2, generator=g)
    slope = 0.02 * torch.randn(n, 1, generator=g)
    x = torch.sin(f * t + p[:, :1]) + 0.5 * torch.sin(0.9 * t + p[:, 1:]) + slope * t
    return x + 0.05 * torch.randn(n, length, generator=g)


def loader(*tensors, batch=32, seed=0, shuffle=True, drop_last=True):
    data = TensorDataset(*tensors)
    return DataLoader(data, batch, shuffle=shuffle, generator=gen(seed), drop_last=drop_last)


def forever(batches):
    while True:
        yield from batches


class Rows(Dataset):
    """A dataset of dicts, as transformers.Trainer wants it."""

    def __init__(self, **columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, i):
        return {name: column[i] for name, column in self.columns.items()}


def majority(y):
    return torch.bincount(y.flatten()).max().item() / y.numel()


def hit(logits, y):
    return (logits.argmax(-1) == y).float().mean().item()


@torch.no_grad()
def next_token_accuracy(model, ids, labels=None, **kw):
    """Share of next tokens that a causal model of transformers gets right."""
    model.eval()
    logits = model(input_ids=ids, **kw).logits[:, :-1].float()
    labels = ids if labels is None else labels
    target = labels[:, 1:]
    keep = target != -100
    return (logits.argmax(-1) == target)[keep].float().mean().item()


def hf_args(seed, steps, batch=32, lr=3e-3, **kw):
    from accelerate.state import AcceleratorState, GradientState
    from transformers import TrainingArguments

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    kw.setdefault("lr_scheduler_type", "linear")
    return TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=batch,
        learning_rate=lr,
        seed=seed,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_steps=20,
        dataloader_pin_memory=False,
        **kw,
    )


def r2(pred, y):
    pred, y = pred.float().flatten(), y.float().flatten()
    return (1 - (pred - y).pow(2).mean() / y.var(unbiased=False)).item()


def pretrained(build):
    """Remember what a base has learnt for the next training that starts from it."""
    known = {}

    def wrapped(seed):
        if seed not in known:
            known[seed] = build(seed)
        seed_all(seed + 1)
        return copy.deepcopy(known[seed])

    return wrapped
