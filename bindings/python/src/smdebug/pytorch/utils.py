"""Properties of the installed PyTorch, and reductions of its tensors."""

from __future__ import annotations

from typing import Any

from smdebug.core.frameworks import FRAMEWORK, numbers_of, version_of
from smdebug.core.reductions import get_numpy_reduction
from smdebug.core.utils import make_numpy_array

__all__ = [
    "get_reduction_of_data",
    "is_current_version_supported",
    "is_pt_1_5",
    "is_pt_1_6",
    "is_pt_1_7",
    "is_pt_1_8",
    "is_pt_1_9",
]


def get_reduction_of_data(
    reduction_name: str, tensor_data: Any, tensor_name: str, abs: bool = False
) -> Any:
    """Returns a reduction of a tensor or an array, as a number of NumPy.

    Parameters
    ----------
    reduction_name : str
        The reduction, as "mean" or "l2".
    tensor_data
        The elements.
    tensor_name : str
        Ignored.
    abs : bool
        Whether the reduction is that of the absolute values.
    """
    detach = getattr(tensor_data, "detach", None)
    data = tensor_data if detach is None else detach().cpu()
    return get_numpy_reduction(reduction_name, make_numpy_array(data), abs)


def is_current_version_supported(pytorch_version: str = "") -> bool:
    """Returns whether trainings with a version of PyTorch can be recorded.

    Parameters
    ----------
    pytorch_version : str
        The version.  By default the installed one.
    """
    numbers = numbers_of(pytorch_version) or version_of(FRAMEWORK.PYTORCH)
    return numbers is None or numbers >= (1, 5)


def is_pt_1_5() -> bool:
    """Returns whether PyTorch 1.5 is installed."""
    return _is_release(5)


def is_pt_1_6() -> bool:
    """Returns whether PyTorch 1.6 is installed."""
    return _is_release(6)


def is_pt_1_7() -> bool:
    """Returns whether PyTorch 1.7 is installed."""
    return _is_release(7)


def is_pt_1_8() -> bool:
    """Returns whether PyTorch 1.8 is installed."""
    return _is_release(8)


def is_pt_1_9() -> bool:
    """Returns whether PyTorch 1.9 is installed."""
    return _is_release(9)


def _is_release(minor: int) -> bool:
    version = version_of(FRAMEWORK.PYTORCH)
    return version is not None and version[:2] == (1, minor)
