"""Measures Spark, Ray Data and Dask on tables of trials, against the same rows as Parquet.

Each engine groups the scalars of 1, 10, 100 and 1,000 trials by trial, on two processors, from
trials and from a Parquet file for each trial.  Rounds alternate; each figure is the best of them.
Run it with the Python of the framework environment `tables`:

    bench_tables_engines.py [--rounds N] [--trials 1,10,100,1000] [ENGINE...]
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pyarrow as pa
import pyarrow.parquet
from page import table, tell

import smdebug

STEPS, SCALARS = 100, 10
GOAL = 1.5

# Counts groups in the trials, and in the Parquet files, of two folders.
Query = Callable[[Path], int]


def record(path: Path) -> None:
    """Records 1,000 scalars."""
    settings = smdebug.SaveConfig(save_interval=1)
    with smdebug.Hook(str(path), save_all=True, save_config=settings) as hook:
        for step in range(STEPS):
            with hook.step():
                for number in range(SCALARS):
                    hook.save_scalar(f"scalar_{number}", step / (number + 1))


def make(folder: Path, count: int) -> Tuple[Path, Path]:
    """Makes `count` trials by links to one, and a Parquet file for each."""
    runs, files = folder / f"runs-{count}", folder / f"files-{count}"
    files.mkdir(parents=True)
    for number in range(count):
        name = f"run-{number:04}"
        shutil.copytree(folder / "model", runs / name, copy_function=os.link)
        rows = pa.table(smdebug.scan(runs / name, "scalars"))
        pyarrow.parquet.write_table(rows, files / f"{name}.parquet")
    return runs, files


def spark_queries() -> Iterator[Tuple[Query, Query]]:
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")

    def grouped(frame: Any) -> int:
        return len(frame.groupBy("trial").min("value").collect())

    yield (
        lambda runs: grouped(
            session.read.format("smdebug").option("table", "scalars")
            .schema("trial string, value double").load(str(runs))
        ),
        lambda files: grouped(session.read.parquet(str(files))),
    )  # fmt: skip
    session.stop()


def ray_queries() -> Iterator[Tuple[Query, Query]]:
    os.environ.update(RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
    import ray
    from ray.data import DataContext

    import smdebug.ray

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=256 << 20,
             log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.1")  # fmt: skip
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.default_hash_shuffle_parallelism = 2
    logging.getLogger("ray.data").setLevel(logging.ERROR)

    def grouped(data: Any) -> int:
        return len(data.groupby("trial").min("value").take_all())

    columns = ["trial", "value"]
    yield (
        lambda runs: grouped(smdebug.ray.read(runs, "scalars", columns=columns)),
        lambda files: grouped(ray.data.read_parquet(str(files), columns=columns)),
    )
    ray.shutdown()


def dask_queries() -> Iterator[Tuple[Query, Query]]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import smdebug.dask

    def grouped(frame: Any) -> int:
        return len(frame.groupby("trial")["value"].min().compute())

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                     host="127.0.0.1") as cluster,
        Client(cluster),
    ):  # fmt: skip
        yield (
            lambda runs: grouped(smdebug.dask.read(runs, "scalars")),
            lambda files: grouped(dd.read_parquet(str(files))),
        )


ENGINES = {"Spark": spark_queries, "Ray Data": ray_queries, "Dask": dask_queries}


def seconds(query: Query, folder: Path, groups: int) -> float:
    begin = time.perf_counter()
    found = query(folder)
    elapsed = time.perf_counter() - begin
    assert found == groups, f"{found} groups instead of {groups}"
    return elapsed


def measure(queries: Tuple[Query, Query], data: Tuple[Path, Path], count: int,
            rounds: int) -> List[float]:  # fmt: skip
    times: List[List[float]] = [[], []]
    for _ in range(rounds):
        for query, folder, taken in zip(queries, data, times):
            taken.append(seconds(query, folder, count))
    return [min(taken) for taken in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", default="1,10,100,1000")
    given = parser.parse_args()
    counts = [int(each) for each in given.trials.split(",")]
    base = os.environ.get("SMDEBUG_BENCH_DIR")
    folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-", dir=base))
    rows: Dict[str, List[str]] = {}
    try:
        record(folder / "model")
        data = {count: make(folder, count) for count in counts}
        for name in given.engines:
            for queries in ENGINES[name]():
                measure(queries, data[counts[0]], counts[0], 1)  # starts workers
                cells = []
                for count in counts:
                    ours, parquet = measure(queries, data[count], count, given.rounds)
                    cells.append(f"{ours:.2f} / {parquet:.2f} = {ours / parquet:.2f}")
                    print(name, count, cells[-1], flush=True)
                rows[name] = cells
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    names = ["engine", *(f"{count:,} trial{'s' * (count > 1)}" for count in counts)]
    tell("engines", table(names, ([name, *cells] for name, cells in rows.items())))
    print(f"Seconds from trials / from Parquet = ratio; goal {GOAL}.")


if __name__ == "__main__":
    main()
