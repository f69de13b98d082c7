"""The hook: records the tensors of a running job as a trial."""

from __future__ import annotations

import logging
import os
from typing import (
    Any,
    ClassVar,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from smdebug import _raw
from smdebug._arrays import view_of
from smdebug._handles import (
    HookHandle,
    Strings,
    check,
    out,
    text,
)
from smdebug.core.attach import Attachable
from smdebug.core.collection import Collection, CollectionKeys, push_all
from smdebug.core.config_constants import DEFAULT_WORKER_NAME
from smdebug.core.late_tensors import LateTensors
from smdebug.core.hook_arguments import (
    collection_names,
    collections_in,
    hook_arguments,
    load_options,
    make_options,
    tensorboard_folder,
)
from smdebug.core.hook_collections import HookCollections
from smdebug.core.logger import get_logger
from smdebug.core.metadata import HookMetadata, describe_run, note_failure
from smdebug.core.modes import ModeKeys
from smdebug.core.open_hooks import close_at_exit, forget
from smdebug.core.placement import Placement
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import (
    DEFAULT_SAVE_CONFIG_INTERVAL,
    SaveConfig,
    SaveConfigMode,
    SaveSettings,
)
from smdebug.core.step_number import StepNumber
from smdebug.core.step_scope import StepScope, discard_after_error
from smdebug.core.tensor import mode_number
from smdebug.core.utils import match_inc
from smdebug.exceptions import (
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTimeoutError,
    SMDebugTypeError,
    SMDebugValueError,
)

__all__ = ["Hook"]

Regexes = Union[str, List[Any], None]
AnyHook = TypeVar("AnyHook", bound="Hook")

_NOT_IN_EVALUATION = (CollectionKeys.GRADIENTS, CollectionKeys.OPTIMIZER_VARIABLES)

# How long one call into the library may wait before Python looks at its signals.
_SLICE_SECONDS = 0.2


class Hook(Attachable, HookCollections, HookMetadata, LateTensors):
    """Records the tensors of a job, whatever its framework.

    A job sets the mode, begins a step, saves tensors by name and ends the step.
    Collections and their settings decide which tensors are saved, at which steps and in
    what form; `wants` answers before an expensive copy.  The hook writes files in the
    background.  It may be used from any thread, and as a context manager that closes it.
    The interpreter closes the hooks that are still open when it exits.

    Parameters
    ----------
    out_dir : str or path
        Folder of the trial.  It must not hold a finished one.
    export_tensorboard : bool
        Write scalars and histograms for TensorBoard too.
    tensorboard_dir : str, optional
        The folder for TensorBoard's files; setting it also enables the export.  Default:
        "tensorboard" in `out_dir`.
    dry_run : bool
        Decide everything, write nothing.
    reduction_config : ReductionConfig, optional
        The parts that are saved of tensors whose collections have no reduction config.  Default: the
        tensor itself.
    save_config : SaveConfig, SaveConfigMode or dict, optional
        When tensors are saved whose collections have no save config.  Default: every
        500th step.
    include_regex : str or list of str, optional
        Regular expressions of tensors to save, in the collection "default".
    include_collections : list of str, optional
        Names of collections to save, in addition to the losses.
    save_all : bool
        Save every tensor, in the collection "all".
    include_workers : str
        "one": only worker_0 records; "all": every worker does.
    worker : str
        The name of this process among those of the job.
    num_workers : int
        The number of processes that record into `out_dir`.
    options : mapping of str to str, optional
        Further options of the C library, by name, as {"queue_policy": "drop"}.

    Raises
    ------
    SMDebugRuntimeError
        If no out_dir is given, or it holds a finished trial.
    SMDebugTypeError, SMDebugValueError
        If a parameter is of the wrong type or out of its range.
    """

    # Collections that are there from the start, with their regular expressions (None: those
    # of the C library), what is saved whatever the user includes, and how often.
    _builtin_collections: ClassVar[Optional[Mapping[str, Sequence[str]]]] = None
    _always_saved: ClassVar[Sequence[str]] = ()
    _save_interval: ClassVar[int] = DEFAULT_SAVE_CONFIG_INTERVAL
    # The same for collections that a configuration file lists; None: as for the others.
    _listed_save_interval: ClassVar[Optional[int]] = None
    _steps_are_explicit: ClassVar[bool] = True  # the job itself ends each step

    # True in what copying or unpickling makes of a hook: it records nothing.
    _is_copy = False

    def __init__(
        self,
        out_dir: Union[str, os.PathLike[str], None] = None,
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
        worker: str = DEFAULT_WORKER_NAME,
        num_workers: int = 1,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        if out_dir is None:
            raise SMDebugRuntimeError("out_dir is required: the folder of the trial")
        self.logger: logging.Logger = get_logger()
        self.out_dir = os.path.expanduser(text(os.fspath(out_dir), "out_dir"))
        self.worker = text(worker, "worker")
        self.num_workers = num_workers
        self.dry_run = dry_run
        self.save_all = save_all
        self.include_regex = include_regex
        self.include_collections = list(
            dict.fromkeys([*collection_names(include_collections), *self._always_saved])
        )
        if save_config is None:
            save_config = SaveConfig(save_interval=self._save_interval)
        self.save_config = SaveConfig.parse(save_config)
        if not isinstance(reduction_config, (ReductionConfig, type(None))):
            raise SMDebugTypeError(f"{reduction_config!r} is not a ReductionConfig")
        self.reduction_config = reduction_config or ReductionConfig(save_raw_tensor=True)
        self.tensorboard_dir = tensorboard_folder(
            export_tensorboard, tensorboard_dir, self.out_dir
        )
        settings: Dict[str, Any] = {
            "out_dir": self.out_dir,
            "worker": self.worker,
            "num_workers": num_workers,
            "include_workers": include_workers,
            "include_collections": ",".join(self.include_collections),
            "save_all": save_all,
            "dry_run": dry_run,
            "tensorboard_dir": self.tensorboard_dir or "",
            # A full disk or a network that is down is no reason to stop a training.
            "report_errors": "late",
            **(options or {}),
        }
        self.include_workers = str(settings["include_workers"])
        self._collections: Dict[str, Collection] = {}
        self._step_is_open = False
        raw_options = make_options(
            self._builtin_collections,
            settings,
            self.include_regex,
            self.save_config,
            self.reduction_config,
        )
        self._handle = HookHandle(out("hook", _raw.smd_hook_new, raw_options))
        describe_run(self._handle)
        close_at_exit(self)

    @classmethod
    def create_from_json_file(cls: Type[AnyHook], json_file_path: Optional[str] = None) -> AnyHook:
        """Makes a hook from a configuration file of the training service.

        Parameters
        ----------
        json_file_path : str, optional
            The file; if it is not given, the one that SMDEBUG_CONFIG_FILE_PATH names, or
            else the service's own place.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        SMDebugValueError
            If the file is not a JSON object.

        Notes
        -----
        Unknown keys and bad values are ignored, each with a warning that names the file,
        the key and the nearest known key.  SMDEBUG_STRICT_CONFIG=1 makes them an error.
        """
        path = "" if json_file_path is None else text(os.fspath(json_file_path), "path")
        builtin = cls._builtin_collections
        options = load_options(make_options(builtin), path, cls._save_interval)
        hook = cls(**hook_arguments(options))
        listed = options
        if cls._listed_save_interval is not None:
            listed = load_options(make_options(builtin), path, cls._listed_save_interval, False)
        for collection in collections_in(listed, cls._collection, listed is not options):
            # include_regex and save_all have put theirs into the hook's own collections.
            own = hook.get_collection(collection.name).include_regex
            collection.include([regex for regex in own if regex not in collection.include_regex])
            hook.add_collection(collection)
        return hook

    # ---- life -------------------------------------------------------------------

    def flush(self, timeout: Optional[float] = None) -> None:
        """Waits until every ended step is written, except those that wait for late tensors.

        Parameters
        ----------
        timeout : float, optional
            The longest wait in seconds.  Default: no limit.

        Raises
        ------
        SMDebugTimeoutError
            If the steps were not written in time.
        SMDebugError
            The first error of the background writer not yet reported.
        """
        rest = float("inf") if timeout is None else max(0.0, timeout)
        while True:
            try:
                check(_raw.smd_hook_flush(self._handle, int(min(rest, _SLICE_SECONDS) * 1000)))
                return
            except SMDebugTimeoutError:
                rest -= _SLICE_SECONDS
                if rest <= 0:
                    raise

    def close(self) -> None:
        """Ends an open step, writes what waits, and marks the trial as finished.

        A second call does nothing.

        Raises
        ------
        SMDebugError
            The first error of the background writer not yet reported.
        """
        forget(self)
        self._step_is_open = False
        try:
            self._push_collections()
        finally:
            try:
                check(_raw.smd_hook_close(self._handle))
            finally:
                _raw.flush_log()  # a forked child may exit without running exit functions

    def __enter__(self) -> Hook:
        return self

    def __exit__(
        self,
        error_type: Optional[Type[BaseException]],
        error: Optional[BaseException] = None,
        *unused: object,
    ) -> None:
        if error_type is not None and self._step_is_open and self._steps_are_explicit:
            discard_after_error(self)
        note_failure(self, error)
        self.close()

    def __repr__(self) -> str:
        return (
            f"<Hook out_dir={self.out_dir!r} worker={self.worker!r} step={int(self.step)} "
            f"mode={self.mode.name}>"
        )

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import hook_card

        return hook_card(self)

    # ---- steps ------------------------------------------------------------------

    @property
    def mode(self) -> ModeKeys:
        """The mode set last."""
        return ModeKeys(_raw.smd_hook_mode(self._handle))

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the following steps.

        Raises
        ------
        SMDebugValueError
            If it is not a mode.
        """
        if mode is None:
            raise SMDebugValueError("None is not a mode; modes are those of smdebug.modes")
        check(_raw.smd_hook_set_mode(self._handle, mode_number(mode)))

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int:
        """Begins the next step of the current mode, or of `mode`.

        Returns
        -------
        int
            The step's global number.

        Raises
        ------
        SMDebugRuntimeError
            If a step is open, or the hook is closed.
        InvalidCollectionConfiguration
            If a collection of the caller's own includes nothing.
        """
        if mode is not None:
            self.set_mode(mode)
        self._push_collections()
        step: int = out("int64", _raw.smd_hook_begin_step, self._handle)
        self._step_is_open = True
        return step

    def end_step(self) -> None:
        """Ends the step: what was saved becomes visible to readers as one piece.

        Raises
        ------
        SMDebugRuntimeError
            If no step is open.

        Notes
        -----
        A step that cannot be written does not stop the training: it is missing as a
        whole, logged and counted, and `flush` and `close` raise the first such error.
        """
        self._step_is_open = False
        check(_raw.smd_hook_end_step(self._handle))

    def discard_step(self) -> None:
        """Closes the open step without recording it; its numbers stay used.

        Raises
        ------
        SMDebugRuntimeError
            If no step is open.
        """
        self._step_is_open = False
        check(_raw.smd_hook_discard_step(self._handle))

    @property
    def step(self) -> StepNumber:
        """The last step begun, by its global number; -1 before the first.

        Called, it runs the next one: ``with hook.step(modes.TRAIN) as global_step:`` begins it,
        and ends it after the block, or discards it if the block raises.
        """
        last = _raw.smd_hook_last_step(self._handle, _raw.SMD_MODE_GLOBAL)
        return StepNumber.of(last, lambda mode: StepScope(self, mode))

    @property
    def mode_steps(self) -> Dict[ModeKeys, int]:
        """The last step of each mode that was begun; GLOBAL: of all."""
        steps = {mode: _raw.smd_hook_last_step(self._handle, mode.value) for mode in ModeKeys}
        return {mode: n for mode, n in steps.items() if n >= 0 or mode is ModeKeys.GLOBAL}

    # ---- tensors ----------------------------------------------------------------

    def wants(self, name: str) -> bool:
        """Returns True if the open step saves this tensor; False if no step is open."""
        return _raw.wants(self._handle, name)

    def save(self, name: str, value: Any) -> None:
        """Saves a tensor for the open step, if a collection selects it.

        The value is copied before this returns, and converted only if it is selected.

        Parameters
        ----------
        name : str
            The tensor's name.
        value
            Anything with the buffer protocol (numpy arrays of any stride), DLPack
            (PyTorch tensors; those on a device are copied from it) or `__array__`, a
            number, a text, or a list of them.

        Raises
        ------
        SMDebugTypeError
            If the value is no tensor, or of an element type that cannot be saved.
        SMDebugRuntimeError
            If no step is open.
        """
        if _raw.save(self._handle, name, value):
            return
        if self._step_is_open and not self.wants(name):
            return
        check(_raw.smd_hook_save(self._handle, name, view_of(value)))

    def set_placement(self, name: str, placement: Placement) -> None:
        """Records which part of a tensor this worker saves, for `Tensor.full_value`.

        Raises
        ------
        SMDebugValueError
            If the part is not inside the whole.
        """
        _raw.set_placement(self._handle, name, *placement)

    def save_tensor(
        self,
        tensor_name: str,
        tensor_value: Any,
        collections_to_write: Union[str, List[str]] = CollectionKeys.DEFAULT,
    ) -> None:
        """Saves a tensor as it is with the next step that saves anything.

        A value that is not a tensor is skipped with a warning.

        Parameters
        ----------
        tensor_name : str
            The tensor's name.
        tensor_value
            As `save` takes it.
        collections_to_write : str or list of str
            Names of the collections that get the tensor.  Missing ones are made.
        """
        try:
            view = view_of(tensor_value)
        except SMDebugTypeError as error:
            self.logger.warning("tensor %s is not saved: %s", tensor_name, error)
            return
        names = (
            [collections_to_write]
            if isinstance(collections_to_write, str)
            else list(collections_to_write)
        )
        check(
            _raw.smd_hook_save_custom(
                self._handle, text(tensor_name, "tensor name"), view, Strings(names)
            )
        )
        self._collection_changes += 1  # The collections have its name now.

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: Optional[float] = None
    ) -> None:
        """Saves one number as the tensor "scalar/<name>" with the next step that is saved.

        Parameters
        ----------
        name : str
            The scalar's name.
        value
            A tensor of one element, as `save` takes it.
        sm_metric : bool
            Ignored here; hooks of frameworks report the scalar to SageMaker.
        timestamp : float, optional
            When it was taken, in seconds since 1970; now, if not given.

        Raises
        ------
        SMDebugTypeError
            If the value does not have exactly one element.
        SMDebugValueError
            If the name is empty, or no text that can be written.
        """
        named = text(name, "scalar's name")
        if not named:
            raise SMDebugValueError("the scalar's name is empty")
        view = view_of(value)
        try:
            check(_raw.smd_hook_save_scalar(self._handle, named, view, timestamp or 0.0))
        except SMDebugValueError as error:
            raise SMDebugTypeError(str(error)) from error

    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Returns True if the open step saves this tensor, by itself or for the collection."""
        if self.wants(tensor_name):
            return True
        if collection_name == CollectionKeys.GRADIENTS:
            tensor_name = f"gradients/{tensor_name.partition(':')[0]}Grad"
            if self.wants(tensor_name):
                return True
        if collection_name not in self._collection_names():
            return False
        collection = self.get_collection(collection_name)
        return self._saves_now(collection) and (
            not collection.include_regex or match_inc(tensor_name, collection.include_regex)
        )

    def _saves_now(self, collection: Collection) -> bool:
        """Returns True if the open step saves tensors of a collection."""
        included = {*self.include_collections, CollectionKeys.LOSSES}
        if not self._step_is_open:
            return False
        if not (self.save_all or collection.name in included or CollectionKeys.ALL in included):
            return False
        mode = self.mode
        if mode in (ModeKeys.EVAL, ModeKeys.PREDICT) and collection.name in _NOT_IN_EVALUATION:
            return False
        own = collection.save_config.mode_save_configs[mode] if collection.save_config else None
        settings = own or self.save_config.mode_save_configs[mode] or SaveConfigMode()
        return settings.should_save_step(self.mode_steps[mode])

    def _push_collections(self) -> None:
        if push_all(list(self._collections.values()), self.add_collection):
            self._collection_changes += 1

    # ---- facts ------------------------------------------------------------------

    @property
    def is_recording(self) -> bool:
        """Whether this process writes: it is included, and this is no dry run."""
        return bool(_raw.smd_hook_is_recording(self._handle))

    def count(self, name: str) -> int:
        """Returns a count since the hook was made, such as "steps_written".

        Raises
        ------
        SMDebugValueError
            If there is no such count.
        """
        number: int = _raw.smd_hook_count(self._handle, text(name))
        if number < 0:
            raise SMDebugValueError(f"there is no count {name!r}")
        return number

    def __reduce__(self) -> Tuple[Any, ...]:
        """Models that hold a hook can be copied and pickled; the copy records nothing."""
        return _copy_of, (type(self), getattr(self, "out_dir", ""))


def _copy_of(hook_class: Type[Hook], out_dir: str) -> Hook:
    copy = hook_class.__new__(hook_class)
    copy._is_copy = True
    # No file can be there: that the hook's own trial may have ended does not matter.
    Hook.__init__(copy, os.path.join(os.devnull, "copy"), dry_run=True)
    copy.out_dir = out_dir
    return copy
