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

__all__ = ["Curve", "Samples", "curve_of", "is_single", "natural_key"]

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
    """Returns a key that sorts fc2 before fc10, and 0.25 before 0.3."""
    key: List[Tuple[int, Union[int, str]]] = []
    zero = False  # whether the digits before were zeros: those after "0." are of a fraction
    for part in re.split(r"([0-9]{1,18})", name):
        if not (part.isascii() and part.isdigit()):
            key.append((1, part))
        elif zero and key[-1] == (1, "."):
            key.append((1, part))
            zero = False
            continue
        else:
            key.append((0, int(part)))
            zero = int(part) == 0
    return [(kind, part) for kind, part in key if part != ""]


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


@dataclass
class _Sample:
    """What was read of a tensor."""

    size: int
    reduction: str
    is_single: bool
    numbers: Dict[int, Optional[float]]


class Samples:
    """Samples of tensors.  A later sample reads only the steps that an earlier one has not.

    A picture that is drawn again and again, such as that of `smdebug.watch`, keeps one of these: in
    a bucket, each number is a request.
    """

    def __init__(self) -> None:
        self._known: Dict[str, _Sample] = {}

    def curve(self, tensor: Any, most: int) -> Optional[Curve]:
        """Returns up to `most` steps of a tensor; None if that would read too much, or fails."""
        try:
            steps = tensor.steps(show_incomplete_steps=True)
            if not steps:
                return None
            sample = self._known.get(tensor.name)
            if sample is None:
                sample = self._known[tensor.name] = _first_sample(tensor, steps)
            chosen = _spread(steps, min(most, _ELEMENTS // max(1, sample.size)))
            _read(tensor, sample, chosen)
        except (SMDebugError, OSError):
            return None
        found = {step: sample.numbers[step] for step in chosen}
        known = {step: number for step, number in found.items() if number is not None}
        label = "" if sample.is_single else sample.reduction
        return Curve(label, tuple(known), tuple(known.values())) if known else None


def _first_sample(tensor: Any, steps: Sequence[int]) -> _Sample:
    size = _size(tensor, steps[-1], None, None, 0)
    if size > _ELEMENTS:
        return _Sample(size, "mean", False, {})
    name = _chosen(tensor, None, None, None, steps)
    return _Sample(size, name, size == 1, {})


def _read(tensor: Any, sample: _Sample, steps: Sequence[int]) -> None:
    """Reads the steps that the sample lacks."""
    new = [step for step in steps if step not in sample.numbers]
    if not new:
        return
    with suppress(SMDebugError, OSError):  # reading reports it again
        tensor.trial.prefetch([tensor.name], new)
    for step in new:
        sample.numbers[step] = _number(tensor, step, None, sample.reduction, None)


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
    """Returns at most so many steps, with the first and the last one; none if `most` is below 2.

    As steps are added, those chosen before are chosen again, or half of them.
    """
    if most < 2:
        return []
    stride = 1
    while (len(steps) - 1) // stride + 2 > most and len(steps) > most:
        stride *= 2
    chosen = list(steps[::stride])
    return chosen if chosen[-1] == steps[-1] else [*chosen, steps[-1]]


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
