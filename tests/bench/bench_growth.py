"""Measures how cost grows with the size of tensors, tensors per step, index entries and workers.

Each measurement runs in its own process (growth.cc).  Each figure is the best of the rounds, which
excludes other work on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterable

from bench import ROOT, bench_folder
from page import table, tell

ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CHART = ROOT / "docs/growth.svg"

SIZES = [KIB, 16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, GIB]
TENSORS = [10, 100, 1_000, 10_000, 100_000]
WORKERS = [1, 4, 16, 64, 256]
# Tensors per step, steps, workers.  Their product is the number of entries.
ENTRIES = [(100, 1, 1), (100, 10, 1), (100, 100, 1), (100, 1_000, 1), (100, 10_000, 1),
           (1_000, 1_000, 1), (100_000, 10, 1), (100, 1_250, 8)]  # fmt: skip
REFRESHED = [100, 1_000, 10_000, 100_000]
GOALS = {"open": 1.0, "bytes": 200.0}

Figures = dict[str, float]


def run(what: str, folder: Path, size: int, tensors: int, steps: int, workers: int) -> Figures:
    said = subprocess.run(
        [ROOT / "build/bin/smdebug_growth", what, folder,
         *(str(number) for number in (size, tensors, steps, workers))],
        stdout=subprocess.PIPE, text=True, check=True, timeout=600,
    )  # fmt: skip
    return {name: float(value) for name, value in map(str.split, said.stdout.splitlines())}


def best_of(measure: Callable[[], Figures], rounds: int = ROUNDS) -> Figures:
    results = [measure() for _ in range(rounds)]
    return {name: min(result[name] for result in results) for name in results[0]}


def through(folder: Path, whats: Iterable[str], size: int, tensors: int, steps: int,
            workers: int = 1) -> Figures:  # fmt: skip
    """Runs each measurement in turn on one trial."""
    trial = folder / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    figures: Figures = {}
    for what in whats:
        at = folder if what == "plain" else trial
        figures.update(run(what, at, size, tensors, steps, workers))
    shutil.rmtree(trial, ignore_errors=True)
    return figures


def name_of(size: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def by_size(folder: Path) -> list[list[float]]:
    """Returns rows of size, MB/s recorded and of write(), MB/s read and of pread()."""
    # A step of 1 GiB needs three copies in memory: the array, the queue and the file.
    room = shutil.disk_usage(folder).free
    rows = []
    for size in (size for size in SIZES if 4 * size < room):
        total = max(size, 256 * MIB if size > 16 * KIB else 32 * MIB)
        tensors = min(100, max(1, total // size // 4))
        steps = max(1, total // size // tensors)
        best = best_of(lambda: through(folder, ("plain", "record", "read"), size, tensors, steps))
        rate = {name: size * tensors * steps / 1e6 / seconds for name, seconds in best.items()}
        rows.append([size, rate["record"], rate["record"] / rate["write"], rate["read"],
                     rate["read"] / rate["pread"]])  # fmt: skip
    return rows


def by_tensors(folder: Path) -> list[list[float]]:
    """Returns rows of tensors per step, ns per tensor recorded and read."""
    rows = []
    for tensors in TENSORS:
        steps = max(5, min(200, 200_000 // tensors))
        best = best_of(lambda: through(folder, ("record", "read"), 64, tensors, steps))
        rows.append([tensors, *(1e9 * best[what] / tensors / steps for what in ("record", "read"))])
    return rows


def by_entries(folder: Path) -> list[list[float]]:
    """Returns rows of tensors per step, steps, workers, entries, seconds to open, and resident and
    peak bytes per entry."""
    rows = []
    trial = folder / "trial"
    for tensors, steps, workers in ENTRIES:
        run("record", trial, 64, tensors, steps, workers)
        best = best_of(lambda: run("open", trial, 0, 0, 0, 0))
        shutil.rmtree(trial)
        entries = tensors * steps * workers
        rows.append([tensors, steps, workers, entries, best["open"],
                     *(best[what] / entries for what in ("allocated", "peak"))])  # fmt: skip
    return rows


def by_steps(folder: Path) -> list[list[float]]:
    """Returns rows of steps and microseconds of a refresh that finds 0, 1 and 10 new steps."""
    rows = []
    for steps in REFRESHED:
        best = best_of(lambda: through(folder, ("refresh",), 64, 1, steps), min(ROUNDS, 2))
        rows.append([steps, *(1e6 * best[what] for what in ("unchanged", "new_1", "new_10"))])
    return rows


def by_workers(folder: Path) -> list[list[float]]:
    """Returns rows of workers, and microseconds per worker and step: recorded, opened, refreshed, and
    a value read."""
    rows = []
    for workers in WORKERS:
        steps = 2_048 // workers
        whats = ("record", "open", "read")
        best = best_of(lambda: through(folder, whats, 64, 10, steps, workers))
        # Nearly all of the job's 1,000 steps exist at the first refresh.
        fresh = best_of(lambda: through(folder, ("refresh",), 64, 10, 200, workers), 1)
        pieces = steps * workers
        rows.append([workers, 1e6 * best["record"] / pieces, 1e6 * best["open"] / pieces,
                     1e6 * fresh["new_1"] / workers, 1e6 * best["read"] / steps / 10])  # fmt: skip
    return rows


def draw(sizes: list[list[float]], tensors: list[list[float]], entries: list[list[float]],
         steps: list[list[float]], workers: list[list[float]]) -> None:  # fmt: skip
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9,
                                "font.family": "sans-serif"})  # fmt: skip
    from matplotlib import pyplot

    in_chart = [row for row in entries if row[0] == 100 and row[2] == 1]
    plots = [
        ("bytes of a tensor", "MB/s", {
            "recorded": [(row[0], row[1]) for row in sizes],
            "write()": [(row[0], row[1] / row[2]) for row in sizes],
            "read": [(row[0], row[3]) for row in sizes],
            "pread()": [(row[0], row[3] / row[4]) for row in sizes]}),
        ("tensors a step", "ns a tensor of 64 bytes", {
            "recorded": [(row[0], row[1]) for row in tensors],
            "read": [(row[0], row[2]) for row in tensors]}),
        ("entries of the index", "seconds to open", {
            "100 tensors a step": [(row[3], row[4]) for row in in_chart],
            "1 µs an entry": [(row[3], row[3] * 1e-6) for row in in_chart]}),
        ("steps there already", "µs a refresh", {
            "10 new steps": [(row[0], row[3]) for row in steps],
            "1 new step": [(row[0], row[2]) for row in steps],
            "nothing new": [(row[0], row[1]) for row in steps]}),
        ("workers", "µs a worker's step", {
            "recorded": [(row[0], row[1]) for row in workers],
            "opened": [(row[0], row[2]) for row in workers],
            "refreshed": [(row[0], row[3]) for row in workers],
            "a value read": [(row[0], row[4]) for row in workers]}),
    ]  # fmt: skip
    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6.4), facecolor="white")
    for axis, (across, up, lines) in zip(axes.flat, plots):
        for name, points in lines.items():
            is_peer = name.endswith("()") or "an entry" in name
            axis.plot(*zip(*points), marker="" if is_peer else "o", markersize=4,
                      linestyle=":" if is_peer else "-", label=name)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
        low, high = axis.get_ylim()
        # The range of the axis makes a flat line look flat.
        axis.set_ylim(low / 4, high * 4)
        axis.minorticks_off()
        axis.grid(color="0.9")
        axis.legend(frameon=False, fontsize=8)
    axes.flat[-1].axis("off")
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})


def main() -> None:
    folder = bench_folder()
    try:
        measured = []
        for measure in (by_size, by_tensors, by_entries, by_steps, by_workers):
            print(f"growth {measure.__name__} ...", file=sys.stderr, flush=True)
            measured.append(measure(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sizes, tensors, entries, steps, workers = measured
    tell("sizes", table(
        ["a tensor", "recorded, MB/s", "of write()", "read, MB/s", "of pread()"],
        [[name_of(int(row[0])), f"{row[1]:.0f}", f"{row[2]:.2f}", f"{row[3]:.0f}", f"{row[4]:.2f}"]
         for row in sizes]))  # fmt: skip
    tell("tensors", table(
        ["tensors a step", "ns a tensor recorded", "read"],
        [[f"{row[0]:,}", *(f"{value:.0f}" for value in row[1:])] for row in tensors]))
    tell("entries", table(
        ["tensors", "steps", "workers", "entries", "seconds to open", "bytes an entry",
         "at the peak", "to reach", "reached"],
        [[*(f"{value:,}" for value in row[:4]), f"{row[4]:.4f}", f"{row[5]:.0f}", f"{row[6]:.0f}",
          *goal_of(row)] for row in entries]))  # fmt: skip
    tell("refresh", table(
        ["steps there", "µs a refresh, nothing new", "1 new step", "10 new steps"],
        [[f"{row[0]:,}", *(f"{value:.1f}" for value in row[1:])] for row in steps]))
    tell("workers", table(
        ["workers", "µs a worker's step recorded", "opened", "refreshed", "µs a value read"],
        [[row[0], *(f"{value:.1f}" for value in row[1:])] for row in workers]))
    if os.environ.get("SMDEBUG_BENCH_RENEW") == "1":
        draw(*measured)


def goal_of(row: list[float]) -> tuple[str, str]:
    if row[3] < 1_000_000:
        return "", ""
    is_reached = row[4] < GOALS["open"] and row[6] < GOALS["bytes"]
    return "< 1 s, < 200 bytes", "yes" if is_reached else "NO"


if __name__ == "__main__":
    main()
