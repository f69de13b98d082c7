"""Measures the cost of the PyTorch hook, compared with the original's hook and with none.

Each library and configuration has a process, which trains a model with the hook and an equal
model without it, step by step in turn; the processes take turns too.  The cost is the median
excess of a step with the hook over the next step without.  The goal is for the processor time of
the training thread, which other work on the machine disturbs least; wall time and the time of
all threads are printed next to it.  Run this in the environment that tools/test_frameworks.sh
makes; SMDEBUG_PYTORCH_ORIGINAL_PYTHON names the interpreter of the original.

    bench_pytorch.py [small] [gpt] [compiled] [memory]

"small", the default, compares the libraries on a network of a million parameters.  "gpt" trains a
GPT of ten million parameters (gpt.py), "compiled" the same under torch.compile, compared with the
compiled model without a hook; "memory" compares the largest memory of trainings of it.  These are
measured one after the other.  The goals of "gpt" and "compiled" are for the processor time that the
training thread spends inside the hook, which other work on the machine disturbs least.  From what a
step takes more than one without a hook, the excess of the same model before the hook was registered
is subtracted: the addresses of its tensors cause it.  Their tables give 95 % intervals of it, of
resampled steps.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
TRAINING = Path(__file__).with_name("pytorch_training.py")
RUN_ORIGINAL = ROOT / "tests" / "frameworks" / "pytorch" / "run_original.py"
ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "20"))
STEPS = 10  # in a turn
WARM_UP = 20
LESS_THAN_ORIGINAL = 5
GPT_TURNS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "10"))
MEMORY_STEPS = 10
RESAMPLED = 1000


class Case(NamedTuple):
    library: str
    configuration: str
    goal: Optional[float] = None  # the largest fraction of a step that the hook may take


class Share(NamedTuple):
    """A goal for the GPT: the largest fraction of a step, and what is recorded or evaluated."""

    configuration: str
    goal: float
    meaning: str


class Seconds(NamedTuple):
    """The times of a step: wall time, processor time of the training thread and of all threads.

    `inside` is the thread's time inside the hook, which only the GPT measures.
    """

    clock: float
    thread: float
    threads: float
    inside: float = 0.0


CASES = [
    Case("ours", "default", 0.01),
    Case("original", "default"),
    Case("ours", "reductions", 0.10),
    Case("original", "reductions"),
]
# The rule set of docs/rules.md: all rules at the first 50 steps, of 1,000 here, then at each fifth.
FIRST, WHOLE, INTERVAL = 50, 1000, 5
SHARES = [
    Share("default", 0.01, "losses, every 500th step (default)"),
    Share("gradients", 0.03, "5 statistics of all gradients, every step"),
    Share("reductions", 0.10, "5 statistics of all weights and gradients, every step"),
    Share("rules1", 0.03, "all rules, every step"),
    Share(f"rules{INTERVAL}", 0.01, "all rules, the first 50 of 1,000 steps, then each 5th"),
]
# The largest fraction of a training's memory that the hook may add to the library's own.
MEMORY_GOAL = 0.01
# Steps without and with the hook, side by side.
Pairs = List[Tuple[Seconds, Seconds]]


class Trainings:
    """The process with the two trainings of a case."""

    def __init__(self, case: Case, folder: Path, model: str = "small") -> None:
        python, environment = [sys.executable], dict(os.environ)
        if case.library == "original":
            python = [os.environ["SMDEBUG_PYTORCH_ORIGINAL_PYTHON"], str(RUN_ORIGINAL)]
            environment.update(PYTHONPATH="", SMDEBUG_LOG_LEVEL="off")
        place = folder / f"{case.library}_{case.configuration}"
        self._process = subprocess.Popen(
            [*python, str(TRAINING), str(place), case.configuration, model],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def register(self) -> None:
        """Registers the GPT with its hook."""
        self._process.stdin.write("register\n")

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
    shares = [
        [with_hook / without - 1 for without, with_hook in zip(alone[:3], recorded[:3])]
        + [recorded.inside / (recorded.thread - recorded.inside)]
        for alone, recorded in pairs
    ]
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


# ---- the GPT -------------------------------------------------------------------------------


def others(pairs: Pairs) -> Pairs:
    """Returns the steps that a rule set with an interval does not evaluate."""
    return [pair for number, pair in enumerate(pairs) if number % INTERVAL]


def share_of_parts(before: Pairs, evaluated: Pairs, rest: Optional[Pairs] = None) -> Seconds:
    """Returns the share of a whole training, given its steps before the hook was registered.

    `rest` are the steps that are not evaluated, if some are not.
    """
    alone, share = share_of(before), share_of(evaluated)
    part = (FIRST + (WHOLE - FIRST) / INTERVAL) / WHOLE
    if rest:
        share = Seconds(*(part * a + (1 - part) * b for a, b in zip(share, share_of(rest))))
    return Seconds(*(after - before for after, before in zip(share, alone)))


def interval(*measured: Pairs, share: Callable[..., Seconds]) -> Tuple[float, float]:
    """Returns where 95 % of the shares of resampled steps lie, by the time of the thread."""
    draw = random.Random(1)
    shares = sorted(
        share(*(draw.choices(pairs, k=len(pairs)) for pairs in measured)).thread
        for _ in range(RESAMPLED)
    )
    return shares[RESAMPLED // 40], shares[-1 - RESAMPLED // 40]


def measure_gpt(folder: Path, model: str) -> Dict[str, Seconds]:
    """Returns the share of each configuration, and prints a table."""
    print(
        f"\n| {model} records or evaluates | ms a step without, of the thread "
        "| of the thread's work: inside the hook | more than a step without | to reach | reached "
        "| of wall time | of all threads' work |\n|---|---|---|---|---|---|---|---|"
    )
    shares = {}
    for each in SHARES:
        trainings = Trainings(Case("ours", each.configuration), folder, model)
        trainings.turn(STEPS)
        before = [pair for _ in range(GPT_TURNS) for pair in trainings.turn(STEPS)]
        trainings.register()
        trainings.turn(STEPS)
        after = [pair for _ in range(GPT_TURNS) for pair in trainings.turn(STEPS)]
        trainings.end()
        is_whole = each.configuration != f"rules{INTERVAL}"
        parts = (after,) if is_whole else (after[::INTERVAL], others(after))
        share = share_of_parts(before, *parts)
        low, high = interval(before, *parts, share=share_of_parts)
        alone = statistics.median(without.thread for without, _ in after) * 1e3
        print(
            f"| {each.meaning} | {alone:.0f} | {share.inside:.2%} "
            f"| {share.thread:.1%} ({low:.1%} to {high:.1%}) "
            f"| <= {each.goal:.0%} | {'yes' if share.inside <= each.goal else 'NO'} "
            f"| {share.clock:.1%} | {share.threads:.1%} |",
            flush=True,
        )
        shares[f"{model} {each.configuration}"] = share
    return shares


def peak(folder: Path, configuration: str, model: str) -> float:
    """Returns the largest memory of a training, in MiB."""
    place = folder / f"{model}_{configuration}"
    what = f"{configuration}:{MEMORY_STEPS}"
    command = [sys.executable, str(TRAINING), str(place), what, f"{model}-memory"]
    # Else the training's own blocks lie elsewhere in each run, and the peak varies by 10 MiB.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(128 << 10)}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=600, env=environment
    )
    return int(done.stdout.split()[-1]) / 1024


def measure_memory(folder: Path) -> Dict[str, float]:
    """Returns the fraction of memory that the hook adds, and prints a table.

    The library's own part is what a hook that saves by default adds to the small training.
    """
    own = peak(folder, "default", "small") - peak(folder, "none", "small")
    without = peak(folder, "none", "gpt")
    print(
        f"\nPeak memory of {MEMORY_STEPS} steps of the GPT without a hook: {without:.0f} MiB; the "
        f"library itself: {own:.0f} MiB\n\n| records or evaluates | MiB more than the library "
        "itself | of the training | to reach | reached |\n|---|---|---|---|---|"
    )
    added = {}
    for each in SHARES[:-1]:
        more = peak(folder, each.configuration, "gpt") - without - own
        added[f"memory {each.configuration}"] = share = more / without
        reached = "yes" if share <= MEMORY_GOAL else "NO"
        row = f"| {each.meaning} | {more:.1f} | {share:.2%} | <= {MEMORY_GOAL:.0%} | {reached} |"
        print(row, flush=True)
    return added


def measure_small(folder: Path) -> Dict[str, Seconds]:
    steps = measure(folder)
    report(steps)
    return {f"{case.library} {case.configuration}": share_of(steps[case]) for case in CASES}


def main(*names: str) -> None:
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-", dir=base))
    kept: Dict[str, object] = {}
    try:
        for name in names or ("small",):
            if name == "small":
                kept.update(measure_small(folder))
            elif name == "memory":
                kept.update(measure_memory(folder))
            else:
                kept.update(measure_gpt(folder / name, name))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    (ROOT / "build").mkdir(exist_ok=True)
    path = ROOT / "build" / "bench_pytorch.json"
    if path.exists():
        kept = {**json.loads(path.read_text()), **kept}
    path.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
