"""What rules say of a job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, List, Optional

from smdebug import _raw
from smdebug._handles import VerdictsHandle
from smdebug.core.modes import ModeKeys

__all__ = ["Action", "Verdict", "VerdictStatus", "take_verdicts"]


class Action(IntEnum):
    """What is to be done about a finding."""

    CONTINUE = 0
    WARN = 1
    STOP = 2


class VerdictStatus(Enum):
    """What a verdict says: of one step, a finding; of a whole run, any of these."""

    NO_ISSUE = 0
    FINDING = 1
    NO_TENSOR = 2
    NOT_ENOUGH_DATA = 3


@dataclass(frozen=True)
class Verdict:
    """One thing that a rule says.

    Attributes
    ----------
    rule : str
        The rule's name.
    status : VerdictStatus
        What it says.
    action : Action
        What is to be done about it.
    step : int
        The global step of a finding; -1 for what is said of a whole run.
    mode : ModeKeys
        What the step was done for.
    mode_step : int
        Its number in that mode.
    worker, tensor : str
        Who recorded it, and the tensor that did it; "" where that is not said.
    value, limit : float or None
        What was measured, and the limit that it passed.
    label : str
        Which of the rule's checks it was; "" for rules with one.
    message : str
        All that in one sentence.
    """

    rule: str
    status: VerdictStatus
    action: Action
    step: int
    mode: ModeKeys
    mode_step: int
    worker: str
    tensor: str
    value: Optional[float]
    limit: Optional[float]
    label: str
    message: str

    def __str__(self) -> str:
        at = "" if self.step < 0 else f" at step {self.step}"
        return f"{self.rule}{at}: {self.message}"


def take_verdicts(raw: Any) -> List[Verdict]:
    """The verdicts behind a raw handle, which is taken over."""
    verdicts = VerdictsHandle(raw)
    return [_verdict(verdicts, i) for i in range(_raw.smd_verdicts_count(verdicts))]


def _verdict(verdicts: VerdictsHandle, index: int) -> Verdict:
    return Verdict(
        rule=_raw.smd_verdicts_rule(verdicts, index),
        status=VerdictStatus(_raw.smd_verdicts_status(verdicts, index)),
        action=Action(_raw.smd_verdicts_action(verdicts, index)),
        step=_raw.smd_verdicts_step(verdicts, index),
        mode=ModeKeys(_raw.smd_verdicts_mode(verdicts, index)),
        mode_step=_raw.smd_verdicts_mode_step(verdicts, index),
        worker=_raw.smd_verdicts_worker(verdicts, index),
        tensor=_raw.smd_verdicts_tensor(verdicts, index),
        value=_number(_raw.smd_verdicts_value(verdicts, index)),
        limit=_number(_raw.smd_verdicts_limit(verdicts, index)),
        label=_raw.smd_verdicts_label(verdicts, index),
        message=_raw.smd_verdicts_message(verdicts, index),
    )


def _number(number: float) -> Optional[float]:
    return None if math.isnan(number) else number
