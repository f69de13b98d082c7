#!/usr/bin/env python3
"""Measures what recording a profile costs, and compares it with the goals and with the original.

usage: bench_profiler.py        for C and Python
       bench_profiler.py training    for a training with PyTorch, in an environment that has it

The cost of an event is processor time of the thread that records it, which other work on the machine
disturbs least.  SMDEBUG_ORIGINAL_PYTHON names the interpreter of the original: there, an event costs
the training what its queue takes, so time of the whole process counts.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from page import table, tell

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build" / "python"))
PROGRAM = ROOT / "build" / "bin" / "smdebug_profiler_bench"
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")
EVENTS = 200_000
TURNS = 7
STEPS = 1200
BLOCK = 60  # steps
SETTLE = 20  # of these, until a hook has seen the switch, which takes a quarter of a second

OF_ORIGINAL = """
import sys, time
from smdebug.core.tfevent.timeline_file_writer import TimelineFileWriter
from smdebug.profiler.profiler_config_parser import ProfilerConfigParser
writer = TimelineFileWriter(ProfilerConfigParser())
count = 20000
begin = time.perf_counter()
for step in range(count):
    writer.write_trace_events(time.time(), "Forward", "Forward", duration=0.001, step_num=str(step))
taken = time.perf_counter() - begin
writer.flush()
print("RESULT", taken / count * 1e6)
writer.close()
"""


def row(what: str, value: float, unit: str, goal: float, is_least: bool = False, times: str = "") -> List[str]:
    is_met = value >= goal if is_least else value <= goal
    sign = ">=" if is_least else "<="
    return [what, f"{value:.3g}", unit, f"{sign} {goal:,g}", "yes" if is_met else "NO", times]


def tell_rows(name: str, rows: List[List[str]]) -> bool:
    tell(name, table(["what", "best", "unit", "to reach", "reached", "x the original"], rows))
    return all(each[4] == "yes" for each in rows)


def microseconds(action: Callable[[], None]) -> float:
    """Returns the smallest processor time of an event in several turns."""
    best = float("inf")
    for _ in range(TURNS):
        begin = time.thread_time()
        action()
        best = min(best, (time.thread_time() - begin) / EVENTS * 1e6)
    return best


def python_costs(folder: str) -> Dict[str, float]:
    from smdebug.profiler import Profiler

    profiler = Profiler(folder, options={"buffer_bytes": str(1 << 30)})

    def event() -> None:
        record, begin = profiler.event, profiler.now()
        for step in range(EVENTS):
            record("Forward", "Forward", begin, 90, step)

    def with_args() -> None:
        record, begin = profiler.event, profiler.now()
        for step in range(EVENTS):
            record("Forward", "Forward", begin, 90, step, worker_id=3)

    def span() -> None:
        make = profiler.span
        for step in range(EVENTS):
            with make("Forward", step=step):
                pass

    costs = {
        "an event": microseconds(event),
        "an event with an argument": microseconds(with_args),
        "a block as an event": microseconds(span),
    }
    profiler.close()
    return costs


def original_cost(folder: str) -> float:
    config = Path(folder) / "profilerconfig.json"
    config.write_text(json.dumps({"ProfilingParameters": {"LocalPath": f"{folder}/original"}}))
    environment = {**os.environ, "SMPROFILER_CONFIG_PATH": str(config)}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [ORIGINAL, "-c", OF_ORIGINAL],
        env=environment, check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return float(next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("RESULT")))


def costs(folder: str) -> bool:
    done = subprocess.run(
        [PROGRAM, f"{folder}/c"], check=True, capture_output=True, text=True, timeout=300
    )
    figures = {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}
    theirs = original_cost(folder) if os.path.exists(ORIGINAL) else None

    def times(cost: float) -> str:
        return f"{theirs / cost:,.0f}" if theirs else ""

    event = figures["event_ns"] / 1000
    rows = [
        row("an event, C", event, "us", 1, times=times(event)),
        row("events written, C", figures["written_per_s"] / 1000, "k/s", 300, is_least=True),
        row("the sampler, each 500 ms", figures["sampler_share"] * 100, "% of a core", 0.2),
    ]
    for what, cost in python_costs(f"{folder}/python").items():
        rows.append(row(f"{what}, Python", cost, "us", 3, times=times(cost)))
    return tell_rows("profile recording", rows)


class Stopwatch:
    """Sums the time that the training spends in functions of the profile, step by step.

    It times an empty function before each: what it needs itself is then in the caches, and not counted.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._is_running = False

    def watch(self, owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def timed(*args: Any) -> Any:
            if self._is_running:  # called by another one
                return function(*args)
            self._is_running = True
            try:
                self._time(lambda *unused: None, args)
                seconds, given = self._time(function, args)
                self.seconds += seconds
                return given
            finally:
                self._is_running = False

        setattr(owner, name, timed)

    @staticmethod
    def _time(function: Callable[..., Any], args: Any) -> Tuple[float, Any]:
        begin = time.perf_counter()
        given = function(*args)
        return time.perf_counter() - begin, given


class Switch:
    """The file that switches the profile on and off."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder) / "profilerconfig.json"
        self._profile = f"{folder}/profile"
        os.environ["SMPROFILER_CONFIG_PATH"] = str(self._file)

    def set(self, is_on: bool) -> None:
        given = {"DisableProfiler": not is_on, "ProfilingParameters": {"LocalPath": self._profile}}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(given))
        new.replace(self._file)


def watched() -> Stopwatch:
    """Returns a stopwatch for the functions of the profile that a training calls."""
    from smdebug.pytorch import loader_profiling
    from smdebug.pytorch.profiling import TorchProfile

    stopwatch = Stopwatch()
    for name in ("begin_step", "before_model", "after_model", "now", "record"):
        stopwatch.watch(TorchProfile, name)
    for name in ("_before_update", "_after_update"):
        stopwatch.watch(TorchProfile, name)
    stopwatch.watch(loader_profiling._Watch, "active")
    for name in ("_describe", "_next_worker"):
        stopwatch.watch(loader_profiling, name)
    return stopwatch


def train(folder: str, batch: int, switch: Switch, stopwatch: Stopwatch) -> List[List[float]]:
    """Returns blocks of steps, off and on in turn: of each step the seconds, and those inside the
    profile."""
    import smdebug.pytorch as smd
    import torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU(),
        torch.nn.Linear(2048, 10),
    )  # fmt: skip
    switch.set(True)
    hook = smd.Hook(f"{folder}/trial{batch}", save_config=smd.SaveConfig(save_interval=10**9))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.utils.data.TensorDataset(
        torch.randn(batch * STEPS, 512), torch.randint(10, (batch * STEPS,))
    )
    blocks: List[List[Any]] = [[]]
    begin = time.perf_counter()
    for inputs, labels in torch.utils.data.DataLoader(data, batch_size=batch):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        now = time.perf_counter()
        blocks[-1].append((now - begin, stopwatch.seconds))
        if len(blocks[-1]) == BLOCK:
            switch.set(len(blocks) % 2 == 0)
            blocks.append([])
        begin, stopwatch.seconds = time.perf_counter(), 0.0
    hook.close()
    return [block for block in blocks if len(block) == BLOCK]


def interval_of_median(values: List[float]) -> str:
    """Returns the 95 % interval of the median, by the order of the values."""
    ordered = sorted(values)
    margin = 1.96 * math.sqrt(len(ordered)) / 2
    first = max(0, math.floor(len(ordered) / 2 - margin))
    last = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + margin))
    return f"{ordered[first]:.2f} to {ordered[last]:.2f}"


def training(folder: str) -> bool:
    import torch

    torch.set_num_threads(1)
    switch = Switch(folder)
    stopwatch = watched()
    rows = []
    for batch in (16, 64):
        blocks = train(folder, batch, switch, stopwatch)
        on, off = blocks[2::2], blocks[3::2]  # the first ones warm up
        medians = [
            (statistics.median(step for step, _ in with_profile[SETTLE:]),
             statistics.median(step for step, _ in without[SETTLE:]))
            for with_profile, without in zip(on, off)
        ]  # fmt: skip
        step = statistics.median(without for _, without in medians)
        # Of each block the mean: not every step looks at the configuration.
        inside = statistics.median(
            statistics.mean(cost for _, cost in block[SETTLE:]) for block in on
        )
        shares = [100 * (with_profile / without - 1) for with_profile, without in medians]
        rows.append(
            [f"{step * 1e3:.3g} ms", f"{inside * 1e6:.0f} us", f"{inside / step * 100:.2f} %",
             f"{statistics.median(shares):.2f} %", f"{interval_of_median(shares)} %", "<= 0.5 %",
             "yes" if inside / step <= 0.005 else "NO"]
        )  # fmt: skip
    columns = ["a step", "inside the profile", "of the step", "whole steps differ by", "interval", "to reach", "reached"]
    tell("profile training", table(columns, rows))
    return all(each[-1] == "yes" for each in rows)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if (training if "training" in sys.argv[1:] else costs)(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
