"""Iterates over the steps of a trial while it grows."""

from __future__ import annotations

from typing import Iterator, List, Optional

from smdebug import _raw
from smdebug._handles import check
from smdebug.exceptions import NoMoreData, SMDebugTimeoutError, StepUnavailable
from smdebug.trials.trial import Trial

__all__ = ["new_steps"]

# How long one call into the library may wait before Python handles signals.
_SLICE_MS = 200


def new_steps(trial: Trial, after: int, end: Optional[int], wait: bool) -> Iterator[List[int]]:
    """Yields global steps after `after` and before `end`, each once, in available batches.

    Parameters
    ----------
    trial : Trial
        The trial.
    after : int
        The last step that is already known; -1 if there is none.
    end : int, optional
        The step to stop before.
    wait : bool
        Whether to continue until the job has ended.
    """
    while True:
        steps = [
            step
            for step in trial.steps(show_incomplete_steps=not wait or trial.loaded_all_steps)
            if step > after and (end is None or step < end)
        ]
        if steps:
            yield steps
            after = steps[-1]
        if not wait or (end is not None and after + 1 >= end):
            return
        if not steps and not _wait(trial, after + 1):
            return


def _wait(trial: Trial, step: int) -> bool:
    """Waits for a step or a later one.  Returns False if the job ended before it."""
    wait_for_step = _raw.smd_trial_wait_for_step
    while True:
        try:
            check(wait_for_step(trial._handle, step, _raw.SMD_MODE_GLOBAL, _SLICE_MS))
            return True
        except StepUnavailable:
            return True
        except NoMoreData:
            return False
        except SMDebugTimeoutError:
            pass
