"""The process's hook, which a training script can get anywhere."""

from __future__ import annotations

from typing import Any, Optional, Type

from smdebug.core.config_validator import get_config_validator, is_in_use
from smdebug.core.error_handling_agent import ErrorHandlingAgent
from smdebug.core.error_policy import is_switched_on, raises_by_default
from smdebug.core.frameworks import FRAMEWORK
from smdebug.core.hook import Hook
from smdebug.core.logger import get_logger
from smdebug.exceptions import SMDebugTypeError

__all__ = ["del_hook", "get_hook", "set_hook"]

_hook: Optional[Hook] = None


def get_hook(
    json_config_path: Optional[str] = None,
    hook_class: Optional[Type[Hook]] = None,
    create_if_not_exists: bool = False,
    *,
    framework: Optional[FRAMEWORK] = None,
) -> Any:
    """Returns the process's hook.

    Parameters
    ----------
    json_config_path : str, optional
        The configuration of a new hook, as `Hook.create_from_json_file` accepts it.
    hook_class : type, optional
        The class of the hook.  A hook of another class is dropped.
    create_if_not_exists : bool
        Whether to create a hook if there is none and its configuration exists.
    framework : FRAMEWORK, optional
        The training's framework, whose version must be supported.

    Returns
    -------
    Hook or None
        None if there is none, if it cannot be created, if USE_SMDEBUG is "0" or "false", or
        if the framework's version is not supported.

    Notes
    -----
    A hook that cannot be created must not stop the training, so the error is logged.  It is
    raised if SMDEBUG_STRICT_CONFIG or SMDEBUG_RAISE_ERRORS is "1".
    """
    global _hook
    if not is_in_use():
        return None
    if framework is not None and not get_config_validator(framework).validate_training_job():
        return None
    if hook_class is None:
        if create_if_not_exists:
            raise ValueError("hook_class is required with create_if_not_exists")
        return _hook
    if _hook is not None and not isinstance(_hook, hook_class):
        get_logger().info("%r is not a %s: it is dropped", _hook, hook_class.__name__)
        _hook = None
    if _hook is None and create_if_not_exists:
        _make_hook(json_config_path, hook_class)
    return _hook


def _make_hook(json_config_path: Optional[str], hook_class: Type[Hook]) -> None:
    """Creates the process's hook; does nothing without a configuration, or if that fails."""
    try:
        set_hook(hook_class.create_from_json_file(json_config_path))
    except FileNotFoundError:
        return
    except Exception as error:
        # A framework's hook registers itself as the process's hook before it is complete.
        del_hook()
        if is_switched_on("SMDEBUG_STRICT_CONFIG") or raises_by_default():
            raise
        get_logger().error("cannot create the hook; nothing is recorded: %s", error, exc_info=error)


def set_hook(custom_hook: Hook) -> None:
    """Makes a hook the process's hook.

    Raises
    ------
    SMDebugTypeError
        If it is not a hook.
    """
    global _hook
    if not isinstance(custom_hook, Hook):
        raise SMDebugTypeError(f"{custom_hook!r} is not a hook")
    _hook = custom_hook
    ErrorHandlingAgent.get_error_handling_agent().set_hook(custom_hook)


def del_hook() -> None:
    """Drops the process's hook, which stays open."""
    global _hook
    _hook = None
    ErrorHandlingAgent.get_error_handling_agent().set_hook(None)
