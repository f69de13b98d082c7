"""`make bench`: compares this library with the original, NumPy and the machine's limits.

Each result is a ratio to a peer that is measured in the same run: the median of several
rounds, with the spread between them.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Sequence

import numpy as np

import smdebug as smd
from page import table, tell
from smdebug.trials import create_trial

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
KIB, MIB = 1 << 10, 1 << 20


def bench_folder() -> Path:
    """Returns a folder, in memory if there is room: the disk must not affect the result."""
    base = os.environ.get("SMDEBUG_BENCH_DIR")
    if base is None:
        shared = Path("/dev/shm")
        has_room = shared.is_dir() and shutil.disk_usage(shared).free > 4 << 30
        base = str(shared) if has_room else str(ROOT / "build")
    return Path(tempfile.mkdtemp(prefix="smdebug-bench-", dir=base))


def every_step(path: Path) -> smd.Hook:
    shutil.rmtree(path, ignore_errors=True)
    return smd.Hook(out_dir=str(path), save_all=True, save_config=smd.SaveConfig(save_interval=1))


def names_of(tensors: int) -> list[str]:
    return [f"gradient/layer_{i}" for i in range(tensors)]


def save_all(hook: smd.Hook, names: list[str], arrays: Sequence[np.ndarray], steps: int) -> None:
    """Saves all tensors, and returns when they are written."""
    for _ in range(steps):
        with hook.step():
            for name, array in zip(names, arrays):
                hook.save(name, array)
    hook.flush()


def record(path: Path, size: int, tensors: int, steps: int) -> float:
    """Returns the seconds until everything is written."""
    arrays = [np.full(size // 4, 1.5, np.float32)] * tensors
    hook = every_step(path)
    seconds = _seconds(lambda: save_all(hook, names_of(tensors), arrays, steps))
    hook.close()
    return seconds


def write_all(folder: Path, arrays: Sequence[np.ndarray], steps: int) -> None:
    """Writes one file per step."""
    folder.mkdir()
    for step in range(steps):
        with open(folder / str(step), "wb", buffering=0) as file:
            for array in arrays:
                file.write(array)


def compare_with_write(path: Path) -> dict[str, float]:
    """Returns the median bytes per second of the library and of write(), measured as in the C
    programs: in turns, with one hook, to new files each time."""
    arrays = [np.full(MIB // 4, 1.5, np.float32) for _ in range(16)]
    steps, written = 16, path.with_name("written")
    hook = every_step(path)
    ours, writes = [], []
    for _ in range(11):
        writes.append(_seconds(lambda: write_all(written, arrays, steps)))
        shutil.rmtree(written)
        ours.append(_seconds(lambda: save_all(hook, names_of(16), arrays, steps)))
        for events in (path / "events").iterdir():
            shutil.rmtree(events)
    hook.close()
    size = 16 * steps * MIB
    return {
        "record_1MiB_in_turns": size / statistics.median(ours),
        "write_1MiB_in_turns": size / statistics.median(writes),
    }


def read(path: Path, tensors: int, steps: int) -> float:
    trial = create_trial(str(path))
    trial.steps()
    handles = [trial.tensor(f"gradient/layer_{i}") for i in range(tensors)]
    begin = time.perf_counter()
    for step in range(steps):
        for tensor in handles:
            tensor.value(step)
    return time.perf_counter() - begin


def open_trial(path: Path) -> float:
    begin = time.perf_counter()
    create_trial(str(path)).steps()
    return time.perf_counter() - begin


def through_python(folder: Path) -> dict[str, float]:
    path = folder / "ours"
    results = {"record_1KiB": 100 * 400 / record(path, KIB, 100, 400)}
    results["read_1KiB"] = 100 * 400 / read(path, 100, 400)
    results.update(compare_with_write(path))
    results["record_1MiB"] = 16 * 16 * MIB / record(path, MIB, 16, 16)
    results["read_1MiB"] = 16 * 16 * MIB / read(path, 16, 16)
    results["record_128MiB"] = 4 * 128 * MIB / record(path, 128 * MIB, 1, 4)
    record(path, 64, 100, 2000)
    results["open_2000x100"] = open_trial(path)
    shutil.rmtree(path)
    return results


def numpy_sum() -> float:
    """Returns the bytes per second at which NumPy sums 16 MiB of float32."""
    array = np.tile(np.linspace(-1, 1, 1000, dtype=np.float32), 4 * MIB // 1000 + 1)[: 4 * MIB]
    best = min(_seconds(array.sum) for _ in range(50))
    return array.nbytes / best


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def through_original(folder: Path) -> dict[str, float]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [os.environ["SMDEBUG_ORIGINAL_PYTHON"], str(ROOT / "tests/bench/original.py")]
    done = subprocess.run(
        [*command, str(folder)], env=environment, stdout=subprocess.PIPE, check=True, timeout=900
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def through_c(folder: Path) -> dict[str, float]:
    """Returns bytes or items per second, or seconds, by name of the benchmark."""
    done = subprocess.run(
        [ROOT / "build/bin/smdebug_bench", "--benchmark_format=json", "--benchmark_min_time=0.3"],
        env={**os.environ, "SMDEBUG_BENCH_DIR": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
    )
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    results = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        name = row["name"].removesuffix("/real_time")
        # Wall time for benchmarks with several threads or waits.  Processor time has less noise for others.
        which = "real_time" if "_time" in row["name"] else "cpu_time"
        results[name] = row[which] * units[row["time_unit"]]
        for rate in ("bytes_per_second", "items_per_second"):
            if rate in row:
                results[f"{name}:{rate}"] = row[rate]
    return results


def in_turns(program: str, folder: Path) -> dict[str, float]:
    """Returns the results of a program that compares the library with its peers, by name."""
    done = subprocess.run(
        [ROOT / "build/bin" / program],
        env={**os.environ, "SMDEBUG_BENCH_DIR": str(folder)},
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
    )
    return dict(json.loads(done.stdout))


Round = dict[str, dict[str, float]]

# Rows of: description, unit, the ratio in one round, and its goal.
FIGURES: list[tuple[str, str, Callable[[Round], float], str]] = [
    ("record 100 tensors of 1 KiB a step, Python", "x the original",
     lambda r: r["python"]["record_1KiB"] / r["original"]["record_1KiB"], ">= 100"),
    ("record 100 tensors of 1 KiB a step, C", "x the original",
     lambda r: r["c"]["record/1024/100/400:items_per_second"] / r["original"]["record_1KiB"],
     ">= 200"),
    ("save a borrowed tensor of 1 MiB, C", "x memcpy()",
     lambda r: r["peers"]["save borrowed"] / r["peers"]["save borrowed, peer"], "< 1.3"),
    ("save an owned tensor of 1 MiB, C", "us",
     lambda r: r["peers"]["save owned"] * 1e6, "< 2"),
    ("record 1 MiB tensors, C", "of write()",
     lambda r: r["peers"]["record 1 MiB, peer"] / r["peers"]["record 1 MiB"], ">= 0.9"),
    ("record 1 MiB tensors, Python", "of write()",
     lambda r: r["python"]["record_1MiB_in_turns"] / r["python"]["write_1MiB_in_turns"],
     ">= 0.9"),
    ("record 128 MiB tensors, C", "of write()",
     lambda r: r["peers"]["record 128 MiB, peer"] / r["peers"]["record 128 MiB"], ">= 0.9"),
    ("record 1 MiB tensors, Python", "x the original",
     lambda r: r["python"]["record_1MiB"] / r["original"]["record_1MiB"], ""),
    ("record 128 MiB tensors, Python", "x the original",
     lambda r: r["python"]["record_128MiB"] / r["original"]["record_128MiB"], ""),
    ("open 2,000 steps of 100 tensors, Python", "x the original",
     lambda r: r["original"]["open_2000x100"] / r["python"]["open_2000x100"], ">= 20"),
    ("read 1 KiB values, Python", "x the original",
     lambda r: r["python"]["read_1KiB"] / r["original"]["read_1KiB"], ">= 20"),
    ("read 1 KiB values, C", "x the original",
     lambda r: r["c"]["read/1024/100:items_per_second"] / r["original"]["read_1KiB"], ""),
    ("read 1 MiB values, C", "of pread()",
     lambda r: r["c"]["read/1048576/8:bytes_per_second"]
     / r["c"]["pread/1048576/8:bytes_per_second"], ">= 0.8"),
    ("read 1 MiB values, Python", "x the original",
     lambda r: r["python"]["read_1MiB"] / r["original"]["read_1MiB"], ""),
    *(
        (f"statistics of 64 MiB {dtype}", "of memory read bandwidth",
         lambda r, dtype=dtype: r["statistics"][f"statistics/{dtype}/64"]
         / r["statistics"][f"read/{dtype}/64"], goal)
        for dtype, goal in (("float32", ">= 0.6"), ("bfloat16", ">= 0.4"), ("float16", ">= 0.4"))
    ),
    ("18 reductions of 16 MiB float32", "of NumPy's sum",
     lambda r: r["c"]["reduce_16MiB:bytes_per_second"] / r["numpy"]["sum"], ">= 0.5"),
    ("18 reductions of 16 MiB float32", "x the original",
     lambda r: r["c"]["reduce_16MiB:bytes_per_second"] / r["original"]["reduce_16MiB"], ""),
    ("an unselected tensor, C", "ns",
     lambda r: r["c"]["save_unselected"] * 1e9, "< 100"),
    ("refresh of an unchanged trial, 10,000 steps against 100", "x",
     lambda r: r["c"]["refresh_unchanged/10000"] / r["c"]["refresh_unchanged/100"], "about 1"),
]


def reaches(value: float, goal: str) -> str:
    if not goal:
        return ""
    if goal == "about 1":
        return "yes" if value < 3 else "NO"
    limit = float(goal.split()[1])
    return "yes" if (value >= limit if goal.startswith(">=") else value < limit) else "NO"


def measure() -> list[Round]:
    folder = bench_folder()
    rounds: list[Round] = []
    try:
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS} ...", file=sys.stderr, flush=True)
            rounds.append({
                "original": through_original(folder),
                "python": through_python(folder),
                "c": through_c(folder),
                "statistics": in_turns("smdebug_statistics_bench", folder),
                "peers": in_turns("smdebug_peer_bench", folder),
                "numpy": {"sum": numpy_sum()},
            })
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(rounds, indent=1))
    return rounds


def main() -> None:
    rounds = measure()
    rows = []
    for what, unit, figure, goal in FIGURES:
        values = [figure(r) for r in rounds]
        median = statistics.median(values)
        spread = f"{min(values):.3g} to {max(values):.3g}"
        rows.append([what, f"{median:.3g}", spread, unit, goal, reaches(median, goal)])
    tell("main", table(["what", "median", "spread", "unit", "to reach", "reached"], rows))


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    main()
