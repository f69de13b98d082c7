"""Intervals in which a measured share lies."""

from __future__ import annotations

import math
from typing import Tuple

__all__ = ["wilson"]


def wilson(right: int, of: int) -> Tuple[float, float]:
    """Returns the interval in which a share lies with 95 % confidence."""
    if of == 0:
        return 0.0, 1.0
    z, p = 1.96, right / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return max(0.0, middle - half), min(1.0, middle + half)
