"""Reads the events of timelines."""

from __future__ import annotations

import bisect
import json
import zlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from smdebug.exceptions import SMDebugTypeError
from smdebug.profiler.metrics_reader_base import MetricsReaderBase, ReadsBucket, ReadsFolder
from smdebug.profiler.trace_event_file_parser import ProcessInfo, TraceEvent
from smdebug.profiler.utils import (
    Time,
    get_timestamp_from_tracefilename,
)

__all__ = ["AlgorithmMetricsReader", "LocalAlgorithmMetricsReader", "S3AlgorithmMetricsReader"]

_decoder: Any = json.JSONDecoder()
_ORDER = {
    "PythontimelineMetrics": 0,
    "DetailedframeworkMetrics": 1,
    "HorovodMetrics": 2,
    "SMDataParallelMetrics": 3,
}


class AlgorithmMetricsReader(MetricsReaderBase):
    """Reads the events of timelines as `TraceEvent`."""

    _table = "profile_events"
    prefix = "framework"

    def __init__(self, path: str, use_in_memory_cache: bool = False) -> None:
        self._processes: Dict[Tuple[Any, str], ProcessInfo] = {}
        self._rows: Dict[Tuple[Any, str, str, Any], Tuple[ProcessInfo, Any]] = {}
        super().__init__(path, use_in_memory_cache)

    def _stamp_of(self, name: str) -> Optional[int]:
        return get_timestamp_from_tracefilename(name) or None

    def _files_between(self, start: Time, end: Time, timestamps: List[int]) -> Tuple[int, int]:
        # A file holds what ended before its stamp.
        return bisect.bisect_left(timestamps, start), bisect.bisect_left(timestamps, end) + 1

    def _columns(self) -> Sequence[str]:
        return (
            "start_us", "duration", "name", "phase", "node", "args", "file_type", "pid", "tid",
            "phase_pid",
        )  # fmt: skip

    def _events(self, columns: Dict[str, List[Any]]) -> Iterable[TraceEvent]:
        for start, duration, name, phase, node, text, file_type, pid, tid, phase_pid in zip(
            *(columns[column] for column in self._columns())
        ):
            args = _args_of(text)
            has_thread = args is not None and "thread_id" in args
            row = (phase_pid, phase, node, None if has_thread else tid)
            known = self._rows.get(row)
            if known is None:
                known = self._rows[row] = self._add_row(*row)
            process, phase_tid = known
            yield TraceEvent(
                _whole(start),
                name,
                _whole(duration),
                phase_pid,
                phase_tid,
                args,
                node,
                "X",
                file_type,
                phase,
                args["pid"] if args is not None and "pid" in args else pid,
                args["thread_id"] if args is not None and has_thread else phase_tid,
                process,
            )

    def _add_row(self, phase_pid: Any, phase: str, node: str, tid: Any) -> Tuple[ProcessInfo, Any]:
        process = self._processes.setdefault((phase_pid, phase), ProcessInfo(phase_pid, phase))
        phase_tid = _thread_of(node, phase) if tid is None else tid
        process.add_thread(phase_tid, f"{node}_{0 if tid is None else tid}")
        return process, phase_tid

    def _is_between(self, event: Any, start: Time, end: Time) -> bool:
        return bool(event.end_time >= start and event.start_time <= end)

    def _of_type(self, events: List[Any], event_type: str) -> List[Any]:
        raise SMDebugTypeError("events of timelines have no event_type; leave it out")

    def _sorted(self, events: List[Any]) -> List[Any]:
        return sorted(events, key=lambda event: _ORDER.get(event.file_type, len(_ORDER)))


class LocalAlgorithmMetricsReader(ReadsFolder, AlgorithmMetricsReader):
    """Reads the events of timelines in a folder."""


class S3AlgorithmMetricsReader(ReadsBucket, AlgorithmMetricsReader):
    """Reads the events of timelines in a bucket."""


def _args_of(text: Optional[str]) -> Optional[Dict[str, Any]]:
    if text is None:
        return None
    try:
        # Does not look behind the value, where nothing is.
        args, _ = _decoder.scan_once(text, 0)
    except (StopIteration, ValueError):
        return None
    return args if isinstance(args, dict) else None


def _whole(number: float) -> Time:
    return int(number) if number.is_integer() else number


def _thread_of(node: str, phase: str) -> int:
    """Returns the same number for the same row in each process."""
    return zlib.crc32(f"{node}_{phase}".encode())
