"""Which elements of a tensor rules get as a sample."""

from __future__ import annotations

import functools
from typing import List

__all__ = ["RUN", "sampled_runs"]

# The length of a run of the sample, in elements.
RUN = 16

# Rules get all elements of smaller tensors, and about this many of larger ones.
_WHOLE = 4096
_SOME = 256
_GOLDEN_RATIO = 0x9E3779B97F4A7C15
_LOW_BITS = (1 << 64) - 1


@functools.lru_cache(maxsize=4096)
def sampled_runs(count: int) -> List[int]:
    """Returns where the runs of the sample begin, in row-major order.

    They are the elements that the library itself takes of a tensor in host memory.  The last run
    of a small tensor may be shorter.

    Parameters
    ----------
    count : int
        The number of elements of the tensor.
    """
    if count <= _WHOLE:
        return list(range(0, count, RUN))
    runs = _SOME // RUN
    width, rest = divmod(count // RUN, runs)
    begins, owed, line = [], 0, 0
    for number in range(runs):
        owed += rest
        lines = width
        if owed >= runs:
            owed -= runs
            lines += 1
        part = (number * _GOLDEN_RATIO & _LOW_BITS) >> 32
        begins.append((line + (part * lines >> 32)) * RUN)
        line += lines
    return begins
