"""Running a rule over the steps of a trial."""

from __future__ import annotations

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

__all__ = ["invoke_rule"]


def invoke_rule(
    rule_obj: Rule,
    start_step: Optional[int] = 0,
    end_step: Optional[int] = None,
    raise_eval_cond: bool = False,
) -> None:
    """Asks a rule of one global step after another.

    Steps that were not saved, or lack a tensor that the rule needs, are passed over.

    Parameters
    ----------
    rule_obj : Rule
        The rule.
    start_step : int
        The first step; 0 if None.
    end_step : int, optional
        The step to stop before; without it, the rule runs until the job has ended.
    raise_eval_cond : bool
        Whether the first step that meets the condition ends the run with an exception.

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
            logger.debug("rule %s passes over step %d: %s", name, step, error)
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
