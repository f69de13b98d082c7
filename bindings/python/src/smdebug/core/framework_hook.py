"""The common base of the hooks for frameworks."""

from __future__ import annotations

from collections import Counter, deque
from typing import (
    AbstractSet,
    Any,
    ClassVar,
    Deque,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from smdebug import _raw
from smdebug._handles import Strings, check
from smdebug.core.collection import SM_METRIC_COLLECTIONS
from smdebug.core.config_constants import DEFAULT_SAVED_COLLECTIONS, DEFAULT_WORKER_NAME
from smdebug.core.error_policy import guarded, raises_by_default
from smdebug.core.hook import Hook, Regexes
from smdebug.core.metrics import MetricsFile
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveSettings
from smdebug.core.singleton_utils import set_hook
from smdebug.core.step_profile import StepProfile, profile_of_job
from smdebug.core.finding import Action, Finding
from smdebug.exceptions import SMDebugError, SMDebugTypeError, TrainingStopped

__all__ = ["FrameworkHook"]

_CONTINUE = int(Action.CONTINUE)
_MOST_HEARD = 10_000  # findings, as the core keeps of a job that never takes them


class FrameworkHook(Hook):
    """A hook that a framework calls during its training.

    It counts the steps itself.  Its own failures never stop the training: they are counted
    in `failures`, and the first one is logged.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, options
        As `smdebug.Hook` takes them.
    raise_errors : bool, optional
        Whether failures are raised.  Defaults to SMDEBUG_RAISE_ERRORS.

    Attributes
    ----------
    failures : int
        The number of calls by the framework that failed in the hook.
    stop_finding : smdebug.rules.Finding or None
        The first finding of the attached rules (see `attach`) that recommends to stop the
        training.  The hook then stops it if the framework offers a way.
    """

    _always_saved: ClassVar[Sequence[str]] = DEFAULT_SAVED_COLLECTIONS

    stop_finding: Optional[Finding] = None

    _profile: Optional[StepProfile] = None

    # Whether the program reads `stop_finding` itself; then nothing is raised.
    _stops_gracefully = False

    # The parameters in the collections "frozen" and "once_frozen".
    _frozen: FrozenSet[str] = frozenset()
    _thawed: FrozenSet[str] = frozenset()

    # A step stays open until the framework begins the next one, so that it is complete.
    _steps_are_explicit = False

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
        self._heard: Deque[Finding] = deque(maxlen=_MOST_HEARD)
        self._times_heard: Counter[Tuple[str, ...]] = Counter()
        self._has_raised = False
        self._open_profile()
        set_hook(self)

    # ---- implemented by the hook of a framework ------------------------------------

    def _place(self) -> Tuple[str, int]:
        """Returns this process's worker name and the number of workers."""
        return DEFAULT_WORKER_NAME, 1

    def _is_tensor(self, value: Any) -> bool:
        """Returns True if `_save_numbered` saves the value as one tensor."""
        raise NotImplementedError

    def _as_saveable(self, value: Any) -> Any:
        """Returns a value that `save` accepts; called for selected tensors only."""
        return value

    def _prepare_collections(self) -> None:
        """Completes the collections, before the first step."""

    @property
    def _stops_by_raising(self) -> bool:
        """Returns True if the hook can stop the framework only with an exception.

        Then the step after the finding raises TrainingStopped."""
        return True

    # ---- profile ---------------------------------------------------------------------

    _profile_class: ClassVar[str] = "smdebug.core.step_profile.StepProfile"

    @guarded(even_if_disabled=True)
    def _open_profile(self) -> None:
        own = (each.__module__.split(".") for each in type(self).__mro__)
        framework = next(names[1] for names in own if names[0] == "smdebug")
        try:
            self._profile = profile_of_job(
                self._profile_class, self.worker, self.num_workers, framework
            )
        except (SMDebugError, OSError) as error:
            self.logger.error("the job is not profiled: %s", error)

    @guarded
    def _begin_profiled_step(self, profile: StepProfile, step: int) -> None:
        profile.begin_step(step, self.mode)

    @guarded(even_if_disabled=True)
    def _close_profile(self) -> None:
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.close()

    # ---- steps -------------------------------------------------------------------

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int:
        step = super().begin_step(mode)
        if self._profile is not None:
            self._begin_profiled_step(self._profile, step)
        return step

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
        """Ends the open step, if there is one, and handles the findings of rules."""
        if not self._step_is_open:
            return
        self.end_step()
        self._hear_rules()

    def _hear_rules(self) -> None:
        # At each step: without the property, which makes an enumerator.
        if self._has_rules and _raw.smd_hook_action(self._handle) != _CONTINUE:
            self._hear(super().take_findings())

    def _raise_if_to_stop(self) -> None:
        # Raise once: the script may catch it and continue, for example with a last evaluation.
        if self._stops_gracefully or self._has_raised:
            return
        if self.stop_finding is not None:
            self._has_raised = True
            raise TrainingStopped(self.stop_finding)

    def _hear(self, findings: List[Finding]) -> None:
        for finding in findings:
            self._log_finding(finding)
            if finding.action is Action.STOP and self.stop_finding is None:
                self.stop_finding = finding
        self._heard.extend(findings)

    def _log_finding(self, finding: Finding) -> None:
        """Logs a finding the first time, and one that repeats the 10th, 100th, ... time."""
        key = finding.rule, finding.check, finding.tensor, finding.worker
        self._times_heard[key] += 1
        times = self._times_heard[key]
        if times == 1:
            self.logger.warning("%s", finding)
        elif f"{times}".rstrip("0") == "1":
            self.logger.warning("for the %dth time: %s", times, finding)

    def take_findings(self) -> List[Finding]:
        findings = [*self._heard, *super().take_findings()]
        self._heard.clear()
        return findings[-_MOST_HEARD:]

    @property
    def _saves_step(self) -> bool:
        """Returns True if the open step saves anything."""
        return self._step_is_open and bool(_raw.smd_hook_saves_step(self._handle))

    def _set_frozen(self, names: Iterable[str]) -> None:
        """Puts the parameters that are not trained into the collection "frozen", for rules.

        Those that were, and are trained now, are in "once_frozen": who reads the trial later sees
        the collections as they were at the end.
        """
        frozen = frozenset(names)
        if frozen == self._frozen:
            return
        self._thawed |= self._frozen - frozen
        self._frozen = frozen
        self._fill("frozen", frozen)
        if self._thawed:
            self._fill("once_frozen", self._thawed)

    def _tell(self, collection: str, regex: str) -> None:
        """Tells rules, and who reads the trial, that a collection holds these tensors."""
        told = self.get_collection(collection)
        if regex not in told.include_regex:
            told.include(regex)

    def _fill(self, name: str, members: AbstractSet[str]) -> None:
        self._tell(name, "^$")  # A collection may not be empty.
        self.get_collection(name).tensor_names = set(members)

    def _add_to_step(self, *collections: str) -> None:
        """Makes the open step also save these collections."""
        check(_raw.smd_hook_add_to_step(self._handle, Strings(list(collections))))

    # ---- tensors -----------------------------------------------------------------

    def _save(self, name: str, value: Any) -> None:
        """Saves a tensor if the open step selects it.

        A tensor that cannot be saved counts as one failure and affects no other tensor.
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

        Walks lists, tuples and dicts in order.  Within a step the numbering continues from
        call to call.
        """
        if self._is_tensor(value):
            # Threads may run parts of a model concurrently.
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
            # A scalar that is saved before the first step belongs to the first step.
            step = max(self.mode_steps.get(self.mode, 0), 0)
            self._metrics.log(f"scalar/{name}", value, self.mode, step, timestamp)

    @guarded(passes=(SMDebugTypeError,))
    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default"
    ) -> None:
        super().save_tensor(tensor_name, self._as_saveable(tensor_value), collections_to_write)

    # ---- failures ----------------------------------------------------------------

    def _note_failure(self, where: str, error: Exception) -> None:
        """Counts a failure and logs the first one.  Raises it if the job selected that."""
        if self.raise_errors:
            raise error
        self.failures += 1
        if self.failures == 1 and getattr(error, "code", "") == "AFTER_FORK":
            self.logger.warning("the hook records for the process that made it, and not for this one")
            return
        if self.failures == 1:
            self.logger.error(
                "smdebug: %s failed; the training continues, and its tensors are not recorded; "
                "more failures are only counted (SMDEBUG_RAISE_ERRORS=1 raises them): %s: %s",
                where,
                type(error).__name__,
                error,
                exc_info=error,
            )

    # ---- compatibility with the original -------------------------------------------

    def has_default_hook_configuration(
        self, default_saved_collections: Sequence[str] = DEFAULT_SAVED_COLLECTIONS
    ) -> bool:
        """Returns True if the hook saves exactly these collections."""
        saved = {*self.include_collections, *self._always_saved}
        return not self.save_all and saved == set(default_saved_collections)

    def has_default_configuration(self) -> bool:
        """Returns True if the hook records only what it records by default."""
        return self.has_default_hook_configuration()

    @guarded
    def record_trace_events(
        self,
        timestamp: float,
        training_phase: str = "",
        op_name: str = "",
        phase: str = "X",
        duration: float = 1,
        **kwargs: Any,
    ) -> None:
        """Records an event of the caller's, if the job is profiled.

        Parameters
        ----------
        timestamp : float
            When it began, in seconds since 1970.
        training_phase, op_name : str
            Its group, and its name.
        phase : str
            "X", or "i" for a moment.
        duration : float
            The seconds that it took.
        **kwargs
            What else to record; `step_num` is its step.
        """
        if self._profile is not None:
            self._profile.record_given(
                timestamp, training_phase, op_name, phase == "X", duration, kwargs
            )

    def close(self) -> None:
        """Ends an open step, writes all queued steps, and marks the trial as finished.

        A second call does nothing.  A write error counts as a failure.
        """
        self._close()

    @guarded(even_if_disabled=True)
    def _close(self) -> None:
        try:
            super().close()
            self._hear_rules()  # of the end of the training
        finally:
            self._close_profile()
            if self._metrics is not None:
                self._metrics.close()
