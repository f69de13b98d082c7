"""Statistics of a tensor that the caller computed, as the C library takes them."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

from smdebug._arrays import dtype_number, view_of
from smdebug._handles import HookHandle
from smdebug.exceptions import SMDebugValueError

__all__ = ["FIGURES", "given_arguments"]

# In the order of their bits in the C library.
FIGURES = (
    "min",
    "max",
    "median",
    "mean",
    "variance",
    "sum",
    "prod",
    "l1",
    "l2",
    "abs_min",
    "abs_max",
    "abs_median",
    "abs_mean",
    "abs_variance",
)
_COUNTS = ("nan_count", "inf_count", "zero_count")


def given_arguments(
    hook: HookHandle,
    name: str,
    shape: Sequence[int],
    dtype: object,
    statistics: Mapping[str, float],
    sample: Any,
) -> Tuple[Any, ...]:
    """Returns the arguments of `_raw.save_statistics`; see `Hook.save_statistics`."""
    unknown = sorted(set(statistics) - {*FIGURES, *_COUNTS})
    if unknown:
        raise SMDebugValueError(f"there is no statistic {unknown[0]!r}")
    if 0 < sum(each in statistics for each in _COUNTS) < len(_COUNTS):
        raise SMDebugValueError(f"give all of {', '.join(_COUNTS)}, or none")
    known = (*FIGURES, _COUNTS[0])
    return (
        hook,
        name,
        tuple(shape),
        dtype_number(dtype),
        sum(1 << i for i, each in enumerate(known) if each in statistics),
        tuple(float(statistics.get(each, 0)) for each in FIGURES),
        tuple(int(statistics.get(each, 0)) for each in _COUNTS),
        None if sample is None else view_of(sample),
    )
