"""Traces that TensorFlow's own profiler left in a profile of the original."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from smdebug.core.logger import get_logger
from smdebug.core.utils import read_file
from smdebug.exceptions import SMDebugError

__all__ = ["TensorFlowTraces"]

# <step's folder>/plugins/profile/<date>/<host>.trace.json.gz
_TRACE = re.compile(r"(.*tensorflow/detailed_profiling.*)/[^/]+/[^/]+/[^/]+/([^/]+)trace\.json\.gz")
# <node>_<first microsecond>_<last microsecond>.metadata, somewhere below the step's folder
_MARK = re.compile(r"(.*)/[^/_]*_(\d+)(?:\.\d*)?_(\d+)(?:\.\d*)?\.metadata")

_MOST = 1 << 29
_FOLDER = "framework/pevents/0"


class TensorFlowTraces:
    """Unpacks traces into a folder of its own, where they are timelines like all others."""

    def __init__(self) -> None:
        self._times: Dict[str, Tuple[int, int]] = {}  # by the mark's folder
        self._unpacked: Dict[str, Optional[str]] = {}
        self._scratch: Optional[tempfile.TemporaryDirectory[str]] = None

    @property
    def root(self) -> str:
        """The folder: that of a profile."""
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="smdebug-")
            os.makedirs(os.path.join(self._scratch.name, _FOLDER))
        return self._scratch.name

    def note(self, names: Iterable[str]) -> None:
        """Remembers the times in the names of the empty files next to the traces."""
        for name in names:
            found = _MARK.fullmatch(name) if name.endswith(".metadata") else None
            if found:
                self._times[found[1]] = int(found[2]), int(found[3])

    @staticmethod
    def is_trace(name: str) -> bool:
        """Returns whether a name is that of a trace."""
        return _parts_of(name) is not None

    def times_of(self, name: str) -> Optional[Tuple[int, int]]:
        """Returns when a trace begins and ends, in microseconds since 1970; None if that is unknown."""
        found = _parts_of(name)
        if found is None:
            return None
        folders = (each for each in sorted(self._times) if f"{each}/".startswith(f"{found[1]}/"))
        return self._times.get(next(folders, ""))

    def unpack(self, names: Sequence[str]) -> List[str]:
        """Returns the paths of the traces as timelines.  One that cannot be read is logged, and left out."""
        for name in names:
            if name not in self._unpacked:
                self._unpacked[name] = self._unpack(name)
        return [path for path in map(self._unpacked.get, names) if path is not None]

    def _unpack(self, name: str) -> Optional[str]:
        times, found = self.times_of(name), _parts_of(name)
        if times is None or found is None:
            return None
        try:
            events = _events_in(name)
        except (OSError, EOFError, zlib.error, ValueError, RecursionError, SMDebugError) as error:
            get_logger().warning("%s is no trace of TensorFlow: %s", name, error)
            return None
        start = {"name": "process_name", "ph": "M", "pid": 0,
                 "args": {"start_time_since_epoch_in_micros": times[0]}}  # fmt: skip
        host = found[2].split(".")[0].replace("_", "-")
        path = os.path.join(self.root, _FOLDER, f"{times[1]}_{host}_{len(self._unpacked)}.trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([start, *events], file)
        return path


def _parts_of(name: str) -> Optional[re.Match[str]]:
    # Most names are those of other files.
    return _TRACE.fullmatch(name) if name.endswith("trace.json.gz") else None


def _events_in(name: str) -> List[Any]:
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)
    content = decompressor.decompress(read_file(name), _MOST)
    if decompressor.unconsumed_tail:
        raise ValueError("it has more than 512 MiB")
    if not decompressor.eof:
        raise EOFError("its end is missing")
    trace = json.loads(content)
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list):
        raise ValueError("it has no traceEvents")
    return [event for event in events if isinstance(event, dict) and "ph" in event]
