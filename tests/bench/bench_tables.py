"""The tables part of `make bench`: many trials in DuckDB, compared with what DuckDB reads of its
own Parquet, and with TensorBoard's EventAccumulator and tbparse on the same scalars.

A first scan also fills the cache of rows, a second one reads it.  CPU seconds are those of all
threads.  Runs in the environment of tests/frameworks/tables.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Tuple

import duckdb
import numpy as np
from page import table, tell

import smdebug as smd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "s3"))

from servers import new_bucket, run_versitygw  # noqa: E402

ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
TRIALS, STEPS, TENSORS = 1000, 50, 200
SCALAR_STEPS, SCALARS = 500, 100
RUNS = 10_000
GROUP = "select tensor, count(*), avg(l2), max(step) from {} group by 1 order by 1"

Row = Tuple[str, str, str, str]


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU seconds of the fastest of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        cpu = time.process_time()
        work()
        best = min(best, time.process_time() - cpu)
    return best


def forget() -> None:
    """Removes the cache of rows."""
    shutil.rmtree(Path(os.environ["XDG_CACHE_HOME"]) / "libsmdebug", ignore_errors=True)


def first_and_again(work: Callable[[], object]) -> Tuple[float, float]:
    """The CPU seconds of the fastest first scan, and of the fastest scan of rows in the cache."""
    first = float("inf")
    for _ in range(ROUNDS):
        forget()
        cpu = time.process_time()
        work()
        first = min(first, time.process_time() - cpu)
    return first, cpu_seconds(work)


def grouped(scan: smd.Scan, query: str = GROUP.format("scan")) -> list[tuple]:
    """Returns the rows of a query over `scan`."""
    return duckdb.sql(query).fetchall()


def record(folder: Path, steps: int, names: list[str], elements: int, **settings: object) -> None:
    values = np.random.default_rng(0).standard_normal((len(names), elements)).astype(np.float32)
    options = {"out_dir": str(folder), "save_config": smd.SaveConfig(save_interval=1), **settings}
    with smd.Hook(**options) as hook:
        for _ in range(steps):
            hook.begin_step(smd.modes.TRAIN)
            for name, value in zip(names, values):
                hook.save(name, value)
            hook.end_step()
    # Steps that are just finished are not kept in the cache.
    before = time.time() - 3600
    for file in folder.rglob("*"):
        os.utime(file, (before, before))


def copy(trial: Path, count: int) -> None:
    """Makes copies beside it, as links: the files are the same."""
    for number in range(1, count):
        target = trial.with_name(f"run_{number:04d}")
        subprocess.run(["cp", "-al", str(trial), str(target)], check=True)


def statistics_rows(root: Path) -> list[Row]:
    names = [f"gradient/transformer.h.{i}.mlp.weight" for i in range(TENSORS)]
    norms = smd.ReductionConfig(norms=["l2"], save_raw_tensor=False)
    record(root / "runs/run_0000", STEPS, names, 16, include_collections=["gradients"],
           reduction_config=norms)
    copy(root / "runs/run_0000", TRIALS)
    rows = TRIALS * STEPS * TENSORS
    scan = smd.scan(root / "runs")
    forget()
    begin, cpu = time.perf_counter(), time.process_time()
    groups = grouped(scan)
    first, wall = time.process_time() - cpu, time.perf_counter() - begin
    if sum(row[1] for row in groups) != rows:
        raise RuntimeError("rows are missing")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again = cpu_seconds(lambda: grouped(scan))
    few = smd.scan(root / "runs", columns=["tensor", "step", "l2"], trials="run_00..$")
    few_first, few_again = first_and_again(lambda: grouped(few))
    coded = few.with_options([("texts", "dictionary")])
    few_coded = cpu_seconds(lambda: grouped(coded))
    parquet = root / "rows.parquet"
    part_of_runs = smd.scan(root / "runs", trials="run_00..$")
    duckdb.sql(f"copy (from part_of_runs) to '{parquet}' (format parquet)")
    own_cpu = cpu_seconds(lambda: duckdb.sql(GROUP.format(f"'{parquet}'")).fetchall())
    part = rows * 100 // TRIALS
    return [
        row("rows a CPU second into DuckDB, all default columns, first scan", rows / first, 5e6),
        row("the same, second scan", rows / again, 5e6),
        row("rows a CPU second into DuckDB, three columns, first scan", part / few_first, 5e6),
        row("the same, second scan", part / few_again, 5e6),
        row("of the rows a CPU second that DuckDB reads of its own Parquet, first scan",
            own_cpu / few_first, 0.5),
        row("the same, second scan", own_cpu / few_again, 0.5),
        row("the same, second scan, texts as dictionaries, as `smdebug query` reads",
            own_cpu / few_coded, 0.5),
        row("seconds to group 1,000 trials with 10 M index entries, first scan", wall, 10,
            is_least=False),
        row("MB of memory at most, for 10 M rows", peak, 300, is_least=False),
    ]


def read_bytes() -> int:
    """The bytes that this process has read so far, from the page cache too."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


def filter_rows(root: Path) -> list[Row]:
    names = [f"layer_{i}" for i in range(TENSORS)]
    record(root / "raw", 10, names, 65_536, save_all=True)
    scan = smd.scan(root / "raw", tensors="layer_7", columns=["step", "value"])
    before = read_bytes()
    [count] = duckdb.sql("select sum(len(value)) from scan").fetchall()
    read = read_bytes() - before
    if count != (10 * 65_536,):
        raise RuntimeError("elements are missing")
    others = sum(file.stat().st_size for file in (root / "raw").rglob("*.json"))
    wanted = 10 * 65_536 * 4
    return [
        row("times the bytes of a tensor of 256 KiB, one of 200, read of event files",
            (read - others) / wanted, 1.1, is_least=False),
        row("the same, with the index files of all 200", read / wanted, 1.1, is_least=False),
    ]


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def listing_rows(root: Path) -> list[Row]:
    """10,000 finished trials of three steps, in a bucket of the tests' server and in its folder."""
    server = next(servers := run_versitygw(root / "server"))
    url = f"s3://{new_bucket(server, 'many')}/runs"
    options = server.options()
    with smd.Hook(f"{url}/run_0000", save_all=True, options=options,
                  save_config=smd.SaveConfig(save_interval=1)) as hook:
        for _ in range(3):
            with hook.step():
                hook.save("loss", 1.0)
    [model] = (root / "server").rglob("run_0000")
    copy(model, RUNS)
    rows = []
    for place, scan in (("bucket", smd.scan(url, "trials", options=options)),
                        ("folder", smd.scan(model.parent, "trials"))):
        query = "select count(*) from scan where state = 'finished' and steps = 3"

        def listed(scan: smd.Scan = scan) -> None:
            if grouped(scan, query) != [(RUNS,)]:
                raise RuntimeError("trials are missing")

        forget()
        for when in ("first", "again"):
            rows.append(row(f"seconds to list 10,000 trials in a {place} with their state, {when}",
                            seconds(listed), 30, is_least=False))
    servers.close()
    return rows


PEERS = """
import sys, time
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tbparse import SummaryReader
def accumulate():
    events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
    return sum(len(events.Scalars(tag)) for tag in events.Tags()["scalars"])
def parse():
    return len(SummaryReader(sys.argv[1]).scalars)
for work in (accumulate, parse):
    begin = time.process_time()
    print(work() / (time.process_time() - begin))
"""


def scalar_rows(root: Path) -> list[Row]:
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    names = [f"metric_{i}" for i in range(SCALARS)]
    record(root / "scalars", SCALAR_STEPS, names, 1, save_all=True)
    writer = EventFileWriter(str(root / "board"))
    for step in range(SCALAR_STEPS):
        for name in names:
            value = Summary.Value(tag=name, simple_value=1.5)
            writer.add_event(Event(step=step, wall_time=1.5, summary=Summary(value=[value])))
    writer.close()
    command = [sys.executable, "-c", PEERS, str(root / "board")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    accumulator, tbparse = map(float, output.split())
    scan = smd.scan(root / "scalars", "scalars")
    cpus = first_and_again(
        lambda: grouped(scan, "select name, min(value) from scan group by 1")
    )
    first, again = (SCALAR_STEPS * SCALARS / cpu for cpu in cpus)
    return [
        row("times TensorBoard's EventAccumulator, scalars a CPU second, first scan",
            first / accumulator, 100),
        row("the same, second scan", again / accumulator, 100),
        row("times tbparse, scalars a CPU second, first scan", first / tbparse, 100),
        row("the same, second scan", again / tbparse, 100),
    ]


def row(name: str, figure: float, goal: float, is_least: bool = True) -> Row:
    reached = figure >= goal if is_least else figure <= goal
    sign = ">=" if is_least else "<="
    shown = f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"
    return name, shown, f"{sign} {goal:,.4g}", "yes" if reached else "NO"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="smdebug-tables-") as folder:
        root = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        rows = [*statistics_rows(root), *filter_rows(root), *listing_rows(root), *scalar_rows(root)]
    tell("tables", table(["tables", "measured", "to reach", "reached"], rows))


if __name__ == "__main__":
    main()
