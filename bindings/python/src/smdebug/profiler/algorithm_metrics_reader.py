"""Reads the events of timelines."""

from __future__ import annotations

import bisect
import zlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

from smdebug.exceptions import SMDebugTypeError
from smdebug.profiler.metrics_reader_base import MetricsReaderBase, ReadsBucket, ReadsFolder
from smdebug.profiler.tensorflow_traces import TensorFlowTraces
from smdebug.profiler.trace_event_file_parser import ProcessInfo, TraceEvent
from smdebug.profiler.utils import Time, get_timestamp_from_tracefilename
from smdebug.tables.scan import Scan

__all__ = ["AlgorithmMetricsReader", "LocalAlgorithmMetricsReader", "S3AlgorithmMetricsReader"]

# What writes timelines, in the order in which events are returned.
FILE_TYPES = {
    "PythontimelineMetrics": 0,
    "DetailedframeworkMetrics": 1,
    "TFProfilerMetrics": 2,
    "HorovodMetrics": 3,
    "SMDataParallelMetrics": 4,
}


class AlgorithmMetricsReader(MetricsReaderBase):
    """Reads the events of timelines as `TraceEvent`."""

    _table = "profile_events"
    prefix = "framework"
    _wholes = ("start_us", "duration")
    _objects = ("args",)

    def __init__(self, path: str, use_in_memory_cache: bool = False) -> None:
        self._processes: Dict[Tuple[Any, str], ProcessInfo] = {}
        self._rows: Dict[Tuple[Any, str, str, Any], Tuple[ProcessInfo, Any]] = {}
        self._traces = TensorFlowTraces()
        super().__init__(path, use_in_memory_cache)

    def _list(self) -> List[str]:
        names = super()._list()
        self._traces.note(names)
        return names

    def _stamp_of(self, name: str) -> Optional[int]:
        times = self._traces.times_of(name)
        return times[1] if times else get_timestamp_from_tracefilename(name) or None

    def _scans(
        self, files: Sequence[str], times: Optional[Tuple[Time, Time]], columns: Sequence[str]
    ) -> List[Scan]:
        traces = [name for name in files if self._traces.is_trace(name)]
        others = [name for name in files if not self._traces.is_trace(name)]
        scans = super()._scans(others, times, columns)
        if traces:
            unpacked = self._traces.unpack(traces)
            scan = self._scan(self._traces.root, unpacked, times, columns)
            scans += [] if scan is None else [scan]
        return scans

    def _files_between(self, start: Time, end: Time, timestamps: List[int]) -> Tuple[int, int]:
        # A file holds what ended before its stamp.
        return bisect.bisect_left(timestamps, start), bisect.bisect_left(timestamps, end) + 1

    def _columns(self) -> Sequence[str]:
        return (
            "start_us", "duration", "name", "phase", "node", "args", "file_type", "pid", "tid",
            "phase_pid",
        )  # fmt: skip

    def _events(self, columns: Dict[str, List[Any]]) -> List[Any]:
        rows = self._rows
        events = []
        for start, duration, name, phase, node, args, file_type, pid, tid, phase_pid in zip(
            *(columns[column] for column in self._columns())
        ):
            thread = None
            if args is not None:
                pid = args.get("pid", pid)
                if "thread_id" in args:
                    thread, tid = args["thread_id"], None
            row = (phase_pid, phase, node, tid)
            process, phase_tid = rows.get(row) or self._add_row(*row)
            events.append(
                TraceEvent(
                    start,
                    name,
                    duration,
                    phase_pid,
                    phase_tid,
                    args,
                    node,
                    "X",
                    file_type,
                    phase,
                    pid,
                    phase_tid if thread is None else thread,
                    process,
                )
            )
        return events

    def _add_row(self, phase_pid: Any, phase: str, node: str, tid: Any) -> Tuple[ProcessInfo, Any]:
        process = self._processes.setdefault((phase_pid, phase), ProcessInfo(phase_pid, phase))
        phase_tid = thread_of(node, phase) if tid is None else tid
        process.add_thread(phase_tid, f"{node}_{0 if tid is None else tid}")
        known = self._rows[phase_pid, phase, node, tid] = process, phase_tid
        return known

    def arrays_between(
        self, start: Time, end: Time, members: Sequence[str]
    ) -> Optional[Tuple[Dict[str, Any], Dict[int, Dict[str, Any]]]]:
        """Returns the events between two times in microseconds, as an array for each column.

        Also the arguments of the events that have one of some members, by the number of the
        event, and of those whose pid or thread_id is no number.  None if there are no files.
        """
        unusual = [f'"{name}":{space}"' for name in ("pid", "thread_id") for space in ("", " ")]
        parts = [f'"{name}"' for name in members] + unusual
        columns = [name for name in self._columns() if name != "phase_pid"] + ["step"]
        found = self._read_arrays(
            start, end, columns, {"args": tuple(part.encode() for part in parts)}
        )
        return None if found is None else (found[0], found[1]["args"])

    def _is_between(self, event: Any, start: Time, end: Time) -> bool:
        return bool(event.end_time >= start and event.start_time <= end)

    def _all_between(self, columns: Dict[str, List[Any]], start: Time, end: Time) -> bool:
        begins = columns["start_us"]
        first, last, shortest = min(begins), max(begins), min(columns["duration"])
        return bool(start <= first and last <= end and shortest >= 0)

    def _of_type(self, events: List[Any], event_type: str) -> List[Any]:
        raise SMDebugTypeError("events of timelines have no event_type; leave it out")

    def _sorted(self, events: List[Any]) -> List[Any]:
        return sorted(events, key=lambda event: FILE_TYPES.get(event.file_type, len(FILE_TYPES)))


class LocalAlgorithmMetricsReader(ReadsFolder, AlgorithmMetricsReader):
    """Reads the events of timelines in a folder."""


class S3AlgorithmMetricsReader(ReadsBucket, AlgorithmMetricsReader):
    """Reads the events of timelines in a bucket."""


def thread_of(node: str, phase: str) -> int:
    """Returns a number for the events of a phase that have no thread: the same in each process."""
    return zlib.crc32(f"{node}_{phase}".encode())
