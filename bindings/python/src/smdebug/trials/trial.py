"""Trials: the recordings of jobs, finished or running."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

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
    out_integers,
    out_strings,
    text,
)
from smdebug.analysis.utils import _tensor_name_sorter
from smdebug.core.collection import Collection, CollectionKeys
from smdebug.core.collection_manager import CollectionManager, LiveCollections
from smdebug.core.locations import IndexFileLocationUtils
from smdebug.core.logger import get_logger, log_ignored
from smdebug.core.modes import ModeKeys
from smdebug.core.tensor import StepState, Tensor, mode_number
from smdebug.core.utils import flatten, serialize_tf_device
from smdebug.exceptions import (
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTimeoutError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailable,
)
from smdebug.notebook.displays import TrialDisplay
from smdebug.tables.scan import Scan, scan

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["RangeSteps", "Trial"]

RangeSteps = Optional[Tuple[Optional[int], Optional[int]]]

# The longest wait in the library before Python handles signals.
_SLICE_MS = 200


class Trial(TrialDisplay, ABC):
    """The tensors and steps recorded at one path; `create_trial` opens it.

    Each query first reads what was recorded since the last query, unless refreshing is off (see
    `smdebug.analysis.utils.no_refresh`).  A trial may be used from any thread.  As a context
    manager it closes itself.

    Parameters
    ----------
    name : str or None
        The trial's name.  Defaults to the last part of the path.
    path : str
        The location of the trial.
    range_steps : tuple, optional
        (first, end): only global steps first <= step < end are read; None leaves a side open.
    cache : bool
        Whether values are kept in memory after they are read.
    timeout : float, optional
        How many seconds to wait for the collections files of all workers.  Defaults to
        SMDEBUG_TRIAL_WAIT_SECONDS, or 600.
    options : mapping of str to str, optional
        Further options of the C library, by name.

    Raises
    ------
    MissingCollectionFiles
        If a collections file did not appear in time, or the job ended without it.
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
            if isinstance(timeout, (int, float)) and not timeout >= 0:
                raise SMDebugValueError(f"timeout is {timeout!r}; give 0 seconds or more")
            settings.set("wait_seconds", timeout)
        for option, bound in zip(("first_step", "end_step"), _checked_range(range_steps)):
            if bound is not None:
                settings.set(option, bound)
        for option, value in (options or {}).items():
            settings.set(option, value)
        # A function, so that no listing of attributes shows a secret.
        of_store = {key: value for key, value in (options or {}).items() if key.startswith("s3_")}
        self._store_options: Callable[[], Dict[str, str]] = lambda: of_store
        raw = out("trial", _raw.smd_trial_new, text(path, "path"), settings)
        self._open: Optional[TrialHandle] = TrialHandle(raw)
        self.name: str = name or _raw.smd_trial_name(raw)
        self._dynamic_refresh = True
        _interruptible(self._open, _raw.smd_trial_load)
        # Data that cannot be read must not keep the rest of the trial from being opened.
        self._first_error: Optional[Exception] = None
        try:
            _interruptible(self._open, _raw.smd_trial_refresh)
        except (SMDebugError, OSError) as error:
            self._first_error = error

    # ---- life -------------------------------------------------------------------

    def close(self) -> None:
        """Releases the trial and ends every wait for its steps.  A second call does nothing.

        Tensors and values that were read from it stay valid.
        """
        self._open = None
        self._tensors.clear()
        self._collections.clear()

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    @property
    def _handle(self) -> TrialHandle:
        """Returns the handle for a query.  The first query raises what opening could not read."""
        handle = self._opened
        error, self._first_error = self._first_error, None
        if error is not None:
            raise error
        return handle

    @property
    def _opened(self) -> TrialHandle:
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
        """Whether queries first read what was recorded since the last query.

        While this is False, queries see the steps of the last refresh, or of the time when the
        trial was opened.
        """
        return self._dynamic_refresh

    @dynamic_refresh.setter
    def dynamic_refresh(self, on: bool) -> None:
        _raw.smd_trial_set_auto_refresh(self._opened, int(bool(on)))
        self._dynamic_refresh = bool(on)

    def refresh_data(self) -> None:
        """Reads what was recorded since the last query."""
        check(_raw.smd_trial_refresh(self._handle))

    def maybe_refresh(self, name: Optional[str] = None) -> None:
        """Calls `refresh_data`, unless refreshing is off or the job has ended."""
        if self._dynamic_refresh and not self.loaded_all_steps:
            self.refresh_data()

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the job has ended and the trial knows all of its steps."""
        return bool(_raw.smd_trial_has_ended(self._opened))

    @property
    def last_complete_step(self) -> int:
        """The last complete global step, or -1."""
        return _raw.smd_trial_last_complete_step(self._opened)

    @property
    def last_index_token(self) -> Optional[str]:
        """The index file of the last complete step and the last worker, or None."""
        step = self.last_complete_step
        workers = out_strings(_raw.smd_trial_workers, self._handle)
        if step < 0 or not workers:
            return None
        worker = serialize_tf_device(workers[-1])
        return IndexFileLocationUtils.get_index_key_for_step(self._index_root, step, worker)

    @property
    def _index_root(self) -> str:
        """Returns the path that the names of index files begin with."""
        return self.path

    # ---- steps ------------------------------------------------------------------

    def steps(
        self, mode: Optional[ModeKeys] = ModeKeys.GLOBAL, show_incomplete_steps: bool = False
    ) -> List[int]:
        """Returns the steps of a mode; for GLOBAL or None, the global steps of all modes.

        Parameters
        ----------
        mode : ModeKeys
            The mode.
        show_incomplete_steps : bool
            Whether to include steps that some workers have not written.
        """
        return out_integers(
            _raw.smd_trial_steps, self._handle, mode_number(mode), bool(show_incomplete_steps)
        )

    def modes(self) -> List[ModeKeys]:
        """Returns the modes, other than GLOBAL, that have steps."""
        return [ModeKeys(number) for number in out_integers(_raw.smd_trial_modes, self._handle)]

    def mode_modestep(self, global_step: int) -> Tuple[Optional[ModeKeys], Optional[int]]:
        """Returns mode and mode step of a global step; (None, None) if it is unknown."""
        mode_slot, step_slot = _raw.new_int32_slot(), _raw.new_int64_slot()
        try:
            check(_raw.smd_trial_mode_step(self._handle, global_step, step_slot, mode_slot))
            number, step = _raw.int32_slot_value(mode_slot), _raw.int64_slot_value(step_slot)
        finally:
            _raw.delete_int32_slot(mode_slot)
            _raw.delete_int64_slot(step_slot)
        return (ModeKeys(number), step) if step >= 0 else (None, None)

    def mode(self, global_step: int) -> Optional[ModeKeys]:
        """Returns the mode of a global step; None if the step is unknown."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> Optional[int]:
        """Returns the mode step of a global step; None if the step is unknown."""
        return self.mode_modestep(global_step)[1]

    def global_step(self, mode: Optional[ModeKeys], mode_step: int) -> Optional[int]:
        """Returns the global step of a mode step; None if the step is unknown."""
        number = mode_number(mode)
        if number == ModeKeys.GLOBAL.value:
            return mode_step
        step: int = out("int64", _raw.smd_trial_global_step, self._handle, mode_step, number)
        return step if step >= 0 else None

    def has_passed_step(self, step: int, mode: Optional[ModeKeys] = ModeKeys.GLOBAL) -> StepState:
        """Returns the state of a step: available, unavailable, or not yet recorded."""
        number = mode_number(mode)
        return StepState(out("int32", _raw.smd_trial_step_state, self._handle, step, number))

    def prefetch(
        self,
        names: Iterable[str],
        steps: Iterable[int],
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
    ) -> None:
        """Reads the values of several tensors at several steps at once.

        This saves requests in S3; in a folder it does nothing.  `Tensor.value` then serves
        each prefetched value from memory once.

        Raises
        ------
        As `tensor` and `Tensor.value`, for the first value that is not available.
        """
        wanted = Numbers(list(steps))
        check(
            _raw.smd_trial_prefetch(
                self._handle, Strings(list(names)), wanted, len(wanted), mode_number(mode)
            )
        )

    def export_tensorboard(self, folder: Union[str, os.PathLike[str]]) -> None:
        """Exports the steps recorded so far for stock TensorBoard.

        A tensor of one element becomes a scalar; losses and metrics are named "0_losses/<tensor>"
        and "0_metrics/<tensor>", which TensorBoard shows first.  Other tensors become
        a histogram and the scalars "<tensor>/min", max, mean, std and l2.  Saved reductions are
        scalars too.
        Each mode is a run; with several workers, each worker of a mode is one.

        Parameters
        ----------
        folder : str or path
            The folder of the files; those of an earlier call are overwritten.
        """
        path = os.path.expanduser(text(os.fspath(folder), "folder"))
        check(_raw.smd_trial_export_tensorboard(self._handle, path))

    # ---- tables -----------------------------------------------------------------

    def scan(self, table: str = "tensors", **conditions: Any) -> Scan:
        """Makes a table of the trial, which engines for tables read.

        Parameters
        ----------
        table : str
            "tensors", "scalars", "findings" or "trials".
        **conditions
            Those of `smdebug.scan`, such as columns, tensors, workers, first and end.  Steps are
            within the trial's range, if it has one.
        """
        for name, bound in zip(("first", "end"), _checked_range(self.range_steps)):
            given = conditions.get(name)
            if bound is not None:
                narrower = max if name == "first" else min
                conditions[name] = bound if given is None else narrower(bound, given)
        if None not in (conditions.get("first"), conditions.get("end")):
            conditions["end"] = max(conditions["first"], conditions["end"])  # else there is none
        given = conditions.pop("options", None) or {}
        options = {**self._store_options(), "name": self.name, **given}
        return scan(self.path, table, options=options, **conditions)

    def to_arrow(self, table: str = "tensors", **conditions: Any) -> pa.Table:
        """Reads a table of the trial into a pyarrow.Table; see `scan`."""
        return self.scan(table, **conditions).to_arrow()

    def to_pandas(self, table: str = "tensors", **conditions: Any) -> pd.DataFrame:
        """Reads a table of the trial into a pandas.DataFrame; see `scan`."""
        return self.scan(table, **conditions).to_pandas()

    def to_polars(self, table: str = "tensors", **conditions: Any) -> pl.DataFrame:
        """Reads a table of the trial into a polars.DataFrame; see `scan`."""
        return self.scan(table, **conditions).to_polars()

    def wait_for_steps(
        self, required_steps: Iterable[int], mode: Optional[ModeKeys] = ModeKeys.GLOBAL
    ) -> None:
        """Waits until all of these steps are available.

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
        """Returns the names of the workers, sorted."""
        return out_strings(_raw.smd_trial_workers, self._handle)

    def metadata(self, worker: Optional[str] = None) -> Dict[str, str]:
        """Returns what a worker recorded about the job, by key, or what all workers did.

        Of several workers, the first that has a key counts.  Values are texts; those of
        `Hook.set_metadata` are JSON unless they were texts before.
        """
        texts = out_strings(_raw.smd_trial_metadata, self._handle, worker)
        return dict(zip(texts[::2], texts[1::2]))

    @property
    def failure(self) -> Optional[str]:
        """Why the job failed; None if it did not."""
        return self.metadata().get("run.failure")

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return len(self.workers())

    def collections(self) -> Dict[str, Collection]:
        """Returns the collections of the job by name."""
        names = dict.fromkeys([*self._recorded_collections(), *self._collections])
        return {name: self.collection(name) for name in names}

    def collection(self, coll_name: str) -> Collection:
        """Returns the collection of that name; an empty one if the job had none."""
        found = self._collections.get(coll_name)
        if found is None:
            found = self._collections[coll_name] = self._recorded_collection(text(coll_name))
        return found

    @property
    def collection_manager(self) -> CollectionManager:
        """The collections of the job as a set; adding a collection changes only this trial."""
        return LiveCollections(self.collections, self.collection, self._add_collection)

    def _add_collection(self, collection: Collection) -> None:
        self._collections[collection.name] = collection

    def _recorded_collections(self) -> List[str]:
        return out_strings(_raw.smd_trial_collections, self._handle)

    def _recorded_collection(self, name: str) -> Collection:
        if name not in self._recorded_collections():
            return Collection(name)
        return Collection._of(
            CollectionHandle(out("collection", _raw.smd_trial_collection, self._handle, name))
        )

    # ---- tensors ----------------------------------------------------------------

    def tensor_names(
        self,
        show_prefixed_tensors: Union[bool, int, None] = False,
        *conditions: Any,
        step: Optional[int] = None,
        mode: Optional[ModeKeys] = ModeKeys.GLOBAL,
        regex: Union[str, List[Any], None] = None,
        collection: Union[str, Collection, None] = None,
    ) -> List[str]:
        """Returns the names of the tensors saved so far, sorted.

        Each given condition restricts the result.

        Parameters
        ----------
        show_prefixed_tensors : bool
            Ignored.
        *conditions
            `step`, `mode`, `regex` and `collection` in this order, as in the original's
            documentation: ``trial.tensor_names(10, modes.TRAIN)``.  A step then takes the place
            of `show_prefixed_tensors`.
        step : int, optional
            Selects tensors saved at this step of the mode.
        mode : ModeKeys
            Selects tensors saved in this mode.
        regex : str or list of str, optional
            Selects tensors whose names contain a match of one of these regular expressions.
        collection : str or Collection, optional
            Selects tensors of this collection of the trial.

        Raises
        ------
        SMDebugValueError
            If both regex and collection are given, or a regex does not compile.
        SMDebugTypeError
            If the collection is neither a name nor a Collection.
        """
        first = [] if isinstance(show_prefixed_tensors, bool) else [show_prefixed_tensors]
        given: List[Any] = [*first, *conditions]
        if len(given) > 4:
            raise SMDebugTypeError("tensor_names() takes a step, a mode, a regex, a collection")
        step, mode, regex, collection = given + [step, mode, regex, collection][len(given) :]
        log_ignored("Trial.tensor_names", show_prefixed_tensors=show_prefixed_tensors is True)
        if regex is not None and collection is not None:
            raise SMDebugValueError("give a regex or a collection, not both")
        if (step is not None and step < 0) or regex == []:
            return []  # to the library, both would be no condition
        expressions = regex if isinstance(regex, list) else [regex]
        regexes = None if regex is None else Strings(flatten(expressions))
        return out_strings(
            _raw.smd_trial_tensor_names,
            self._handle,
            -1 if step is None else step,
            mode_number(mode),
            regexes,
            None if collection is None else self._condition(collection),
        )

    def tensors(self, *args: Any, **kwargs: Any) -> List[str]:
        """Another name for `tensor_names`."""
        return self.tensor_names(*args, **kwargs)

    def recorded_names(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[str]:
        """Returns the names of the tensors saved at a step, in the order of recording.

        The names of the first worker come first, then those that only other workers saved.
        Tensors of which only the shape was saved come last.

        Parameters
        ----------
        step : int
            The step, by the numbers of the mode.
        mode : ModeKeys
            The mode of the step.
        """
        number = mode_number(mode)
        return out_strings(_raw.smd_trial_recorded_names, self._handle, step, number)

    def tensor(self, tname: str) -> Tensor:
        """Returns the tensor of that name.

        Raises
        ------
        TensorUnavailable
            If no tensor with that name has been saved.
        """
        found = self._tensors.get(tname)
        if found is None:
            found = self._tensors[tname] = Tensor(text(tname), self, self.cache)
        return found

    def has_tensor(self, tname: str) -> bool:
        """Returns True if a tensor with that name has been saved."""
        try:
            self.tensor(tname)
        except TensorUnavailable:
            return False
        return True

    def inputs(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """Returns the values of the collection "inputs" at a step, ordered by their numbers."""
        names = self.tensor_names(step=step, mode=mode, collection=CollectionKeys.INPUTS)
        return self._values_in_order(names, step, mode)

    def labels(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """Returns the values of tensors named labels at a step, ordered by their numbers."""
        return self._values_in_order(
            self.tensor_names(step=step, mode=mode, regex="labels*"), step, mode
        )

    def predictions(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> List[Any]:
        """Returns the values of tensors named predictions at a step, ordered by their numbers."""
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
        return self.collection(collection)._handle()


def _checked_range(range_steps: RangeSteps) -> Tuple[Optional[int], Optional[int]]:
    """Returns both bounds of a range.  Raises AssertionError if invalid, as the original."""
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
    """Calls a raw function that may wait for a long time, so that Ctrl-C stops it.

    A second thread makes the call, and the main thread, which receives the signal, waits.
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
