"""Findings and results of rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, List, Optional, Union

from smdebug import _raw
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugValueError

__all__ = [
    "Action",
    "Finding",
    "RuleResult",
    "RuleStatus",
    "action_of",
    "finding_of",
    "rule_results",
]


class Action(IntEnum):
    """Actions that findings recommend."""

    CONTINUE = 0
    WARN = 1
    STOP = 2


class RuleStatus(Enum):
    """A rule's result over all steps that it has evaluated."""

    PASSED = 0
    HAS_FINDINGS = 1
    NO_TENSORS = 2
    NOT_ENOUGH_DATA = 3


@dataclass(frozen=True)
class Finding:
    """A finding of a rule at one step.

    A function of yours that reports one sets what it knows: `RuleSet` fills in the rule, step and
    mode, and recommends the more severe of the finding's action and the rule's.

    Attributes
    ----------
    rule : str
        The rule's name.
    check : str
        Which of the rule's checks it was; "" for rules with one.
    tensor, worker : str
        The culprit, and the worker that recorded it, or "".
    message : str
        All that in one sentence.
    step : int
        The global step.
    mode : ModeKeys
        The step's mode.
    mode_step : int
        Its number in that mode.
    action : Action
        The recommended action.
    value, limit : float or None
        The measured value, and the limit that it passed.
    """

    rule: str = ""
    check: str = ""
    tensor: str = ""
    worker: str = ""
    message: str = ""
    step: int = -1
    mode: ModeKeys = ModeKeys.GLOBAL
    mode_step: int = -1
    action: Action = Action.CONTINUE
    value: Optional[float] = None
    limit: Optional[float] = None

    def __str__(self) -> str:
        return f"{self.rule} at step {self.step}: {self.message}"


@dataclass(frozen=True)
class RuleResult:
    """The summary of one rule.

    Attributes
    ----------
    rule : str
        The rule's name.
    status : RuleStatus
        Whether it passed, and if not, why.
    finding_count : int
        The number of findings.
    message : str
        The first finding, or why there is none.
    first : Finding or None
        The first finding.
    """

    rule: str
    status: RuleStatus
    finding_count: int
    message: str
    first: Optional[Finding]

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def action_of(action: Union[Action, str]) -> Action:
    """The action with this name or number."""
    try:
        return Action[action.upper()] if isinstance(action, str) else Action(action)
    except (KeyError, ValueError) as error:
        raise SMDebugValueError(f"{action!r} is not 'continue', 'warn' or 'stop'") from error


def finding_of(raw: Any) -> Finding:
    """The finding of a tuple that the native module returns."""
    rule, check, tensor, worker, message, step, mode, mode_step, action, value, limit = raw
    return Finding(
        rule=rule,
        check=check,
        tensor=tensor,
        worker=worker,
        message=message,
        step=step,
        mode=ModeKeys(mode),
        mode_step=mode_step,
        action=Action(action),
        value=value,
        limit=limit,
    )


def rule_results(handle: Any) -> List[RuleResult]:
    """The results of the rule set with this handle."""
    return [
        RuleResult(rule, RuleStatus(status), count, message, first and finding_of(first))
        for rule, status, count, message, first in _raw.rule_results(handle)
    ]
