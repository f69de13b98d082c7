"""Feeds a profile with the steps of a hook, if the job is configured to be profiled."""

from __future__ import annotations

import importlib
import os
import socket
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple, Type

from smdebug import _raw
from smdebug.core.json_config import get_node_id_from_resource_config
from smdebug.core.modes import ModeKeys
from smdebug.core.python_sampling import PythonSampler, Recording

if TYPE_CHECKING:
    from smdebug.profiler.recording import Profiler

__all__ = ["StepProfile", "profile_of_job"]

_SERVICE_FILE = "/opt/ml/input/config/profilerconfig.json"
# Looking at the file costs a system call, which short steps would notice.
_UPDATE_SECONDS = 0.25

_event = _raw.profiler_event
_start = _raw.profiler_step

_STEPS = {mode: f"Step:ModeKeys.{mode.name}" for mode in ModeKeys}


class StepProfile:
    """Records an event for each step: from its beginning to that of the next one.

    The waits for data between two steps thus belong to the first.

    Attributes
    ----------
    is_on : bool
        Whether the configuration has switched profiling on, for the open step.
    step : int
        The global number of the open step; -1 before the first.
    out_dir : str
        The folder of the profile.
    """

    def __init__(self, profiler: Profiler) -> None:
        self.profiler = profiler
        self.step = -1
        self.out_dir = profiler.setting("out_dir")
        # What the profiler owns, found with fewer steps than through it.
        self._handle = profiler._handle.this
        self._begin: Optional[int] = None
        self._phase = _STEPS[ModeKeys.GLOBAL]
        self.framework = "python"
        self.node = ""
        self._mode = ModeKeys.GLOBAL
        self._sampler: Optional[PythonSampler] = None
        self._window: Tuple[str, int, str, float] = ("", 0, "", 0.0)
        # What the configuration selects for the open step.
        self.is_on = profiler.update()
        self.is_detailed = False
        self.has_sizes = False
        self._samples_python = False

    def begin_step(self, step: int, mode: ModeKeys) -> None:
        """Ends the open step, and begins the next one."""
        begin, self._begin = self._begin, None
        phase = None if begin is None else self._phase
        now, active = _start(self._handle, step, phase, begin, self.step)
        self.step = step
        if mode is not self._mode:
            self._mode = mode
            self._phase = _STEPS[mode]
        self.is_on = active != 0
        self.is_detailed = active & 2 != 0
        self.has_sizes = active & 4 != 0
        self._samples_python = active & 8 != 0
        if self._samples_python or self._sampler is not None:
            self.sample_python("stepstart")
        if active:
            self._begin = now

    def end_step(self) -> None:
        """Ends the open step, if there is one."""
        begin, self._begin = self._begin, None
        if begin is not None:
            _event(self._handle, self._phase, self._phase, begin, None, self.step, None)

    def sample_python(self, phase: str) -> None:
        """Ends the window of Python profiling that is open, and opens one if it is selected.

        `phase` is where in a step that is: "stepstart", "forwardpassend" or "end".
        """
        sampler = self._sampler
        if sampler is not None and sampler.is_sampling:
            sampler.stop(self._writer(phase))
        if phase == "end" or not self._samples_python:
            return
        if sampler is None:
            sampler = self._sampler = PythonSampler()
        self._window = (self._mode.name.lower(), self.step, phase, time.time() * 1e6)
        sampler.start()

    def _writer(self, end: str) -> Callable[[Recording], None]:
        mode, step, phase, begin = self._window
        # As the original names these folders; "*" is the end of the job.
        last = f"{self._mode.name.lower()}-{self.step}-{end}"
        if end == "end":
            last = "posthookclose-*-end"
        name = self.profiler.setting("profiler_name")
        timer = self.profiler.setting("cprofile_timer")
        if timer == "default":
            timer = ("total_time", "cpu_time", "off_cpu_time")[step % 3]
        folder = (
            f"{self.out_dir}/framework/{self.framework}/{name}/{self.node}/"
            f"{mode}-{step}-{phase}-{begin}_{last}-{time.time() * 1e6}"
        )

        def write(recording: Recording) -> None:
            if not recording.stacks:
                return  # readers take no empty file
            if name == "cprofile":
                write_file(f"{folder}/python_stats", recording.as_pstats(timer))
                return
            write_file(f"{folder}/python_stats.json", recording.as_json().encode())
            write_file(f"{folder}/python_stats.html", recording.as_html().encode())

        return write

    def record_given(
        self,
        begin: float,
        phase: str,
        name: str,
        has_duration: bool,
        duration: float,
        args: Dict[str, Any],
    ) -> None:
        """Records an event of the caller's, with times in seconds."""
        if not self.is_on:
            return
        step = args.pop("step_num", None)
        number = None if step is None else int(step)
        name, phase = name or phase, phase or name
        if has_duration:
            given = (int(begin * 1e6), int(duration * 1e6), number)
            self.profiler.event(name, phase, *given, **args)
        else:
            self.profiler.instant(name, phase, number, **args)

    def close(self) -> None:
        """Ends the open step, and marks the profile as finished."""
        self.end_step()
        self.is_on = False
        try:
            self.sample_python("end")
            if self._sampler is not None:
                self._sampler.close()
        finally:
            self.profiler.close()


def profile_of_job(
    kind: str, worker: str, num_workers: int, framework: str
) -> Any:
    """Returns a profile of the class `kind`, or None if the job has no configuration of the profiler."""
    path = os.environ.get("SMPROFILER_CONFIG_PATH") or _SERVICE_FILE
    if not os.path.exists(path):
        return None
    from smdebug.profiler.recording import Profiler

    rank = worker.rpartition("_")[2] if num_workers > 1 else str(os.getpid())
    host = get_node_id_from_resource_config() or socket.gethostname()
    module, _, name = kind.rpartition(".")
    make: Type[StepProfile] = getattr(importlib.import_module(module), name)
    node = f"{rank}-{host}".replace("_", "-")
    profile = make(Profiler.from_config(path, node=node, update_seconds=_UPDATE_SECONDS))
    profile.framework = framework
    profile.node = node
    return profile


def write_file(path: str, content: bytes) -> None:
    """Writes a file of a folder or bucket."""
    if path.startswith("s3://"):
        from smdebug.core.access_layer.s3 import TSAccessS3

        bucket, _, key = path[len("s3://") :].partition("/")
        object_ = TSAccessS3(bucket, key)
        object_.write(content)
        object_.close()
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
