"""Makes trials and results comparable."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any, Dict, Mapping

_HEADER, _FOOTER = 12, 4  # the bytes around a record: length with checksum, checksum of the data
# What bindings record of the run by themselves: the last member of a collections file's "_meta".
_RUN = re.compile(rb', "metadata": \{"run\.[^{}]*\}')
_WALL_TIME = 0x09  # field 1 of an event: eight bytes, first in the record


def files_of(trial: Path) -> Dict[str, bytes]:
    """Returns a trial's files by name, without times, checksums that depend on times, and
    what is recorded of the run."""
    files = {}
    for path in sorted(trial.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(trial))] = _without_times(path)
    return files


def _without_times(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".tfevents":
        return _events_without_times(bytearray(content))
    if path.suffix == ".rows":
        return b""  # what the index files say, with their sizes, which depend on times
    if path.parent.parent.name == "index":
        index = json.loads(content)
        index["meta"].pop("time_us", None)
        index.pop("crc32c", None)
        for payload in index["tensor_payload"]:
            del payload["crc32c"]
            payload.pop("us", None)
        return json.dumps(index).encode()
    if path.parent.parent.name == "collections":
        return _RUN.sub(b"", content)
    return b"" if path.name == "training_job_end.ts" else content


def _events_without_times(content: bytearray) -> bytes:
    start = 0
    while start < len(content):
        (length,) = struct.unpack_from("<Q", content, start)
        record = start + _HEADER
        assert content[record] == _WALL_TIME
        content[record + 1 : record + 9] = bytes(8)
        start = record + length + _FOOTER
    return bytes(content)


def results_of(path: Path) -> Dict[str, Any]:
    """Returns results with 15 digits, as many as cJSON writes."""
    return json.loads(path.read_text(encoding="utf-8"), parse_float=lambda text: float(f"{float(text):.14e}"))


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the differences of two results.  Compares messages only if both have one."""
    found = {}
    for query in {**one, **other}:
        a, b = dict(one.get(query, {})), dict(other.get(query, {}))
        if "message" not in a or "message" not in b:
            a.pop("message", None)
            b.pop("message", None)
        if a != b:
            found[query] = (a, b)
    return found
