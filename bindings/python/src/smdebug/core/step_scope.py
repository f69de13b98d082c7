"""A step of a hook as the block of a `with` statement."""

from __future__ import annotations

import logging
from typing import Optional, Protocol, Type

from smdebug.core.modes import ModeKeys

__all__ = ["StepScope", "discard_after_error"]


class StepOwner(Protocol):
    """The part of a hook that this module uses."""

    logger: logging.Logger

    def begin_step(self, mode: Optional[ModeKeys] = None) -> int: ...

    def end_step(self) -> None: ...

    def discard_step(self) -> None: ...


class StepScope:
    """Begins a step, and ends it after the block; discards it if the block raises.

    Parameters
    ----------
    hook : Hook
        The hook.
    mode : ModeKeys, optional
        The step's mode; the hook's current one, if not given.
    """

    def __init__(self, hook: StepOwner, mode: Optional[ModeKeys]) -> None:
        self._hook = hook
        self._mode = mode

    def __enter__(self) -> int:
        return self._hook.begin_step(self._mode)

    def __exit__(self, error_type: Optional[Type[BaseException]], *unused: object) -> None:
        if error_type is None:
            self._hook.end_step()
        else:
            discard_after_error(self._hook)


def discard_after_error(hook: StepOwner) -> None:
    """Discards a hook's open step; the error under way is the one that is reported."""
    try:
        hook.discard_step()
    except Exception as error:
        hook.logger.debug("discarding a step after an exception: %s", error)
