"""Owners of the C library's handles, and calls of functions with outputs.

A raw function accepts an owner in place of the handle.  The argument keeps the owner, and
so the handle, alive during the call.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

from smdebug import _raw
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

__all__ = [
    "BucketHandle",
    "CollectionHandle",
    "EventFileHandle",
    "HookHandle",
    "HookOptions",
    "Numbers",
    "ProfileRulesHandle",
    "ProfilerHandle",
    "ProfilerOptions",
    "ReductionConfigHandle",
    "RuleSetHandle",
    "SaveConfigHandle",
    "ScanHandle",
    "StepFileHandle",
    "StoreReportHandle",
    "Strings",
    "TensorHandle",
    "TrialHandle",
    "TrialOptions",
    "ValueHandle",
    "check",
    "out",
    "out_integers",
    "out_strings",
    "out_text",
    "text",
]

check = _raw.check


class Handle:
    """Owns one handle and frees it when it is deleted.

    Attributes
    ----------
    this
        The raw handle; raw functions look for this name.
    """

    __slots__ = ("__weakref__", "this")
    _free: Callable[[Any], None]

    def __init__(self, this: _raw.Pointer) -> None:
        self.this = this

    def __del__(self) -> None:
        self._free(getattr(self, "this", None))


class SaveConfigHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_save_config_free)


class ReductionConfigHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_reduction_config_free)


class CollectionHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_collection_free)


class HookHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_hook_free)


class BucketHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_bucket_free)


class StoreReportHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_store_report_free)


class TrialHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_trial_free)


class ScanHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_scan_free)


class ProfilerHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_profiler_free)


class RuleSetHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_rule_set_free)


class ProfileRulesHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_profile_rules_free)


class TensorHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_tensor_free)


class ValueHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_value_free)


class StepFileHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_step_file_free)


class EventFileHandle(Handle):
    __slots__ = ()
    _free = staticmethod(_raw.smd_event_file_free)


_Slot = Tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], None]]


def _slot(name: str) -> _Slot:
    return (
        getattr(_raw, f"new_{name}_slot"),
        getattr(_raw, f"{name}_slot_value"),
        getattr(_raw, f"delete_{name}_slot"),
    )


_SLOTS: Dict[str, _Slot] = {
    name.replace("smd_", ""): _slot(name)
    for name in (
        "int32",
        "int64",
        "smd_bucket",
        "smd_collection",
        "smd_event_file",
        "smd_hook",
        "smd_hook_options",
        "smd_profiler",
        "smd_profiler_options",
        "smd_profile_rules",
        "smd_reduction_config",
        "smd_rule_set",
        "smd_save_config",
        "smd_scan",
        "smd_step_file",
        "smd_integers",
        "smd_store_report",
        "smd_strings",
        "smd_tensor",
        "smd_text",
        "smd_trial",
        "smd_trial_options",
        "smd_value",
    )
}


def out(kind: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a raw function with one output, and returns that.

    A handle comes back raw: give it an owner at once.  None stands for NULL.
    """
    new, value, delete = _SLOTS[kind]
    slot = new()
    try:
        check(function(*args, slot))
        return value(slot)
    finally:
        delete(slot)


def out_text(function: Callable[..., Any], *args: Any) -> str:
    """Returns the text that a raw function outputs."""
    return _raw.take_text(out("text", function, *args))


def out_strings(function: Callable[..., Any], *args: Any) -> List[str]:
    """Returns the list of names that a raw function outputs."""
    return _raw.take_strings(out("strings", function, *args))


def out_integers(function: Callable[..., Any], *args: Any) -> List[int]:
    """Returns the list of integers that a raw function outputs."""
    return _raw.take_integers(out("integers", function, *args))


class HookOptions(Handle):
    """Options of a hook, set by name.  Its log lines go to the logger "smdebug"."""

    __slots__ = ()
    _free = staticmethod(_raw.smd_hook_options_free)

    def __init__(self) -> None:
        super().__init__(out("hook_options", _raw.smd_hook_options_new))
        check(_raw.raw_hook_options_log(self))

    def set(self, name: str, value: object) -> None:
        check(_raw.smd_hook_options_set(self, text(name, "option"), _setting(value)))

    def get(self, name: str) -> str:
        return out_text(_raw.smd_hook_options_get, self, text(name, "option"))


class TrialOptions(Handle):
    """Options of a trial, set by name.  Its log lines go to the logger "smdebug"."""

    __slots__ = ()
    _free = staticmethod(_raw.smd_trial_options_free)

    def __init__(self) -> None:
        super().__init__(out("trial_options", _raw.smd_trial_options_new))
        check(_raw.raw_trial_options_log(self))

    def set(self, name: str, value: object) -> None:
        check(_raw.smd_trial_options_set(self, text(name, "option"), _setting(value)))


class ProfilerOptions(Handle):
    """Options of a profiler, set by name.  Its log lines go to the logger "smdebug"."""

    __slots__ = ()
    _free = staticmethod(_raw.smd_profiler_options_free)

    def __init__(self) -> None:
        super().__init__(out("profiler_options", _raw.smd_profiler_options_new))
        check(_raw.raw_profiler_options_log(self))

    def set(self, name: str, value: object) -> None:
        check(_raw.smd_profiler_options_set(self, text(name, "option"), _setting(value)))


class Strings(Handle):
    """A list of names for functions that take one."""

    __slots__ = ()
    _free = staticmethod(_raw.smd_strings_free)

    def __init__(self, names: List[str]) -> None:
        super().__init__(out("strings", _raw.smd_strings_new))
        for name in names:
            check(_raw.smd_strings_add(self, text(name)))


class Numbers(Handle):
    """An array of numbers for functions that take one."""

    __slots__ = ("_length",)
    _free = staticmethod(_raw.delete_int64_array)

    def __init__(self, numbers: Sequence[int]) -> None:
        self._length = len(numbers)
        super().__init__(_raw.new_int64_array(max(len(numbers), 1)))
        for index, number in enumerate(numbers):
            _raw.int64_array_setitem(self, index, number)

    def __len__(self) -> int:
        return self._length


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return text(value if isinstance(value, str) else str(value), "value")


def text(value: object, what: str = "name") -> str:
    """Returns `value` if it is a str that C accepts.

    Raises
    ------
    SMDebugTypeError
        If it is not a str.
    SMDebugValueError
        If it holds a NUL character or half a surrogate pair.
    """
    if not isinstance(value, str):
        raise SMDebugTypeError(f"the {what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise SMDebugValueError(f"the {what} {value!r} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise SMDebugValueError(f"the {what} {value!r} is not valid Unicode") from error
    return value
