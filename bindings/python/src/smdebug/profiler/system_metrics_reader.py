"""Reads system metrics."""

from __future__ import annotations

import bisect
from typing import Any, Dict, List, Optional, Sequence, Tuple

from smdebug.profiler.metrics_reader_base import MetricsReaderBase, ReadsBucket, ReadsFolder
from smdebug.profiler.system_profiler_file_parser import ProfilerSystemEvent
from smdebug.profiler.utils import (
    Time,
    get_utctimestamp_us_since_epoch_from_system_profiler_file,
)

__all__ = ["LocalSystemMetricsReader", "S3SystemMetricsReader", "SystemMetricsReader"]

_NANOSECONDS = 1000 * 1000 * 1000


class SystemMetricsReader(MetricsReaderBase):
    """Reads system metrics as `ProfilerSystemEvent`."""

    _table = "system_metrics"
    prefix = "system"

    def _stamp_of(self, name: str) -> Optional[int]:
        return get_utctimestamp_us_since_epoch_from_system_profiler_file(name)

    def _files_between(self, start: Time, end: Time, timestamps: List[int]) -> Tuple[int, int]:
        # A file holds what was sampled after its stamp.
        first = max(bisect.bisect_right(timestamps, start) - 1, 0)
        return first, bisect.bisect_left(timestamps, end) + 1

    def _columns(self) -> Sequence[str]:
        return ("type", "name", "dimension", "value", "node", "timestamp")

    def _events(self, columns: Dict[str, List[Any]]) -> List[Any]:
        return list(map(ProfilerSystemEvent, *(columns[column] for column in self._columns())))

    def arrays_between(self, start: Time, end: Time) -> Optional[Dict[str, Any]]:
        """Returns the samples between about two times in microseconds, as an array for each
        attribute: some may lie outside.  None if there are no files."""
        found = self._read_arrays(start, end, self._columns(), {})
        return None if found is None else found[0]

    def _is_between(self, event: Any, start: Time, end: Time) -> bool:
        # As the original rounds.
        return bool(int(start * 1000) <= int(event.timestamp * _NANOSECONDS) <= int(end * 1000))

    def _all_between(self, columns: Dict[str, List[Any]], start: Time, end: Time) -> bool:
        times = columns["timestamp"]
        first, last = int(min(times) * _NANOSECONDS), int(max(times) * _NANOSECONDS)
        return int(start * 1000) <= first and last <= int(end * 1000)


class LocalSystemMetricsReader(ReadsFolder, SystemMetricsReader):
    """Reads system metrics in a folder."""


class S3SystemMetricsReader(ReadsBucket, SystemMetricsReader):
    """Reads system metrics in a bucket."""
