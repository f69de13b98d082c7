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
    "Level",
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
    WORTH_A_LOOK = 4


class Level(Enum):
    """How sure a finding is.

    A finding worth a look may be wrong: its action is always `Action.CONTINUE`, and it never ends
    an evaluation.
    """

    FINDING = 0
    WORTH_A_LOOK = 1


@dataclass(frozen=True)
class Finding:
    """A finding of a rule at one step.

    A function of yours that reports one sets what it knows: `RuleSet` fills in the rule, step and
    mode, and recommends the more severe of the finding's action and the rule's, unless the finding
    is worth a look.

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
    level : Level
        Whether it is a finding or worth a look.
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
    level: Level = Level.FINDING

    def __str__(self) -> str:
        look = "worth a look: " if self.level is Level.WORTH_A_LOOK else ""
        return f"{look}{self.rule} at step {self.step}: {self.message}"

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import finding_card

        return finding_card(self)


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
        The number of findings, without those worth a look.
    message : str
        The first finding, or why there is none.
    first : Finding or None
        The first finding; if there is none, the first worth a look.
    look_count : int
        The number of findings worth a look.
    """

    rule: str
    status: RuleStatus
    finding_count: int
    message: str
    first: Optional[Finding]
    look_count: int = 0

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import result_card

        return result_card(self)


def action_of(action: Union[Action, str]) -> Action:
    """The action with this name or number."""
    try:
        return Action[action.upper()] if isinstance(action, str) else Action(action)
    except (KeyError, ValueError) as error:
        raise SMDebugValueError(f"{action!r} is not 'continue', 'warn' or 'stop'") from error


def finding_of(raw: Any) -> Finding:
    """The finding of a tuple that the native module returns."""
    rule, check, tensor, worker, message, step, mode, mode_step, action, value, limit, level = raw
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
        level=Level(level),
    )


def rule_results(handle: Any) -> List[RuleResult]:
    """The results of the rule set with this handle."""
    return [
        RuleResult(rule, RuleStatus(status), count, message, first and finding_of(first), looks)
        for rule, status, count, message, first, looks in _raw.rule_results(handle)
    ]
