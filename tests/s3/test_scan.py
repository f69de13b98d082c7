"""Tests of what a scan of a bucket asks for."""

from __future__ import annotations

import duckdb
import pytest
from fault_server import BUCKET, error, record, running

import smdebug as smd

RUNS, STEPS = 3, 5


@pytest.fixture
def service():
    yield from running()


@pytest.fixture
def runs(service):
    """Finished trials of one worker."""
    for number in range(RUNS):
        record(service, STEPS, f"s3://{BUCKET}/jobs/run-{number}")
    service.requests.clear()
    return f"s3://{BUCKET}/jobs"


def rows(scan) -> list[tuple]:
    return duckdb.sql("from scan").fetchall()


def scan_of(service, path, table="tensors", **conditions):
    return smd.scan(path, table, options=service.options(), **conditions)


def test_each_file_is_asked_for_once(service, runs):
    found = rows(scan_of(service, runs, columns=["trial", "step", "tensor", "value"]))
    assert [row[:3] for row in found] == [
        (f"run-{number}", step, "weight") for number in range(RUNS) for step in range(STEPS)
    ]
    assert len(service.asked("GetObject", "/events/")) == RUNS * STEPS
    assert len(service.asked("GetObject", "/index/")) == RUNS * STEPS
    # The folder, then the folders and the index files of each trial.
    assert len(service.asked("ListObjectsV2")) == 1 + 2 * RUNS


def test_what_cannot_match_is_not_read(service, runs):
    found = rows(scan_of(service, runs, columns=["step", "l2"], trials="run-1$", first=2, end=4))
    assert [row[0] for row in found] == [2, 3]
    assert len(service.asked("GetObject", "/index/")) == 2
    # No statistics were saved, and none are computed.
    assert service.asked("GetObject", "/events/") == []


def test_a_record_is_read_without_the_others(service):
    with smd.Hook(
        f"s3://{BUCKET}/jobs/run",
        save_all=True,
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(),
    ) as hook:
        with hook.step(smd.modes.TRAIN):
            for number in range(10):
                hook.save(f"layer{number}", [float(number)] * 50_000)
    service.requests.clear()
    scan = scan_of(service, f"s3://{BUCKET}/jobs", columns=["value"], tensors="layer7")
    assert rows(scan) == [([7.0] * 50_000,)]
    [read] = service.asked("GetObject", "/events/")
    first, last = map(int, read.headers["range"].removeprefix("bytes=").split("-"))
    assert last - first < 1.1 * 50_000 * 8


def test_finished_trials_are_listed_once(service, runs, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    columns = ["trial", "state", "steps"]
    first = rows(scan_of(service, runs, "trials", columns=columns))
    assert first == [(f"run-{number}", "finished", STEPS) for number in range(RUNS)]
    service.requests.clear()
    assert rows(scan_of(service, runs, "trials", columns=columns)) == first
    assert service.asked("ListObjectsV2", "/index") == []
    assert len(service.asked("HeadObject")) == RUNS


def test_a_bucket_that_refuses_is_named(service, runs):
    service.fail(error(403, "AccessDenied"), "ListObjectsV2", times=float("inf"))
    with pytest.raises(PermissionError, match=f"s3://{BUCKET}: .*AccessDenied"):
        scan_of(service, runs, "trials").partitions()
