#!/usr/bin/env python3
"""Measures how fast profiles are read, and compares it with the goals and with the original.

usage: bench_profile_reading.py [ROWS]

ROWS samples (250,800: ten minutes of 96 CPUs and 8 GPUs, each 500 ms) and as many events.  Each
figure is the best of seven on one thread, in processor time, which other work on the machine
disturbs least; opening, which may wait, has its wall time.  SMDEBUG_ORIGINAL_PYTHON names the
interpreter of the original, which reads a tenth of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List

ROOT = Path(__file__).resolve().parents[2]
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")
FAR = 4 * 10**15
# What is read, the rows a second that are the goal, and the unit.
GOALS = {
    "samples, as a table": 3_000_000,
    "events, as a table": 1_000_000,
    "samples, as a frame of pandas": 1_000_000,
    "events, as a frame of pandas": 1_000_000,
    "samples, as Python objects": None,
    "events, as Python objects": None,
    "rules of the profile aws": None,
}

BASE = 1706745540


def write(folder: Path, rows: int) -> None:
    for minute in range(-(-rows // 25080)):
        stamp = BASE + 60 * minute
        path = folder / f"system/incremental/{stamp // 3600}/{stamp}.algo-1.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = min(25080, rows - 25080 * minute)
        path.write_text(
            "".join(
                f'{{"Type":"cpu","Name":"cpu{i % 96}","Dimension":"CPUUtilization","Value":{i % 9973 / 100},'
                f'"NodeId":"algo-1","Timestamp":{stamp + i // 209 * 0.5}}}\n'
                for i in range(count)
            )
        )
    for first in range(0, rows, 80000):
        last = min(first + 80000, rows)
        path = folder / f"framework/pevents/2024013123/{BASE * 10**6 + last * 100}_1-algo-1_pythontimeline.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = [
            {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": BASE * 10**6}},
            {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "Forward"}},
        ]
        events = (
            f'{{"name": "Forward", "pid": 1, "ph": "X", "ts": {i * 100}, "dur": 90, '
            f'"args": {{"step_num": "{i // 10}", "pid": 314}}}}'
            for i in range(first, last)
        )
        path.write_text("[\n" + ",\n".join([*map(json.dumps, head), *events]) + "\n]")


def seconds_of(action: Callable[[], object]) -> float:
    """Returns the least processor time of seven runs, all of which use one thread."""
    best = float("inf")
    for _ in range(7):
        begin = time.process_time()
        action()
        best = min(best, time.process_time() - begin)
    return best


def opening(action: Callable[[], object]) -> float:
    """Returns the shortest wall time of seven runs."""
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - begin)
    return best


def drain(path: str, table: str) -> None:
    import smdebug
    from smdebug.tables.columns import _Array, _pointer_of, _Stream

    capsule = smdebug.scan(path, table).__arrow_c_stream__()
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    while True:
        array = _Array()
        assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0
        if not array.release:
            return
        array.release(ctypes.byref(array))


def evaluate(path: str) -> None:
    from smdebug.profiler.analysis.rules import evaluate_profile

    evaluate_profile(path, profile="aws")


def classes(path: str) -> Dict[str, float]:
    """Returns the seconds that both packages take."""
    from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader
    from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame
    from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader
    from smdebug.trials import create_trial

    def samples() -> None:
        assert LocalSystemMetricsReader(path).get_events(0, FAR)

    def events() -> None:
        assert LocalAlgorithmMetricsReader(path).get_events(0, FAR)

    with tempfile.TemporaryDirectory() as out:
        return {
            "open": opening(lambda: create_trial(path, profiler=True, output_dir=out)),
            "samples, as Python objects": seconds_of(samples),
            "events, as Python objects": seconds_of(events),
            "samples, as a frame of pandas": seconds_of(lambda: PandasFrame(path).get_all_system_metrics()),
            "events, as a frame of pandas": seconds_of(lambda: PandasFrame(path).get_all_framework_metrics()),
        }


def ours(path: str) -> Dict[str, float]:
    return {
        **classes(path),
        "samples, as a table": seconds_of(lambda: drain(path, "system_metrics")),
        "events, as a table": seconds_of(lambda: drain(path, "profile_events")),
        "rules of the profile aws": seconds_of(lambda: evaluate(path)),
    }


def of_original(rows: int) -> Dict[str, float]:
    """Returns the original's seconds, by row but for "open"."""
    if not os.path.exists(ORIGINAL):
        return {}
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    plain["SMDEBUG_LOG_LEVEL"] = "off"
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        done = subprocess.run(
            [ORIGINAL, __file__, "--classes", folder],
            env=plain, check=True, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
    taken = json.loads(done.stdout.splitlines()[-1])
    return {what: seconds if what == "open" else seconds / rows for what, seconds in taken.items()}


def rows_of_page(taken: Dict[str, float], rows: int, theirs: Dict[str, float]) -> List[List[str]]:
    def reached(is_reached: bool) -> str:
        return "yes" if is_reached else "NO"

    table = []
    times = f"{theirs['open'] / taken['open']:,.0f}" if theirs else ""
    table.append(
        ["open a profile", f"{taken['open'] * 1000:.3g}", "ms", "< 10", reached(taken["open"] < 0.01), times]
    )
    for what, goal in GOALS.items():
        rate = rows / taken[what]
        # The rules see samples and events.
        rate *= 2 if what.startswith("rules") else 1
        times = f"{rate * theirs[what]:.3g}" if what in theirs else ""
        goals = [f">= {goal / 1e6:.0f}", reached(rate >= goal)] if goal else ["", ""]
        table.append([what, f"{rate / 1e6:.3g}", "M rows/CPU s", *goals, times])
    return table


def main() -> int:
    from page import table, tell

    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 250_800
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        taken = ours(folder)
    theirs = of_original(max(rows // 10, 1000))
    columns = ["what", "best", "unit", "to reach", "reached", "x the original"]
    told = rows_of_page(taken, rows, theirs)
    tell("profile reading", table(columns, told))
    return 0 if all(each[4] != "NO" for each in told) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--classes"]:
        print(json.dumps(classes(sys.argv[2])))
        sys.exit()
    sys.path.insert(0, str(ROOT / "build" / "python"))
    sys.exit(main())
