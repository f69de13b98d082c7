"""The one hook of a process, which a training script may ask for anywhere."""

from __future__ import annotations

import os
from typing import Any, Optional, Type

from smdebug.core.hook import Hook
from smdebug.core.logger import get_logger
from smdebug.exceptions import SMDebugTypeError

__all__ = ["del_hook", "get_hook", "set_hook"]

_hook: Optional[Hook] = None


def get_hook(
    json_config_path: Optional[str] = None,
    hook_class: Optional[Type[Hook]] = None,
    create_if_not_exists: bool = False,
) -> Any:
    """The process's hook.

    Parameters
    ----------
    json_config_path : str, optional
        The configuration to make it from, as `Hook.create_from_json_file` takes it.
    hook_class : type, optional
        What the hook must be: one of another class is forgotten.
    create_if_not_exists : bool
        Whether to make it, if there is none and its configuration exists.

    Returns
    -------
    Hook or None
        None if there is none, or if USE_SMDEBUG is "0" or "false".
    """
    global _hook
    if not _is_in_use():
        return None
    if hook_class is None:
        if create_if_not_exists:
            raise ValueError("to make a hook, say of which class it is: hook_class")
        return _hook
    if _hook is not None and not isinstance(_hook, hook_class):
        get_logger().info("%r is no %s: forgotten", _hook, hook_class.__name__)
        _hook = None
    if _hook is None and create_if_not_exists:
        try:
            set_hook(hook_class.create_from_json_file(json_config_path))
        except FileNotFoundError:
            return None
    return _hook


def set_hook(custom_hook: Hook) -> None:
    """Makes a hook the process's.

    Raises
    ------
    SMDebugTypeError
        If it is no hook.
    """
    global _hook
    if not isinstance(custom_hook, Hook):
        raise SMDebugTypeError(f"{custom_hook!r} is not a hook")
    _hook = custom_hook


def del_hook() -> None:
    """Forgets the process's hook, which stays open."""
    global _hook
    _hook = None


def _is_in_use() -> bool:
    return os.environ.get("USE_SMDEBUG", "").lower() not in ("0", "false", "no", "off", "n", "f")
