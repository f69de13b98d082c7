"""Turns errors of the C library into exceptions, for the whole package."""

from __future__ import annotations

from typing import Callable, Dict

from smdebug import _raw
from smdebug import exceptions as ex
from smdebug.core.modes import ModeKeys

__all__ = ["exception_from"]


class _Facts:
    """The message and details of a raw error, copied."""

    def __init__(self, error: _raw.Pointer) -> None:
        self.code: str = _raw.smd_code_name(_raw.smd_error_code(error))
        self.message: str = _raw.smd_error_message(error)
        self._error = error

    def text(self, key: str) -> str:
        return _raw.smd_error_detail(self._error, key) or ""

    def number(self, key: str) -> int:
        return int(self.text(key) or -1)

    def mode(self) -> ModeKeys:
        text = self.text("mode")
        if text.isdigit():
            return ModeKeys(int(text))
        return ModeKeys[text] if text else ModeKeys.GLOBAL


def _os_error(facts: _Facts) -> ex.SMDebugOSError:
    kinds = {"NOT_FOUND": ex.SMDebugFileNotFoundError, "PERMISSION": ex.SMDebugPermissionError}
    kind = kinds.get(facts.code, ex.SMDebugOSError)
    number = facts.text("errno")
    path = facts.text("path")
    if not number:
        return kind(facts.message)
    return kind(int(number), facts.message, path) if path else kind(int(number), facts.message)


def _timeout(facts: _Facts) -> ex.SMDebugError:
    # A server that answers too slowly is a connection error, not an expired wait.
    if facts.text("cause") or facts.text("s3_code"):
        return ex.SMDebugConnectionError(facts.message)
    return ex.SMDebugTimeoutError(facts.message)


def _corrupt(facts: _Facts) -> ex.SMDebugError:
    if facts.text("path").endswith((".json", ".csv")):
        return ex.IndexReaderException(facts.message)
    return ex.SMDebugRuntimeError(facts.message)


def _bad_config(facts: _Facts) -> ex.SMDebugError:
    collection = facts.text("collection")
    if collection:
        return ex.InvalidCollectionConfiguration(collection)
    return ex.SMDebugValueError(facts.message)


def _missing_collections(facts: _Facts) -> ex.SMDebugError:
    exception = ex.MissingCollectionFiles()
    exception.detail = facts.message
    return exception


_MAKERS: Dict[str, Callable[[_Facts], BaseException]] = {
    "INVALID_ARGUMENT": lambda f: ex.SMDebugValueError(f.message),
    "INVALID_CONFIG": _bad_config,
    "WRONG_STATE": lambda f: ex.SMDebugRuntimeError(f.message),
    "UNSUPPORTED": lambda f: ex.SMDebugNotImplementedError(f.message),
    "AFTER_FORK": lambda f: ex.SMDebugRuntimeError(f.message),
    "TRIAL_EXISTS": lambda f: ex.SMDebugRuntimeError(f.message),
    "STEP_UNAVAILABLE": lambda f: ex.StepUnavailable(f.number("step"), f.mode()),
    "STEP_NOT_YET": lambda f: ex.StepNotYetAvailable(f.number("step"), f.mode()),
    "NO_MORE_DATA": lambda f: ex.NoMoreData(f.number("step"), f.mode(), f.number("last_step")),
    "TENSOR_UNAVAILABLE": lambda f: ex.TensorUnavailable(f.text("tensor")),
    "VALUE_UNAVAILABLE": lambda f: ex.TensorUnavailableForStep(
        f.text("tensor"), f.number("step"), f.mode()
    ),
    "SHAPE_UNAVAILABLE": lambda f: ex.ShapeUnavailableForStep(
        f.text("tensor"), f.number("step"), f.mode()
    ),
    "WORKER_UNKNOWN": lambda f: ex.InvalidWorker(f.text("worker")),
    "MISSING_COLLECTIONS": _missing_collections,
    "CORRUPT_DATA": _corrupt,
    "IO": _os_error,
    "NO_SPACE": _os_error,
    "NOT_FOUND": _os_error,
    "PERMISSION": _os_error,
    "NETWORK": lambda f: ex.SMDebugConnectionError(f.message),
    "TLS": lambda f: ex.SMDebugConnectionError(f.message),
    "THROTTLED": lambda f: ex.SMDebugConnectionError(f.message),
    "CREDENTIALS": lambda f: ex.SMDebugPermissionError(f.message),
    "CREDENTIALS_REFUSED": lambda f: ex.SMDebugPermissionError(f.message),
    "CREDENTIALS_EXPIRED": lambda f: ex.SMDebugPermissionError(f.message),
    "CLOCK_SKEWED": lambda f: ex.SMDebugPermissionError(f.message),
    "WRONG_REGION": lambda f: ex.SMDebugPermissionError(f.message),
    "BUCKET_NOT_FOUND": lambda f: ex.SMDebugFileNotFoundError(f.message),
    "TIMEOUT": _timeout,
    "CANCELLED": lambda f: ex.SMDebugRuntimeError(f.message),
    "STEP_DROPPED": lambda f: ex.SMDebugRuntimeError(f.message),
    "OUT_OF_MEMORY": lambda f: MemoryError(f.message),
    "CALLBACK_FAILED": lambda f: ex.SMDebugRuntimeError(f.message),
    "INTERNAL": lambda f: ex.SMDebugRuntimeError(f.message),
    "RULE_CONDITION_MET": lambda f: ex.RuleEvaluationConditionMet(f.text("rule"), f.number("step")),
}


def _other(facts: _Facts) -> ex.SMDebugError:
    return ex.SMDebugError(facts.message)


def exception_from(error: _raw.Pointer) -> BaseException:
    """Returns the exception for a raw error.  The caller frees the error."""
    facts = _Facts(error)
    exception = _MAKERS.get(facts.code, _other)(facts)
    if isinstance(exception, ex.SMDebugError):
        exception.code = facts.code
    return exception
