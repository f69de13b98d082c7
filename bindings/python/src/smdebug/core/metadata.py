"""What a job records about itself: its hyper-parameters, and where and from what it runs."""

import json
import platform
import sys
import traceback
from typing import Any, Mapping, Optional

from smdebug import _raw
from smdebug._handles import check, text
from smdebug.core.logger import get_logger
from smdebug.exceptions import SMDebugError

# The versions of those that are imported when a hook is made are recorded.
_FRAMEWORKS = (
    "torch",
    "tensorflow",
    "keras",
    "jax",
    "flax",
    "mxnet",
    "xgboost",
    "lightgbm",
    "sklearn",
    "transformers",
    "accelerate",
    "lightning",
    "peft",
    "numpy",
)

_LONGEST_REASON = 500  # characters


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    item = getattr(value, "item", None)  # numbers of numpy and of frameworks
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError):  # keys that JSON has not, or a value that holds itself
        return str(value)


class HookMetadata:
    """The part of a hook that records what the job is."""

    _handle: Any

    def set_metadata(self, metadata: Optional[Mapping[str, Any]] = None, /, **more: Any) -> None:
        """Records hyper-parameters and other facts of the job, for `Trial.metadata`.

        They are written with the next step that is recorded, and when the hook is closed.  An
        earlier value of a key is replaced.

        Parameters
        ----------
        metadata : mapping, optional
            Values by key.  Texts are recorded as they are, other values as JSON.
        **more
            More of them, such as `learning_rate=0.1`.

        Raises
        ------
        SMDebugValueError
            If a key is empty, has control characters or more than 256 bytes, a value has more
            than 64 KiB, or there are more than 1,000 keys.
        """
        for key, value in {**(metadata or {}), **more}.items():
            check(_raw.smd_hook_set_metadata(self._handle, text(key, "key"), text(_as_text(value), "value")))


def note_failure(hook: Any, error: Optional[BaseException]) -> None:
    """Records why a hook's job fails, for the state of its trial.  What fails here is logged."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return
    try:
        words = "".join(traceback.format_exception_only(type(error), error)).split()
        reason = " ".join(words)[:_LONGEST_REASON]
        printable = "".join(each if each.isprintable() else "?" for each in reason)
        hook.set_metadata({"run.failure": printable})
    except Exception as trouble:  # that of the job is the one to report
        get_logger().debug("the failure of the job is not recorded: %s", trouble)


def describe_run(hook: Any) -> None:
    """Records on what a hook's job runs.  What fails is logged: it is no reason to stop."""
    try:
        check(_raw.smd_hook_describe_run(hook))
        check(_raw.smd_hook_set_metadata(hook, "run.python", platform.python_version()))
        for name in _FRAMEWORKS:
            version = getattr(sys.modules.get(name), "__version__", None)
            if isinstance(version, str):
                check(_raw.smd_hook_set_metadata(hook, f"run.{name}", version))
    except SMDebugError as failure:
        get_logger().warning("what the job runs on is not recorded whole: %s", failure)
