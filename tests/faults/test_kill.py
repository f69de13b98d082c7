"""Tests jobs that are killed at any moment, and resumed in the same folder."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path
from typing import Mapping

import pytest
from fault_programs import IS_TORTURE, SECONDS, read_one, recorder

LOCAL_KILLS = 1000 if IS_TORTURE else 100
S3_KILLS = 200 if IS_TORTURE else 20
KILLS_OF_A_TRIAL = 5
SEED = int(os.environ.get("SMDEBUG_FAULT_SEED", "8"))


def had_ended(complaint: str) -> bool:
    """Returns True if the last job was killed between finishing its trial and reporting that."""
    return complaint.startswith("TRIAL_EXISTS") and "a finished trial" in complaint


class Job:
    """A job that is restarted in the same folder each time it dies."""

    def __init__(
        self, folder: str | Path, steps: int, report: str, options: Mapping[str, str]
    ) -> None:
        self._folder, self._steps, self._report, self._options = folder, steps, report, options
        self._store = {name: options[name] for name in options if name.startswith("s3_")}
        self._run = -1
        self._runs: dict[int, int] = {}  # the last run that reported a step as durable
        self.said = 0

    def _start(self) -> subprocess.Popen[str]:
        self._run += 1
        return subprocess.Popen(
            recorder(self._folder, self._run, self._steps, self._report, self._options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _note(self, output: str) -> None:
        for line in output.splitlines():
            what, number, _ = line.split()
            if what == "durable":
                self._runs[int(number)] = self._run
                self.said += 1

    def die(self, seconds: float) -> bool:
        """Runs the job and kills it; returns True if it had not finished."""
        process = self._start()
        time.sleep(seconds)
        process.kill()
        output, complaint = process.communicate(timeout=SECONDS)
        if had_ended(complaint):
            return False
        assert process.returncode in (0, -9), complaint
        self._note(output)
        return process.returncode != 0

    def finish(self) -> None:
        output, complaint = self._start().communicate(timeout=SECONDS)
        assert output.endswith(f"closed 0 {self._run}\n") or had_ended(complaint), complaint
        self._note(output)

    def check(self) -> None:
        """Checks that every reported step is readable, from that run or a later one."""
        found = read_one(self._folder, self._store)
        assert not found.torn and not found.codes, found
        assert found.end == "OK" or not self._runs, found
        lost = {step: run for step, run in self._runs.items() if found.runs.get(step, -1) < run}
        assert not lost, (lost, found)


def kill_often(chance: random.Random, job: Job, most_seconds: float) -> int:
    """Kills a job several times, then lets it finish; returns the number of kills that hit it."""
    kills = 0
    for _ in range(KILLS_OF_A_TRIAL):
        if not job.die(chance.uniform(0, most_seconds)):
            break  # the job and its trial were finished
        kills += 1
        job.check()
    else:
        job.finish()
    job.check()
    return kills


def options_of(chance: random.Random, folder: Path) -> dict[str, str]:
    options = {"durability": chance.choice(["none", "step"])}
    if chance.random() < 0.5:
        folder.mkdir()
        options["checkpoint_dir"] = str(folder)
    return options


@pytest.mark.timeout(1200)
def test_killed_while_recording(scratch: Path) -> None:
    chance = random.Random(SEED)
    kills = said = trials = 0
    while kills < LOCAL_KILLS:
        trials += 1
        options = options_of(chance, scratch / f"checkpoints-{trials}")
        job = Job(scratch / f"run-{trials}", 300, chance.choice(["flush", "count"]), options)
        kills += kill_often(chance, job, 0.03)
        said += job.said
    print(f"{kills} kills of {trials} local jobs, seed {SEED}: {said} steps reported as durable")
    assert said > 10 * kills


@pytest.mark.timeout(1200)
def test_killed_while_recording_to_s3(tmp_path: Path, server, bucket: str) -> None:
    chance = random.Random(SEED)
    kills = said = trials = 0
    while kills < S3_KILLS:
        trials += 1
        options = {**options_of(chance, tmp_path / f"checkpoints-{trials}"), **server.options()}
        folder = f"s3://{bucket}/run-{trials}"
        job = Job(folder, 40, chance.choice(["flush", "count"]), options)
        kills += kill_often(chance, job, 0.3)
        said += job.said
    print(f"{kills} kills of {trials} jobs on S3, seed {SEED}: {said} steps reported as durable")
    assert said > kills
