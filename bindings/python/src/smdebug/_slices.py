"""Divides scans among the tasks of an engine."""

from __future__ import annotations

from typing import List, Sequence, TypeVar

from smdebug.tables.scan import Scan

__all__ = ["default_tasks", "slices"]

# The least parts of a task, and the number in each of many tasks, by the place of the trials.
_OF_BUCKET = (8, 32)
_OF_FOLDER = (32, 128)
_OF_RULES = 8
_MANY_TASKS = 8

T = TypeVar("T")


def default_tasks(parts: Sequence[Scan]) -> int:
    """Returns how many tasks read these parts of one scan.

    Engines take 20 ms to 200 ms to start a task, and most tables have few rows in a part, which a
    file system returns in 0.2 ms and a bucket in 100 ms.  Rules take longer than rows of scalars.
    """
    if not parts or parts[0].table == "tensors":
        return len(parts)
    if parts[0].table == "findings":
        return -(-len(parts) // _OF_RULES)
    is_remote = any(value.startswith("s3://") for name, value in parts[0].options if name == "path")
    least, usual = _OF_BUCKET if is_remote else _OF_FOLDER
    return min(-(-len(parts) // least), max(_MANY_TASKS, -(-len(parts) // usual)))


def slices(items: Sequence[T], most: int) -> List[Sequence[T]]:
    """Divides a sequence into at most `most` slices of nearly equal length, none of them empty."""
    count = min(len(items), max(1, most))
    bounds = [len(items) * i // count for i in range(count + 1)] if count else []
    return [items[first:end] for first, end in zip(bounds, bounds[1:])]
