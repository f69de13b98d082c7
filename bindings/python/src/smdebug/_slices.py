"""Divides scans among the tasks of an engine."""

from __future__ import annotations

from typing import List, Sequence, TypeVar

__all__ = ["default_tasks", "slices"]

_SMALL_PARTS = 8
_LIGHT_PARTS = 32

T = TypeVar("T")


def default_tasks(table: str, parts: int) -> int:
    """Returns how many tasks read so many parts of a table.

    Engines take 20 ms to 200 ms to start a task, and most tables have few rows in a part.  Rules
    take longer than rows of scalars.
    """
    if table == "tensors":
        return parts
    few = -(-parts // _SMALL_PARTS)
    return few if table == "findings" else min(few, max(_SMALL_PARTS, -(-parts // _LIGHT_PARTS)))


def slices(items: Sequence[T], most: int) -> List[Sequence[T]]:
    """Divides a sequence into at most `most` slices of nearly equal length, none of them empty."""
    count = min(len(items), max(1, most))
    bounds = [len(items) * i // count for i in range(count + 1)] if count else []
    return [items[first:end] for first, end in zip(bounds, bounds[1:])]
