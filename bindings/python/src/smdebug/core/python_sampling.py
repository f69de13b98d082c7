"""Samples what a thread's Python code does, without tracing it.

A thread of its own looks at the stack of the sampled thread at fixed intervals.  The code runs at
its own speed but for the interpreter lock, which a sample needs for microseconds.  Calls are not
counted: in files of cProfile's format, calls are samples.
"""

from __future__ import annotations

import html
import json
import marshal
import os
import queue
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from smdebug.core.logger import get_logger

__all__ = ["PythonSampler", "Recording"]

_INTERVAL = 0.001
_MOST_FRAMES = 200

Function = Tuple[str, int, str]  # file, first line, name: as in pstats


class Recording:
    """The samples of one window: how long each stack was seen, in seconds.

    Attributes
    ----------
    stacks : dict
        Seconds of wall time and of CPU time, and samples, by stack: the outermost function first.
    """

    def __init__(self) -> None:
        self.stacks: Dict[Tuple[Function, ...], List[float]] = {}
        self.begin = time.time()
        self.duration = 0.0

    def add(self, stack: Tuple[Function, ...], wall: float, cpu: float) -> None:
        sums = self.stacks.setdefault(stack, [0.0, 0.0, 0])
        sums[0] += wall
        sums[1] += cpu
        sums[2] += 1

    def _times(self, timer: str) -> List[Tuple[Tuple[Function, ...], float, int]]:
        """Returns each stack with its time and samples, as a timer of cProfile's counts."""
        found = []
        for stack, (wall, cpu, samples) in self.stacks.items():
            spent = {"cpu_time": cpu, "off_cpu_time": max(wall - cpu, 0.0)}.get(timer, wall)
            found.append((stack, spent, int(samples)))
        return found

    def as_pstats(self, timer: str) -> bytes:
        """Returns a file that `pstats.Stats` reads."""
        own: Dict[Function, float] = {}
        total: Dict[Function, float] = {}
        seen: Dict[Function, int] = {}
        callers: Dict[Function, Dict[Function, List[float]]] = {}
        for stack, spent, samples in self._times(timer):
            own[stack[-1]] = own.get(stack[-1], 0.0) + spent
            for function in set(stack):  # a recursive function spends its time once
                total[function] = total.get(function, 0.0) + spent
                seen[function] = seen.get(function, 0) + samples
            for caller, callee in set(zip(stack, stack[1:])):
                sums = callers.setdefault(callee, {}).setdefault(caller, [0, 0.0, 0.0])
                sums[0] += samples
                sums[1] += spent if callee == stack[-1] else 0.0
                sums[2] += spent
        stats = {
            function: (
                seen[function],
                seen[function],
                own.get(function, 0.0),
                total[function],
                {
                    caller: (int(sums[0]), int(sums[0]), sums[1], sums[2])
                    for caller, sums in callers.get(function, {}).items()
                },
            )
            for function in total
        }
        return marshal.dumps(stats)

    def as_tree(self) -> Optional[Dict[str, Any]]:
        """Returns the outermost frame as pyinstrument's JSON has it, with those within."""
        root = _frame(("", 0, "<thread>"))
        for stack, spent, _ in self._times("total_time"):
            place = root
            place["time"] += spent
            for function in stack:
                place = place["_by_function"].setdefault(function, _frame(function))
                place["time"] += spent
        outermost = list(root["_by_function"].values())
        _finish(root)
        return outermost[0] if len(outermost) == 1 else (root if outermost else None)

    def as_json(self) -> str:
        """Returns a file in the layout of pyinstrument's JSON."""
        return json.dumps(
            {
                "start_time": self.begin,
                "duration": self.duration,
                "sample_count": sum(int(sums[2]) for sums in self.stacks.values()),
                "program": " ".join(sys.argv),
                "cpu_time": sum(sums[1] for sums in self.stacks.values()),
                "root_frame": self.as_tree(),
            }
        )

    def as_html(self) -> str:
        """Returns a page with the frames, each as long as it took."""
        tree = self.as_tree()
        lines = [] if tree is None else _html_of(tree)
        return (
            '<!doctype html><meta charset="utf-8"><title>Python profile</title>'
            "<h1>Python profile</h1>\n<ul>" + "\n".join(lines) + "</ul>\n"
        )


def _frame(function: Function) -> Dict[str, Any]:
    file, line, name = function
    return {
        "function": name,
        "file_path_short": os.path.relpath(file, os.getcwd()) if os.path.isabs(file) else file,
        "file_path": file,
        "line_no": line,
        "time": 0.0,
        "is_application_code": "site-packages" not in file,
        "_by_function": {},
    }


def _finish(frame: Dict[str, Any]) -> None:
    children = list(frame.pop("_by_function").values())
    for each in children:
        _finish(each)
    frame["children"] = sorted(children, key=lambda each: -each["time"])


def _html_of(frame: Dict[str, Any]) -> List[str]:
    place = html.escape(f"{frame['function']}  {frame['file_path_short']}:{frame['line_no']}")
    lines = [f"<li>{frame['time']:.3f} s {place}"]
    if frame["children"]:
        lines.append("<ul>")
        for each in frame["children"]:
            lines += _html_of(each)
        lines.append("</ul>")
    return lines


class PythonSampler:
    """Samples the thread that creates it, in windows, and writes a file for each.

    Failures are logged, and never raised.
    """

    def __init__(self) -> None:
        self._thread_number = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread_number)
        self._recording: Optional[Recording] = None
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wake = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="smd-python-sampler", daemon=True)
        self._thread.start()

    @property
    def is_sampling(self) -> bool:
        """Whether a window is open."""
        return self._recording is not None

    def start(self) -> None:
        """Opens a window."""
        self._recording = Recording()
        self._wake.set()

    def stop(self, write: Callable[[Recording], None]) -> None:
        """Closes the window; `write(recording)` is called on the sampler's thread."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.duration = time.time() - recording.begin
            self._finished.put((recording, write))
            self._wake.set()

    def close(self) -> None:
        """Writes what is finished, and ends the thread."""
        self._recording = None
        self._is_closed = True
        self._wake.set()
        self._thread.join(10)

    # ---- the thread -------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._sample()
            self._write()
            if self._is_closed:
                return

    def _write(self) -> None:
        while not self._finished.empty():
            recording, write = self._finished.get()
            try:
                write(recording)
            except Exception as error:
                get_logger().error("cannot write a profile of Python: %s", error)

    def _sample(self) -> None:
        before, cpu_before = time.perf_counter(), self._cpu()
        while True:
            recording = self._recording
            if recording is None:
                return
            time.sleep(_INTERVAL)
            now, cpu = time.perf_counter(), self._cpu()
            frame = sys._current_frames().get(self._thread_number)
            if frame is None or self._recording is not recording:
                before, cpu_before = now, cpu
                continue
            recording.add(_stack_of(frame), now - before, cpu - cpu_before)
            del frame
            before, cpu_before = now, cpu
            if not self._finished.empty():
                self._write()

    def _cpu(self) -> float:
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0  # the thread has ended


def _stack_of(frame: Any) -> Tuple[Function, ...]:
    stack: List[Function] = []
    while frame is not None and len(stack) < _MOST_FRAMES:
        code = frame.f_code
        stack.append((code.co_filename, code.co_firstlineno, code.co_name))
        frame = frame.f_back
    return tuple(reversed(stack))
