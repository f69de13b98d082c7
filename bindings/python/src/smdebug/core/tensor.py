"""A tensor of a trial: the steps at which it was saved, and its values."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Protocol, Tuple

from smdebug import _raw
from smdebug._arrays import widened
from smdebug._handles import TensorHandle, out_integers, out_strings, out_text, text
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = ["StepState", "Tensor"]


# How many values are read in one request.
_PREFETCHED = 32


class StepState(Enum):
    """Whether a step is available, will never be, or may still be recorded."""

    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


class OwningTrial(Protocol):
    """The part of a trial that its tensors use."""

    name: str

    def prefetch(
        self, names: Iterable[str], steps: Iterable[int], mode: Optional[ModeKeys] = ...
    ) -> None: ...

    def _tensor_handle(self, name: str) -> TensorHandle: ...


class Tensor:
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

    def full_value(
        self, step_num: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> np.ndarray[Any, Any]:
        """Returns a tensor of which each worker saved its part, as a whole.

        Those of PyTorch's `fully_shard` and tensor parallelism are, if all workers record.  Of
        other tensors all workers must have saved the same value.

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
        import numpy as np

        parts = self._parts()
        if not parts:
            first, *others = (
                self.value(step_num, mode, worker) for worker in self.workers(step_num, mode)
            )
            nan = first.dtype.kind in "fc"
            if all(np.array_equal(first, other, equal_nan=nan) for other in others):
                return first
            raise SMDebugRuntimeError(
                f"{self.name} of step {step_num}: the workers have saved different values, and not "
                "how they fit together; ask for the value of a worker"
            )
        whole: Optional[np.ndarray[Any, Any]] = None
        for worker in self.workers(step_num, mode):
            if worker not in parts:
                continue
            begin, shape = parts[worker]
            value = self.value(step_num, mode, worker)
            if whole is None:
                whole, is_there = np.empty(shape, value.dtype), np.zeros(shape, bool)
            place = tuple(slice(at, at + size) for at, size in zip(begin, value.shape))
            whole[place], is_there[place] = value, True
        if whole is None or not is_there.all():
            raise SMDebugRuntimeError(
                f"{self.name} of step {step_num}: not all workers have saved their parts; record "
                'with include_workers="all"'
            )
        return whole

    def _parts(self) -> Dict[str, Tuple[List[int], List[int]]]:
        """Returns by worker where its part begins, and the shape of the whole."""
        name = self.name
        for prefix in ("gradient/", "update/"):
            name = name[len(prefix) :] if name.startswith(prefix) else name
        if name.startswith("optimizer_state/"):
            name = name.partition("/")[2].rpartition("/")[0]
        name = f"shard/{name}"
        if not self.trial.has_tensor(name):
            return {}
        tensor, parts = self.trial.tensor(name), {}
        for step in tensor.steps(show_incomplete_steps=True):
            for worker in tensor.workers(step):
                begin, shape = tensor.value(step, worker=worker).tolist()
                parts[worker] = begin, shape
        return parts

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
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, worker: Optional[str] = None
    ) -> Dict[int, np.ndarray[Any, Any]]:
        """Returns the values at all steps of a mode, by step.

        Raises
        ------
        As `value`.
        """
        steps = self.steps(mode)
        values = {}
        for begin in range(0, len(steps), _PREFETCHED):
            some = steps[begin : begin + _PREFETCHED]
            if worker is None and not self.cache:
                # value() reports what is missing.
                with suppress(TensorUnavailableForStep):
                    self.trial.prefetch([self.name], some, mode)
            values.update({step: self.value(step, mode, worker) for step in some})
        return values

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
            value = widened(
                _raw.read_reduction(self._handle, step_num, mode, worker, reduction_name, abs)
            )
        except SMDebugNotImplementedError as error:
            raise SMDebugTypeError(str(error)) from error
        return value[()] if value.ndim == 0 else value

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


def _kept(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array as the cache gives it: read-only."""
    array.flags.writeable = False
    return array


def _optional_text(worker: Optional[str]) -> Optional[str]:
    return None if worker is None else text(worker, "worker")
