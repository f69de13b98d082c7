"""Analyses of Python profiles: which functions the time of steps goes into."""

from __future__ import annotations

import json
import os
import pstats
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from smdebug.core.logger import get_logger
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.python_stats_reader import (
    LocalPythonStatsReader,
    PythonStatsReader,
    S3PythonStatsReader,
)
from smdebug.profiler.analysis.utils.python_profile_analysis_utils import (
    PyinstrumentStepStats,
    StepPythonProfileStats,
    cProfileStats,
)
from smdebug.profiler.analysis.utils.stats_file import stats_of
from smdebug.profiler.profiler_constants import (
    CONVERT_TO_MICROSECS,
    CPROFILE_NAME,
    PYINSTRUMENT_HTML_FILENAME,
    PYINSTRUMENT_JSON_FILENAME,
    PYINSTRUMENT_NAME,
)
from smdebug.profiler.python_profile_utils import (
    PythonProfileModes,
    StepPhase,
    python_profile_mode_to_str,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PyinstrumentAnalysis", "PythonProfileAnalysis", "cProfileAnalysis"]

Modes = Tuple[PythonProfileModes, PythonProfileModes]


class PythonProfileAnalysis:
    """Python profiles, selected by steps, times and modes.

    The functions return a list of profiles.  Those of `cProfileAnalysis` and `PyinstrumentAnalysis`
    return what the profiles hold.  Their parameters `node_id` and `refresh_stats` are the node,
    "any" for that of the first profile, and whether new profiles are looked for.

    Parameters
    ----------
    local_profile_dir : str
        The folder of the profiles, as `LocalPythonStatsReader` takes it; with `s3_path`, the folder
        into which they are copied.
    s3_path : str, optional
        s3://bucket/prefix of the profile.

    Attributes
    ----------
    python_stats_reader : PythonStatsReader
    python_profile_stats : list of StepPythonProfileStats
        The profiles.

    Raises
    ------
    SMDebugValueError
        If there is no such folder, or `s3_path` is not in S3.
    """

    name = ""  # the profiler whose files are read; all if it is empty

    def __init__(
        self, local_profile_dir: str = "/tmp/python_stats", s3_path: Optional[str] = None
    ) -> None:
        self.python_stats_reader: PythonStatsReader
        if s3_path:
            self.python_stats_reader = S3PythonStatsReader(local_profile_dir, s3_path)
        else:
            self.python_stats_reader = LocalPythonStatsReader(local_profile_dir)
        self.python_profile_stats: List[StepPythonProfileStats] = []
        self._refresh_python_profile_stats(True)

    def _refresh_python_profile_stats(self, refresh_stats: bool) -> None:
        if not refresh_stats:
            return
        found = self.python_stats_reader.load_python_profile_stats()
        self.python_profile_stats = [
            each for each in found if not self.name or each.profiler_name == self.name
        ]

    def _of_node(self, node_id: str, refresh_stats: bool) -> List[StepPythonProfileStats]:
        self._refresh_python_profile_stats(refresh_stats)
        if node_id == "any" and self.python_profile_stats:
            node_id = self.python_profile_stats[0].node_id
        return [each for each in self.python_profile_stats if each.has_node_id(node_id)]

    def _aggregate_stats(self, stats: List[StepPythonProfileStats]) -> Any:
        return stats

    def fetch_profile_stats_by_step(
        self,
        start_step: int,
        end_step: Optional[int] = None,
        mode: PythonProfileModes = PythonProfileModes.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START,
        end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Returns the profiles of some steps, both included.

        Parameters
        ----------
        start_step, end_step : int
            The steps; `end_step` defaults to `start_step`.
        mode : PythonProfileModes
            The mode of the steps.
        start_phase, end_phase : StepPhase
            Where in the first step a profile may begin, and where in the last step it may end.
        """
        last = start_step if end_step is None else end_step
        return self._aggregate_stats(
            [
                each
                for each in self._of_node(node_id, refresh_stats)
                if each.in_step_interval(start_step, last, start_phase, end_phase)
                and each.has_start_and_end_mode(mode, mode)
            ]
        )

    def fetch_profile_stats_by_time(
        self,
        start_time_since_epoch_in_secs: float,
        end_time_since_epoch_in_secs: float,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Returns the profiles that overlap an interval of time, in seconds since 1970."""
        start = start_time_since_epoch_in_secs * CONVERT_TO_MICROSECS
        end = end_time_since_epoch_in_secs * CONVERT_TO_MICROSECS
        return self._aggregate_stats(
            [
                each
                for each in self._of_node(node_id, refresh_stats)
                if each.in_time_interval(start, end)
            ]
        )

    def fetch_profile_stats_between_modes(
        self,
        start_mode: PythonProfileModes,
        end_mode: PythonProfileModes,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> Any:
        """Returns the profiles that begin in one mode and end in another."""
        return self._aggregate_stats(
            [
                each
                for each in self._of_node(node_id, refresh_stats)
                if each.has_start_and_end_mode(start_mode, end_mode)
            ]
        )

    def fetch_pre_step_zero_profile_stats(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Any:
        """Returns the profiles that begin before the first step."""
        return self._aggregate_stats(
            [
                each
                for each in self._of_node(node_id, refresh_stats)
                if each.has_pre_step_zero_profile_stats()
            ]
        )

    def fetch_post_hook_close_profile_stats(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Any:
        """Returns the profiles that end with the job."""
        return self._aggregate_stats(
            [
                each
                for each in self._of_node(node_id, refresh_stats)
                if each.has_post_hook_close_profile_stats()
            ]
        )

    def list_profile_stats(self, refresh_stats: bool = True) -> pd.DataFrame:
        """Returns the profiles as a frame: a row for each file, with the attributes of
        `StepPythonProfileStats`."""
        pandas: Any = import_framework("pandas", "pandas", f"{type(self).__name__}.list_profile_stats")
        self._refresh_python_profile_stats(refresh_stats)
        if not self.python_profile_stats:
            get_logger().warning("%s: no Python profiles", self.python_stats_reader.profile_dir)
            return pandas.DataFrame()
        rows = [
            {
                **vars(each),
                "start_mode": python_profile_mode_to_str(each.start_mode),
                "end_mode": python_profile_mode_to_str(each.end_mode),
            }
            for each in self.python_profile_stats
        ]
        return pandas.DataFrame(rows)

    def list_available_node_ids(self, refresh_stats: bool = True) -> List[str]:
        """Returns the nodes that have profiles."""
        self._refresh_python_profile_stats(refresh_stats)
        return sorted({each.node_id for each in self.python_profile_stats})


class cProfileAnalysis(PythonProfileAnalysis):
    """Profiles in cProfile's format.

    The functions return the sum of the profiles as `cProfileStats`, or None if there are none.  A
    file that is not one of cProfile is skipped, and the log names it.
    """

    name = CPROFILE_NAME

    def _aggregate_stats(self, stats: List[StepPythonProfileStats]) -> Optional[cProfileStats]:
        total, count = pstats.Stats(), 0
        for each in stats:
            try:
                total.add(stats_of(each.stats_path))
                count += 1
            except (OSError, SMDebugValueError) as error:
                get_logger().warning("%s: skipped: %s", each.stats_path, error)
        if not count:
            get_logger().warning("no Python profiles were found for this request")
            return None
        return cProfileStats(total)

    def fetch_profile_stats_by_training_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Dict[Modes, cProfileStats]:
        """Returns the sums of profiles by the modes in which they begin and end."""
        by_modes: Dict[Modes, List[StepPythonProfileStats]] = {}
        for each in self._of_node(node_id, refresh_stats):
            by_modes.setdefault((each.start_mode, each.end_mode), []).append(each)
        sums = {modes: self._aggregate_stats(by_modes[modes]) for modes in sorted(by_modes)}
        return {modes: each for modes, each in sums.items() if each is not None}

    def fetch_profile_stats_by_job_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> Dict[str, cProfileStats]:
        """Returns the sums of profiles by the phase of the job: "initialization" up to the first
        step, "finalization" at the end of the job, and "training_loop" between them."""
        by_phase: Dict[str, pstats.Stats] = {}
        phases = self.fetch_profile_stats_by_training_phase(node_id, refresh_stats)
        for (start_mode, end_mode), stats in phases.items():
            phase = "training_loop"
            if start_mode == PythonProfileModes.PRE_STEP_ZERO:
                phase = "initialization"
            elif end_mode == PythonProfileModes.POST_HOOK_CLOSE:
                phase = "finalization"
            by_phase.setdefault(phase, pstats.Stats()).add(stats.ps)
        by_phase.setdefault("training_loop", pstats.Stats())
        return {phase: cProfileStats(total) for phase, total in by_phase.items()}


class PyinstrumentAnalysis(PythonProfileAnalysis):
    """Profiles in pyinstrument's format.

    The functions return a list of `PyinstrumentStepStats`, or None if there are none.  A file that
    is not JSON is skipped, and the log names it.
    """

    name = PYINSTRUMENT_NAME

    def _aggregate_stats(
        self, stats: List[StepPythonProfileStats]
    ) -> Optional[List[PyinstrumentStepStats]]:
        by_folder: Dict[str, List[str]] = {}
        for each in stats:
            folder, name = os.path.split(each.stats_path)
            by_folder.setdefault(folder, []).append(name)
        found = []
        for folder, names in by_folder.items():
            path = os.path.join(folder, PYINSTRUMENT_JSON_FILENAME)
            page = os.path.join(folder, PYINSTRUMENT_HTML_FILENAME)
            try:
                content = _content_of(path)
            except (OSError, SMDebugValueError) as error:
                get_logger().warning("%s: skipped: %s", path, error)
                continue
            has_page = PYINSTRUMENT_HTML_FILENAME in names
            found.append(PyinstrumentStepStats(page if has_page else None, content))
        if not found:
            get_logger().warning("no Python profiles were found for this request")
            return None
        return found


def _content_of(path: str) -> Dict[str, Any]:
    with open(path, "rb") as file:
        text = file.read()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SMDebugValueError(f"not a file of pyinstrument: {error}") from None
    if not isinstance(content, dict):
        raise SMDebugValueError("not a file of pyinstrument: it holds no object")
    return content
