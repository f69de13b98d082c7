"""Made-up data with something to learn in it, as NumPy arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray]


def bundled(name: str) -> Arrays:
    """One of the data sets that scikit-learn brings: digits, wine, diabetes, breast_cancer."""
    with np.load(Path(__file__).with_name("tables.npz")) as tables:
        return tables[f"{name}_x"], tables[f"{name}_y"]


def shapes(
    count: int, size: int, seed: int, channels: int = 1, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, C, H, W) of stripes, bars, discs and crosses, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, count)
    row, column = np.mgrid[0:size, 0:size]
    images = np.empty((count, size, size))
    for i, label in enumerate(labels):
        phase, a, b = rng.integers(0, 4), *rng.integers(3, size - 3, 2)
        images[i] = [
            (row + phase) % 4 < 2,
            (column + phase) % 4 < 2,
            (row - a) ** 2 + (column - b) ** 2 < 8,
            (abs(row - a) < 1) | (abs(column - b) < 1),
        ][label]
    x = images[:, None] + noise * rng.normal(size=(count, channels, size, size))
    return x.astype(np.float32), labels.astype(np.int64)


def masks(count: int, size: int, seed: int) -> Arrays:
    """Noisy images (N, 1, H, W) of one ellipse off the diagonal, and its mask."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[0:size, 0:size]
    a = rng.uniform(2, size - 3, (count, 1, 1))
    b = rng.uniform(2, size - 3, (count, 1, 1))
    width = rng.uniform(1.5, 4, (count, 1, 1))
    height = rng.uniform(1.5, 4, (count, 1, 1))
    mask = ((row - a) / height) ** 2 + ((column - b) / width) ** 2 < 1
    x = mask + 0.5 * rng.normal(size=mask.shape)
    return x[:, None].astype(np.float32), mask[:, None].astype(np.float32)


def digits(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scikit-learn's digits (N, 1, 8, 8) in [0, 1], split into train and test."""
    x, y = bundled("digits")
    order = np.random.default_rng(seed).permutation(len(x))
    x = (x[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    y = y[order].astype(np.int64)
    return x[:1300], y[:1300], x[1300:], y[1300:]


def table(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A table that scikit-learn bundles, not scaled, split into train and test."""
    x, y = bundled(name)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order], y[order] if name == "diabetes" else y[order].astype(np.int64)
    cut = int(0.75 * len(x))
    return x[:cut], y[:cut], x[cut:], y[cut:]


def regression(count: int, features: int, seed: int, noise: float = 0.1) -> Arrays:
    """Features and a smooth nonlinear target of about unit variance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, features))
    w = np.random.default_rng(99).normal(size=(features, 3)) / np.sqrt(features)
    h = x @ w
    y = np.sin(2 * h[:, 0]) + h[:, 1] * h[:, 2] + 0.5 * h[:, 1]
    y = y / y.std() + noise * rng.normal(size=count)
    return x.astype(np.float32), y.astype(np.float32)


def classes(count: int, features: int, kinds: int, seed: int) -> Arrays:
    """Features and classes, each class being two clusters."""
    rng = np.random.default_rng(seed)
    centres = 1.6 * np.random.default_rng(7).normal(size=(kinds, 2, features))
    y = rng.integers(0, kinds, count)
    x = centres[y, rng.integers(0, 2, count)] + rng.normal(size=(count, features))
    return x.astype(np.float32), y.astype(np.int64)


def markov(count: int, length: int, vocabulary: int, seed: int, branches: int = 3) -> np.ndarray:
    """Token sequences in which each token has few successors."""
    fixed = np.random.default_rng(3)
    successors = fixed.integers(1, vocabulary, (vocabulary, branches))
    rng = np.random.default_rng(seed)
    tokens = np.empty((count, length), np.int64)
    tokens[:, 0] = rng.integers(1, vocabulary, count)
    for i in range(1, length):
        pick = np.minimum(rng.geometric(0.6, count) - 1, branches - 1)
        tokens[:, i] = successors[tokens[:, i - 1], pick]
    return tokens


def reviews(count: int, length: int, vocabulary: int, seed: int) -> Arrays:
    """Token sequences padded by 0, and whether good words outnumber bad ones."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, vocabulary, (count, length))
    y = rng.integers(0, 2, count)
    special = rng.random((count, length)) < 0.25
    good = rng.random((count, length)) < np.where(y == 1, 0.8, 0.2)[:, None]
    tokens = np.where(special, np.where(good, 1, 5) + tokens % 4, 9 + tokens % (vocabulary - 9))
    lengths = rng.integers(length // 4, length + 1, count)
    tokens[np.arange(length) >= lengths[:, None]] = 0
    return tokens.astype(np.int64), y.astype(np.int64)


def waves(count: int, length: int, seed: int, noise: float = 0.1) -> np.ndarray:
    """Series (N, T) that are sums of two sines."""
    rng = np.random.default_rng(seed)
    time = np.arange(length)
    slow, fast = rng.uniform(0.1, 0.3, (count, 1)), rng.uniform(0.4, 0.9, (count, 1))
    phase = rng.uniform(0, 6.3, (2, count, 1))
    x = np.sin(slow * time + phase[0]) + 0.5 * np.sin(fast * time + phase[1])
    return (x + noise * rng.normal(size=x.shape)).astype(np.float32)
