"""The exceptions of smdebug.  All derive from `SMDebugError`."""

from __future__ import annotations

from typing import Any, Optional

from smdebug.core.mode_keys import ModeKeys as modes

__all__ = [
    "IndexReaderException",
    "InsufficientInformationForRuleInvocation",
    "InvalidCollectionConfiguration",
    "InvalidWorker",
    "MissingCollectionFiles",
    "NoMoreData",
    "NoMoreProfilerData",
    "RuleEvaluationConditionMet",
    "SMDebugConnectionError",
    "SMDebugCustomerError",
    "SMDebugError",
    "SMDebugFileNotFoundError",
    "SMDebugNotImplementedError",
    "SMDebugOSError",
    "SMDebugPermissionError",
    "SMDebugRuntimeError",
    "SMDebugTimeoutError",
    "SMDebugTypeError",
    "SMDebugValueError",
    "ShapeUnavailableForStep",
    "StepNotYetAvailable",
    "StepUnavailable",
    "TensorUnavailable",
    "TensorUnavailableForStep",
    "TrainingStopped",
]


class SMDebugError(Exception):
    """The base class of all exceptions.

    Attributes
    ----------
    code : str
        The name of the C library's error code ("STEP_UNAVAILABLE"); "" if the error did not
        come from there.
    """

    code: str = ""


class SMDebugCustomerError(SMDebugError):
    """A mistake in the user's own code."""


class SMDebugTypeError(SMDebugError, TypeError):
    """A value has a type that is not accepted."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """A call does not fit the state, or data is damaged."""


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    """This library, or this build of it, does not support something."""


class SMDebugValueError(SMDebugError, ValueError):
    """A value is not accepted."""


class SMDebugTimeoutError(SMDebugError, TimeoutError):
    """A wait timed out."""


class SMDebugOSError(SMDebugError, OSError):
    """A file or disk failed; `errno` and `filename` are set as in OSError."""


class SMDebugFileNotFoundError(SMDebugOSError, FileNotFoundError):
    """A file or bucket does not exist."""


class SMDebugPermissionError(SMDebugOSError, PermissionError):
    """A file or bucket may not be read or written."""


class SMDebugConnectionError(SMDebugOSError, ConnectionError):
    """A server cannot be reached, is not trusted, or throttles requests."""


class InvalidCollectionConfiguration(SMDebugError):
    """A collection has neither regular expressions nor tensor names."""

    def __init__(self, c_name: str) -> None:
        super().__init__(c_name)
        self.c_name = c_name

    def __str__(self) -> str:
        return (
            f"collection {self.c_name} includes nothing: give it tensor names or an include_regex"
        )


class StepNotYetAvailable(SMDebugError):
    """A step has not been seen yet.  It may still be recorded."""

    def __init__(self, step: int, mode: modes) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"step {self.step} of mode {self.mode.name} has not been seen yet"


class StepUnavailable(SMDebugError):
    """A step was not saved and never will be."""

    def __init__(self, step: int, mode: modes) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return f"step {self.step} of mode {self.mode.name} was not saved"


class MissingCollectionFiles(SMDebugError):
    """The collection files of some workers are missing."""

    def __init__(self) -> None:
        super().__init__()
        self.detail = ""

    def __str__(self) -> str:
        return self.detail or "the collection files of all workers are not there"


class IndexReaderException(SMDebugError):
    """The content of an index file is not valid."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class TensorUnavailableForStep(SMDebugError):
    """The value of a tensor was not saved at a step."""

    def __init__(
        self, tname: str, step: int, mode: modes = modes.GLOBAL, has_reductions: bool = False
    ) -> None:
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode = mode
        self.has_reductions = has_reductions

    def __str__(self) -> str:
        text = (
            f"tensor {self.tname} has no value saved at step {self.step} of mode {self.mode.name}"
        )
        if self.has_reductions:
            text += "; its reductions were saved there: ask for reduction_value"
        return text


class ShapeUnavailableForStep(SMDebugError):
    """Neither the shape nor the value of a tensor was saved at a step."""

    def __init__(self, tname: str, step: int, mode: modes = modes.GLOBAL) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode

    def __str__(self) -> str:
        return (
            f"tensor {self.tname} has no shape saved at step {self.step} of mode {self.mode.name}"
        )


class TensorUnavailable(SMDebugError):
    """A tensor has not been saved yet."""

    def __init__(self, tname: str) -> None:
        super().__init__(tname)
        self.tname = tname

    def __str__(self) -> str:
        return f"no tensor {self.tname} has been saved"


class InvalidWorker(SMDebugError):
    """A worker did not save the tensor at the step."""

    def __init__(self, worker: Optional[str]) -> None:
        super().__init__(worker)
        self.worker = worker

    def __str__(self) -> str:
        return f"no worker {self.worker} has saved this"


class NoMoreProfilerData(SMDebugError):
    """A time lies after the last one that was profiled."""

    def __init__(self, timestamp: float) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp
        self.msg = f"the job has ended before the time {timestamp}"

    def __str__(self) -> str:
        return self.msg


class NoMoreData(SMDebugError):
    """A step lies after the last one of a job that has ended."""

    def __init__(self, step: int, mode: modes, last_step: int) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step
        self.msg = (
            f"the job has ended before step {step} of mode {mode.name}; its last is {last_step}"
        )

    def __str__(self) -> str:
        return self.msg


class RuleEvaluationConditionMet(SMDebugError):
    """The condition of a rule is met at a step."""

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self) -> str:
        return f"the condition of rule {self.rule_name} is met at step {self.step}"


class TrainingStopped(RuleEvaluationConditionMet):
    """Raised in a training whose rules ask for its end.

    Attributes
    ----------
    finding : smdebug.rules.Finding
        The finding that asks for it.
    """

    def __init__(self, finding: Any) -> None:
        super().__init__(finding.rule, finding.step)
        self.args = (finding,)
        self.finding = finding

    def __str__(self) -> str:
        return f"the training is to stop: {self.finding}"


class InsufficientInformationForRuleInvocation(SMDebugError):
    """A rule lacks a parameter that it requires."""

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self) -> str:
        return f"rule {self.rule_name} cannot be invoked: {self.message}"
