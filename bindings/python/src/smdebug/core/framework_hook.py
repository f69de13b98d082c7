"""What the hooks of the frameworks have in common."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, List, Mapping, Optional, Sequence, Tuple

from smdebug import _raw
from smdebug.core.collection import SM_METRIC_COLLECTIONS
from smdebug.core.config_constants import DEFAULT_SAVED_COLLECTIONS, DEFAULT_WORKER_NAME
from smdebug.core.error_policy import guarded, raises_by_default
from smdebug.core.hook import Hook, Regexes
from smdebug.core.metrics import MetricsFile
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveSettings
from smdebug.core.singleton_utils import set_hook
from smdebug.core.verdict import Action, Verdict
from smdebug.exceptions import SMDebugTypeError, TrainingStopped

__all__ = ["FrameworkHook"]


class FrameworkHook(Hook):
    """A hook that a framework calls during its training.

    It counts the steps by itself, and its own failures never stop the training: they
    are counted in `failures`, and the first one is logged.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, options
        As `smdebug.Hook` takes them.
    raise_errors : bool, optional
        Whether failures are raised after all; if not given, SMDEBUG_RAISE_ERRORS says.

    Attributes
    ----------
    failures : int
        How many calls of the framework failed in the hook.
    stop_verdict : smdebug.rules.Verdict or None
        The first finding of the rules that watch (see `watch`) that asks for the end of
        the training; a hook whose framework has a way to stop uses it.
    """

    _always_saved: ClassVar[Sequence[str]] = DEFAULT_SAVED_COLLECTIONS

    stop_verdict: Optional[Verdict] = None

    def __init__(
        self,
        out_dir: Any = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Optional[ReductionConfig] = None,
        save_config: SaveSettings = None,
        include_regex: Regexes = None,
        include_collections: Optional[List[Any]] = None,
        save_all: bool = False,
        include_workers: str = "one",
        *,
        raise_errors: Optional[bool] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        worker, num_workers = self._place()
        super().__init__(
            out_dir=out_dir,
            export_tensorboard=export_tensorboard,
            tensorboard_dir=tensorboard_dir,
            dry_run=dry_run,
            reduction_config=reduction_config,
            save_config=save_config,
            include_regex=include_regex,
            include_collections=include_collections,
            save_all=save_all,
            include_workers=include_workers,
            worker=worker,
            num_workers=num_workers,
            options=options,
        )
        self.raise_errors = raises_by_default() if raise_errors is None else raise_errors
        self.failures = 0
        self._is_prepared = False
        self._saved_counts: Dict[str, int] = {}
        self._metrics = MetricsFile.of_job()
        self._heard: List[Verdict] = []
        self._has_raised = False
        set_hook(self)

    # ---- what a framework says of itself -----------------------------------------

    def _place(self) -> Tuple[str, int]:
        """This process's worker name, and how many workers there are."""
        return DEFAULT_WORKER_NAME, 1

    def _is_tensor(self, value: Any) -> bool:
        """Whether `_save_numbered` saves the value as one tensor."""
        raise NotImplementedError

    def _as_saveable(self, value: Any) -> Any:
        """The value in a form that `save` takes; asked for wanted tensors only."""
        return value

    def _prepare_collections(self) -> None:
        """Completes the collections, before the first step."""

    @property
    def _stops_by_raising(self) -> bool:
        """Whether the framework has no other way to be stopped: then the step after the one
        whose findings ask for it raises TrainingStopped."""
        return True

    # ---- steps -------------------------------------------------------------------

    def _next_step(self) -> None:
        """Ends the open step, if there is one, and begins the next of the current mode."""
        self._finish_step()
        if self._stops_by_raising:
            self._raise_if_to_stop()
        if not self._is_prepared:
            self._is_prepared = True
            self._prepare_collections()
        self._saved_counts.clear()
        self.begin_step()

    def _finish_step(self) -> None:
        """Ends the open step, if there is one, and hears what rules say of it."""
        if not self._step_is_open:
            return
        self.end_step()
        self._hear_rules()

    def _hear_rules(self) -> None:
        if self.advice is not Action.CONTINUE:
            self._hear(super().take_verdicts())

    def _raise_if_to_stop(self) -> None:
        # Once: who catches it may go on, as for a last evaluation.
        if self.stop_verdict is not None and not self._has_raised:
            self._has_raised = True
            raise TrainingStopped(self.stop_verdict)

    def _hear(self, verdicts: List[Verdict]) -> None:
        for verdict in verdicts:
            self.logger.warning("%s", verdict)
            if verdict.action is Action.STOP and self.stop_verdict is None:
                self.stop_verdict = verdict
        self._heard.extend(verdicts)

    def take_verdicts(self) -> List[Verdict]:
        heard, self._heard = self._heard, []
        return heard + super().take_verdicts()

    @property
    def _saves_step(self) -> bool:
        """Whether the open step saves anything."""
        return self._step_is_open and bool(_raw.smd_hook_saves_step(self._handle))

    # ---- tensors -----------------------------------------------------------------

    def _save(self, name: str, value: Any) -> None:
        """Saves a tensor, if the open step wants it.

        A tensor that cannot be saved is a failure of its own: it costs no other.
        """
        if not _raw.wants(self._handle, name):
            return
        try:
            value = self._as_saveable(value)
            self.save(name, value)
            if self._metrics is not None and self._is_metric(name):
                self._metrics.log(name, value, self.mode, self.mode_steps[self.mode])
        except Exception as error:
            self._note_failure(f"saving {name}", error)

    def _save_numbered(self, prefix: str, value: Any) -> None:
        """Saves all tensors in a value as prefix0, prefix1, ...

        Lists, tuples and dicts are gone through, in order; within a step the numbers go
        on from call to call.
        """
        if self._is_tensor(value):
            # Parts of a model may run in threads.
            number = _raw.take_number(self._saved_counts, prefix)
            self._save(f"{prefix}{number}", value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._save_numbered(prefix, item)
        elif isinstance(value, Mapping):
            for item in value.values():
                self._save_numbered(prefix, item)

    def _is_metric(self, name: str) -> bool:
        return any(
            name in self.get_collection(each).tensor_names
            for each in SM_METRIC_COLLECTIONS & self._collection_names()
        )

    @guarded(passes=(SMDebugTypeError,))
    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: Optional[float] = None
    ) -> None:
        value = self._as_saveable(value)
        super().save_scalar(name, value, sm_metric, timestamp)
        if sm_metric and self._metrics is not None:
            self._metrics.log(
                f"scalar/{name}", value, self.mode, self.mode_steps.get(self.mode, 0), timestamp
            )

    @guarded(passes=(SMDebugTypeError,))
    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default"
    ) -> None:
        super().save_tensor(tensor_name, self._as_saveable(tensor_value), collections_to_write)

    # ---- failures ----------------------------------------------------------------

    def _note_failure(self, where: str, error: Exception) -> None:
        """Counts a failure and logs the first one, or raises it if that is asked for."""
        if self.raise_errors:
            raise error
        self.failures += 1
        if self.failures == 1:
            self.logger.error(
                "smdebug: %s failed, the training goes on without what it was to record; more "
                "failures are only counted (SMDEBUG_RAISE_ERRORS=1 raises them): %s: %s",
                where,
                type(error).__name__,
                error,
                exc_info=error,
            )

    # ---- what the original had -----------------------------------------------------

    def has_default_hook_configuration(
        self, default_saved_collections: Sequence[str] = DEFAULT_SAVED_COLLECTIONS
    ) -> bool:
        """Whether just these collections are saved."""
        saved = {*self.include_collections, *self._always_saved}
        return not self.save_all and saved == set(default_saved_collections)

    def record_trace_events(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: there is no profiler here."""
        self.logger.info("record_trace_events: there is no profiler here; nothing is recorded")

    def close(self) -> None:
        """Ends an open step, writes what waits, and marks the trial as finished.

        A second call does nothing.  What could not be written is a failure like others.
        """
        self._close()

    @guarded
    def _close(self) -> None:
        try:
            super().close()
        finally:
            if self._metrics is not None:
                self._metrics.close()
