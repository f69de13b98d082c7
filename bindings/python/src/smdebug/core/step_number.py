"""The number of a hook's last step, which is also the function that runs the next."""

from __future__ import annotations

from typing import Callable, ContextManager, Optional

from smdebug.core.modes import ModeKeys

__all__ = ["StepNumber"]

RunStep = Callable[[Optional[ModeKeys]], ContextManager[int]]


class StepNumber(int):
    """The number of a step.  Call it to run the next step: see `Hook.step`."""

    _run_step: RunStep

    @classmethod
    def of(cls, number: int, run_step: RunStep) -> StepNumber:
        """Returns the number of a hook's last step, with the function that runs the next one."""
        step = cls(number)
        step._run_step = run_step
        return step

    def __call__(self, mode: Optional[ModeKeys] = None) -> ContextManager[int]:
        return self._run_step(mode)
