"""The number of a hook's last step."""

from __future__ import annotations

from typing import Callable, ContextManager, Optional

from smdebug.core.modes import ModeKeys

__all__ = ["StepNumber"]

RunStep = Callable[[Optional[ModeKeys]], ContextManager[int]]


class StepNumber(int):
    """A step's number, which can be called to run the next step: see `Hook.step`."""

    _run_step: RunStep

    @classmethod
    def of(cls, number: int, run_step: RunStep) -> StepNumber:
        """The number of a hook's last step, and what runs that hook's next one."""
        step = cls(number)
        step._run_step = run_step
        return step

    def __call__(self, mode: Optional[ModeKeys] = None) -> ContextManager[int]:
        return self._run_step(mode)
