"""Profiles of killed processes: all but the last second is there once the next profiler opens."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator, List

import pytest
from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader, Profiler

pytestmark = pytest.mark.timeout(120)

END = 4_000_000_000_000_000
SECONDS = 60  # of each wait, at most
RECORDS = 4.0  # seconds that a process records before it is killed
LOST = 2.0  # seconds that a kill may lose: a writer wakes up every second

# Records events and samples until it is killed; prints the end of each event.
RECORD = """
import sys, time
from smdebug.profiler import Profiler
folder, node, samples = sys.argv[1:]
profiler = Profiler(folder, node=node, sample_milliseconds=int(samples), sample_gpus=False)
step = 0
while True:
    with profiler.span("work", step=step):
        time.sleep(0.01)
    print(profiler.now(), flush=True)
    step += 1
"""


class Job:
    """A process that records until it is killed."""

    def __init__(self, folder: Path, node: str, samples: int = 100) -> None:
        command = [sys.executable, "-c", RECORD, str(folder), node, str(samples)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.times: List[float] = []  # of events, in seconds
        self.longest_gap = 0.0  # a busy machine delays the job, and its writers too
        os.set_blocking(self.output.fileno(), False)

    def record_for(self, seconds: float) -> None:
        limit = time.monotonic() + SECONDS
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.output, selectors.EVENT_READ)
            while not self.times or self.times[-1] - self.times[0] < seconds:
                assert time.monotonic() < limit, f"the job is stuck after {len(self.times)} events"
                assert self.process.poll() is None, "the job has ended"
                if selector.select(timeout=1):
                    *lines, rest = (rest + (self.output.read() or b"")).split(b"\n")
                    self.add([int(line) / 1e6 for line in lines])

    def add(self, times: List[float]) -> None:
        for each in times:
            if self.times:
                self.longest_gap = max(self.longest_gap, each - self.times[-1])
            self.times.append(each)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        self.output.close()

    @property
    def kept_until(self) -> float:
        """The time until which everything must have been kept."""
        return self.times[-1] - LOST - self.longest_gap


@pytest.fixture
def jobs() -> Iterator[List[Job]]:
    """Kills what a failed test leaves running."""
    started: List[Job] = []
    yield started
    for job in started:
        if job.process.poll() is None:
            job.kill()


def events_in(folder: Path) -> List[Any]:
    reader = LocalAlgorithmMetricsReader(str(folder))
    reader.refresh_event_file_list()
    return reader.get_events(0, END)


def samples_in(folder: Path) -> List[Any]:
    reader = LocalSystemMetricsReader(str(folder))
    reader.refresh_event_file_list()
    return reader.get_events(0, END)


def names(folder: Path, pattern: str) -> List[str]:
    return sorted(path.name for path in folder.rglob(pattern))


def check_events(events: List[Any], job: Job) -> None:
    """Checks that no event is missing before the last one, which is late enough."""
    steps = sorted(int(each.event_args["step_num"]) for each in events)
    assert steps == list(range(len(steps)))
    assert len(steps) >= sum(end <= job.kept_until for end in job.times)
    assert max(each.end_time for each in events) / 1e6 >= job.kept_until
    assert all(each.event_name == "work" and each.duration >= 10_000 for each in events)


def check_samples(samples: List[Any], job: Job) -> None:
    """Checks that each time has all metrics, and that the times have no gap."""
    times = sorted({each.timestamp for each in samples})
    assert len(samples) % len(times) == 0
    assert {"cpu", "memory", "i/o", "network"} <= {each.type for each in samples}
    assert {each.node_id for each in samples} == {"algo-1"}
    most = LOST + job.longest_gap
    assert times[0] - job.times[0] < most
    assert times[-1] >= job.kept_until
    assert max(later - sooner for sooner, later in zip(times, times[1:])) < most


def test_a_kill_loses_only_the_end(tmp_path: Path, jobs: List[Job]) -> None:
    job = Job(tmp_path, "1-algo-1")
    jobs.append(job)
    job.record_for(RECORDS)
    job.kill()
    assert len(names(tmp_path, "*_pythontimeline.json.tmp")) == 1
    assert events_in(tmp_path) == []  # readers skip open files
    Profiler(tmp_path, node="2-algo-1").close()
    assert names(tmp_path, "*.tmp") == []
    check_events(events_in(tmp_path), job)
    check_samples(samples_in(tmp_path), job)


def test_files_are_whole_after_a_line_that_is_cut_off(tmp_path: Path, jobs: List[Job]) -> None:
    job = Job(tmp_path, "1-algo-1")
    jobs.append(job)
    job.record_for(RECORDS)
    job.kill()
    for path in tmp_path.rglob("*.tmp"):
        with path.open("ab") as file:
            file.write(b',\n{"name": "wo' if "framework" in path.parts else b'{"Type": "cp')
    Profiler(tmp_path, node="2-algo-1").close()
    check_events(events_in(tmp_path), job)
    check_samples(samples_in(tmp_path), job)
    for path in tmp_path.rglob("*_pythontimeline.json"):
        assert isinstance(json.loads(path.read_text()), list)
    for path in (tmp_path / "system/incremental").rglob("*.json"):
        assert all(json.loads(line)["NodeId"] == "algo-1" for line in path.open())


def test_the_files_of_a_living_process_stay_its_own(tmp_path: Path, jobs: List[Job]) -> None:
    job = Job(tmp_path, "1-algo-1")
    jobs.append(job)
    job.record_for(RECORDS)
    before = names(tmp_path, "*pythontimeline.json.tmp")
    Profiler(tmp_path, node="2-algo-1").close()
    assert names(tmp_path, "*pythontimeline.json.tmp") == before and events_in(tmp_path) == []
    job.record_for(RECORDS + 1)
    job.kill()
    Profiler(tmp_path, node="2-algo-1").close()
    check_events(events_in(tmp_path), job)
    check_samples(samples_in(tmp_path), job)


def test_all_killed_workers_are_completed(tmp_path: Path, jobs: List[Job]) -> None:
    for rank in range(3):
        jobs.append(Job(tmp_path, f"{rank}-algo-1", samples=0 if rank else 100))
    for job in jobs:
        job.record_for(RECORDS)
    for job in jobs:
        job.kill()
    Profiler(tmp_path, node="9-algo-1").close()
    found = events_in(tmp_path)
    for rank, job in enumerate(jobs):
        check_events([each for each in found if each.node_id == f"algo-1-{rank}"], job)
    check_samples(samples_in(tmp_path), jobs[0])


def test_the_next_profiler_samples_on(tmp_path: Path, jobs: List[Job]) -> None:
    job = Job(tmp_path, "1-algo-1")
    jobs.append(job)
    job.record_for(RECORDS)
    job.kill()
    with Profiler(tmp_path, node="2-algo-1", sample_milliseconds=100, sample_gpus=False) as after:
        kept = samples_in(tmp_path)
        limit = time.monotonic() + SECONDS
        while after.count("samples") < 3:
            assert time.monotonic() < limit, "the next profiler takes no samples"
            time.sleep(0.05)
        after.event("after", "work", after.now())
    check_samples(kept, job)
    times = {each.timestamp for each in samples_in(tmp_path)}
    assert len({each for each in times if each > job.times[-1]}) >= 3
    assert {each.timestamp for each in kept} < times
    assert {each.event_name for each in events_in(tmp_path)} == {"work", "after"}
