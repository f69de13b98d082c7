"""Tests a power loss after each call that changes the disk."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

import pytest
from fault_programs import BUILD, IS_TORTURE, SECONDS, Readable, read, read_one, recorder
from power_loss import Call, Disk, moments, read_log

STEPS = 12 if IS_TORTURE else 3
SOME = 10 if IS_TORTURE else 1
MODELS = ["strict", "names", "ordered", *["some"] * SOME]
SEED = int(os.environ.get("SMDEBUG_FAULT_SEED", "8"))
DEEP = "all/my/runs/run"

AT_ONCE = 20  # moments of power loss for one reader process


def record(base: Path, options: Mapping[str, str], reports: Sequence[str]) -> list[Call]:
    """Returns the disk changes of jobs that run one after the other in a folder below `base`."""
    log = base.with_suffix(".log")
    base.mkdir()
    logging = {"LD_PRELOAD": str(BUILD / "lib/libfault_logging_calls.so"), "FAULT_LOG": str(log)}
    for run, report in enumerate(reports):
        subprocess.run(
            recorder(base / DEEP, run, STEPS, report, options),
            env={**os.environ, **logging},
            stdout=subprocess.DEVNULL,
            timeout=SECONDS,
            check=True,
        )
    return read_log(log)


class Outage(NamedTuple):
    """The files that a power loss leaves."""

    moment: int
    model: str
    said: Mapping[int, int]  # the last run that reported each step as durable
    folder: Path
    found: Readable

    def lost(self) -> list[int]:
        """Returns the steps that were reported as durable but are incomplete."""
        return [step for step, run in self.said.items() if self.found.runs.get(step, -1) < run]


def outages(calls: list[Call], base: Path, to: Path) -> Iterator[Outage]:
    chance = random.Random(SEED)
    waiting: list[tuple[int, str, Mapping[int, int], Path]] = []

    def look() -> Iterator[Outage]:
        folders = [folder / DEEP for *_, folder in waiting]
        for (moment, model, said, folder), found in zip(waiting, read(folders, {})):
            yield Outage(moment, model, said, folder / DEEP, found)
            shutil.rmtree(folder)
        waiting.clear()

    def add(moment: int, disk: Disk, said: Mapping[int, int]) -> None:
        for i, model in enumerate(MODELS):
            folder = to / f"{moment}-{i}"
            disk.write(folder, model, chance)
            waiting.append((moment, model, said, folder))

    to.mkdir()
    for moment, (disk, said) in enumerate(moments(calls, base)):
        add(moment, disk, said)
        if len(waiting) >= AT_ONCE * len(MODELS):
            yield from look()
    yield from look()


def check_resuming(folder: Path) -> None:
    """Checks that a job can continue in these files, and completes the trial."""
    done = subprocess.run(
        recorder(folder, 9, STEPS, "flush", {}),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if "TRIAL_EXISTS" in done.stderr:
        return  # the end marker exists
    assert done.returncode == 0, done.stderr
    found = read_one(folder, {})
    assert found.end == "OK" and set(found.runs.values()) == {9}, found
    assert not found.torn and not found.codes, found


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("reports", [["flush"], ["count"], ["leave", "flush"]], ids="-".join)
def test_durable_steps_survive_a_power_loss(scratch: Path, reports: Sequence[str]) -> None:
    base = scratch / "disk"
    calls = record(base, {"durability": "step"}, reports)
    states = 0
    for states, outage in enumerate(outages(calls, base, scratch / "left"), 1):
        found = outage.found
        assert not outage.lost() and not found.torn and not found.codes, outage
        if outage.moment % 10 == 0:
            check_resuming(outage.folder)
    print(f"{'+'.join(reports)}: {len(calls)} calls, {states} states, seed {SEED}: nothing lost")
    assert len(calls) > 10 * STEPS


@pytest.mark.timeout(1200)
def test_lost_steps_without_durability_are_reported(scratch: Path) -> None:
    base = scratch / "disk"
    calls = record(base, {}, ["flush"])
    lost: Counter[str] = Counter()
    states: Counter[str] = Counter()
    for outage in outages(calls, base, scratch / "left"):
        states[outage.model] += 1
        lost[outage.model] += bool(outage.lost())
        assert not outage.found.torn, outage
        assert set(outage.found.codes.values()) <= {"CORRUPT_DATA"}, outage
        if outage.moment % 10 == 0:
            check_resuming(outage.folder)
    for model, count in states.items():
        print(f"no durability, {model}: steps are lost in {lost[model]} of {count} states")
    assert lost["ordered"] == 0, "only a power loss may lose steps"
    assert lost["strict"] > 0
