"""A trial: what a job recorded, or is still recording."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from smdebug import _raw
from smdebug._handles import (
    CollectionHandle,
    Numbers,
    Strings,
    TensorHandle,
    TrialHandle,
    TrialOptions,
    check,
    out,
    out_steps,
    out_strings,
    text,
)
from smdebug.analysis.utils import _tensor_name_sorter
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.locations import IndexFileLocationUtils
from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.core.tensor import StepState, Tensor, mode_number
from smdebug.core.utils import flatten, serialize_tf_device
from smdebug.exceptions import (
    SMDebugRuntimeError,
    SMDebugTimeoutError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailable,
)

__all__ = ["RangeSteps", "Trial"]

RangeSteps = Optional[Tuple[Optional[int], Optional[int]]]

# How long one call into the library may wait before Python looks at its signals.
_SLICE_MS = 200


class Trial(ABC):
    """What was recorded at one path; `create_trial` opens it.

    Queries read what was recorded since the last one, unless that is switched off (see
    `smdebug.analysis.utils.no_refresh`).  A trial may be used from any thread, and as a
    context manager that closes it.

    Parameters
    ----------
    name : str or None
        Any name; the last part of the path, if None or empty.
    path : str
        Where the trial is.
    range_steps : tuple, optional
        (first, end): only global steps first <= step < end are read; None on either
        side leaves it open.
    cache : bool
        Whether values that were read are kept.
    timeout : float, optional
        How many seconds to wait for the collection files of all workers; without it,
        SMDEBUG_TRIAL_WAIT_SECONDS says so, or 600.
    options : mapping of str to str, optional
        Further options of the C library, by name.

    Raises
    ------
    MissingCollectionFiles
        If they did not come in time, or the job has ended without them.
    """

    def __init__(
        self,
        name: Optional[str],
        path: str,
        range_steps: RangeSteps = None,
        cache: bool = False,
        timeout: Optional[float] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.logger: logging.Logger = get_logger()
        self.range_steps = range_steps
        self.cache = cache
        self.path: str = path
        self._tensors: Dict[str, Tensor] = {}
        self._collections: Dict[str, Collection] = {}
        settings = TrialOptions()
        if name:
            settings.set("name", text(name))
        if timeout is not None:
            settings.set("wait_seconds", timeout)
        for option, bound in zip(("first_step", "end_step"), _checked_range(range_steps)):
            if bound is not None:
                settings.set(option, bound)
        for option, value in (options or {}).items():
            settings.set(option, value)
        raw = out("trial", _raw.smd_trial_new, text(path, "path"), settings)
        self._open: Optional[TrialHandle] = TrialHandle(raw)
        self.name: str = name or _raw.smd_trial_name(raw)
        self._dynamic_refresh = True
        self._was_read = False
        _interruptible(self._open, _raw.smd_trial_load)

    # ---- life -------------------------------------------------------------------

    def close(self) -> None:
        """Ends every wait on the trial and gives it up.  A second call does nothing."""
        handle, self._open = self._open, None
        if handle is not None:
            _raw.smd_trial_cancel(handle)
        self._tensors.clear()
        self._collections.clear()

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    @property
    def _handle(self) -> TrialHandle:
        if self._open is None:
            raise SMDebugRuntimeError(f"trial {self.name} is closed")
        return self._open

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    def __hash__(self) -> int:
        return hash((self.name, self.path))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self.path!r}>"

    # ---- refreshing -------------------------------------------------------------

    @property
    def dynamic_refresh(self) -> bool:
        """Whether queries read what was recorded since the last one.

        Switching that off before the first query reads what is there.
        """
        return self._dynamic_refresh

    @dynamic_refresh.setter
    def dynamic_refresh(self, on: bool) -> None:
        if not on and not self._was_read:
            self._was_read = True
            self.refresh_data()
        _raw.smd_trial_set_auto_refresh(self._handle, int(bool(on)))
        self._dynamic_refresh = bool(on)

    def refresh_data(self) -> None:
        """Reads what was recorded since the last query."""
        check(_raw.smd_trial_refresh(self._handle))

    def maybe_refresh(self, name: Optional[str] = None) -> None:
        """The same, unless refreshing is switched off or the job has ended."""
        if self._dynamic_refresh and not self.loaded_all_steps:
            self.refresh_data()

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the job has ended and everything it recorded is known."""
        return bool(_raw.smd_trial_has_ended(self._handle))

    @property
    def last_complete_step(self) -> int:
        """The last global step that is complete, or -1."""
        return _raw.smd_trial_last_complete_step(self._handle)

    @property
    def last_index_token(self) -> Optional[str]:
        """The index file of the last complete step and the last worker, or None."""
        step = self.last_complete_step
        workers = out_strings(_raw.smd_trial_workers, self._handle)
        if step < 0 or not workers:
            return None
        worker = serialize_tf_device(workers[-1])
        return IndexFileLocationUtils.get_index_key_for_step(self.path, step, worker)

    # ---- steps ------------------------------------------------------------------

    def steps(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> List[int]:
        """The steps of a mode; GLOBAL, or None: of all modes, by their global numbers.

        Parameters
        ----------
        mode : ModeKeys
            The mode.
        show_incomplete_steps : bool
            Also those steps that not all workers have written.
        """
        return out_steps(
            _raw.smd_trial_steps, self._handle, mode_number(mode), bool(show_incomplete_steps)
        )

    def modes(self) -> List[ModeKeys]:
        """The modes, other than GLOBAL, of the steps seen so far."""
        return [ModeKeys(number) for number in out_steps(_raw.smd_trial_modes, self._handle)]

    def mode_modestep(self, global_step: int) -> Tuple[Optional[ModeKeys], Optional[int]]:
        """Mode and mode step of a global step; (None, None) if it was not seen."""
        mode_slot, step_slot = _raw.new_int32_slot(), _raw.new_int64_slot()
        try:
            check(_raw.smd_trial_mode_step(self._handle, global_step, mode_slot, step_slot))
            number, step = _raw.int32_slot_value(mode_slot), _raw.int64_slot_value(step_slot)
        finally:
            _raw.delete_int32_slot(mode_slot)
            _raw.delete_int64_slot(step_slot)
        return (ModeKeys(number), step) if step >= 0 else (None, None)

    def mode(self, global_step: int) -> Optional[ModeKeys]:
        """The mode of a global step; None if it was not seen."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> Optional[int]:
        """The number that a global step has in its mode; None if it was not seen."""
        return self.mode_modestep(global_step)[1]

    def global_step(self, mode: Optional[ModeKeys], mode_step: int) -> Optional[int]:
        """The global number of a mode's step; None if it was not seen."""
        number = mode_number(mode)
        if number == ModeKeys.GLOBAL.value:
            return mode_step
        step: int = out("int64", _raw.smd_trial_global_step, self._handle, number, mode_step)
        return step if step >= 0 else None

    def has_passed_step(self, step: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> StepState:
        """Whether a step is there, will never be, or may still come."""
        number = mode_number(mode)
        return StepState(out("int32", _raw.smd_trial_step_state, self._handle, step, number))

    def prefetch(
        self,
        names: Iterable[str],
        steps: Iterable[int],
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
    ) -> None:
        """Reads the values of several tensors at several steps at once.

        This pays in S3, where each value is a request; in a folder it reads nothing.
        `Tensor.value` then gives each out once from memory.

        Raises
        ------
        As `tensor` and `Tensor.value`, for the first that is not there.
        """
        wanted = Numbers(list(steps))
        check(
            _raw.smd_trial_prefetch(
                self._handle, Strings(list(names)), wanted, len(wanted), mode_number(mode)
            )
        )

    def export_tensorboard(self, folder: Union[str, os.PathLike[str]]) -> None:
        """Writes what the trial holds now for stock TensorBoard.

        Tensors of one element become scalars; of others there is a histogram and the
        scalars "<tensor>/min", max, mean, std and l2; saved reductions are scalars too.
        Each mode is a run; with several workers each worker of it.

        Parameters
        ----------
        folder : str or path
            Where the files go; those of an earlier call are overwritten.
        """
        path = os.path.expanduser(text(os.fspath(folder), "folder"))
        check(_raw.smd_trial_export_tensorboard(self._handle, path))

    def wait_for_steps(
        self, required_steps: Iterable[int], mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> None:
        """Waits until all these steps are there.

        Raises
        ------
        StepUnavailable
            If one of them was not saved.
        NoMoreData
            If the job has ended before one of them.
        """
        number = mode_number(mode)
        for step in required_steps:
            while not self._waited(step, number):
                pass

    def _waited(self, step: int, mode: int) -> bool:
        try:
            check(_raw.smd_trial_wait_for_step(self._handle, step, mode, _SLICE_MS))
        except SMDebugTimeoutError:
            return False
        return True

    # ---- workers and collections ------------------------------------------------

    def workers(self) -> List[str]:
        """The names of the workers that recorded, sorted."""
        return out_strings(_raw.smd_trial_workers, self._handle)

    @property
    def num_workers(self) -> int:
        """How many workers recorded."""
        return len(self.workers())

    def collections(self) -> Dict[str, Collection]:
        """The collections of the job, by name."""
        names = out_strings(_raw.smd_trial_collections, self._handle)
        return {name: self.collection(name) for name in names}

    def collection(self, coll_name: str) -> Collection:
        """The collection of that name, made (empty) if the job had none."""
        found = self._collections.get(coll_name)
        if found is None:
            handle = self._collection_handle(coll_name)
            found = self._collections[coll_name] = Collection._of(handle)
        return found

    def _collection_handle(self, name: str) -> CollectionHandle:
        return CollectionHandle(
            out("collection", _raw.smd_trial_collection, self._handle, text(name))
        )

    # ---- tensors ----------------------------------------------------------------

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,
        *,
        step: Optional[int] = None,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        regex: Union[str, List[Any], None] = None,
        collection: Union[str, Collection, None] = None,
    ) -> List[str]:
        """The names of tensors saved so far, sorted.

        Each condition that is given narrows them.

        Parameters
        ----------
        show_prefixed_tensors : bool
            Not looked at.
        step : int, optional
            Saved at this step, the mode's own number.
        mode : ModeKeys
            Saved in this mode.
        regex : str or list of str, optional
            Any of these regular expressions is found in the name.
        collection : str or Collection, optional
            In this collection of the trial.

        Raises
        ------
        SMDebugValueError
            If both regex and collection are given, or a regex does not compile.
        SMDebugTypeError
            If the collection is neither a name nor a Collection.
        """
        if regex is not None and collection is not None:
            raise SMDebugValueError("give a regex or a collection, not both")
        regexes = None
        if regex is not None:
            regexes = Strings(flatten(regex if isinstance(regex, list) else [regex]))
        return out_strings(
            _raw.smd_trial_tensor_names,
            self._handle,
            -1 if step is None else step,
            mode_number(mode),
            regexes,
            None if collection is None else self._condition(collection),
        )

    def tensors(self, *args: Any, **kwargs: Any) -> List[str]:
        """The same as `tensor_names`."""
        return self.tensor_names(*args, **kwargs)

    def tensor(self, tname: str) -> Tensor:
        """The tensor of that name.

        Raises
        ------
        TensorUnavailable
            If none of that name was saved so far.
        """
        found = self._tensors.get(tname)
        if found is None:
            found = self._tensors[tname] = Tensor(text(tname), self, self.cache)
        return found

    def has_tensor(self, tname: str) -> bool:
        """Whether a tensor of that name was saved so far."""
        try:
            self.tensor(tname)
        except TensorUnavailable:
            return False
        return True

    def inputs(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """The values of the collection "inputs" at a step, in the order of their numbers."""
        names = self.tensor_names(step=step, mode=mode, collection=CollectionKeys.INPUTS)
        return self._values_in_order(names, step, mode)

    def labels(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """The values of tensors called labels at a step, in the order of their numbers."""
        return self._values_in_order(
            self.tensor_names(step=step, mode=mode, regex="labels*"), step, mode
        )

    def predictions(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """The values of tensors called predictions at a step, in the order of their numbers."""
        return self._values_in_order(
            self.tensor_names(step=step, mode=mode, regex="predictions*"), step, mode
        )

    def _values_in_order(self, names: List[str], step: int, mode: ModeKeys) -> List[Any]:
        return [
            self.tensor(name).value(step, mode) for name in sorted(names, key=_tensor_name_sorter)
        ]

    def _tensor_handle(self, name: str) -> TensorHandle:
        return TensorHandle(out("tensor", _raw.smd_trial_tensor, self._handle, name))

    def _condition(self, collection: Union[str, Collection]) -> CollectionHandle:
        if isinstance(collection, Collection):
            collection = collection.name
        if not isinstance(collection, str):
            kind = type(collection).__name__
            raise SMDebugTypeError(f"a collection is a Collection or its name, not a {kind}")
        known = self._collections.get(collection)
        return self._collection_handle(collection) if known is None else known._handle()


def _checked_range(range_steps: RangeSteps) -> Tuple[Optional[int], Optional[int]]:
    """Both bounds of a range; AssertionError for what is none, as users expect."""
    if range_steps is None:
        return None, None
    first, end = range_steps
    for bound in (first, end):
        if bound is not None and (not isinstance(bound, int) or bound < 0):
            raise AssertionError(f"range_steps={range_steps!r}: a bound is None or a step")
    if first is not None and end is not None and end <= first:
        raise AssertionError(f"range_steps={range_steps!r}: the end must lie after the begin")
    return first, end


def _interruptible(handle: TrialHandle, function: Callable[[Any], Any]) -> None:
    """Calls a raw function that may wait long so that Ctrl-C ends it.

    The main thread, which gets the signal, waits for another one that makes the call.
    """
    if threading.current_thread() is not threading.main_thread():
        check(function(handle))
        return
    results: List[Any] = []
    worker = threading.Thread(
        target=lambda: results.append(function(handle)), name="smdebug-load", daemon=True
    )
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_SLICE_MS / 1000)
    except BaseException:
        _raw.smd_trial_cancel(handle)
        worker.join()
        if results and results[0] is not None:
            _raw.smd_error_free(results[0])
        raise
    check(results[0])
