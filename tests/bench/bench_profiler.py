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
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build" / "python"))
PROGRAM = ROOT / "build" / "bin" / "smdebug_profiler_bench"
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")
EVENTS = 200_000
TURNS = 7
STEPS = 1000

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


def report(what: str, value: float, unit: str, goal: float, is_least: bool = False) -> bool:
    is_met = value >= goal if is_least else value <= goal
    sign = ">=" if is_least else "<="
    print(f"{what:44} {value:14,.4g} {unit:10} goal {sign} {goal:<10,g} {'' if is_met else 'MISSED'}")
    return is_met


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
        "event": microseconds(event),
        "event with an argument": microseconds(with_args),
        "span": microseconds(span),
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
    met = [
        report("C: an event", figures["event_ns"], "ns", 1000),
        report("C: events written", figures["written_per_s"], "/s", 300_000, is_least=True),
        report("C: sampler at 500 ms", figures["sampler_share"] * 100, "% of a core", 0.2),
    ]
    for what, cost in python_costs(f"{folder}/python").items():
        met.append(report(f"Python: {what}", cost, "us", 3))
    if os.path.exists(ORIGINAL):
        print(f"{'original: an event':44} {original_cost(folder):14,.4g} us")
    return all(met)


def training(folder: str) -> bool:
    """Trains one model, and profiles half of its steps: the others are the measure."""
    import torch

    config = Path(folder) / "profilerconfig.json"
    config.write_text(json.dumps({"ProfilingParameters": {"LocalPath": f"{folder}/profile"}}))
    os.environ["SMPROFILER_CONFIG_PATH"] = str(config)
    import smdebug.pytorch as smd

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(),
        torch.nn.Linear(1024, 10),
    )  # fmt: skip
    hook = smd.Hook(f"{folder}/trial", save_config=smd.SaveConfig(save_interval=10**9))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.utils.data.TensorDataset(torch.randn(64 * STEPS, 512), torch.randint(10, (64 * STEPS,)))
    profile: Any = hook._profile
    times: Dict[bool, List[float]] = {True: [], False: []}
    is_on, begin = False, time.thread_time()
    draw = random.Random(1)
    for number, (inputs, labels) in enumerate(torch.utils.data.DataLoader(data, batch_size=64)):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        now = time.thread_time()
        if number >= 20:
            times[is_on].append(now - begin)
        # Drawn, as the addresses of tensors alternate from step to step.
        is_on = draw.random() < 0.5
        hook._profile = profile if is_on else None
        profile.is_on = is_on
        begin = time.thread_time()
    hook._profile = profile
    hook.close()
    off = statistics.median(times[False])
    cost = statistics.median(times[True]) - off
    print(f"{'a step without a profile':44} {off * 1e3:14.4g} ms")
    print(f"{'what a profile adds to it':44} {cost * 1e6:14.4g} us")
    return report("training: steps and phases", cost / off * 100, "% of a step", 0.5)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if (training if "training" in sys.argv[1:] else costs)(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
