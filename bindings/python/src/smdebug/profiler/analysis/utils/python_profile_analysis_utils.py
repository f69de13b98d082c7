"""Python profiles, and the statistics in them."""

from __future__ import annotations

import math
import pstats
import re
from enum import Enum
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.profiler.python_profile_utils import (
    PythonProfileModes,
    StepPhase,
    str_to_python_profile_mode,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Metrics",
    "PyinstrumentStepStats",
    "StepPhase",
    "StepPythonProfileStats",
    "cProfileFunctionStats",
    "cProfileStats",
]

_PLACE = r"([a-z]+)-(\*|\d{1,18})-([a-z]+)-(\d{1,20}(?:\.\d{1,9})?)"
_FOLDER = re.compile(f"{_PLACE}_{_PLACE}", re.ASCII)


class Metrics(Enum):
    """What functions are sorted by."""

    TOTAL_TIME = "tottime"  # in the function itself
    CUMULATIVE_TIME = "cumtime"  # in the function and those that it calls
    PRIMITIVE_CALLS = "pcalls"  # calls that are not recursive
    TOTAL_CALLS = "ncalls"


class StepPythonProfileStats:
    """A profile of Python: of a step, a part of it, or what lies between two of them.

    Parameters
    ----------
    framework, profiler_name, node_id : str
        The folders that hold the profile.
    stats_dir : str
        The name of the profile's folder, which says when the profile began and ended.
    stats_path : str
        The file.

    Attributes
    ----------
    start_mode, end_mode : PythonProfileModes
    start_step : int
        -1 before the first step.
    end_step : int or float
        Infinity at the end of the job.
    start_phase, end_phase : StepPhase
    start_time_since_epoch_in_micros, end_time_since_epoch_in_micros : float

    Raises
    ------
    SMDebugValueError
        If the name of the folder is not that of a profile.
    """

    def __init__(
        self, framework: str, profiler_name: str, node_id: str, stats_dir: str, stats_path: str
    ) -> None:
        found = _FOLDER.fullmatch(stats_dir)
        if found is None:
            raise SMDebugValueError(f"'{stats_dir[:200]}' is no folder of a Python profile")
        start, end = found.groups()[:4], found.groups()[4:]
        self.profiler_name = profiler_name
        self.framework = framework
        self.node_id = node_id
        self.start_mode = str_to_python_profile_mode(start[0])
        self.start_step = -1 if start[1] == "*" else int(start[1])
        self.start_phase = _phase(start[2])
        self.start_time_since_epoch_in_micros = float(start[3])
        self.end_mode = str_to_python_profile_mode(end[0])
        self.end_step: Union[int, float] = math.inf if end[1] == "*" else int(end[1])
        self.end_phase = _phase(end[2])
        self.end_time_since_epoch_in_micros = float(end[3])
        self.stats_path = stats_path

    def has_start_and_end_mode(
        self, start_mode: PythonProfileModes, end_mode: PythonProfileModes
    ) -> bool:
        """Returns whether the profile begins in one mode and ends in another."""
        return self.start_mode == start_mode and self.end_mode == end_mode

    def in_time_interval(
        self, start_time_since_epoch_in_micros: float, end_time_since_epoch_in_micros: float
    ) -> bool:
        """Returns whether the profile and an interval overlap."""
        return (
            self.start_time_since_epoch_in_micros <= end_time_since_epoch_in_micros
            and self.end_time_since_epoch_in_micros >= start_time_since_epoch_in_micros
        )

    def in_step_interval(
        self, start_step: int, end_step: int, start_phase: StepPhase, end_phase: StepPhase
    ) -> bool:
        """Returns whether the profile lies within some steps, both included.

        On the first step, a profile that begins before `start_phase` is outside, on the last step
        one that ends after `end_phase`, where these are the end of the step or of its forward
        pass, or the start of the step.
        """
        if start_step > self.start_step or end_step < self.end_step:
            return False
        if start_step < self.start_step and end_step > self.end_step:
            return True
        is_late = start_phase in (StepPhase.STEP_END, StepPhase.FORWARD_PASS_END)
        if start_step == self.start_step and is_late and self.start_phase != start_phase:
            return False
        is_early = end_phase == StepPhase.STEP_START
        return not (end_step == self.end_step and is_early and self.end_phase != end_phase)

    def has_pre_step_zero_profile_stats(self) -> bool:
        """Returns whether the profile begins before the first step."""
        return self.start_phase == StepPhase.START

    def has_post_hook_close_profile_stats(self) -> bool:
        """Returns whether the profile ends with the job."""
        return self.end_phase == StepPhase.END

    def has_node_id(self, node_id: str) -> bool:
        """Returns whether the profile is that of a node."""
        return self.node_id == node_id

    def __repr__(self) -> str:
        return repr(self.__dict__)


def _phase(name: str) -> StepPhase:
    try:
        return StepPhase(name)
    except ValueError:
        phases = ", ".join(phase.value for phase in StepPhase)
        raise SMDebugValueError(
            f"'{name[:64]}' is no phase of a Python profile; the phases are {phases}"
        ) from None


class cProfileStats:
    """The statistics of one or several profiles of cProfile.

    Attributes
    ----------
    ps : pstats.Stats
        The statistics as the standard library has them.
    function_stats_list : list of cProfileFunctionStats
        The statistics of each function.
    """

    def __init__(self, ps: pstats.Stats) -> None:
        self.ps = ps
        stats: Dict[Any, Any] = ps.stats  # type: ignore[attr-defined]
        self.function_stats_list = [
            cProfileFunctionStats(function, values) for function, values in stats.items()
        ]

    def print_top_n_functions(self, by: Metrics, n: int = 10) -> None:
        """Prints the first functions, sorted by a metric.

        Parameters
        ----------
        by : Metrics
            What to sort by.
        n : int
            How many functions to print.
        """
        if not isinstance(by, Metrics):
            raise SMDebugTypeError(f"by is a Metrics, not a {type(by).__name__}")
        if not isinstance(n, int):
            raise SMDebugTypeError(f"n is an int, not a {type(n).__name__}")
        self.ps.sort_stats(by.value).print_stats(n)

    def get_function_stats(self) -> pd.DataFrame:
        """Returns the functions as a frame: one row for each."""
        pandas: Any = import_framework("pandas", "pandas", "cProfileStats.get_function_stats")
        return pandas.DataFrame([each.as_dict() for each in self.function_stats_list])


class cProfileFunctionStats:
    """The statistics of a function.

    Attributes
    ----------
    function_name : str
        file:line(function).
    prim_calls, total_calls : int
        Calls that are not recursive, and all calls.  In files of smdebug's own sampler, calls are
        samples.
    total_time, cumulative_time : float
        Seconds in the function itself, and with the functions that it calls.
    callers : list of str
        The names of the functions that call it.
    """

    def __init__(
        self, key: Tuple[str, int, str], value: Tuple[int, int, float, float, Dict[Any, Any]]
    ) -> None:
        self.function_name = _name(key)
        self.prim_calls, self.total_calls, self.total_time, self.cumulative_time, callers = value
        self.callers: List[str] = [_name(caller) for caller in callers]

    def as_dict(self) -> Dict[str, Any]:
        """Returns the statistics by their names."""
        return {
            "function name": self.function_name,
            "# of primitive calls": self.prim_calls,
            "# of total calls": self.total_calls,
            "total time": self.total_time,
            "cumulative time": self.cumulative_time,
        }

    def __repr__(self) -> str:
        return repr(self.as_dict())


def _name(function: Tuple[str, int, str]) -> str:
    return str(pstats.func_std_string(function))  # type: ignore[attr-defined]


class PyinstrumentStepStats:
    """A profile of pyinstrument.

    Attributes
    ----------
    html_file_path : str
        The page of the profile; None if there is none.
    json_stats : dict
        The profile's content.
    """

    def __init__(self, html_file_path: Optional[str], json_stats: Dict[str, Any]) -> None:
        self.html_file_path = html_file_path
        self.json_stats = json_stats
