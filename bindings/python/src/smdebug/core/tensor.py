"""A tensor of a trial: the steps at which it was saved, and its values."""

from __future__ import annotations

import math
from contextlib import suppress
from enum import Enum
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Optional,
    Protocol,
    Tuple,
)

from smdebug import _raw
from smdebug._arrays import widened
from smdebug._handles import (
    TensorHandle,
    ValueHandle,
    out,
    out_integers,
    out_strings,
    out_text,
    text,
)
from smdebug.core.modes import ModeKeys
from smdebug.core.placement import Placement
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    ShapeUnavailableForStep,
    TensorUnavailableForStep,
)
from smdebug.notebook.displays import TensorDisplay

if TYPE_CHECKING:
    import numpy as np

__all__ = ["StepState", "Tensor"]


_STATISTICS = ("min", "max", "sum", "mean", "variance", "std", "l1", "l2")


class StepState(Enum):
    """Whether a step is available, will never be, or may still be recorded."""

    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


class OwningTrial(Protocol):
    """The part of a trial that its tensors use."""

    name: str

    def _tensor_handle(self, name: str) -> TensorHandle: ...


class Tensor(TensorDisplay):
    """A tensor by its name; `Trial.tensor` makes it.

    Where a method takes a step and a mode, the step is that mode's own number; without
    a mode, or with None, it is the global number.

    Attributes
    ----------
    name : str
        The name under which it was saved.
    trial : Trial
        The trial it belongs to.
    cache : bool
        Whether values that were read are kept, as read-only arrays.
    """

    def __init__(self, name: str, trial: OwningTrial, cache: bool = False) -> None:
        self.name = name
        # A Trial, whose module imports this one.
        self.trial: Any = trial
        self.cache = cache
        self._handle: TensorHandle = trial._tensor_handle(name)
        self._values: Dict[Tuple[int, ModeKeys, Optional[str]], np.ndarray[Any, Any]] = {}

    @property
    def original_name(self) -> Optional[str]:
        """The name that the framework uses, if the shape was saved; otherwise None."""
        return out_text(_raw.smd_tensor_original_name, self._handle) or None

    def steps(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> List[int]:
        """Returns the steps of a mode at which the tensor was saved.

        Parameters
        ----------
        mode : ModeKeys
            The mode.
        show_incomplete_steps : bool
            Whether steps that some workers have not written are included.
        """
        return out_integers(
            _raw.smd_tensor_steps, self._handle, mode_number(mode), bool(show_incomplete_steps)
        )

    def value(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        *,
        raw: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Returns the tensor at a step, as a writable array that the caller owns.

        bfloat16 and the 8-bit floats come back as float32, which holds all their numbers.

        Parameters
        ----------
        step_num : int
            The step.
        mode : ModeKeys
            The mode that counts it.
        worker : str, optional
            The worker that saved it.  Defaults to the first that did.
        raw : bool
            Whether those types stay as they were saved: as types of the package ml_dtypes, or
            without it as unsigned integers with their bits.

        Raises
        ------
        TensorUnavailableForStep
            If the step exists without this tensor's value.
        StepUnavailable, StepNotYetAvailable
            If the step was not saved, or has not been seen yet.
        InvalidWorker
            If the worker did not save it there.
        """
        if self.cache:
            array = self._cached_value(step_num, mode, worker)
            return array if raw else _kept(widened(array))
        try:
            array = _raw.read_array(self._handle, step_num, mode, worker)
            return array if raw else widened(array)
        except TensorUnavailableForStep as error:
            self._add_reductions(error, step_num, mode, worker)
            raise

    def placement(self, worker: str) -> Optional[Placement]:
        """Returns which part of the tensor a worker holds.  None if it did not record that."""
        found = _raw.read_placement(self._handle, text(worker, "worker"))
        return None if found is None else Placement(*found)

    def full_shape(
        self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> Tuple[int, ...]:
        """Returns the shape of a tensor of which each worker saved its part.

        Raises
        ------
        As `full_value`.
        """
        numbers = (self._handle, step_num, mode_number(mode))
        return tuple(out_integers(_raw.smd_tensor_full_shape, *numbers))

    def full_value(
        self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> np.ndarray[Any, Any]:
        """Returns a tensor of which each worker saved its part, as a whole.

        Those of PyTorch's `fully_shard` and tensor parallelism are, if all workers record.
        Parts that several workers hold must be equal.  Of a tensor without placements, all
        workers must have saved the same value.

        Parameters
        ----------
        step_num, mode
            As in `value`.

        Raises
        ------
        SMDebugRuntimeError
            If a worker's part is missing, or its place in the whole is not known.
        TensorUnavailableForStep
            If no worker has saved it there.
        """
        return widened(_raw.take_array(self._full_value(step_num, mode)))

    def _full_value(self, step_num: int, mode: Optional[ModeKeys]) -> Any:
        return out("value", _raw.smd_tensor_full_value, self._handle, step_num, mode_number(mode))

    def full_reduction(
        self,
        step_num: int,
        reduction_name: str,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        abs: bool = False,
    ) -> Any:
        """Returns a reduction of a tensor of which each worker saved its part.

        It is computed from the elements, if they were saved.  Otherwise it is merged from the
        reductions of the parts, in double precision: min, max, sum, prod, mean, l1 and l2 from
        the same reductions, variance and std from the mean and either of the two.

        Parameters
        ----------
        step_num, reduction_name, mode, abs
            As in `reduction_value`, which returns that of one worker's part.

        Returns
        -------
        numpy scalar

        Raises
        ------
        SMDebugRuntimeError
            If a part is missing, or has not saved what the reduction is merged from.  No median
            can be merged.
        SMDebugValueError, SMDebugTypeError, TensorUnavailableForStep
            As `reduction_value`.
        """
        name = text(reduction_name, "reduction")
        try:
            value = out(
                "value",
                _raw.smd_tensor_full_reduction,
                self._handle,
                step_num,
                mode_number(mode),
                name,
                bool(abs),
            )
        except SMDebugNotImplementedError as error:
            raise SMDebugTypeError(str(error)) from error
        return _as_scalar(_raw.take_array(value))

    def full_statistics(
        self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> Dict[str, Any]:
        """Returns the statistics of a tensor of which each worker saved its part.

        Parameters
        ----------
        step_num, mode
            As in `value`.

        Returns
        -------
        dict
            "count", the number of elements, and those of "min", "max", "sum", "mean",
            "variance", "std", "l1" and "l2" that `full_reduction` can return.

        Raises
        ------
        As `full_value`.
        """
        statistics: Dict[str, Any] = {}
        with suppress(ShapeUnavailableForStep):
            statistics["count"] = math.prod(self.full_shape(step_num, mode))
        reduce = self._full_reducer(step_num, mode)
        failure: Optional[Exception] = None
        for name in _STATISTICS:
            try:
                statistics[name] = reduce(name)
            except (SMDebugRuntimeError, SMDebugValueError, TensorUnavailableForStep) as error:
                failure = error
        if failure is not None and not statistics.keys() - {"count"}:
            raise failure
        return statistics

    def _full_reducer(
        self, step_num: int, mode: Optional[ModeKeys]
    ) -> Callable[[str], Any]:
        """Returns a function that computes reductions from the elements, or else merges them."""
        try:
            whole = ValueHandle(self._full_value(step_num, mode))
        except TensorUnavailableForStep:
            return lambda name: self.full_reduction(step_num, name, mode)

        def reduce(name: str) -> Any:
            found = out("value", _raw.smd_value_reduce, whole, name, False)
            return _as_scalar(_raw.take_array(found))

        return reduce

    def buffer(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> _raw.Value:
        """Returns the tensor at a step as read-only memory, without numpy.

        The result supports the buffer protocol and `__dlpack__`, and has the attributes
        `dtype`, `shape` and `nbytes`.  Other libraries use it without a copy, also in types
        that numpy does not know.

        Raises
        ------
        As `value`.
        """
        return _raw.read_value(self._handle, step_num, mode, worker)

    def values(
        self,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        *,
        first: Optional[int] = None,
        end: Optional[int] = None,
    ) -> Dict[int, np.ndarray[Any, Any]]:
        """Returns the values at all steps of a mode, by step, in one call of the C library.

        Scalars are in the index files, which the trial has read: their event files are not opened.

        Parameters
        ----------
        mode, worker
            As in `value`.
        first, end : int, optional
            The first step, and the step after the last.  Default to all.

        Raises
        ------
        As `value`, for the first step that cannot be read.
        """
        if self.cache:
            return {step: self.value(step, mode, worker) for step in self._range(mode, first, end)}
        try:
            values, is_plain = _raw.read_values(self._handle, first, end, mode, worker)
        except TensorUnavailableForStep as error:
            self._add_reductions(error, error.step, mode, worker)
            raise
        return values if is_plain else {step: widened(value) for step, value in values.items()}

    def _range(
        self, mode: Optional[ModeKeys], first: Optional[int], end: Optional[int]
    ) -> List[int]:
        """Returns the steps of a mode from `first` to before `end`."""
        return [
            step
            for step in self.steps(mode)
            if (first is None or step >= first) and (end is None or step < end)
        ]

    def shape(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> Tuple[int, ...]:
        """Returns the shape at a step: the saved one, or that of the value.

        Raises
        ------
        ShapeUnavailableForStep
            If neither was saved there.
        """
        return tuple(
            out_integers(
                _raw.smd_tensor_shape,
                self._handle,
                step_num,
                mode_number(mode),
                _optional_text(worker),
            )
        )

    def reduction_value(
        self,
        step_num: int,
        reduction_name: str,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        abs: bool = False,
    ) -> Any:
        """Returns a reduction at a step: the saved one, or one computed from the value.

        Parameters
        ----------
        step_num, mode, worker
            As in `value`.
        reduction_name : str
            One of min, max, median, mean, std, variance, sum, prod, l1 and l2.
        abs : bool
            Whether the reduction is that of the absolute values.

        Returns
        -------
        numpy.ndarray or numpy scalar
            An array of one element if it was saved, a scalar if it was computed.

        Raises
        ------
        SMDebugValueError
            If no reduction has that name, or there are no elements to compare.
        SMDebugTypeError
            If the elements are text.
        TensorUnavailableForStep
            If neither the reduction nor the value was saved there.
        """
        try:
            value = _raw.read_reduction(
                self._handle, step_num, mode, worker, reduction_name, abs
            )
        except SMDebugNotImplementedError as error:
            raise SMDebugTypeError(str(error)) from error
        return _as_reduction(value)

    def reductions(
        self,
        reduction_name: str,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
        abs: bool = False,
        *,
        first: Optional[int] = None,
        end: Optional[int] = None,
    ) -> Dict[int, Any]:
        """Returns a reduction at all steps of a mode, by step, in one call of the C library.

        Parameters
        ----------
        reduction_name, abs
            As in `reduction_value`.
        mode, worker, first, end
            As in `values`.

        Returns
        -------
        dict
            What `reduction_value` returns at each step.

        Raises
        ------
        As `reduction_value`, for the first step that cannot be read.
        """
        try:
            found, is_plain = _raw.read_reductions(
                self._handle, first, end, mode, worker, reduction_name, abs
            )
        except SMDebugNotImplementedError as error:
            raise SMDebugTypeError(str(error)) from error
        return found if is_plain else {step: _as_reduction(each) for step, each in found.items()}

    def reduction_values(
        self,
        step_num: int,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        worker: Optional[str] = None,
    ) -> Dict[Tuple[str, bool], np.ndarray[Any, Any]]:
        """Returns the reductions saved at a step, by name and whether of absolute values.

        Raises
        ------
        As `value`.
        """
        found = {}
        for full_name in self._saved_reductions(step_num, mode, worker):
            absolute = full_name.startswith("abs_")
            name = full_name[len("abs_") :] if absolute else full_name
            found[name, absolute] = widened(
                _raw.read_reduction(self._handle, step_num, mode, worker, name, absolute)
            )
        return found

    def workers(self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> List[str]:
        """Returns the workers that saved the tensor at a step.

        Raises
        ------
        TensorUnavailableForStep
            If none did.
        """
        return out_strings(_raw.smd_tensor_workers, self._handle, step_num, mode_number(mode))

    def prev_steps(
        self, step: int, n: Optional[int] = None, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> List[int]:
        """Returns the last steps of a mode up to `step` at which the tensor was saved.

        Parameters
        ----------
        step : int
            A step, saved or not.
        n : int, optional
            The most steps to return; all if None or 0.
        mode : ModeKeys
            The mode.
        """
        return out_integers(_raw.smd_tensor_prev_steps, self._handle, step, mode_number(mode), n or 0)

    def step(self, step_num: int, mode: Any = None, worker: Any = None) -> Any:
        """Not supported: the original removed it.

        Raises
        ------
        SMDebugNotImplementedError
            Always.
        """
        raise SMDebugNotImplementedError("there is no step(): ask for value or reduction_value")

    def _cached_value(
        self, step_num: int, mode: Optional[ModeKeys], worker: Optional[str]
    ) -> np.ndarray[Any, Any]:
        place = (step_num, ModeKeys.GLOBAL if mode is None else mode, worker)
        value = self._values.get(place)
        if value is None:
            value = _raw.read_array(self._handle, step_num, mode, worker)
            value.flags.writeable = False
            self._values[place] = value
        return value

    def _saved_reductions(
        self, step_num: int, mode: Optional[ModeKeys], worker: Optional[str]
    ) -> List[str]:
        return out_strings(
            _raw.smd_tensor_reductions,
            self._handle,
            step_num,
            mode_number(mode),
            _optional_text(worker),
        )

    def _add_reductions(
        self,
        error: TensorUnavailableForStep,
        step_num: int,
        mode: Optional[ModeKeys],
        worker: Optional[str],
    ) -> None:
        """Sets in `error` whether reductions were saved without the value."""
        try:
            error.has_reductions = bool(self._saved_reductions(step_num, mode, worker))
        except TensorUnavailableForStep:
            error.has_reductions = False

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} of trial {self.trial.name!r}>"


def mode_number(mode: Optional[ModeKeys]) -> int:
    """Returns the C library's number of a mode.  None stands for GLOBAL.

    Raises
    ------
    SMDebugValueError
        If it is not a mode.
    """
    if mode is None:
        return ModeKeys.GLOBAL.value
    if not isinstance(mode, ModeKeys):
        raise SMDebugValueError(f"{mode!r} is not a mode; modes are those of smdebug.modes")
    return mode.value


def _as_scalar(array: np.ndarray[Any, Any]) -> Any:
    return widened(array).reshape(())[()]


def _as_reduction(value: Any) -> Any:
    """Returns a reduction as callers get it: a number, unless it has dimensions."""
    value = widened(value)
    return value[()] if value.ndim == 0 else value


def _kept(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array as the cache gives it: read-only."""
    array.flags.writeable = False
    return array


def _optional_text(worker: Optional[str]) -> Optional[str]:
    return None if worker is None else text(worker, "worker")
