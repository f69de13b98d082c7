"""Hooks that were not closed: jobs that just end close theirs at exit."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Dict

if TYPE_CHECKING:
    from smdebug.core.hook import Hook

__all__ = ["close_all", "close_at_exit", "forget"]

# By the process that made them: a forked child holds its parent's, which are the parent's
# to close.
_processes: Dict[Hook, int] = {}


def close_at_exit(hook: Hook) -> None:
    """Has a hook closed when the interpreter exits."""
    _processes[hook] = os.getpid()


def forget(hook: Hook) -> None:
    """Says that a hook was closed."""
    _processes.pop(hook, None)


@atexit.register
def close_all() -> None:
    """Closes those that this process made."""
    for hook in [hook for hook, process in _processes.items() if process == os.getpid()]:
        try:
            hook.close()
        except Exception as error:
            hook.logger.error("closing the hook of %s: %s", hook.out_dir, error)
