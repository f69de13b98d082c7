"""Closes the hooks that a job leaves open when the interpreter exits."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from typing import Dict, Optional, Protocol

from smdebug.core.metadata import note_failure

__all__ = ["close_all", "close_at_exit", "forget"]


class OpenHook(Protocol):
    """The part of a hook that this module uses."""

    logger: logging.Logger
    out_dir: str

    def close(self) -> None: ...


# The process that made each hook: a forked child inherits its parent's hooks, which only the
# parent may close.
_processes: Dict[OpenHook, int] = {}


def close_at_exit(hook: OpenHook) -> None:
    """Registers a hook to be closed when the interpreter exits."""
    _processes[hook] = os.getpid()


def forget(hook: OpenHook) -> None:
    """Unregisters a hook that was closed."""
    _processes.pop(hook, None)


def _last_error() -> Optional[BaseException]:
    """Returns the exception that ends the interpreter."""
    # Where people type, one exception ends one command.
    return None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)


@atexit.register
def close_all() -> None:
    """Closes the hooks that this process made and did not close."""
    error = _last_error()
    for hook in [hook for hook, process in _processes.items() if process == os.getpid()]:
        note_failure(hook, error)
        try:
            hook.close()
        except BaseException as failure:  # the others are closed too
            hook.logger.error("cannot close the hook of %s: %s", hook.out_dir, failure)
