"""Sampling of Python code: what is seen, and the files that hold it."""

from __future__ import annotations

import json
import pstats
import time
from pathlib import Path
from typing import List

from smdebug.core.python_sampling import PythonSampler, Recording


def busy(seconds: float) -> int:
    """Computes for a time."""
    count, end = 0, time.thread_time() + seconds
    while time.thread_time() < end:
        count += 1
    return count


def lazy(seconds: float) -> None:
    """Waits for a time."""
    time.sleep(seconds)


def sampled() -> Recording:
    """Returns the samples of 0.2 s of work and 0.2 s of waiting."""
    found: List[Recording] = []
    sampler = PythonSampler()
    sampler.start()
    assert sampler.is_sampling
    busy(0.2)
    lazy(0.2)
    sampler.stop(found.append)
    sampler.close()
    return found[0]


def seconds_in(recording: Recording, timer: str, path: Path) -> List[float]:
    path.write_bytes(recording.as_pstats(timer))
    stats = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    names = {function[2]: line[3] for function, line in stats.items()}
    return [names["busy"], names["lazy"], names["sampled"]]


def test_times_are_those_of_the_code(tmp_path: Path) -> None:
    recording = sampled()
    wall = seconds_in(recording, "total_time", tmp_path / "total")
    cpu = seconds_in(recording, "cpu_time", tmp_path / "cpu")
    off = seconds_in(recording, "off_cpu_time", tmp_path / "off")
    assert wall[0] >= 0.15 and 0.15 <= wall[1] <= 0.4
    assert cpu[0] >= 0.12 and cpu[1] <= 0.05
    assert off[1] >= 0.15
    for busy_time, lazy_time, whole in (wall, cpu, off):
        assert whole >= busy_time + lazy_time - 1e-9


def test_callers_and_own_times(tmp_path: Path) -> None:
    recording = Recording()
    outer, inner = ("a.py", 1, "outer"), ("a.py", 9, "inner")
    recording.add((outer, inner), 2.0, 1.0)
    recording.add((outer,), 1.0, 1.0)
    recording.add((outer, inner, inner), 4.0, 0.0)  # recursion counts once
    path = tmp_path / "stats"
    path.write_bytes(recording.as_pstats("total_time"))
    stats = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    assert stats[outer][2:4] == (1.0, 7.0)
    assert stats[inner][2:4] == (6.0, 6.0)
    assert stats[inner][4][outer][3] == 6.0


def test_the_layout_of_pyinstrument() -> None:
    recording = Recording()
    outer, inner = ("a.py", 1, "outer"), ("a.py", 9, "<inner>")
    recording.add((outer, inner), 2.0, 1.0)
    recording.add((outer,), 1.0, 1.0)
    found = json.loads(recording.as_json())
    assert found["sample_count"] == 2 and found["cpu_time"] == 2.0
    root = found["root_frame"]
    assert (root["function"], root["time"], root["line_no"]) == ("outer", 3.0, 1)
    assert [(each["function"], each["time"]) for each in root["children"]] == [("<inner>", 2.0)]
    assert "&lt;inner&gt;" in recording.as_html() and "<inner>" not in recording.as_html()
    assert json.loads(Recording().as_json())["root_frame"] is None


def test_failures_to_write_stay_in_the_sampler() -> None:
    def fail(recording: Recording) -> None:
        raise OSError("no space left")

    sampler = PythonSampler()
    for _ in range(3):
        sampler.start()
        time.sleep(0.005)
        sampler.stop(fail)
    sampler.close()
    sampler.close()
    assert not sampler.is_sampling
