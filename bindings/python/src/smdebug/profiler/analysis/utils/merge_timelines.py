"""Merges timelines and system metrics into one file for https://ui.perfetto.dev."""

from __future__ import annotations

import json
import math
import os
import socket
import zlib
from enum import Enum
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from smdebug.core.access_layer.file import TSAccessFile
from smdebug.core.access_layer.s3 import TSAccessS3
from smdebug.core.json_config import get_node_id_from_resource_config
from smdebug.core.logger import get_logger
from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.algorithm_metrics_reader import (
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from smdebug.profiler.profiler_constants import CONVERT_TO_MICROSECS, MERGEDTIMELINE_SUFFIX
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader, S3SystemMetricsReader
from smdebug.profiler.trace_event_file_parser import TraceEvent
from smdebug.profiler.utils import Time

__all__ = ["MergeUnit", "MergedTimeline"]

# The first number of each band of rows, which orders them.
_BANDS = {
    "Step:": 1,
    "Forward": 10000,
    "Backward": 20000,
    "DataIterator": 30000,
    "Dataset": 40000,
    "/device": 50000,
    "/host": 60000,
    "gpu_functions": 70000,
    "cpu_functions": 80000,
    "Horovod": 90000,
    "other": 1000000,
}
_LOW_GPU = 85
# Samples so many microseconds apart are of one moment.
_ONE_MOMENT = 20000

Sample = Tuple[int, str, Any, float]


class MergeUnit(Enum):
    """What the beginning and the end of a merged timeline are."""

    TIME = "time"
    STEP = "step"


class MergedTimeline:
    """Writes one timeline of all events of a profiler folder.

    Parameters
    ----------
    path : str
        The profiler folder, or s3://bucket/prefix.
    file_suffix_filter : list of str, optional
        Ends of the names of the timelines to read.
    output_directory : str, optional
        Where the file is written.  Defaults to `path`.
    """

    def __init__(
        self,
        path: str,
        file_suffix_filter: Optional[Sequence[str]] = None,
        output_directory: Optional[str] = None,
    ) -> None:
        self.path = path
        self.out_dir = path if output_directory is None else output_directory
        self.file_suffix_filter = file_suffix_filter
        self.framework_metrics_reader: Union[LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader]
        self._system_reader: Union[LocalSystemMetricsReader, S3SystemMetricsReader]
        if is_s3(path)[0]:
            self.framework_metrics_reader = S3AlgorithmMetricsReader(path)
            self._system_reader = S3SystemMetricsReader(path)
        else:
            self.framework_metrics_reader = LocalAlgorithmMetricsReader(path)
            self._system_reader = LocalSystemMetricsReader(path)

    def file_name(self, end_timestamp_in_us: Time) -> str:
        """Returns the name of the file for a timeline up to a time."""
        host = get_node_id_from_resource_config() or socket.gethostname()
        node = f"{os.getpid()}-{host}".replace("_", "-")
        name = f"{round(end_timestamp_in_us)}_{node}_{MERGEDTIMELINE_SUFFIX}"
        return os.path.join(self.out_dir, name)

    def merge_timeline(
        self,
        start: Time,
        end: Time,
        unit: Union[MergeUnit, str] = MergeUnit.TIME,
        sys_metrics_filter: Optional[Mapping[str, Any]] = {"lowgpu": ()},  # noqa: B006
    ) -> str:
        """Writes the timeline, and returns the file's name.

        Parameters
        ----------
        start, end : int
            Microseconds since 1970, or steps.
        unit : MergeUnit
            Which of these.
        sys_metrics_filter : mapping, optional
            If it is empty or None, system metrics are left out.  Else they are counters up to the
            last moment at which a GPU was used less than 85 %, and such moments are marked.

        Raises
        ------
        SMDebugValueError
            If the unit is unknown.
        """
        try:
            unit = MergeUnit(unit)
        except ValueError:
            raise SMDebugValueError(f"the unit is {unit!r}; it must be 'time' or 'step'") from None
        if unit is MergeUnit.STEP:
            start, end = self.framework_metrics_reader._get_time_interval_for_step(
                int(start), int(end)
            )
        events = self.framework_metrics_reader.get_events(
            start, end, file_suffix_filter=self.file_suffix_filter
        )
        if sys_metrics_filter:
            events.extend(_system_events(self._samples(start, end)))
        events.sort(key=lambda event: event.start_time)
        name = self.file_name(end)
        self._write(name, ",\n".join(_Rows().lines(events)))
        get_logger().info("the merged timeline is %s", name)
        return name

    def _samples(self, start: Time, end: Time) -> List[Sample]:
        samples = [
            (
                int(event.timestamp * CONVERT_TO_MICROSECS),
                f"{event.name or ''}_{event.dimension}_{event.node_id}",
                event.dimension,
                event.value,
            )
            for event in self._system_reader.get_events(start, end)
        ]
        # JSON has no other numbers.
        distinct = dict.fromkeys(each for each in samples if math.isfinite(each[3]))
        return sorted(distinct, key=lambda sample: sample[0])

    @staticmethod
    def _write(name: str, text: str) -> None:
        on_s3, bucket, key = is_s3(name)
        writer: Union[TSAccessS3, TSAccessFile]
        if on_s3:
            writer = TSAccessS3(str(bucket), str(key), binary=False)
        else:
            writer = TSAccessFile(name, "w")
        writer.write(f"[\n{text}\n]")
        writer.close()


class _Rows:
    """Assigns events to rows of the timeline."""

    def __init__(self) -> None:
        self._next = dict(_BANDS)
        self._bands: Dict[str, int] = {}
        # The ends of the events that are open in each thread.
        self._open: Dict[Tuple[int, Any, Any, int], List[Time]] = {}
        self._threads: Dict[Tuple[int, Any], Tuple[Any, int]] = {}

    def lines(self, events: Sequence[TraceEvent]) -> Iterator[str]:
        """Yields the lines of a file."""
        for event in events:
            if event.event_phase not in self._bands:
                yield from self._begin_band(event.event_phase)
            event.pid = band = self._bands[event.event_phase]
            if event.process_info is not None:
                lane = self._lane_of(event, band)
                tid, is_new = self._tid_of(event, band, lane)
                if is_new:
                    name = f"{event.node_id}_{event.tid}" + (f" ({lane + 1})" if lane else "")
                    yield _described("thread_name", band, {"name": name}, tid)
                event.tid = tid
            yield _json_of(event)

    def _begin_band(self, phase: str) -> Iterator[str]:
        kind = next((each for each in _BANDS if each in phase), "other")
        band = self._bands[phase] = self._next[kind]
        self._next[kind] += 1
        yield _described("process_name", band, {"name": phase})
        yield _described("process_sort_index", band, {"sort_index": band})

    def _lane_of(self, event: TraceEvent, band: int) -> int:
        """Returns the first lane of the thread where the event nests; viewers drop others."""
        lane = 0
        while True:
            ends = self._open.setdefault((band, event.node_id, event.tid, lane), [])
            while ends and ends[-1] <= event.start_time:
                ends.pop()
            if not ends or event.end_time <= ends[-1]:
                ends.append(event.end_time)
                return lane
            lane += 1

    def _tid_of(self, event: TraceEvent, band: int, lane: int) -> Tuple[Any, bool]:
        """Returns a number for the thread that no other node has."""
        tid, owner = event.tid, (event.node_id, lane)
        if lane or self._threads.get((band, tid), owner) != owner:
            tid = zlib.crc32(f"{event.node_id}_{event.tid}_{lane}".encode())
        is_new = (band, tid) not in self._threads
        self._threads.setdefault((band, tid), owner)
        return tid, is_new


def _described(name: str, band: int, args: Mapping[str, Any], tid: Any = None) -> str:
    place = {"pid": band} if tid is None else {"pid": band, "tid": tid}
    return json.dumps({"name": name, "ph": "M", **place, "args": args})


def _json_of(event: TraceEvent) -> str:
    text = event.to_json()
    if "NaN" in text or "Infinity" in text:
        # Python writes numbers that JSON does not have.
        return json.dumps(json.loads(text, parse_constant=lambda _: None))
    return text


def _system_event(time: int, name: str, kind: str, phase: str, args: Dict[str, Any]) -> TraceEvent:
    return TraceEvent(time, name, 0, 0, 0, args, 0, kind, "system_metrics", phase)


def _system_events(samples: Sequence[Sample]) -> Iterator[TraceEvent]:
    """Yields counters, and marks of the moments at which a GPU is used little."""
    low = [time for time, _, dimension, value in samples
           if dimension == "GPUUtilization" and value < _LOW_GPU]  # fmt: skip
    mark = "sys_metrics_bottlenecks"
    at = 0
    moment: Optional[int] = None
    args: Dict[str, Any] = {}
    for time, name, _, value in samples:
        if at == len(low):
            break
        if abs(time - low[at]) > _ONE_MOMENT:
            if moment is not None:
                yield _system_event(moment, mark, "i", mark, args)
            moment, args = None, {}
            at += time > low[at]
            if at == len(low):
                break
        if abs(time - low[at]) <= _ONE_MOMENT:
            moment = low[at]
            args[name] = value
        yield _system_event(time, name, "C", "sys_metrics", {"value": value})
    if moment is not None:
        yield _system_event(moment, mark, "i", mark, args)
