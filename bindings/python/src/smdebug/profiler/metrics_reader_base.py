"""What the readers of timelines and of system metrics share."""

from __future__ import annotations

import bisect
import contextlib
import gc
import math
import os
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from smdebug.core.access_layer.s3handler import ListRequest, S3Handler
from smdebug.core.logger import get_logger
from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.profiler_constants import (
    CONVERT_TO_MICROSECS,
    ENV_TIME_BUFFER,
    ENV_TRAIILING_DURATION,
    PYTHONTIMELINE_SUFFIX,
    TIME_BUFFER_DEFAULT,
    TRAILING_DURATION_DEFAULT,
)
from smdebug.profiler.utils import Time, TimeUnits, convert_utc_timestamp_to_microseconds
from smdebug.tables.columns import arrays, batches
from smdebug.tables.scan import Scan

__all__ = ["MetricsReaderBase", "ReadsBucket", "ReadsFolder"]

_MOST_TIME = 2**63 - 1


class MetricsReaderBase:
    """Reads events of a profiler folder by time.

    Parameters
    ----------
    path : str
        The profiler folder, or s3://bucket/prefix.
    use_in_memory_cache : bool
        Whether events of files that were read are kept.
    """

    _table = ""
    prefix = ""
    # The columns whose whole numbers become int, and those of JSON objects.
    _wholes: Sequence[str] = ()
    _objects: Sequence[str] = ()

    def __init__(self, path: str, use_in_memory_cache: bool = False) -> None:
        self.logger = get_logger()
        self._root = path if is_s3(path)[0] else os.path.expanduser(path)
        self._timestamp_to_filename: Dict[int, List[str]] = {}
        self._cache_events_in_memory = use_in_memory_cache
        self._parsed_files: Set[str] = set()
        self._cached: List[Any] = []
        self._last_listed = ""
        self.refresh_event_file_list()

    def _stamp_of(self, name: str) -> Optional[int]:
        raise NotImplementedError

    def _files_between(self, start: Time, end: Time, timestamps: List[int]) -> Tuple[int, int]:
        raise NotImplementedError

    def _events(self, columns: Dict[str, List[Any]]) -> List[Any]:
        raise NotImplementedError

    def _is_between(self, event: Any, start: Time, end: Time) -> bool:
        raise NotImplementedError

    def _all_between(self, columns: Dict[str, List[Any]], start: Time, end: Time) -> bool:
        """Returns True only if `_is_between` is true for each event of the columns."""
        raise NotImplementedError

    def _sorted(self, events: List[Any]) -> List[Any]:
        return events

    def get_timestamp_of_first_available_file(self) -> int:
        """Returns the time in the first file's name, in microseconds; 0 if there are no files."""
        return min(self._timestamp_to_filename, default=0)

    def get_timestamp_of_latest_available_file(self) -> int:
        """Returns the time in the last file's name, in microseconds; 0 if there are no files."""
        return max(self._timestamp_to_filename, default=0)

    def get_current_time_range_for_event_query(self) -> Tuple[int, int]:
        """Returns the times in the names of the first and the last file."""
        return (
            self.get_timestamp_of_first_available_file(),
            self.get_timestamp_of_latest_available_file(),
        )

    def refresh_event_file_list(self) -> None:
        """Lists the files anew."""
        for name in self._list():
            stamp = self._stamp_of(name)
            if stamp is None:
                self.logger.debug("%s is no file of the profiler", name)
                continue
            names = self._timestamp_to_filename.setdefault(stamp, [])
            if name not in names:
                bisect.insort(names, name)

    def _list(self) -> List[str]:
        on_s3, bucket, prefix = is_s3(self._root)
        if not on_s3:
            top = os.path.join(self._root, self.prefix)
            return [
                os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names
            ]
        keys = os.path.join(prefix or "", self.prefix, "")
        request = ListRequest(str(bucket), keys, StartAfter=self._start_after())
        return [f"s3://{bucket}/{key}" for key in S3Handler.list_prefix(request)]

    def _start_after(self) -> str:
        """Returns the key after which new files of a bucket are expected."""
        if not self._timestamp_to_filename:
            return ""
        trailing = _number_in(ENV_TRAIILING_DURATION, TRAILING_DURATION_DEFAULT)
        timestamps = sorted(self._timestamp_to_filename)
        first = timestamps[bisect.bisect_left(timestamps, timestamps[-1] - trailing)]
        return str(is_s3(self._timestamp_to_filename[first][0])[2])

    def get_events(
        self,
        start_time: Time,
        end_time: Time,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: Optional[str] = None,
        file_suffix_filter: Optional[Sequence[str]] = None,
    ) -> List[Any]:
        """Returns the events between two times, both included.

        Parameters
        ----------
        start_time, end_time : int or float
            Times since 1970.
        unit : TimeUnits
            Their unit.
        event_type : str, optional
            Of system metrics: "cpu", "gpu", "memory", "i/o" or "network".
        file_suffix_filter : list of str, optional
            Ends of the names of the files to read.
        """
        start = convert_utc_timestamp_to_microseconds(start_time, unit)
        end = convert_utc_timestamp_to_microseconds(end_time, unit)
        files = self._get_event_files_in_the_range(start, end)
        if file_suffix_filter is not None:
            files = [name for name in files if name.endswith(tuple(file_suffix_filter))]
        with _no_collections():
            events = self._events_between(files, start, end)
        if event_type is not None:
            events = self._of_type(events, event_type)
        return self._sorted(events)

    def _events_between(self, files: Sequence[str], start: Time, end: Time) -> List[Any]:
        if self._cache_events_in_memory:
            new = [name for name in files if name not in self._parsed_files]
            for columns in self._read_columns(new, None):
                self._cached.extend(self._events(columns))
            self._parsed_files.update(new)
            return [event for event in self._cached if self._is_between(event, start, end)]
        found: List[Any] = []
        for columns in self._read_columns(files, (start, end)):
            events = self._events(columns)
            if not self._all_between(columns, start, end):
                events = [event for event in events if self._is_between(event, start, end)]
            found.extend(events)
        return found

    def _of_type(self, events: List[Any], event_type: str) -> List[Any]:
        return [event for event in events if event.type == event_type]

    def _get_event_files_in_the_range(
        self,
        start_time_microseconds: Time,
        end_time_microseconds: Time,
        use_buffer: bool = True,
    ) -> List[str]:
        start, end = start_time_microseconds, end_time_microseconds
        if use_buffer:
            margin = _number_in(ENV_TIME_BUFFER, TIME_BUFFER_DEFAULT)
            start, end = start - margin, end + margin
        if end >= self.get_timestamp_of_latest_available_file():
            self.refresh_event_file_list()
        timestamps = sorted(self._timestamp_to_filename)
        first, last = self._files_between(start, end, timestamps)
        return [
            name for stamp in timestamps[first:last] for name in self._timestamp_to_filename[stamp]
        ]

    def _read_columns(
        self, files: Sequence[str], times: Optional[Tuple[Time, Time]]
    ) -> Iterator[Dict[str, List[Any]]]:
        for scan in self._scans(files, times, self._columns()):
            yield from batches(scan, self._wholes, self._objects)

    def _read_arrays(
        self,
        start: Time,
        end: Time,
        columns: Sequence[str],
        parts: Mapping[str, Tuple[bytes, ...]],
    ) -> Optional[Tuple[Dict[str, Any], Dict[str, Dict[int, Dict[str, Any]]]]]:
        """Returns what lies between about two times in microseconds, as `arrays` does; some may
        lie outside.  None if there are no files."""
        files = self._get_event_files_in_the_range(start, end)
        scans = self._scans(files, (start, end), columns)
        return arrays(scans, parts) if scans else None

    def _scans(
        self, files: Sequence[str], times: Optional[Tuple[Time, Time]], columns: Sequence[str]
    ) -> List[Scan]:
        scan = self._scan(self._root, files, times, columns)
        return [] if scan is None else [scan]

    def _scan(
        self,
        folder: str,
        files: Sequence[str],
        times: Optional[Tuple[Time, Time]],
        columns: Sequence[str],
    ) -> Optional[Scan]:
        if not files:
            return None
        options = [("path", folder)]
        root = folder.rstrip("/") + "/"
        options += [("file", name[len(root) :]) for name in files]
        options += [("column", name) for name in columns]
        if times is not None:
            first, end = math.floor(times[0]), math.ceil(times[1]) + 1
            if first > end:
                return None
            options.append(("time_first", str(max(-_MOST_TIME, min(first, _MOST_TIME)))))
            options.append(("time_end", str(max(-_MOST_TIME, min(end, _MOST_TIME)))))
        return Scan(self._table, options)

    def _columns(self) -> Sequence[str]:
        raise NotImplementedError

    def _get_time_interval_for_step(self, start_step: int, end_step: int) -> Tuple[Time, Time]:
        """Returns when a step began, and the last microsecond before another; 0, 0 if one of them
        was not profiled."""
        events = self.get_events(
            0,
            time.time() * CONVERT_TO_MICROSECS,
            TimeUnits.MICROSECONDS,
            file_suffix_filter=[PYTHONTIMELINE_SUFFIX],
        )
        begins: Dict[int, Time] = {}
        for event in sorted(events, key=lambda event: event.start_time):
            step = _step_of(event)
            if step is not None:
                begins.setdefault(step, event.start_time)
        if start_step not in begins or end_step not in begins:
            self.logger.info("the steps %s to %s were not profiled", start_step, end_step)
            return 0, 0
        return begins[start_step], begins[end_step] - 1

    def get_events_by_step(
        self,
        start_step: int,
        end_step: int,
        event_type: Optional[str] = None,
        file_suffix_filter: Optional[Sequence[str]] = None,
    ) -> List[Any]:
        """Returns the events from the beginning of a step to that of another."""
        start, end = self._get_time_interval_for_step(start_step, end_step)
        return self.get_events(start, end, TimeUnits.MICROSECONDS, event_type, file_suffix_filter)


class ReadsFolder(MetricsReaderBase):
    """A reader of a folder.

    Parameters
    ----------
    trace_root_folder : str
        The profiler folder, which holds the folders "framework" and "system".
    use_in_memory_cache : bool
        Whether events of files that were read are kept.
    """

    def __init__(self, trace_root_folder: str, use_in_memory_cache: bool = False) -> None:
        self.trace_root_folder = trace_root_folder
        super().__init__(trace_root_folder, use_in_memory_cache)


class ReadsBucket(MetricsReaderBase):
    """A reader of a bucket.

    Parameters
    ----------
    s3_trial_path : str
        s3://bucket/prefix of the profiler folder.
    use_in_memory_cache : bool
        Whether events of files that were read are kept.
    """

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        on_s3, bucket, prefix = is_s3(s3_trial_path)
        if not on_s3:
            raise SMDebugValueError(f"{s3_trial_path}: not an address in S3 (s3://bucket/prefix)")
        self.bucket_name, self.base_folder = bucket, prefix
        super().__init__(s3_trial_path, use_in_memory_cache)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Stops the search for garbage, which each few hundred new objects begin: here is none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _step_of(event: Any) -> Optional[int]:
    args = getattr(event, "event_args", None)
    try:
        return int(args["step_num"]) if args and "step_num" in args else None
    except (TypeError, ValueError):
        return None


def _number_in(variable: str, default: int) -> int:
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError:
        raise SMDebugValueError(
            f"{variable} is '{text[:64]}'; it must be a whole number of microseconds"
        ) from None
