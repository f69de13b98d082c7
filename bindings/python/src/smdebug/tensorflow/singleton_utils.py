"""The one hook of a process: see `smdebug.core.singleton_utils`."""

from __future__ import annotations

from typing import Any, Optional, Type

from smdebug.core import singleton_utils
from smdebug.core.frameworks import FRAMEWORK
from smdebug.core.hook import Hook
from smdebug.core.singleton_utils import del_hook, set_hook
from smdebug.exceptions import SMDebugValueError

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(
    hook_type: Optional[str] = None,
    json_config_path: Optional[str] = None,
    create_if_not_exists: bool = False,
) -> Any:
    """Returns the process's hook.

    Parameters
    ----------
    hook_type : str, optional
        "keras"; required to make a hook.  "session" and "estimator" belong to TensorFlow 1,
        which is not supported.
    json_config_path : str, optional
        The configuration to make it from, as `KerasHook.create_from_json_file` takes it.
    create_if_not_exists : bool
        Whether to make a hook if there is none and its configuration exists.

    Returns
    -------
    KerasHook or None
        None if there is none, or if USE_SMDEBUG is "0" or "false".

    Raises
    ------
    SMDebugValueError
        If no hook is of that type.
    """
    hook_class = None if hook_type is None else _hook_class(hook_type)
    return singleton_utils.get_hook(
        json_config_path, hook_class, create_if_not_exists, framework=FRAMEWORK.TENSORFLOW
    )


def _hook_class(hook_type: str) -> Type[Hook]:
    from smdebug.tensorflow import session

    if hook_type == "keras":
        from smdebug.tensorflow.keras import KerasHook

        return KerasHook
    if hook_type == "session":
        return session.SessionHook
    if hook_type == "estimator":
        return session.EstimatorHook
    raise SMDebugValueError(f"there is no hook of type {hook_type!r}; hooks are of type 'keras'")
