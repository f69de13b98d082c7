"""The profiler's files as frames of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Sequence, Tuple, Union

from smdebug.core.utils import import_framework, is_s3, match_inc
from smdebug.profiler.algorithm_metrics_reader import (
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from smdebug.profiler.profiler_constants import CONVERT_TO_MICROSECS
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader, S3SystemMetricsReader
from smdebug.profiler.trace_event_file_parser import TraceEvent
from smdebug.profiler.utils import (
    Time,
    convert_utc_datetime_to_microseconds,
    us_since_epoch_to_human_readable_time,
)

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
_LOADER_COLUMNS = (
    "start_time", "end_time", "start_time_us", "end_time_us", "duration_us", "pid",
    "framework_metric", "step", "worker_id", "num_workers", "pin_memory", "process", "node_id",
)  # fmt: skip

_NANOSECONDS = 1000 * 1000 * 1000

Totals = Dict[str, Time]


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
        self.framework_metrics: List[List[Any]] = []
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

        def is_selected(event: TraceEvent) -> bool:
            patterns = selected_framework_metrics
            return not patterns or any(
                match_inc(name, patterns) for name in (event.event_name, event.event_phase)
            )

        rows = self._framework_rows(start, end, is_selected, _loader_row, cache=False)
        return self._frame(rows, _LOADER_COLUMNS, ("start_time_us", "end_time_us"))

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
        samples = self._frame([], _SYSTEM_COLUMNS, ("timestamp_us",))
        if get_system_metrics:
            samples = self._system_frame(start_time_us, end_time_us, selected_system_metrics)
            if cache_metrics:
                self.system_metrics.append(samples)
                samples = self._pandas.concat(self.system_metrics, ignore_index=True)
        rows: List[List[Any]] = []
        if get_framework_metrics:
            rows = self._framework_rows(
                start_time_us,
                end_time_us,
                lambda event: _is_selected(event, selected_framework_metrics),
                _framework_row,
                cache_metrics,
            )
        return (
            samples,
            self._frame(rows, _FRAMEWORK_COLUMNS, ("start_time_us", "end_time_us")),
        )

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

    def _framework_rows(
        self,
        start: Time,
        end: Time,
        is_selected: Callable[[TraceEvent], bool],
        row: Callable[[TraceEvent], List[Any]],
        cache: bool,
    ) -> List[List[Any]]:
        rows = [
            row(event)
            for _, _, events in self._intervals(start, end)
            for event in events
            if is_selected(event)
        ]
        if cache:
            self.framework_metrics.extend(rows)
            return list(self.framework_metrics)
        return rows

    def _system_frame(
        self, start: Time, end: Time, selected: Sequence[str]
    ) -> pd.DataFrame:
        found = self.system_metrics_reader.columns_between(start, end)
        seconds = self._pandas.Series(found["timestamp"], dtype="float64")
        times = (seconds * CONVERT_TO_MICROSECS).astype("int64")
        # Many samples have one time.
        texts = {time: us_since_epoch_to_human_readable_time(time) for time in times.unique()}
        frame = self._pandas.DataFrame(
            {
                "timestamp": times.map(texts),
                "timestamp_us": times - self.start_time,
                "value": self._pandas.Series(found["value"], dtype="float64"),
                "system_metric": found["name"],
                "dimension": found["dimension"],
                "nodeID": found["node"],
                "type": found["type"],
            }
        )
        nanoseconds = (seconds * _NANOSECONDS).astype("int64")
        is_wanted = (nanoseconds >= int(start * 1000)) & (nanoseconds <= int(end * 1000))
        if selected:
            is_wanted &= frame["system_metric"].isin(list(selected))
        frame = frame[is_wanted]
        return frame[~frame.duplicated()].reset_index(drop=True)

    def _frame(
        self, rows: List[List[Any]], columns: Sequence[str], times: Sequence[str]
    ) -> pd.DataFrame:
        # An event on the edge of two intervals was read twice.
        distinct = list(dict.fromkeys(map(tuple, rows)))
        values = list(zip(*distinct)) if distinct else [() for _ in columns]
        frame = self._pandas.DataFrame({name: list(each) for name, each in zip(columns, values)})
        for name in times:
            frame[name] = frame[name] - self.start_time
        return frame


def _framework_row(event: TraceEvent) -> List[Any]:
    args = event.event_args or {}
    return [
        *_times_of(event),
        event.tid,
        event.pid,
        _name_of(event),
        int(args.get("step_num", -1)),
        args.get("bytes_fetched", -1),
        event.event_phase,
        event.node_id,
    ]


def _loader_row(event: TraceEvent) -> List[Any]:
    args = event.event_args or {}
    pin_memory = "NA"
    if "pin_memory" in args:
        pin_memory = "True" if args["pin_memory"] is True else "False"
    return [
        *_times_of(event),
        event.duration,
        event.pid,
        _name_of(event),
        int(args.get("step_num", -1)),
        args.get("worker_id", -1),
        args.get("num_workers", -1),
        pin_memory,
        event.event_phase,
        event.node_id,
    ]


def _times_of(event: TraceEvent) -> Tuple[str, str, Time, Time]:
    return (
        us_since_epoch_to_human_readable_time(event.start_time),
        us_since_epoch_to_human_readable_time(event.end_time),
        event.start_time,
        event.end_time,
    )


def _name_of(event: TraceEvent) -> Any:
    args = event.event_args or {}
    return args.get("layer_name", args.get("name", event.event_name))


def _is_selected(event: TraceEvent, selected: Sequence[str]) -> bool:
    return not selected or event.event_name in selected or event.event_phase in selected


def _add(totals: Totals, name: str, duration: Time) -> None:
    totals[name] = totals.get(name, 0) + duration


def _shares(totals: Totals) -> Dict[str, float]:
    most = max(totals.values(), default=0)
    return {name: total / most if most else 0.0 for name, total in totals.items()}
