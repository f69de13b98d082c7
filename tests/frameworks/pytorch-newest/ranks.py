"""Processes that train together.  They are forked, so that PyTorch is imported once for all."""

from __future__ import annotations

import multiprocessing
from typing import Any, Callable

__all__ = ["run_ranks"]


def run_ranks(count: int, target: Callable[..., None], *arguments: Any) -> None:
    """Calls target(*arguments, rank) in a process for each rank.  This process must not have trained."""
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=target, args=(*arguments, rank)) for rank in range(count)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join(100)
        assert each.exitcode == 0, f"{target.__name__}{arguments}: a process failed"
