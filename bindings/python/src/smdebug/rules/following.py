"""Iterates over the steps of a trial while it grows."""

from __future__ import annotations

from typing import Iterator, List, Optional

from smdebug.exceptions import NoMoreData, StepUnavailable
from smdebug.trials.trial import Trial

__all__ = ["new_steps"]


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
        known = trial.steps(show_incomplete_steps=not wait or trial.loaded_all_steps)
        steps = [step for step in known if step > after and (end is None or step < end)]
        if steps:
            yield steps
            after = steps[-1]
        # The job may save no step right before `end`: a known step from `end` on shows that it
        # has passed.
        has_passed_end = end is not None and (after + 1 >= end or known[-1:] >= [end])
        if not wait or has_passed_end:
            return
        if not steps and not _wait(trial, after + 1):
            return


def _wait(trial: Trial, step: int) -> bool:
    """Waits for a step or a later one.  Returns False if the job ended before it."""
    try:
        trial.wait_for_steps([step])
    except StepUnavailable:
        return True
    except NoMoreData:
        return False
    return True
