"""Pictures of shapes."""

import numpy as np


def shapes(n, seed, size=16, noise=0.25, classes=6):
    """Pictures (0 to 255, uint8, 3 channels) of six shapes in random places, sizes and colours; and their masks."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size]
    imgs = np.empty((n, size, size, 3), np.float32)
    masks = np.empty((n, size, size), bool)
    labels = rng.integers(0, classes, n)
    for k in range(n):
        r = rng.uniform(3, 5.5)
        cx, cy = rng.uniform(r, size - r, 2)
        dx, dy = xx - cx, yy - cy
        m = [
            lambda: dx**2 + dy**2 < r * r,
            lambda: (abs(dx) < r * 0.85) & (abs(dy) < r * 0.85),
            lambda: (dy > -r * 0.8) & (dy < r * 0.8) & (abs(dx) < (dy + r * 0.8) * 0.6),
            lambda: (abs(dx) < r * 0.35) & (abs(dy) < r) | (abs(dy) < r * 0.35) & (abs(dx) < r),
            lambda: (dx**2 + dy**2 < r * r) & (dx**2 + dy**2 > (r * 0.55) ** 2),
            lambda: abs(dx) + abs(dy) < r,
        ][labels[k]]()
        bg, fg = rng.uniform(0, 0.5, 3), rng.uniform(0.5, 1, 3)
        imgs[k] = np.where(m[..., None], fg, bg)
        masks[k] = m
    imgs += noise * 0.3 * rng.normal(size=imgs.shape)
    return (imgs.clip(0, 1) * 255).astype(np.uint8), labels, masks
