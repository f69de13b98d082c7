"""Evaluates a rule over the steps of a trial."""

from __future__ import annotations

from bisect import bisect_right
from typing import Optional

from smdebug.core.logger import get_logger
from smdebug.exceptions import (
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules.rule import Rule
from smdebug.trials.trial import Trial

__all__ = ["invoke_rule"]


def invoke_rule(
    rule_obj: Rule,
    start_step: Optional[int] = 0,
    end_step: Optional[int] = None,
    raise_eval_cond: bool = False,
) -> None:
    """Evaluates a rule at one global step after another.

    Skips steps that were not saved or lack a required tensor.

    Parameters
    ----------
    rule_obj : Rule
        The rule.
    start_step : int
        The first step; 0 if None.
    end_step : int, optional
        The step to stop before.  By default the rule runs until the job has ended.
    raise_eval_cond : bool
        Whether the first step that meets the condition raises an exception.

    Raises
    ------
    RuleEvaluationConditionMet
        If the condition is met, and `raise_eval_cond` is True.
    NoMoreData
        If the job has ended before `end_step`.
    """
    logger = get_logger()
    name = type(rule_obj).__name__
    step = start_step or 0
    while end_step is None or step < end_step:
        try:
            rule_obj.invoke(step)
        except (TensorUnavailable, TensorUnavailableForStep, StepUnavailable) as error:
            logger.debug("rule %s skips step %d: %s", name, step, error)
            if isinstance(error, StepUnavailable):
                step = _next_step(rule_obj.base_trial, step)
                continue
        except RuleEvaluationConditionMet as finding:
            if raise_eval_cond:
                raise
            logger.info("%s", finding)
            if finding.end_of_rule:
                break
        except NoMoreProfilerData as end:
            logger.info("rule %s: %s", name, end)
            break
        step += 1


def _next_step(trial: Trial, step: int) -> int:
    """Returns the first known step after `step`, or `step` + 1 if there is none."""
    known = trial.steps(show_incomplete_steps=True)
    at = bisect_right(known, step)
    return known[at] if at < len(known) else step + 1
