"""Events of timelines."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional

__all__ = ["ProcessInfo", "ThreadInfo", "TraceEvent"]


class ThreadInfo:
    """A thread of a phase."""

    def __init__(self, tid: Any, thread_name: str) -> None:
        self.tid = tid
        self.thread_name = thread_name

    def __repr__(self) -> str:
        return f"tid:{self.tid} name:{self.thread_name}"


class ProcessInfo:
    """A phase, which is a row of the timeline, and its threads."""

    def __init__(self, id: Any, name: str) -> None:
        self.id = id
        self.name = name
        self._threads: Dict[Any, ThreadInfo] = {}

    def add_thread(self, threadid: Any, thread_name: str) -> None:
        """Adds a thread, unless it is known."""
        self._threads.setdefault(threadid, ThreadInfo(threadid, thread_name))

    def get_thread_info(self, threadid: Any) -> ThreadInfo:
        """Returns a thread that was added."""
        return self._threads[threadid]

    def __repr__(self) -> str:
        return f"id:{self.id} name:{self.name} threads:{self._threads}"


class TraceEvent:
    """An event of a timeline.

    Attributes
    ----------
    start_time, end_time, duration : int or float
        Microseconds, the first two since 1970.
    event_name, event_phase : str
        The event, and the row of the timeline.
    phase_pid, phase_tid : int
        The row's number in its file, and a number for the thread in the row.
    pid, tid : int
        The process and the thread, where the event has them.
    event_args : dict or None
        What was recorded with the event.
    node_id : str
        Such as "algo-1-314".
    phase : str
        "X".
    file_type : str
        What wrote the file, such as "PythontimelineMetrics".
    """

    def __init__(
        self,
        ts: Any,
        name: str,
        dur: Any,
        phase_pid: Any,
        phase_tid: Any,
        event_args: Optional[Dict[str, Any]],
        node_id: Any,
        phase: str,
        file_type: str,
        event_phase: str = "",
        pid: Any = 0,
        tid: Any = 0,
        process_info: Optional[ProcessInfo] = None,
    ) -> None:
        self.start_time = ts
        self.event_name = name
        self.duration = dur
        self.end_time = ts + dur
        self.phase_pid = phase_pid
        self.phase_tid = phase_tid
        self.pid = pid
        self.tid = tid
        self.event_args = event_args
        self.node_id = node_id
        self.phase = phase
        self.event_phase = event_phase
        self.process_info = process_info
        self.file_type = file_type

    def to_json(self) -> str:
        """Returns the event in Chrome's trace format."""
        written = {
            "name": self.event_name,
            "pid": self.pid,
            "tid": self.tid,
            "ph": self.phase,
            "ts": self.start_time,
        }
        args = dict(self.event_args or {})
        if self.phase == "i" and args:
            written["s"] = args.pop("s", "t")
        elif self.phase == "X":
            written["dur"] = self.duration
        if args:
            written["args"] = args
        return json.dumps(written)
