"""The profiler's files as frames of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from smdebug.core.utils import import_framework, is_s3, match_inc
from smdebug.profiler.algorithm_metrics_reader import (
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from smdebug.profiler.analysis.utils.event_columns import EventColumns, human_times
from smdebug.profiler.profiler_constants import CONVERT_TO_MICROSECS
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader, S3SystemMetricsReader
from smdebug.profiler.trace_event_file_parser import TraceEvent
from smdebug.profiler.utils import Time, convert_utc_datetime_to_microseconds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PandasFrame"]

_SYSTEM_COLUMNS = (
    "timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type",
)  # fmt: skip
_FRAMEWORK_COLUMNS = (
    "start_time", "end_time", "start_time_us", "end_time_us", "tid", "pid", "framework_metric",
    "step", "bytes", "process", "nodeID",
)  # fmt: skip
_SYSTEM_TEXTS = ("name", "dimension", "node", "type")
_LOADER_MEMBERS = ("worker_id", "num_workers", "pin_memory")

_NANOSECONDS = 1000 * 1000 * 1000

Totals = Dict[str, Time]
_Range = Optional[Tuple[Time, Time]]


class PandasFrame:
    """The system metrics and the events of a profiler folder, as frames.

    Times in microseconds are those since the first file of system metrics.

    Parameters
    ----------
    path : str
        The profiler folder, or s3://bucket/prefix.
    use_in_memory_cache : bool
        Whether events of files that were read are kept.
    scan_interval : int
        Events of so many microseconds are read at a time.

    Raises
    ------
    ImportError
        If pandas is missing; the message says what to install.
    """

    def __init__(
        self, path: str, use_in_memory_cache: bool = False, scan_interval: int = 5000000000
    ) -> None:
        self._pandas: Any = import_framework("pandas", "pandas", "PandasFrame")
        self._numpy: Any = import_framework("numpy", "numpy", "PandasFrame")
        self.path = path
        self.step_time_mapping: Dict[int, Any] = {}
        self.system_metrics_reader: Union[LocalSystemMetricsReader, S3SystemMetricsReader]
        self.framework_metrics_reader: Union[LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader]
        if is_s3(path)[0]:
            self.system_metrics_reader = S3SystemMetricsReader(path)
            self.framework_metrics_reader = S3AlgorithmMetricsReader(path, use_in_memory_cache)
        else:
            self.system_metrics_reader = LocalSystemMetricsReader(path)
            self.framework_metrics_reader = LocalAlgorithmMetricsReader(path, use_in_memory_cache)
        self.system_metrics: List[pd.DataFrame] = []
        self.framework_metrics: List[pd.DataFrame] = []
        self.interval = scan_interval
        self.start_time = self.system_metrics_reader.get_timestamp_of_first_available_file()

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Returns the system metrics; if names are given, such as "cpu0", only those."""
        reader = self.system_metrics_reader
        return self.get_profiler_data_by_time(
            reader.get_timestamp_of_first_available_file(),
            reader.get_timestamp_of_latest_available_file() + self.interval,
            selected_system_metrics=selected_system_metrics,
            get_framework_metrics=False,
        )[0]

    def get_all_framework_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Returns the events; if names of events or phases are given, only those."""
        return self.get_profiler_data_by_time(
            *self._framework_times(),
            selected_framework_metrics=selected_framework_metrics,
            get_system_metrics=False,
        )[1]

    def get_all_dataloader_metrics(
        self, selected_framework_metrics: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Returns the events with their loader's columns; if expressions are given, those in whose
        name or phase one of them is found."""
        start, end = self._framework_times()

        patterns = selected_framework_metrics
        events = EventColumns(self.framework_metrics_reader, start, end, _LOADER_MEMBERS)
        if patterns:
            events.select(lambda name: bool(match_inc(name, patterns)))
        return self._frame(events, _loader_columns(events))

    def convert_datetime_to_timestamp(self, timestamp: str) -> Time:
        """Returns the microseconds of a time such as "2024-01-31T23:59:46:500000"."""
        return convert_utc_datetime_to_microseconds(
            self._pandas.to_datetime(timestamp, format="%Y-%m-%dT%H:%M:%S:%f", utc=True)
        )

    def get_profiler_data_by_time(
        self,
        start_time_us: Time,
        end_time_us: Time,
        cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (),
        selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True,
        get_system_metrics: bool = True,
    ) -> Tuple[pd.DataFrame, pd.DataFrame]:
        """Returns the system metrics, and the events, between two times in microseconds.

        If `cache_metrics` is True, also those of former calls.
        """
        samples, events = self._system_frame(None), self._framework_frame(None)
        if get_system_metrics:
            samples = self._system_frame((start_time_us, end_time_us), selected_system_metrics)
            if cache_metrics:
                samples = self._with_cached(self.system_metrics, samples)
        if get_framework_metrics:
            events = self._framework_frame(
                (start_time_us, end_time_us), selected_framework_metrics
            )
            if cache_metrics:
                events = self._with_cached(self.framework_metrics, events)
        return samples, events

    def get_profiler_data_by_step(
        self, start_step: int, end_step: int, cache_metrics: bool = False
    ) -> Tuple[pd.DataFrame, pd.DataFrame]:
        """Returns the system metrics during some steps, and the events of these steps, both
        included."""
        samples, events = self.get_all_system_metrics(), self.get_all_framework_metrics()
        events = events[events["step"].between(start_step, end_step)]
        start, end = events["start_time_us"].min(), events["end_time_us"].max()
        return samples[samples["timestamp_us"].between(start, end)], events

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[str] = (), selected_framework_metrics: Sequence[str] = ()
    ) -> Tuple[Dict[str, float], Totals, Totals]:
        """Sums up the events that are active at some times.

        Returns
        -------
        (dict, dict, dict)
            Microseconds by phase, as shares of the largest; by event; and by phase of steps.
        """
        if not timestep_list:
            return {}, {}, {}
        times = sorted(self.convert_datetime_to_timestamp(each) for each in timestep_list)
        phases: Totals = {}
        names: Totals = {}
        # The last time is the end of the search, and not searched, as in the original.
        for start, end, events in self._intervals(times[0], times[-1]):
            wanted = [time for time in times if start <= time < end]
            for event in events:
                if not _is_selected(event, selected_framework_metrics):
                    continue
                hits = sum(event.start_time < time < event.end_time for time in wanted)
                if hits:
                    _add(phases, event.event_phase, hits * event.duration)
                    if "Step" not in event.event_name:
                        _add(names, event.event_name, hits * event.duration)
        steps = {name: total for name, total in phases.items() if "Step" in name}
        others = {name: total for name, total in phases.items() if "Step" not in name}
        return _shares(others), names, steps

    def get_framework_metrics_by_begin_and_end_timesteps(
        self,
        begin_timestep_list: Sequence[str],
        end_timestep_list: Sequence[str],
        selected_framework_metrics: Sequence[str] = (),
    ) -> Tuple[Dict[str, float], Dict[str, float]]:
        """Sums up the events that are active between pairs of times.

        Returns
        -------
        (dict, dict)
            Microseconds by phase and by event, as shares of the largest.
        """
        begins = [self.convert_datetime_to_timestamp(each) for each in begin_timestep_list]
        ends = [self.convert_datetime_to_timestamp(each) for each in end_timestep_list]
        phases: Totals = {}
        names: Totals = {}
        first = min(begins, default=0)
        for start, _, events in self._intervals(first, max(ends, default=0)):
            for event in events:
                # An event that began before is one of an earlier interval.
                is_new = start == first or event.start_time >= start
                is_wanted = is_new and "Step" not in event.event_name
                if not is_wanted or not _is_selected(event, selected_framework_metrics):
                    continue
                hits = sum(
                    event.end_time >= begin and event.start_time <= end
                    for begin, end in zip(begins, ends)
                )
                if hits:
                    _add(phases, event.event_phase, hits * event.duration)
                    _add(names, event.event_name, hits * event.duration)
        return _shares(phases), _shares(names)

    def _framework_times(self) -> Tuple[int, int]:
        self.framework_metrics_reader.refresh_event_file_list()
        return (
            self.system_metrics_reader.get_timestamp_of_first_available_file(),
            self.framework_metrics_reader.get_timestamp_of_latest_available_file(),
        )

    def _intervals(self, start: Time, end: Time) -> Iterator[Tuple[Time, Time, List[TraceEvent]]]:
        """Yields the events of one interval after the other."""
        while start < end:
            until = min(start + self.interval, end)
            yield start, until, self.framework_metrics_reader.get_events(start, until)
            start = until

    def _system_frame(self, times: _Range, selected: Sequence[str] = ()) -> pd.DataFrame:
        np = self._numpy
        found = None if times is None else self.system_metrics_reader.arrays_between(*times)
        if times is None or found is None:
            return self._pandas.DataFrame({name: [] for name in _SYSTEM_COLUMNS})
        seconds, names = found["timestamp"], found["name"]
        nanoseconds = (seconds * _NANOSECONDS).astype("int64")
        rows = (nanoseconds >= int(times[0] * 1000)) & (nanoseconds <= int(times[1] * 1000))
        if selected:
            rows &= names.where(set(selected).__contains__)
        microseconds = (seconds * CONVERT_TO_MICROSECS).astype("int64")
        codes = {name: found[name].codes for name in _SYSTEM_TEXTS}
        copies = self._pandas.DataFrame(
            {"time": microseconds, "value": found["value"], **codes}
        )[rows].duplicated()
        rows = np.flatnonzero(rows)[~copies.to_numpy()]
        # Many samples have one time.
        moments, places = np.unique(microseconds[rows], return_inverse=True)
        texts = np.array(human_times(moments), object)
        return self._pandas.DataFrame(
            {
                "timestamp": texts[places],
                "timestamp_us": microseconds[rows] - self.start_time,
                "value": found["value"][rows],
                "system_metric": names.objects()[rows],
                "dimension": found["dimension"].objects()[rows],
                "nodeID": found["node"].objects()[rows],
                "type": found["type"].objects()[rows],
            }
        )

    def _framework_frame(self, times: _Range, selected: Sequence[str] = ()) -> pd.DataFrame:
        if times is None or times[0] >= times[1]:
            return self._pandas.DataFrame({name: [] for name in _FRAMEWORK_COLUMNS})
        events = EventColumns(self.framework_metrics_reader, *times, ("bytes_fetched",))
        if selected:
            events.select(set(selected).__contains__)
        return self._frame(events, _framework_columns(events))

    def _frame(self, events: EventColumns, columns: Dict[str, Any]) -> pd.DataFrame:
        """Returns a frame of events, with times since the first file of system metrics."""
        starts, ends = columns["start_time_us"], columns["end_time_us"]
        rows = events.distinct(columns)
        frame = self._pandas.DataFrame(
            {
                "start_time": human_times(starts),
                "end_time": human_times(ends),
                **columns,
                "start_time_us": starts - self.start_time,
                "end_time_us": ends - self.start_time,
            },
            copy=False,
        )
        return frame if isinstance(rows, slice) else frame[rows].reset_index(drop=True)

    def _with_cached(self, cached: List[pd.DataFrame], new: pd.DataFrame) -> pd.DataFrame:
        cached.append(new)
        return self._pandas.concat(cached, ignore_index=True).drop_duplicates(ignore_index=True)


def _framework_columns(events: EventColumns) -> Dict[str, Any]:
    starts = events.starts()
    return {
        "start_time_us": starts,
        "end_time_us": starts + events.durations(),
        "tid": events.threads(),
        "pid": events.processes(),
        "framework_metric": events.names(),
        "step": events.steps(),
        "bytes": events.member("bytes_fetched", -1),
        "process": events.texts("phase"),
        "nodeID": events.texts("node"),
    }


def _loader_columns(events: EventColumns) -> Dict[str, Any]:
    starts, durations = events.starts(), events.durations()
    return {
        "start_time_us": starts,
        "end_time_us": starts + durations,
        "duration_us": durations,
        "pid": events.processes(),
        "framework_metric": events.names(),
        "step": events.steps(),
        "worker_id": events.member("worker_id", -1),
        "num_workers": events.member("num_workers", -1),
        "pin_memory": events.member("pin_memory", "NA", lambda value: str(value is True)),
        "process": events.texts("phase"),
        "node_id": events.texts("node"),
    }


def _is_selected(event: TraceEvent, selected: Sequence[str]) -> bool:
    return not selected or event.event_name in selected or event.event_phase in selected


def _add(totals: Totals, name: str, duration: Time) -> None:
    totals[name] = totals.get(name, 0) + duration


def _shares(totals: Totals) -> Dict[str, float]:
    most = max(totals.values(), default=0)
    return {name: total / most if most else 0.0 for name, total in totals.items()}
