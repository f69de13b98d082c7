"""Local clusters, and trials for them to read."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any, Iterator, List

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "s3"))

import farm as farms  # noqa: E402
from servers import Server, new_bucket, run_versitygw  # noqa: E402

TRIALS = 40


# Starting a cluster takes most of the time, and each of its jobs seconds.  CI runs these, and
# whatever needs no cluster; `make test-frameworks WHOLE=1` runs all.
CLUSTERS = {"spark", "ray_cluster", "dask_client", "engine"}
IN_CI = {
    "test_all_rows_without_registering",
    "test_filters_are_pushed",
    "test_all_rows",
    "test_all_rows[scalars]",
    "test_same_rows[dask]",
    "test_worker_that_dies[dask]",
    "test_evaluate_many[local]",
}


def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    for item in items:
        needed = set(getattr(item, "fixturenames", ()))
        if item.path.parent == HERE and needed & CLUSTERS and item.name not in IN_CI:
            item.add_marker(pytest.mark.whole)
        if item.path.parent == HERE and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(autouse=True)
def few_lines() -> Iterator[None]:
    """Torn trials are logged, line by line."""
    logger = logging.getLogger("smdebug")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trials."""
    root = tmp_path_factory.mktemp("farm") / "runs"
    farms.make(root, TRIALS)
    return root


@pytest.fixture(scope="session")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a thousand trials."""
    root = tmp_path_factory.mktemp("thousand") / "runs"
    farms.make(root, 1_000)
    return root


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session with two threads, which gives a failed task four attempts."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    folder = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.local.dir", str(folder))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.python.filterPushdown.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processors on this machine."""
    os.environ["RAY_AUTH_MODE"] = "disabled"  # else Ray writes a token into the home folder
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_worker_niceness"] = "0"  # else other tests leave its workers no processor
    import ray
    from ray.data import DataContext

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=128 << 20,
             log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.1")  # fmt: skip
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.default_hash_shuffle_parallelism = 2
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """Two worker processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                     host="127.0.0.1", processes=True) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An S3 server that verifies every signature."""
    yield from run_versitygw(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session")
def bucket(server: Server) -> str:
    """The URL of a bucket with trials."""
    name = new_bucket(server, "tables")
    for number in range(4):
        url = f"s3://{name}/runs/run-{number:04}"
        farms.record(url, bad=number == 3, options=server.options())
    return f"s3://{name}/runs"
