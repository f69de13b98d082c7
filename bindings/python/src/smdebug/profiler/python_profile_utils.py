"""Names of Python profiles: the parts of their folders' names, and the profilers."""

from __future__ import annotations

import os
from enum import Enum, IntEnum

from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.profiler_constants import CPROFILE_NAME, PYINSTRUMENT_NAME

__all__ = [
    "PythonProfileModes",
    "PythonProfilerName",
    "StepPhase",
    "cProfileTimer",
    "cpu_time",
    "mode_keys_to_python_profile_mode",
    "off_cpu_time",
    "python_profile_mode_to_str",
    "str_to_python_profile_mode",
    "total_time",
]


class PythonProfileModes(IntEnum):
    """The modes in which a profile begins and ends."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5  # from the creation of the hook to the first step
    POST_HOOK_CLOSE = 6  # the hook was closed


class StepPhase(Enum):
    """The places in a step at which a profile begins and ends."""

    START = "start"  # before the first step
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"
    STEP_END = "stepend"
    END = "end"  # the end of the job


class PythonProfilerName(Enum):
    """The profilers whose formats are read and written."""

    CPROFILE = CPROFILE_NAME
    PYINSTRUMENT = PYINSTRUMENT_NAME


class cProfileTimer(Enum):
    """The times that cProfile's format can hold."""

    TOTAL_TIME = "total_time"
    CPU_TIME = "cpu_time"
    OFF_CPU_TIME = "off_cpu_time"
    DEFAULT = "default"


_MODES = {
    "train": PythonProfileModes.TRAIN,
    "eval": PythonProfileModes.EVAL,
    "predict": PythonProfileModes.PREDICT,
    "global": PythonProfileModes.GLOBAL,
    "prestepzero": PythonProfileModes.PRE_STEP_ZERO,
    "posthookclose": PythonProfileModes.POST_HOOK_CLOSE,
}
_NAMES = {mode: name for name, mode in _MODES.items()}


def str_to_python_profile_mode(mode_str: str) -> PythonProfileModes:
    """Returns the mode of a name such as "train"."""
    try:
        return _MODES[mode_str]
    except KeyError:
        raise SMDebugValueError(
            f"'{mode_str[:64]}' is no mode of a Python profile; the modes are {', '.join(_MODES)}"
        ) from None


def python_profile_mode_to_str(mode: PythonProfileModes) -> str:
    """Returns the name of a mode."""
    try:
        return _NAMES[mode]
    except KeyError:
        raise SMDebugValueError(f"{mode!r} is no PythonProfileModes") from None


def mode_keys_to_python_profile_mode(mode: ModeKeys) -> PythonProfileModes:
    """Returns the mode of a hook's mode."""
    return PythonProfileModes(mode.value)


def total_time() -> float:
    """Returns the seconds since some time in the past."""
    return os.times().elapsed


def off_cpu_time() -> float:
    """Returns the seconds in which this process did not run, plus a constant."""
    times = os.times()
    return times.elapsed - (times.system + times.user)


def cpu_time() -> float:
    """Returns the seconds that this process ran."""
    times = os.times()
    return times.system + times.user
