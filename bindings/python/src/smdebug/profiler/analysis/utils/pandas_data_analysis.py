"""Statistics of the frames that `PandasFrame` makes."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from smdebug.core.logger import get_logger
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JobStats", "PandasFrameAnalysis", "Resource", "StatsBy"]

_PERCENTILES = (0.5, 0.95, 0.99)
_DESCRIBED = ("mean", "min", "max", "50%", "95%", "99%")
_NAMES = ("mean", "min", "max", "p50", "p95", "p99")
_STEP = "Step:ModeKeys"


class StatsBy(Enum):
    """What statistics are grouped by."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(Enum):
    """The types of system metrics."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"


class JobStats(Dict[str, Any]):
    """The statistics of a job, as attributes too."""

    def __setitem__(self, key: str, item: Any) -> None:
        super().__setitem__(key, item)
        self.__dict__[key] = item

    def __repr__(self) -> str:
        pandas: Any = import_framework("pandas", "pandas", "JobStats")
        return repr(pandas.DataFrame.from_dict(self.__dict__).T)


class PandasFrameAnalysis:
    """Statistics of system metrics and events.

    Parameters
    ----------
    system_df, framework_df : pandas.DataFrame
        Frames of `PandasFrame`.  They are not changed.
    """

    def __init__(self, system_df: pd.DataFrame, framework_df: pd.DataFrame) -> None:
        self._pandas: Any = import_framework("pandas", "pandas", "PandasFrameAnalysis")
        self.sys_metrics_df = system_df.copy()
        self.framework_metrics_df = framework_df.copy()
        events = self.framework_metrics_df
        events["duration_us"] = events["end_time_us"] - events["start_time_us"]
        self.step_time_df = self._steps(events)
        self._fill_steps(events)

    @staticmethod
    def _steps(events: pd.DataFrame) -> pd.DataFrame:
        """Returns the begin and end of each step."""
        is_step = events["framework_metric"].astype(str).str.contains(_STEP, regex=False)
        steps = events[is_step & (events["step"] != -1)]
        return (
            steps.groupby(["step"])
            .agg({"start_time_us": "min", "end_time_us": "max"})
            .reset_index()
        )

    def _fill_steps(self, events: pd.DataFrame) -> None:
        """Gives events without a step that of the step during which they run, if there is one."""
        spans = list(self.step_time_df.itertuples(index=False, name=None))
        for index, start, end in events.loc[
            events["step"] == -1, ["start_time_us", "end_time_us"]
        ].itertuples(name=None):
            for step, begins, ends in spans:
                if begins < start and end < ends:
                    events.loc[index, "step"] = step
                    break

    def get_job_statistics(self) -> JobStats:
        """Returns when the job's initialization, training and end began, and their shares.

        Raises
        ------
        SMDebugValueError
            If there are no system metrics, or step 0 was not profiled.
        """
        samples, events = self.sys_metrics_df, self.framework_metrics_df
        is_first = events["framework_metric"].isin(["Step:ModeKeys.TRAIN", "Step:ModeKeys.GLOBAL"])
        step_0 = events[(events["step"] == 0) & is_first].reset_index(drop=True)
        if samples.empty or step_0.empty:
            raise SMDebugValueError("statistics of a job need system metrics and its step 0")
        stats = JobStats()
        stats["start_time"] = samples["timestamp"].min()
        stats["end_time"] = samples["timestamp"].max()
        last, end = samples["timestamp_us"].max(), events["end_time_us"].max()
        duration = stats["job_duration"] = last - samples["timestamp_us"].min()
        stats["training_loop_start"] = step_0["start_time"][0]
        stats["training_loop_end"] = events["end_time"].max()
        stats["training_loop_duration"] = end - step_0["start_time_us"]
        stats["initialization"] = step_0["start_time_us"][0]
        stats["finalization"] = last - end
        stats["initialization_%"] = stats["initialization"] / duration * 100
        stats["training_loop_%"] = stats["training_loop_duration"] / duration * 100
        stats["finalization_%"] = stats["finalization"] / duration * 100
        return stats

    def get_step_statistics(
        self, by: StatsBy = StatsBy.TRAINING_PHASE
    ) -> Optional[pd.DataFrame]:
        """Returns mean, minimum, maximum and percentiles of durations per step."""
        if not isinstance(by, StatsBy):
            get_logger().info("%s is not a StatsBy", by)
            return None
        events, column = self.framework_metrics_df, by.value
        if by is StatsBy.TRAINING_PHASE:
            column = "framework_metric"
            events = events[events[column].astype(str).str.contains(_STEP, regex=False)]
        spans = (
            events.groupby(["step", column])
            .agg({"start_time_us": "min", "end_time_us": "max"})
            .reset_index()
        )
        spans["duration_us"] = spans["end_time_us"] - spans["start_time_us"]
        stats = self._described(spans, [column], "duration_us")
        stats.columns = [by.value, *(f"duration_{name}_us" for name in _NAMES)]
        return stats

    def get_utilization_stats(
        self,
        resource: Union[Resource, Sequence[Resource], None] = None,
        by: Optional[StatsBy] = None,
        phase: Union[str, List[str], None] = None,
    ) -> Optional[pd.DataFrame]:
        """Returns mean, minimum, maximum and percentiles of system metrics.

        Parameters
        ----------
        resource : Resource or list of Resource, optional
            The types of metrics.  Defaults to all.
        by : StatsBy, optional
            With TRAINING_PHASE, the rows are those of each training phase.
        phase : str or list of str, optional
            The phases.  Defaults to all.
        """
        if by is not None and not isinstance(by, StatsBy):
            get_logger().info("%s is not a StatsBy", by)
            return None
        types = _types(resource, (Resource.CPU, Resource.GPU, Resource.MEMORY, Resource.IO,
                                  Resource.NETWORK))  # fmt: skip
        if types is None:
            return None
        is_by_phase = by is StatsBy.TRAINING_PHASE
        if is_by_phase:
            self._mark_phases(phase)
        groups = ["Training_phase", "nodeID"] if is_by_phase else ["nodeID"]
        columns = ["Resource", *groups, *(f"utilization_{name}" for name in _NAMES)]
        parts = []
        for each in types:
            samples = self.sys_metrics_df[self.sys_metrics_df["type"] == each]
            if samples.empty:
                continue
            stats = self._described(samples.rename(columns={"phase": "Training_phase"}), groups, "value")
            stats.insert(0, "Resource", each)
            stats.columns = columns
            parts.append(stats)
        if not parts:
            return self._pandas.DataFrame(columns=columns)
        return self._pandas.concat(parts).reset_index(drop=True)

    def get_device_usage_stats(
        self,
        device: Union[Resource, Sequence[Resource], None] = None,
        utilization_ranges: Optional[Sequence[Tuple[float, float]]] = None,
    ) -> pd.DataFrame:
        """Counts samples by ranges of their values, for each type and node.

        Parameters
        ----------
        device : Resource or list of Resource, optional
            Defaults to CPU and GPU.
        utilization_ranges : list of (float, float), optional
            A sample counts for the first range that holds it.  Defaults to 90 to 100, 10 to 90
            and 0 to 10.
        """
        types = _types(device, (Resource.CPU, Resource.GPU))
        ranges = [(90, 100), (10, 90), (0, 10)] if utilization_ranges is None else utilization_ranges
        is_list = isinstance(ranges, list) and ranges and all(len(each) == 2 for each in ranges)
        if types is None or not is_list:
            get_logger().info("%s is not a list of pairs", utilization_ranges)
            return self._pandas.DataFrame()
        samples = self.sys_metrics_df[self.sys_metrics_df["type"].isin(types)]
        counts: Dict[Tuple[str, str], Dict[Any, int]] = {}
        for kind, node, value in zip(samples["type"], samples["nodeID"], samples["value"]):
            for low, high in ranges:
                if low <= float(value) <= high:
                    of_node = counts.setdefault((kind, node), {})
                    of_node[(low, high)] = of_node.get((low, high), 0) + 1
                    break
        used = sorted({each for of_node in counts.values() for each in of_node})
        rows = [
            [kind, node, *(of_node.get(each, 0) for each in used)]
            for (kind, node), of_node in sorted(counts.items())
        ]
        frame = self._pandas.DataFrame(rows)
        if rows:
            frame.columns = self._pandas.Index(["type", "nodeID", *used], tupleize_cols=False)
        return frame

    def get_training_phase_intervals(
        self, phase: Union[str, List[str], None] = None
    ) -> Optional[pd.DataFrame]:
        """Returns when training phases began and ended, and what lies before, between and after
        them."""
        events = self.framework_metrics_df
        known = list(events["process"].unique())
        if phase is None:
            phase = [name for name in known if _STEP in name]
        wanted = [phase] if isinstance(phase, str) else phase
        if not isinstance(wanted, list):
            get_logger().info("%s is not a list of phases", phase)
            return None
        wanted = [name for name in wanted if name in known]
        chosen = events[events["framework_metric"].isin(wanted)]
        if chosen.empty:
            get_logger().info("there are no events of these phases")
            return None
        spans: List[Tuple[Any, Any, str]] = []
        for start, end, name in zip(
            chosen["start_time_us"], chosen["end_time_us"], chosen["framework_metric"]
        ):
            if len(wanted) > 1 and spans and spans[-1][2] == name:
                spans[-1] = (min(spans[-1][0], start), max(spans[-1][1], end), name)
            else:
                spans.append((start, end, name))
        samples = self.sys_metrics_df["timestamp_us"]
        rows = [(samples.min(), spans[0][0] - 1, f"Before {spans[0][2]}")]
        for (start, end, name), following in zip(spans, [*spans[1:], None]):
            rows.append((start, end, name))
            if following is not None:
                between = " and ".join(sorted([name, following[2]]))
                rows.append((end + 1, following[0] - 1, f"Between {between}"))
        rows.append((spans[-1][1] + 1, samples.max(), f"After {spans[-1][2]}"))
        return self._pandas.DataFrame(rows, columns=["start_time_us", "end_time_us", "phase"])

    def _mark_phases(self, phase: Union[str, List[str], None]) -> None:
        """Names the phase of each sample."""
        intervals = self.get_training_phase_intervals(phase)
        self.sys_metrics_df["phase"] = None
        if intervals is None:
            return
        times = self.sys_metrics_df["timestamp_us"]
        for start, end, name in intervals.itertuples(index=False, name=None):
            self.sys_metrics_df.loc[times.between(start, end), "phase"] = name

    @staticmethod
    def _described(frame: pd.DataFrame, groups: List[str], column: str) -> pd.DataFrame:
        stats = frame.groupby(groups)[column].describe(percentiles=_PERCENTILES)
        return stats[list(_DESCRIBED)].reset_index()


def _types(
    given: Union[Resource, Sequence[Resource], None], default: Sequence[Resource]
) -> Optional[List[str]]:
    if given is None:
        return [each.value for each in default]
    if isinstance(given, Resource):
        return [given.value]
    if not isinstance(given, list):
        get_logger().info("%s is neither a Resource nor a list of them", given)
        return None
    return [each.value for each in given]
