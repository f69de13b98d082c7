"""Data made up in code, and small models, shared by the trainings."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEGMENTS = [
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
]


def loader(*tensors, batch_size=64, shuffle=True, drop_last=False):
    return DataLoader(
        TensorDataset(*tensors), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last
    )


def _glyph(digit):
    image = np.zeros((11, 7), np.float32)
    top, left, right, middle, lower_left, lower_right, bottom = (c == "1" for c in SEGMENTS[digit])
    if top:
        image[0:2, 1:6] = 1
    if left:
        image[1:6, 0:2] = 1
    if right:
        image[1:6, 5:7] = 1
    if middle:
        image[5:6, 1:6] = 1
    if lower_left:
        image[5:10, 0:2] = 1
    if lower_right:
        image[5:10, 5:7] = 1
    if bottom:
        image[9:11, 1:6] = 1
    return image


def digits(n, seed, noise=0.15, classes=10):
    """Grey images 1x16x16 in [0, 1] of digits, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = np.zeros((n, 16, 16), np.float32)
    for i, digit in enumerate(y):
        a, b = rng.integers(1, 5), rng.integers(2, 8)
        x[i, a : a + 11, b : b + 7] = _glyph(digit) * rng.uniform(0.6, 1.0)
    x = np.clip(x + noise * rng.standard_normal(x.shape), 0, 1).astype(np.float32)
    return torch.from_numpy(x[:, None]), torch.from_numpy(y)


def shapes(n, seed, size=20, small=False):
    """RGB images of one shape, with class (3), box centre and size in [0, 1], and mask."""
    rng = np.random.default_rng(seed)
    grid = np.mgrid[0:size, 0:size].astype(np.float32)
    x = np.zeros((n, 3, size, size), np.float32)
    masks = np.zeros((n, 1, size, size), np.float32)
    y = rng.integers(0, 3, n)
    boxes = np.zeros((n, 3), np.float32)
    for i in range(n):
        r = rng.uniform(1.5, 2.2) if small else rng.uniform(3, 5)
        cy, cx = rng.uniform(r, size - r, 2)
        dy, dx = grid[0] - cy, grid[1] - cx
        m = [
            dy**2 + dx**2 < r * r,
            (abs(dy) < r * 0.8) & (abs(dx) < r * 0.8),
            (abs(dy) < r * 0.35) | (abs(dx) < r * 0.35),
        ][y[i]]
        m = m & (abs(dy) < r) & (abs(dx) < r)
        x[i] = rng.uniform(0, 0.4, (3, 1, 1)) + m * rng.uniform(0.3, 0.6, (3, 1, 1))
        masks[i, 0] = m
        boxes[i] = cx / size, cy / size, 2 * r / size
    x = np.clip(x + 0.08 * rng.standard_normal(x.shape), 0, 1).astype(np.float32)
    return (
        torch.from_numpy(x),
        torch.from_numpy(y),
        torch.from_numpy(boxes),
        torch.from_numpy(masks),
    )


def table(n, seed, d=20, classes=4, task=7):
    """A table of numbers, with classes of a hidden smooth rule."""
    rule = np.random.default_rng(task)
    rng = np.random.default_rng(seed + 1000)
    a, b = rule.standard_normal((d, 12)) / np.sqrt(d) * 1.5, rule.standard_normal((12, classes))
    x = rng.standard_normal((n, d)).astype(np.float32)
    logits = np.tanh(x @ a) @ b
    logits -= logits.mean(0)
    y = (logits + 0.2 * rng.standard_normal(logits.shape)).argmax(1)
    return torch.from_numpy(x), torch.from_numpy(y)


def numbers(n, seed, d=12, task=3):
    """A table with a smooth number to predict, about standardised, shape [n]."""
    rule = np.random.default_rng(task)
    rng = np.random.default_rng(seed + 2000)
    a, b = rule.standard_normal((d, 10)) / np.sqrt(d) * 1.6, rule.standard_normal(10)
    x = rng.standard_normal((n, d)).astype(np.float32)
    y = np.tanh(x @ a) @ b / 1.8 + 0.1 * rng.standard_normal(n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))


def texts(n, seed, vocab=300, longest=30, shortest=6):
    """Padded (0) token sentences with a mood: ids [n, longest], lengths, labels 0 or 1."""
    rng = np.random.default_rng(seed)
    ids = np.zeros((n, longest), np.int64)
    lengths = rng.integers(shortest, longest + 1, n)
    y = rng.integers(0, 2, n)
    for i in range(n):
        words = rng.integers(60, vocab, lengths[i])
        told = rng.integers(2, 2 + max(2, lengths[i] // 4))
        where = rng.permutation(lengths[i])[:told]
        words[where] = 2 + 29 * y[i] + rng.integers(0, 29, len(where))
        if rng.random() < 0.3 and lengths[i] > told:
            words[rng.permutation(lengths[i])[0]] = 2 + 29 * (1 - y[i]) + rng.integers(0, 29)
        ids[i, : lengths[i]] = words
    return torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(y)


def waves(n, seed, length=40, classes=3, channels=3):
    """Series [n, length, channels] and their class: the kind of oscillation."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    t = np.arange(length)
    x = np.zeros((n, length, channels), np.float32)
    for i in range(n):
        f = 0.25 + 0.2 * y[i] + rng.uniform(-0.04, 0.04)
        for c in range(channels):
            x[i, :, c] = np.sin(f * t + rng.uniform(0, 6.3)) * rng.uniform(0.7, 1.3)
    x += 0.4 * rng.standard_normal(x.shape)
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)


def forecasts(n, seed, window=24):
    """Windows [n, window, 1] of a noisy seasonal series, and the next value [n, 1]."""
    rng = np.random.default_rng(seed)
    t = np.arange(window + 1)
    p, q = rng.uniform(0, 6.3, (n, 1)), rng.uniform(0, 6.3, (n, 1))
    s = np.sin(2 * np.pi * t / 12 + p) * rng.uniform(0.5, 1.5, (n, 1)) + 0.5 * np.sin(
        2 * np.pi * t / 7 + q
    )
    s = (s + 0.1 * rng.standard_normal(s.shape)).astype(np.float32)
    return torch.from_numpy(s[:, :-1, None]), torch.from_numpy(s[:, -1:])


def graph(seed, n=240, classes=4, d=30):
    """A graph: features, adjacency (0/1, no self loops), labels, train mask."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    same = y[:, None] == y[None]
    a = rng.random((n, n)) < np.where(same, 0.08, 0.008)
    a = np.triu(a, 1)
    a = (a | a.T).astype(np.float32)
    centres = rng.standard_normal((classes, d)) * 0.35
    x = (centres[y] + rng.standard_normal((n, d))).astype(np.float32)
    return (
        torch.from_numpy(x),
        torch.from_numpy(a),
        torch.from_numpy(y),
        torch.from_numpy(rng.random(n) < 0.3),
    )


def ratings(seed, users=150, items=100, n=6000):
    rng = np.random.default_rng(seed)
    u, v = rng.standard_normal((users, 3)), rng.standard_normal((items, 3))
    a, b = rng.integers(0, users, n), rng.integers(0, items, n)
    r = (
        3.3
        + 0.75 * (u[a] * v[b]).sum(1) / 1.7
        + 0.4 * rng.standard_normal(items)[b]
        + 0.2 * rng.standard_normal(n)
    )
    return (
        torch.from_numpy(a),
        torch.from_numpy(b),
        torch.from_numpy(np.clip(r, 1, 5).astype(np.float32)),
    )


def mlp(*sizes, activation=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


class CNN(nn.Module):
    def __init__(self, channels=1, classes=10, size=16, width=8, norm=False):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width) if norm else nn.Identity()
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width) if norm else nn.Identity()
        self.fc1 = nn.Linear(2 * width * (size // 4) ** 2, 48)
        self.fc2 = nn.Linear(48, classes)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = torch.max_pool2d(torch.relu(self.bn2(self.conv2(x))), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def double(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1),
        nn.BatchNorm2d(b),
        nn.ReLU(),
        nn.Conv2d(b, b, 3, padding=1),
        nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self, channels=3, classes=1, width=8):
        super().__init__()
        self.down1, self.down2 = double(channels, width), double(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = double(2 * width, width)
        self.out = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(torch.max_pool2d(a, 2))
        return self.out(self.last(torch.cat([a, self.up(b)], 1)))


@torch.no_grad()
def accuracy(model, x, y):
    was = model.training
    model.eval()
    out = model(x).argmax(-1)
    model.train(was)
    return (out == y).float().mean().item()


@torch.no_grad()
def r2(model, x, y):
    was = model.training
    model.eval()
    out = model(x).reshape(y.shape)
    model.train(was)
    value = 1 - ((out - y) ** 2).mean() / y.var()
    return max(-1.0, value.item()) if torch.isfinite(value) else -1.0


def dice(logits, masks):
    p = (logits > 0).float()
    return ((2 * (p * masks).sum() + 1) / (p.sum() + masks.sum() + 1)).item()
