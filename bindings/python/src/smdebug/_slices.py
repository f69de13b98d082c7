"""Divides scans among the tasks of an engine."""

from __future__ import annotations

from typing import List, Sequence, TypeVar

__all__ = ["slices"]

T = TypeVar("T")


def slices(items: Sequence[T], most: int) -> List[Sequence[T]]:
    """Divides a sequence into at most `most` slices of nearly equal length, none of them empty."""
    count = min(len(items), max(1, most))
    bounds = [len(items) * i // count for i in range(count + 1)] if count else []
    return [items[first:end] for first, end in zip(bounds, bounds[1:])]
