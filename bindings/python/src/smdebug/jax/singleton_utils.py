"""The one JAX hook of a process."""

from __future__ import annotations

from typing import Optional

from smdebug.core import singleton_utils
from smdebug.core.singleton_utils import del_hook, set_hook
from smdebug.jax.hook import Hook

__all__ = ["del_hook", "get_hook", "set_hook"]


def get_hook(
    json_config_path: Optional[str] = None, create_if_not_exists: bool = False
) -> Optional[Hook]:
    """Returns the process's hook.

    Parameters
    ----------
    json_config_path : str, optional
        The configuration, as `Hook.create_from_json_file` takes it.
    create_if_not_exists : bool
        Whether to make a hook if there is none and its configuration exists.

    Returns
    -------
    Hook or None
        None if there is none, or if USE_SMDEBUG is "0" or "false".
    """
    hook: Optional[Hook] = singleton_utils.get_hook(json_config_path, Hook, create_if_not_exists)
    return hook
