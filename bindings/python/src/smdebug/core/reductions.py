"""Computes reductions, and maps their names to those in files."""

from __future__ import annotations

import re
from typing import Any, Tuple

from smdebug.core.reduction_config import ALLOWED_NORMS, ALLOWED_REDUCTIONS
from smdebug.exceptions import SMDebugValueError

__all__ = [
    "REDUCTIONS_PREFIX",
    "get_basic_numpy_reduction",
    "get_numpy_reduction",
    "get_reduction_tensor_name",
    "reverse_reduction_tensor_name",
]

REDUCTIONS_PREFIX = "smdebug/reductions/"


def get_numpy_reduction(reduction_name: str, numpy_data: Any, abs: bool = False) -> Any:
    """Returns a reduction over all elements, or over their absolute values if `abs`.

    Norms are entry-wise.  Deviations divide by the number of elements.  The result is a
    numpy scalar of the type that numpy's own reduction has.

    Raises
    ------
    SMDebugValueError
        If no reduction has that name.
    """
    import numpy as np

    if reduction_name not in ALLOWED_REDUCTIONS and reduction_name not in ALLOWED_NORMS:
        raise SMDebugValueError(f"there is no reduction {reduction_name!r}")
    data = np.absolute(numpy_data) if abs else np.asarray(numpy_data)
    if reduction_name in ALLOWED_NORMS:
        return np.linalg.norm(data.ravel(), ord=int(reduction_name[1]))
    function = {"variance": "var", "min": "amin", "max": "amax"}.get(reduction_name, reduction_name)
    return getattr(np, function)(data)


def get_basic_numpy_reduction(reduction_name: str, numpy_data: Any) -> Any:
    """Returns a reduction over all elements."""
    return get_numpy_reduction(reduction_name, numpy_data)


def get_reduction_tensor_name(
    tensorname: str, reduction_name: str, abs: bool, remove_colon_index: bool = True
) -> str:
    """Returns the name under which a tensor's reduction is saved."""
    name = f"{reduction_name}/{tensorname}"
    if remove_colon_index:
        name = re.sub(r":\d+", "", name)
    return f"{REDUCTIONS_PREFIX}{'abs_' if abs else ''}{name}"


def reverse_reduction_tensor_name(reduction_tensor_name: str) -> Tuple[str, str, bool]:
    """Returns the tensor, the reduction and whether it is of absolute values, for a saved name."""
    reduction, _, tensor = reduction_tensor_name.partition(REDUCTIONS_PREFIX)[2].partition("/")
    absolute = reduction.startswith("abs_")
    return tensor, reduction[len("abs_") :] if absolute else reduction, absolute
