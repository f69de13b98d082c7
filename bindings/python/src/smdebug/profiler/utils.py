"""Units of time, and the parts of file names."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from enum import Enum
from typing import Optional, Union

__all__ = [
    "TimeUnits",
    "convert_utc_datetime_to_microseconds",
    "convert_utc_datetime_to_nanoseconds",
    "convert_utc_timestamp_to_microseconds",
    "convert_utc_timestamp_to_nanoseconds",
    "convert_utc_timestamp_to_seconds",
    "get_node_id_from_system_profiler_filename",
    "get_node_id_from_tracefilename",
    "get_timestamp_from_tracefilename",
    "get_utctimestamp_us_since_epoch_from_system_profiler_file",
    "is_valid_tracefilename",
    "ns_since_epoch_to_human_readable_time",
    "us_since_epoch_to_human_readable_time",
    "validate_system_profiler_file",
]

_SYSTEM_FILE = re.compile(r".+/system/.+/(\d{10}).algo-\d+.json")
_TIMELINE = re.compile(r"(\d+)_([^_]*)_.*\.json")


class TimeUnits(Enum):
    """Units of times since 1970."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


Time = Union[int, float]


def convert_utc_timestamp_to_nanoseconds(
    timestamp: Time, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> Time:
    """Converts a time."""
    if unit == TimeUnits.NANOSECONDS:
        return timestamp
    factors = {TimeUnits.SECONDS: 1000000000, TimeUnits.MILLISECONDS: 1000000}
    return int(timestamp * factors.get(unit, 1000))


def convert_utc_timestamp_to_microseconds(
    timestamp: Time, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> Time:
    """Converts a time."""
    if unit == TimeUnits.NANOSECONDS:
        return timestamp / 1000
    factors = {TimeUnits.SECONDS: 1000000, TimeUnits.MILLISECONDS: 1000}
    return int(timestamp * factors.get(unit, 1))


def convert_utc_timestamp_to_seconds(
    timestamp: Time, unit: TimeUnits = TimeUnits.MICROSECONDS
) -> Time:
    """Converts a time."""
    if unit == TimeUnits.NANOSECONDS:
        return timestamp / 1000 / 1000 / 1000
    divisors = {TimeUnits.SECONDS: 1, TimeUnits.MILLISECONDS: 1000}
    return int(timestamp / divisors.get(unit, 1000000))


def convert_utc_datetime_to_nanoseconds(timestamp_datetime: datetime) -> Time:
    """Converts a time."""
    return convert_utc_timestamp_to_nanoseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def convert_utc_datetime_to_microseconds(timestamp_datetime: datetime) -> Time:
    """Converts a time."""
    return convert_utc_timestamp_to_microseconds(timestamp_datetime.timestamp(), TimeUnits.SECONDS)


def us_since_epoch_to_human_readable_time(us_since_epoch: Time) -> str:
    """Returns a time such as "2024-01-31T23:59:46:500000"."""
    return datetime.fromtimestamp(us_since_epoch / 1e6, timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%S:%f"
    )


def ns_since_epoch_to_human_readable_time(ns_since_epoch: Time) -> str:
    """Returns a time such as "2024-01-31T23:59:46:500000"."""
    return us_since_epoch_to_human_readable_time(ns_since_epoch / 1000)


def is_valid_tracefilename(filename: str) -> bool:
    """Returns whether a name is that of a timeline."""
    return "pevents" in filename and _TIMELINE.fullmatch(filename.rpartition("/")[2]) is not None


def get_node_id_from_tracefilename(filename: str) -> str:
    """Returns the node in the name of a timeline; "" for other names."""
    found = _TIMELINE.fullmatch(filename.rpartition("/")[2])
    return found[2] if found and is_valid_tracefilename(filename) else ""


def get_timestamp_from_tracefilename(filename: str) -> int:
    """Returns the microseconds in the name of a timeline; 0 for other names."""
    found = _TIMELINE.fullmatch(filename.rpartition("/")[2])
    return int(found[1]) if found and is_valid_tracefilename(filename) else 0


def validate_system_profiler_file(filename: str) -> bool:
    """Returns whether a name is that of a file of system metrics."""
    return _SYSTEM_FILE.match(filename) is not None


def get_node_id_from_system_profiler_filename(filename: str) -> Optional[str]:
    """Returns the node in the name of a file of system metrics; None for other names."""
    if not validate_system_profiler_file(filename):
        return None
    return filename.rpartition("/")[2].split(".")[1]


def get_utctimestamp_us_since_epoch_from_system_profiler_file(filename: str) -> Optional[int]:
    """Returns the microseconds of the minute in the name of a file of system metrics; None for
    other names."""
    found = _SYSTEM_FILE.match(filename)
    return int(found[1]) * 1000000 if found else None
