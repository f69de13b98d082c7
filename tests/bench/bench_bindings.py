"""Measures the cost of one call in each language: saves 16 floats of 1,000 tensors per step.

Only the saving calls are timed, and the queue is empty before them.  The best round counts,
which excludes other work on the machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict

import numpy as np

import smdebug as smd
from page import table, tell

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
JAVA = ROOT / "bindings" / "java"
ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
GOALS = {"C": None, "C++": None, "Python": 1500, "Go": 1000, "Java": 1000}


def output_of(*command: object, **more: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout


def through_native(folder: Path) -> Dict[str, float]:
    said = output_of(
        BUILD / "bin/smdebug_bench",
        "--benchmark_filter=save_16_floats",
        "--benchmark_format=json",
        SMDEBUG_BENCH_DIR=str(folder),
    )
    rows = json.loads(said)["benchmarks"]
    rates = {row["name"].split("/")[0]: row["items_per_second"] for row in rows}
    return {"C": 1e9 / rates["save_16_floats"], "C++": 1e9 / rates["save_16_floats_cpp"]}


def through_python(folder: Path) -> float:
    names = [f"gradient/layer_{i}" for i in range(1000)]
    floats = np.full(16, 1.5, np.float32)
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir=str(folder / "python"), save_all=True, save_config=every_step)
    seconds = []
    for _ in range(200):
        with hook.step():
            begin = time.perf_counter()
            for name in names:
                hook.save(name, floats)
            seconds.append(time.perf_counter() - begin)
        hook.flush()
    hook.close()
    return statistics.median(seconds) / len(names) * 1e9


def through_go(folder: Path) -> float:
    said = output_of(ROOT / "tools/test_go.sh", BUILD, "bench", TMPDIR=str(folder))
    return float(re.search(r"BenchmarkSave16Floats\S*\s+\d+\s+([\d.]+) ns/op", said)[1])


def through_java(folder: Path) -> float:
    classes = ":".join(str(JAVA / "target" / name) for name in ("test-classes", "classes"))
    said = output_of("java", "-cp", classes, "org.smdebug.SaveBenchmark", folder)
    return float(re.search(r"save 16 floats\s+([\d.]+) ns", said)[1])


LANGUAGES: Dict[str, Callable[[Path], float]] = {
    "Python": through_python,
    "Go": through_go,
    "Java": through_java,
}


def main() -> None:
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    rounds = []
    for _ in range(ROUNDS):
        folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-", dir=base))
        try:
            costs = through_native(folder)
            costs.update({language: cost(folder) for language, cost in LANGUAGES.items()})
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        rounds.append(costs)
    (BUILD / "bench_bindings.json").write_text(json.dumps(rounds, indent=1))
    rows = []
    in_c = min(costs["C"] for costs in rounds)
    for language, goal in GOALS.items():
        best = min(costs[language] for costs in rounds)
        reached = "" if goal is None else "yes" if best <= goal else "NO"
        to_reach = "" if goal is None else f"<= {goal}"
        rows.append([language, f"{best:.0f}", f"{best / in_c:.1f}", to_reach, reached])
    tell("bindings", table(["language", "ns a call", "of C", "to reach", "reached"], rows))


if __name__ == "__main__":
    main()
