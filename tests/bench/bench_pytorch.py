"""Measures the cost of the PyTorch hook, compared with the original's hook and with none.

Each library and configuration has a process, which trains a model with the hook and an equal
model without it, step by step in turn; the processes take turns too.  The cost is the median
excess of a step with the hook over the next step without.  The goal is for the processor time of
the training thread, which other work on the machine disturbs least; wall time and the time of
all threads are printed next to it.  Run this in the environment that tools/test_frameworks.sh
makes; SMDEBUG_PYTORCH_ORIGINAL_PYTHON names the interpreter of the original.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
TRAINING = Path(__file__).with_name("pytorch_training.py")
RUN_ORIGINAL = ROOT / "tests" / "frameworks" / "pytorch" / "run_original.py"
ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "20"))
STEPS = 10  # in a turn
WARM_UP = 20
LESS_THAN_ORIGINAL = 5


class Case(NamedTuple):
    library: str
    configuration: str
    goal: Optional[float] = None  # the largest fraction of a step that the hook may take


class Seconds(NamedTuple):
    """The times of a step: wall time, processor time of the training thread and of all threads."""

    clock: float
    thread: float
    threads: float


CASES = [
    Case("ours", "default", 0.01),
    Case("original", "default"),
    Case("ours", "reductions", 0.10),
    Case("original", "reductions"),
]
# Steps without and with the hook, side by side.
Pairs = List[Tuple[Seconds, Seconds]]


class Trainings:
    """The process with the two trainings of a case."""

    def __init__(self, case: Case, folder: Path) -> None:
        python, environment = [sys.executable], dict(os.environ)
        if case.library == "original":
            python = [os.environ["SMDEBUG_PYTORCH_ORIGINAL_PYTHON"], str(RUN_ORIGINAL)]
            environment.update(PYTHONPATH="", SMDEBUG_LOG_LEVEL="off")
        place = folder / f"{case.library}_{case.configuration}"
        self._process = subprocess.Popen(
            [*python, str(TRAINING), str(place), case.configuration],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def turn(self, steps: int) -> Pairs:
        """Trains some steps."""
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("["):
                return [(Seconds(*pair[0]), Seconds(*pair[1])) for pair in json.loads(line)]
        raise RuntimeError("a training stopped early")

    def end(self) -> None:
        self._process.communicate(timeout=120)
        assert self._process.returncode == 0


def measure(folder: Path) -> Dict[Case, Pairs]:
    """Returns the steps of each case."""
    trainings = {case: Trainings(case, folder) for case in CASES}
    for training in trainings.values():
        training.turn(WARM_UP)
    steps: Dict[Case, Pairs] = {case: [] for case in CASES}
    for number in range(ROUNDS):
        first = number % len(CASES)
        for case in CASES[first:] + CASES[:first]:
            steps[case] += trainings[case].turn(STEPS)
    for training in trainings.values():
        training.end()
    return steps


def share_of(pairs: Pairs) -> Seconds:
    """Returns the median excess of a step with the hook, as a fraction of a step without."""
    shares = [[with_hook / without - 1 for without, with_hook in zip(*pair)] for pair in pairs]
    return Seconds(*map(statistics.median, zip(*shares)))


def report(steps: Dict[Case, Pairs]) -> None:
    print(
        "| hook | records | ms a step without | the hook's share | to reach | reached "
        "| of the thread's work | of all threads' work |\n|---|---|---|---|---|---|---|---|"
    )
    shares = {case: share_of(pairs) for case, pairs in steps.items()}
    for case, share in shares.items():
        alone = statistics.median(without.clock for without, _ in steps[case]) * 1e3
        reached = "" if case.goal is None else "yes" if share.clock <= case.goal else "NO"
        to_reach = "" if case.goal is None else f"<= {case.goal:.0%}"
        print(
            f"| {case.library} | {case.configuration} | {alone:.1f} | {share.clock:.2%} "
            f"| {to_reach} | {reached} | {share.thread:.2%} | {share.threads:.2%} |"
        )
    mine, theirs = (shares[case].clock for case in CASES[2:])
    reached = "yes" if mine * LESS_THAN_ORIGINAL <= theirs else "NO"
    print(
        f"\nreductions: {theirs / mine:.1f} x less than the original "
        f"(to reach: >= {LESS_THAN_ORIGINAL}; {reached})"
    )


def main() -> None:
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-", dir=base))
    try:
        steps = measure(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kept = {f"{case.library} {case.configuration}": share_of(steps[case]) for case in CASES}
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench_pytorch.json").write_text(json.dumps(kept, indent=1))
    report(steps)


if __name__ == "__main__":
    main()
