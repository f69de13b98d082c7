"""The steps of a trial, as they come."""

from __future__ import annotations

from typing import Iterator, List, Optional

from smdebug import _raw
from smdebug._handles import check
from smdebug.exceptions import NoMoreData, SMDebugTimeoutError, StepUnavailable
from smdebug.trials.trial import Trial

__all__ = ["new_steps"]

# How long one call into the library may wait before Python looks at its signals.
_SLICE_MS = 200


def new_steps(trial: Trial, after: int, end: Optional[int], wait: bool) -> Iterator[List[int]]:
    """Global steps after `after` and before `end`, each once, as many as are there at a time.

    Parameters
    ----------
    trial : Trial
        The trial.
    after : int
        The last step that is known already; -1 for none.
    end : int, optional
        The step to stop before.
    wait : bool
        Whether to go on until the job has ended.
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
    """Waits for a step, or one after it; False if the job has ended before."""
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
