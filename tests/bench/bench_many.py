"""Measures reading many small values: all steps of a tensor in one call, and value by value.

The original and the library read the same trial, each from a trial newly opened; pread() reads the
same bytes.  Median of the rounds.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple

import numpy as np

from bench import ROOT, ROUNDS, bench_folder, every_step, names_of, reaches, save_all
from page import table, tell
from smdebug.core.tensor import Tensor
from smdebug.trials import create_trial

Seconds = Dict[str, float]  # a value


class Run(NamedTuple):
    """A trial: tensors of some float32, at a number of steps."""

    what: str
    elements: int
    tensors: int
    steps: int


RUNS = (
    Run("1 scalar a step", 1, 1, 2000),
    Run("1 tensor of 256 bytes a step", 64, 1, 2000),
    Run("10 tensors of 1 KiB a step", 256, 10, 2000),
    Run("100 tensors of 1 KiB a step", 256, 100, 200),
)


def record(path: Path, run: Run) -> None:
    arrays = [np.full(run.elements, 1.5, np.float32)] * run.tensors
    hook = every_step(path)
    save_all(hook, names_of(run.tensors), arrays, run.steps)
    hook.close()


def opened(path: Path, run: Run) -> List[Tensor]:
    trial = create_trial(str(path))
    trial.steps()
    return [trial.tensor(name) for name in names_of(run.tensors)]


def values(path: Path, run: Run) -> float:
    handles = opened(path, run)
    begin = time.perf_counter()
    for tensor in handles:
        assert len(tensor.values()) == run.steps
    return time.perf_counter() - begin


def value(path: Path, run: Run) -> float:
    handles = opened(path, run)
    begin = time.perf_counter()
    for step in range(run.steps):
        for tensor in handles:
            tensor.value(step)
    return time.perf_counter() - begin


def best(work: Callable[[Path, Run], float], path: Path, run: Run) -> float:
    return statistics.median(work(path, run) for _ in range(9)) / (run.tensors * run.steps)


def output_of(*command: object, **more: str) -> Seconds:
    environment = {**os.environ, **more}
    done = subprocess.run(
        [str(part) for part in command],
        env={name: text for name, text in environment.items() if text},
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    return dict(json.loads(done.stdout))


def measure(path: Path, run: Run) -> Dict[str, Seconds]:
    arguments = (path, run.tensors, run.steps)
    original = os.environ["SMDEBUG_ORIGINAL_PYTHON"]
    script = ROOT / "tests/bench/original_many.py"
    return {
        "original": output_of(original, script, *arguments, PYTHONPATH=""),
        "python": {"values": best(values, path, run), "value": best(value, path, run)},
        "c": output_of(ROOT / "build/bin/smdebug_many_bench", *arguments),
    }


# Rows of: call, language, unit, the ratio in one round, and its goal.
FIGURES = (
    ("values()", "Python", "x the original",
     lambda r: r["original"]["values"] / r["python"]["values"], ">= 50"),
    ("values()", "C", "x the original",
     lambda r: r["original"]["values"] / r["c"]["values"], ""),
    ("values()", "C", "of open(), pread(), close()",
     lambda r: r["c"]["values, peer"] / r["c"]["values"], ""),
    ("value(step)", "Python", "x the original",
     lambda r: r["original"]["value"] / r["python"]["value"], ">= 20"),
    ("value(step)", "C", "of pread()",
     lambda r: r["c"]["value, peer"] / r["c"]["value"], ">= 0.5"),
)  # fmt: skip


def main() -> None:
    folder = bench_folder()
    rows = []
    try:
        for run in RUNS:
            path = folder / "trial"
            record(path, run)
            rounds = [measure(path, run) for _ in range(ROUNDS)]
            for call, language, unit, figure, goal in FIGURES:
                ratios = [figure(each) for each in rounds]
                median = statistics.median(ratios)
                spread = f"{min(ratios):.3g} to {max(ratios):.3g}"
                rows.append([run.what, call, language, f"{median:.3g}", spread, unit, goal,
                             reaches(median, goal)])  # fmt: skip
            costs = {f"{who} {call}": f"{1e6 * seconds:.2f}" for who, each in rounds[-1].items()
                     for call, seconds in each.items() if call != "version"}  # fmt: skip
            print(run.what, "us a value:", costs, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    columns = ["a trial of", "call", "from", "median", "spread", "unit", "to reach", "reached"]
    tell("many", table(columns, rows))


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    main()
