"""Calls rules written in Python during an evaluation, and checks what they report."""

from __future__ import annotations

import reprlib
import sys
import threading
from contextlib import closing
from enum import Enum, IntEnum
from typing import (
    Any,
    Callable,
    Generator,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    Union,
)

from smdebug._handles import text
from smdebug.core.finding import Finding, Level, action_of
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    ShapeUnavailableForStep,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules.rule import Rule
from smdebug.trials.trial import Trial

__all__ = ["Evaluating", "Finished", "RuleFunction", "of_function", "of_rule"]

_MISSING = (ShapeUnavailableForStep, StepUnavailable, TensorUnavailable, TensorUnavailableForStep)

# Limits the memory of a generator without end: findings of one function at one step.
_MOST_FINDINGS = 100_000


class Finished(Enum):
    """See RuleSet.FINISHED."""

    FINISHED = "finished"


Report = Union[str, Finding, Finished]

# What a function of a trial and a global step may return.
RuleFunction = Callable[[Trial, int], Union[None, bool, Report, Iterable[Report]]]

# What the rule reports about a step of a trial.
_Reports = Callable[[Trial, int], Generator[Report, None, None]]

# What the native module takes: check, tensor, worker, message, action, value, limit, level.
_RawFinding = Tuple[str, str, str, str, int, float, float, int]


class _Outcome(IntEnum):
    """How a call has ended, as the native module numbers it."""

    SKIPPED = -2
    FAILED = -1
    CONTINUE = 0
    FINISHED = 1


class Evaluation:
    """One call that evaluates: its trial, and the exception that has ended it."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.raised: Optional[BaseException] = None


class Evaluating(threading.local):
    """The calls that evaluate one rule set on the current thread, the innermost last.

    The library refuses all but one, and calls functions on the thread of that one.
    """

    def __init__(self) -> None:
        self._running: List[Evaluation] = []

    def begin(self, trial: Trial) -> Evaluation:
        self._running.append(Evaluation(trial))
        return self._running[-1]

    def end(self) -> None:
        self._running.pop()

    def caller(self, name: str, reports: _Reports) -> Callable[[int], Any]:
        """Returns the function of a step that the native module calls."""

        def call(step: int) -> Tuple[List[_RawFinding], int]:
            evaluation = self._running[-1]
            findings: List[_RawFinding] = []
            try:
                with closing(reports(evaluation.trial, step)) as reported:
                    return findings, _take(reported, findings, name, step)
            except _MISSING:
                return findings, _Outcome.SKIPPED
            except BaseException as error:  # raised again by RuleSet.evaluate()
                evaluation.raised = error
                return findings, _Outcome.FAILED

        return call


def _take(
    reports: Iterator[Report], findings: List[_RawFinding], name: str, step: int
) -> _Outcome:
    """Appends what is reported to `findings`, also what comes before a failure."""
    outcome = _Outcome.CONTINUE
    for report in reports:
        if report is Finished.FINISHED:
            outcome = _Outcome.FINISHED
        elif len(findings) == _MOST_FINDINGS:
            raise SMDebugValueError(
                f"rule {name!r} reported more than {_MOST_FINDINGS} findings at step {step}; "
                "report fewer, such as one for each tensor"
            )
        elif isinstance(report, Finding):
            findings.append(_checked(report, name, step))
        elif not isinstance(report, str):
            raise SMDebugTypeError(
                f"rule {name!r} reported {_named(report)} at step {step}; report messages, "
                "Findings and RuleSet.FINISHED"
            )
        elif report:
            findings.append(_checked(Finding(message=report), name, step))
    return outcome


def of_rule(rule: Rule) -> _Reports:
    def reports(trial: Trial, step: int) -> Generator[Report, None, None]:
        try:
            rule.invoke(step)
        except RuleEvaluationConditionMet as finding:
            yield str(finding)
            if finding.end_of_rule:
                yield Finished.FINISHED

    return reports


def of_function(function: RuleFunction, name: str) -> _Reports:
    def reports(trial: Trial, step: int) -> Generator[Report, None, None]:
        answer = function(trial, step)
        if answer is None:
            return
        if _is_bool(answer):
            yield "the condition holds" if answer else ""
        elif isinstance(answer, (str, Finding, Finished)):
            yield answer
        elif isinstance(answer, Iterable) and not isinstance(answer, (bytes, bytearray, Mapping)):
            yield from answer
        else:
            raise SMDebugTypeError(
                f"rule {name!r} returned {_named(answer)} at step {step}; return None, True, a "
                "message, a Finding, RuleSet.FINISHED, or an iterable of messages and Findings"
            )

    return reports


def _is_bool(answer: object) -> bool:
    """Also of numpy, which only a caller imports."""
    numpy = sys.modules.get("numpy")
    return isinstance(answer, bool) or (numpy is not None and isinstance(answer, numpy.bool_))


def _checked(finding: Finding, name: str, step: int) -> _RawFinding:
    try:
        return (
            text(finding.check, "check"),
            text(finding.tensor, "tensor"),
            text(finding.worker, "worker"),
            text(finding.message, "message"),
            int(action_of(finding.action)),
            _number(finding.value, "value"),
            _number(finding.limit, "limit"),
            _level(finding.level),
        )
    except (SMDebugTypeError, SMDebugValueError) as error:
        raise type(error)(f"rule {name!r} at step {step}: {error}") from error


def _level(level: Any) -> int:
    if not isinstance(level, Level):
        raise SMDebugTypeError(f"the level is {_named(level)}; use smdebug.rules.Level")
    return level.value


def _number(value: Any, what: str) -> float:
    if value is None:
        return float("nan")
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except OverflowError as error:
        raise SMDebugValueError(f"the {what} is too large for a float") from error
    except (TypeError, ValueError):
        pass
    raise SMDebugTypeError(f"the {what} must be a number, not {_named(value)}")


def _named(value: object) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"
