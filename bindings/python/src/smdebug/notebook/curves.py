"""The numbers of tensors over the steps, as notebooks show them."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from smdebug.core.modes import ModeKeys
from smdebug.exceptions import (
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
)

__all__ = ["Curve", "curve_of", "is_single", "natural_key", "sampled_curve"]

# A sample reads at most so many elements.
_ELEMENTS = 20_000_000


@dataclass(frozen=True)
class Curve:
    """Numbers of a tensor: `numbers[i]` is that of `steps[i]`.

    `reduction` is "" if the tensor has one element.
    """

    reduction: str
    steps: Tuple[int, ...]
    numbers: Tuple[float, ...]


def natural_key(name: str) -> List[Tuple[int, Union[int, str]]]:
    """Returns a key that sorts fc2 before fc10."""
    return [
        (0, int(part)) if part.isascii() and part.isdigit() else (1, part)
        for part in re.split(r"([0-9]{1,18})", name)
        if part
    ]


def curve_of(
    tensor: Any, mode: Optional[ModeKeys], reduction: Optional[str], worker: Optional[str]
) -> Curve:
    """Reads a tensor at all steps of a mode; omits steps at which there is no number.

    Parameters
    ----------
    tensor : Tensor
        The tensor.
    mode, worker
        As `Tensor.value` takes them.
    reduction : str, optional
        Such as "l2" or "abs_max".  Defaults to the mean, or if it cannot be had, to the
        first reduction that was saved.

    Raises
    ------
    SMDebugTypeError
        If the elements are text.
    SMDebugValueError
        If no reduction has that name.
    """
    steps = tensor.steps(mode, True)
    name = _chosen(tensor, mode, reduction, worker, steps)
    return _labelled(
        tensor, mode, reduction, worker, name, _numbers(tensor, mode, name, worker, steps)
    )


def sampled_curve(tensor: Any, most: int) -> Optional[Curve]:
    """Reads a tensor at up to `most` of its steps; None where that would read too much, or fails."""
    try:
        steps = tensor.steps(show_incomplete_steps=True)
        if not steps:
            return None
        most = min(most, _ELEMENTS // max(1, _size(tensor, steps[-1])))
        if most < 2 < len(steps):
            return None
        chosen = _spread(steps, most)
        name = _chosen(tensor, None, None, None, chosen)
        with suppress(SMDebugError, OSError):  # reading reports it again
            tensor.trial.prefetch([tensor.name], chosen)
        found = {step: _number(tensor, step, None, name, None) for step in chosen}
        return _labelled(tensor, None, None, None, name, found)
    except (SMDebugError, OSError):
        return None


def is_single(tensor: Any, mode: Optional[ModeKeys], worker: Optional[str]) -> bool:
    """Returns whether the tensor has one element at its last step."""
    steps = tensor.steps(mode, True)
    return bool(steps) and _size(tensor, steps[-1], mode, worker, 0) == 1


def _labelled(
    tensor: Any, mode: Optional[ModeKeys], reduction: Optional[str], worker: Optional[str],
    name: str, found: Dict[int, Optional[float]],
) -> Curve:  # fmt: skip
    known = {step: number for step, number in found.items() if number is not None}
    label = "" if reduction is None and is_single(tensor, mode, worker) else name
    return Curve(label, tuple(known), tuple(known.values()))


def _spread(steps: Sequence[int], most: int) -> List[int]:
    """Returns at most so many steps, with the first and the last one."""
    if len(steps) <= most:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (most - 1))] for i in range(most)]


def _size(
    tensor: Any,
    step: int,
    mode: Optional[ModeKeys] = None,
    worker: Optional[str] = None,
    unknown: int = 1,
) -> int:
    try:
        return math.prod(tensor.shape(step, mode, worker))
    except (ShapeUnavailableForStep, TensorUnavailableForStep, InvalidWorker):
        return unknown


def _chosen(
    tensor: Any, mode: Optional[ModeKeys], reduction: Optional[str], worker: Optional[str],
    steps: Sequence[int],
) -> str:  # fmt: skip
    """Returns the reduction to read: that of the caller, the mean, or a saved one."""
    for step in steps[:1]:
        if reduction is not None:
            with suppress(TensorUnavailableForStep, InvalidWorker):
                _number_of(tensor, step, mode, reduction, worker)
            break
        with suppress(TensorUnavailableForStep, InvalidWorker, SMDebugValueError):
            try:
                tensor.reduction_value(step, "mean", mode, worker)
            except TensorUnavailableForStep:
                for name, is_absolute in tensor.reduction_values(step, mode, worker):
                    return f"abs_{name}" if is_absolute else str(name)
    return reduction or "mean"


def _numbers(
    tensor: Any, mode: Optional[ModeKeys], name: str, worker: Optional[str], steps: Sequence[int]
) -> Dict[int, Optional[float]]:
    try:  # in one call of the C library
        plain, is_absolute = name.removeprefix("abs_"), name.startswith("abs_")
        found = tensor.reductions(plain, mode, worker, is_absolute)
        return {step: _as_float(value) for step, value in found.items()}
    except (SMDebugTypeError, OSError):
        raise
    except SMDebugError:  # some step has none
        return {step: _number(tensor, step, mode, name, worker) for step in steps}


def _number(
    tensor: Any, step: int, mode: Optional[ModeKeys], name: str, worker: Optional[str]
) -> Optional[float]:
    try:
        return _number_of(tensor, step, mode, name, worker)
    except (TensorUnavailableForStep, InvalidWorker):
        return None
    except SMDebugValueError:  # a value without elements; `_chosen` has checked the name
        return None


def _number_of(
    tensor: Any, step: int, mode: Optional[ModeKeys], name: str, worker: Optional[str]
) -> float:
    plain, is_absolute = name.removeprefix("abs_"), name.startswith("abs_")
    return _as_float(tensor.reduction_value(step, plain, mode, worker, is_absolute))


def _as_float(value: Any) -> float:
    """Returns the number of a scalar or an array of one element; the size of a complex one."""
    item = value.item()
    return abs(item) if isinstance(item, complex) else float(item)
