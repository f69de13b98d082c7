"""The common part of the callbacks and context managers: the hook of one training."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Type, TypeVar

from smdebug.core.logger import get_logger
from smdebug.core.metadata import note_failure
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["RecordingCallback", "check_arguments", "make_hook"]

AnyCallback = TypeVar("AnyCallback", bound="RecordingCallback")


def check_arguments(out_dir: Any, hook: Any, settings: Dict[str, Any]) -> None:
    """Checks the arguments of a callback.

    Raises
    ------
    SMDebugValueError
        If neither or both of `out_dir` and `hook` are given, or settings are given for a hook
        that exists.
    """
    if (out_dir is None) == (hook is None):
        raise SMDebugValueError("give either out_dir or hook")
    if hook is not None and settings:
        raise SMDebugValueError(
            f"{', '.join(settings)}: settings of a hook that exists; give them to the hook"
        )


def make_hook(hook_class: Any, out_dir: Any, settings: Dict[str, Any]) -> Any:
    """Returns a new hook that also records the learning rate."""
    included = list(settings.get("include_collections") or ())
    return hook_class(
        out_dir=out_dir, **{**settings, "include_collections": [*included, "learning_rate"]}
    )


class RecordingCallback:
    """Makes a hook when a training begins, and closes it when the training ends.

    A callback records one training.  Copies of it, as in cloned estimators, record nothing.  If
    the framework does not report the end of the training, as after an exception, the hook is
    closed by `close`, by the end of a ``with`` block, or when the callback is deleted.

    Parameters
    ----------
    out_dir : str or path, optional
        Folder of the trial.
    hook : optional
        A hook of the framework instead of `out_dir`.
    rules : smdebug.rules.RuleSet, optional
        Rules to attach.
    **settings
        Further parameters of the framework's hook.
    """

    def __init__(
        self,
        out_dir: Any = None,
        *,
        hook: Any = None,
        rules: Optional[RuleSet] = None,
        **settings: Any,
    ) -> None:
        check_arguments(out_dir, hook, settings)
        self._out_dir = out_dir
        self._hook = hook
        self._rules = rules
        self._settings = settings
        self._is_open = False
        self._has_begun = False
        self._is_over = False
        self._finalizer: Any = None

    _is_copy = False

    # ---- implemented for a framework -----------------------------------------------

    def _hook_class(self) -> Any:
        """Returns the class of the framework's hook."""
        raise NotImplementedError

    # ---- life ----------------------------------------------------------------------

    @property
    def hook(self) -> Any:
        """The hook; None before the training begins."""
        return self._hook

    @property
    def _recorder(self) -> Any:
        """The hook while it records; otherwise None."""
        return self._hook if self._is_open and not self._is_over else None

    def _open(self) -> Any:
        """Returns the hook, which is made if there is none yet; None after the end."""
        if self._is_over:
            return None
        if not self._is_open:
            if self._hook is None:
                self._hook = make_hook(self._hook_class(), self._out_dir, self._settings)
                self._finalizer = weakref.finalize(self, _close_in, os.getpid(), self._hook)
                # At exit, open hooks are closed anyway.
                self._finalizer.atexit = False
            self._attach()
            self._is_open = True
        return self._hook

    def _attach(self) -> None:
        """Attaches the rules, unless they are those of another training, which goes on."""
        if self._rules is None:
            return
        try:
            self._hook.attach(self._rules)
        except SMDebugRuntimeError as error:
            if error.code != "WRONG_STATE":
                raise
            get_logger().warning("%s; no rule evaluates this training", error)

    def _begin(self) -> Any:
        """Begins the training.  Returns the hook; None for a second training."""
        if self._has_begun:
            # The framework does not report the end of a training that failed.
            self.close()
        if self._is_over:
            self._tell_over()
            return None
        self._has_begun = True
        return self._open()

    def _tell_over(self) -> None:
        if self._is_copy:
            return
        get_logger().warning(
            "%s holds a finished trial: this training is not recorded; give each training a "
            "callback and a folder of its own",
            self._out_dir or "the hook",
        )

    def close(self) -> None:
        """Marks the trial as finished.  A second call does nothing."""
        if self._is_over:
            return
        self._is_over = True
        if self._finalizer is not None:
            self._finalizer.detach()
        if self._hook is not None:
            self._hook.close()

    def __enter__(self: AnyCallback) -> AnyCallback:
        return self

    def __exit__(
        self, error_type: object = None, error: Optional[BaseException] = None, *unused: object
    ) -> None:
        self._fail(error)
        self.close()

    def _fail(self, error: Optional[BaseException]) -> None:
        """Records why the training fails."""
        if self._hook is not None and not self._is_over:
            note_failure(self._hook, error)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Estimators with a callback can be copied and pickled; the copy records nothing."""
        return _copy_of, (type(self),)


def _copy_of(callback_class: Type[RecordingCallback]) -> RecordingCallback:
    copy = callback_class("")
    copy._is_copy = copy._is_over = True
    return copy


def _close_in(process: int, hook: Any) -> None:
    # A forked child inherits its parent's callbacks, whose hooks only the parent may close.
    if os.getpid() == process:
        hook.close()
