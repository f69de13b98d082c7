"""Tests of what a scan of a bucket asks for."""

from __future__ import annotations

import math
import threading

import duckdb
import numpy as np
import pytest
from fault_server import BUCKET, error, open_trial, record, running

import smdebug as smd
from smdebug.rules import RuleSet
from smdebug.tables import export

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
    options = {**service.options(), **conditions.pop("options", {})}
    return smd.scan(path, table, options=options, **conditions)


def listings(service, folder: str) -> int:
    """Returns how many requests listed a folder of that name."""
    asked = service.asked("ListObjectsV2")
    return sum(folder in request.query["prefix"] for request in asked)


def test_each_file_is_asked_for_once(service, runs):
    found = rows(scan_of(service, runs, columns=["trial", "step", "tensor", "value"]))
    assert [row[:3] for row in found] == [
        (f"run-{number}", step, "weight") for number in range(RUNS) for step in range(STEPS)
    ]
    assert len(service.asked("GetObject", "/events/")) == RUNS * STEPS
    assert len(service.asked("GetObject", "/index/")) == RUNS * STEPS
    # The folder, then the folders and the index files of each trial.
    assert len(service.asked("ListObjectsV2")) == 1 + 2 * RUNS


def test_a_listing_is_a_request_for_a_thousand_keys(service):
    steps = 2_500
    with smd.Hook(
        f"s3://{BUCKET}/long",
        save_all=True,
        save_config=smd.SaveConfig(save_steps=[0]),
        options=service.options(),
    ) as hook:
        with hook.step(smd.modes.TRAIN):
            hook.save("loss", 1.0)
    [index] = [key for key in service.objects if "/index/" in key]
    for step in range(1, steps):
        folder = f"long/index/{step // 1000:09}/{step:012}_worker_0.json"
        service.objects[folder] = service.objects[index]
    service.requests.clear()
    assert len(rows(scan_of(service, f"s3://{BUCKET}/long", columns=["step"]))) == steps
    # Whether it is a trial, its index files, and its row files, of which one has the first step.
    assert len(service.asked("ListObjectsV2")) == 1 + math.ceil(steps / 1000) + 1
    assert len(service.asked("GetObject", "/index/")) == steps - 1
    assert len(service.asked("GetObject", "/rows/")) == 1


@pytest.mark.parametrize("table", ["tensors", "scalars"])
def test_finished_steps_are_asked_for_once(service, table, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(RUNS):
        url = f"s3://{BUCKET}/jobs/run-{number}"
        record(service, STEPS, url, size=1, row_files="false")
    service.age = 3600
    scan = scan_of(service, f"s3://{BUCKET}/jobs", table)
    first = rows(scan)
    assert len(first) == RUNS * STEPS
    service.requests.clear()
    assert rows(scan) == first
    assert service.asked("GetObject", "/events/") == service.asked("GetObject", "/index/") == []
    assert listings(service, "/index/") == RUNS
    # A step that changes is asked for again, with those beside it.
    [key] = [key for key in service.objects if "run-1/index/" in key and "0003_" in key]
    service.objects[key] += b" "
    service.requests.clear()
    assert rows(scan) == first
    assert len(service.asked("GetObject", "/index/")) == STEPS
    service.requests.clear()
    assert rows(scan_of(service, f"s3://{BUCKET}/jobs", table, options={"cache": "false"})) == first
    assert len(service.asked("GetObject", "/index/")) == RUNS * STEPS


@pytest.mark.parametrize("table", ["tensors", "scalars"])
def test_a_row_file_is_asked_for_once(service, table, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(RUNS):
        record(service, STEPS, f"s3://{BUCKET}/jobs/run-{number}", size=1)
    scan = scan_of(service, f"s3://{BUCKET}/jobs", table)
    files = rows(scan_of(service, f"s3://{BUCKET}/jobs", table, options={"cache": "false"}))
    service.requests.clear()
    assert rows(scan) == files
    assert len(service.asked("GetObject", "/rows/")) == RUNS
    assert service.asked("GetObject", "/events/") == service.asked("GetObject", "/index/") == []
    service.requests.clear()
    assert rows(scan) == files
    assert service.asked("GetObject", "/rows/") == []
    # A step that was written again is read; the others are not.
    [key] = [key for key in service.objects if "run-1/index/" in key and "0003_" in key]
    service.objects[key] += b" "
    service.requests.clear()
    assert rows(scan) == files
    assert [request.key for request in service.asked("GetObject", "/index/")] == [key]


def test_a_row_file_that_is_refused_costs_time_only(service, runs):
    scan = scan_of(service, runs, columns=["step", "tensor"])
    refused = error(403, "AccessDenied")

    def fault(request, serve):
        return refused(request, serve) if "/rows/" in request.key else serve()

    service.fail(fault, "GetObject", times=float("inf"))
    assert len(rows(scan)) == RUNS * STEPS
    assert len(service.asked("GetObject", "/index/")) == RUNS * STEPS
    service.heal()
    refuse(service, "jobs/run-1/rows")
    assert len(rows(scan)) == RUNS * STEPS


def test_what_cannot_match_is_not_read(service, runs):
    found = rows(scan_of(service, runs, columns=["step", "l2"], trials="run-1$", first=2, end=4))
    assert [row[0] for row in found] == [2, 3]
    # One file has the rows of all its steps.
    assert len(service.asked("GetObject", "/rows/")) == 1
    # No statistics were saved, and none are computed.
    assert service.asked("GetObject", "/events/") == service.asked("GetObject", "/index/") == []


@pytest.mark.parametrize(
    "table, columns",
    [
        ("tensors", ["tensor", "step", "max", "dtype", "shape", "time"]),
        ("scalars", ["name", "step", "value"]),
    ],
)
def test_numbers_are_one_request_a_step(service, table, columns):
    with smd.Hook(
        f"s3://{BUCKET}/jobs/run",
        include_collections=["gradients", "losses"],
        reduction_config=smd.ReductionConfig(reductions=["max"], norms=["l2"]),
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(row_files="false"),
    ) as hook:
        for step in range(STEPS):
            with hook.step(smd.modes.TRAIN):
                hook.save("gradient/w", np.full(1000, step, np.float32))
                hook.save_scalar("loss", step / 4 if step else math.inf)
    service.requests.clear()
    found = rows(scan_of(service, f"s3://{BUCKET}/jobs", table, columns=columns))
    numbers = {row[:2]: row[2:5] for row in found}
    for step in range(STEPS):
        if table == "tensors":
            assert numbers["gradient/w", step] == (step, None, None)
            assert numbers["scalar/loss", step] == (None, "float64", [1])
        else:
            assert numbers["scalar/loss", step] == (step / 4 if step else math.inf,)
    assert len(service.asked("GetObject")) == STEPS
    assert service.asked("GetObject", "/events/") == []


def test_rules_ask_for_the_index_files_of_numbers_only(service):
    rates = [2.0**step if step < 3 else math.inf for step in range(STEPS)]
    with smd.Hook(
        f"s3://{BUCKET}/jobs/run",
        include_collections=["weights", "losses"],
        reduction_config=smd.ReductionConfig(reductions=["max"], norms=["l2"]),
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(row_files="false"),
    ) as hook:
        for rate in rates:
            with hook.step(smd.modes.TRAIN):
                hook.save("layer.weight", np.full(1000, rate, np.float32))
                hook.save_scalar("loss", rate)
    service.requests.clear()
    rule_set = RuleSet("calibrated").add("FirstNonFinite")
    found = list(rule_set.evaluate(open_trial(service, f"s3://{BUCKET}/jobs/run"), wait=False))
    assert (found[0].step, found[0].tensor) == (3, "layer.weight")
    assert len(service.asked("GetObject", "/index/")) == STEPS
    assert service.asked("GetObject", "/events/") == []


def test_a_scalar_is_no_request(service):
    with smd.Hook(
        f"s3://{BUCKET}/jobs/run",
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(),
    ) as hook:
        for step in range(STEPS):
            with hook.step(smd.modes.TRAIN):
                hook.save_scalar("loss", step / 4)
    trial = open_trial(service, f"s3://{BUCKET}/jobs/run")
    loss = trial.tensor("scalar/loss")
    service.requests.clear()
    trial.prefetch(["scalar/loss"], range(STEPS))
    assert [loss.value(step) for step in range(STEPS)] == [[step / 4] for step in range(STEPS)]
    assert service.asked("GetObject") == []


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
    assert listings(service, "/index/") == 0
    assert len(service.asked("HeadObject")) == RUNS


def test_a_name_that_exists_is_no_pattern(service):
    for name in ("odd/run-[1]", "odd/run-1", "[a]b/x*/run", "[a]b/xy/run"):
        record(service, 1, f"s3://{BUCKET}/{name}")

    def found(path: str) -> list[str]:
        return [row[0] for row in rows(scan_of(service, f"s3://{BUCKET}/{path}", columns=["trial"]))]

    assert found("odd/run-[1]") == ["run-[1]"]
    assert found("odd/run-?") == ["run-1"]
    assert found("[a]b") == ["x*/run", "xy/run"]
    assert found("[a]b/x*") == ["run"]
    assert found("*/x*") == ["[a]b/x*/run"]
    assert found("[a]b/x?/*") == ["x*/run", "xy/run"]


def test_trials_in_folders_of_days_are_looked_at_together(service, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for number in range(RUNS):
        record(service, STEPS, f"s3://{BUCKET}/jobs/2026-01-0{number + 1}/run")
    service.requests.clear()
    first = rows(scan_of(service, f"s3://{BUCKET}/jobs", "trials"))
    assert [row[0] for row in first] == [f"2026-01-0{number + 1}/run" for number in range(RUNS)]
    # The root, and for each trial its day, its folders and its index files.
    assert len(service.asked("ListObjectsV2")) == 1 + 3 * RUNS
    assert len(service.asked("HeadObject")) == RUNS
    assert service.asked("GetObject") == []
    # One catalogue serves them all, also for a pattern.
    assert len(list(tmp_path.glob("libsmdebug/catalogue/*"))) == 1
    service.requests.clear()
    assert rows(scan_of(service, f"s3://{BUCKET}/jobs/2026-*", "trials")) == first
    assert listings(service, "/index/") == 0
    # The requests for trials of different days run at the same time.
    meet(service, RUNS)
    assert rows(scan_of(service, f"s3://{BUCKET}/jobs", "trials")) == first


def meet(service, trials: int) -> None:
    """Answers requests for end markers once all trials have sent theirs."""
    together = threading.Barrier(trials, timeout=30)

    def fault(request, serve):
        together.wait()
        return serve()

    service.fail(fault, "HeadObject", times=trials)


def test_a_trial_that_is_recorded_again_is_not_taken_from_the_catalogue(
    service, runs, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    columns = ["trial", "steps"]
    assert rows(scan_of(service, runs, "trials", columns=columns))[1] == ("run-1", STEPS)
    for key in [key for key in service.objects if key.startswith("jobs/run-1/")]:
        del service.objects[key]
    record(service, STEPS + 2, f"s3://{BUCKET}/jobs/run-1")
    # The end markers differ in their bytes, and so in their ETags.
    service.objects["jobs/run-1/training_job_end.ts"] += b" "
    service.requests.clear()
    again = rows(scan_of(service, runs, "trials", columns=columns))
    assert again == [("run-0", STEPS), ("run-1", STEPS + 2), ("run-2", STEPS)]
    assert listings(service, "/index/") == 1


def test_rules_wait_for_all_trials_at_a_time(service, runs):
    meet(service, RUNS)
    assert rows(scan_of(service, runs, "findings", columns=["problem"])) == []


def test_rules_read_each_file_once(service, runs):
    rows(scan_of(service, runs, "findings"))
    for folder, each in (("collections", 1), ("index", STEPS), ("events", STEPS)):
        assert len(service.asked("GetObject", f"/{folder}/")) == RUNS * each, folder


@pytest.mark.parametrize("size, reads", [(10, 1), (20_000, 1), (150_000, 9)])
def test_records_of_a_step_are_one_request_unless_far_apart(service, size, reads):
    """Types between elements: a gap of more than 256 KiB costs more than a request."""
    with smd.Hook(
        f"s3://{BUCKET}/run",
        save_all=True,
        save_config=smd.SaveConfig(save_interval=1),
        options=service.options(row_files="false"),
    ) as hook:
        with hook.step(smd.modes.TRAIN):
            for number in range(9):
                hook.save(f"layer{number}", np.arange(size, dtype=np.float32))
    service.requests.clear()
    scan = scan_of(service, f"s3://{BUCKET}/run", columns=["tensor", "dtype"])
    assert len(rows(scan)) == 9
    assert len(service.asked("GetObject", "/events/")) == reads


def refuse(service, prefix: str) -> None:
    """Refuses to list one folder."""
    refused = error(403, "AccessDenied")

    def fault(request, serve):
        is_refused = request.query["prefix"].startswith(prefix)
        return refused(request, serve) if is_refused else serve()

    service.fail(fault, "ListObjectsV2", times=float("inf"))


def test_a_trial_that_cannot_be_listed_does_not_stop_an_export(service, runs, tmp_path, caplog):
    options = service.options()
    refuse(service, "jobs/run-1/index")
    made = export(runs, tmp_path / "out", tables=["tensors"], options=options)
    assert made.files == RUNS - 1
    assert "jobs/run-1" in caplog.text and "AccessDenied" in caplog.text
    names = {path.parent.name for path in (tmp_path / "out").rglob("*.parquet")}
    assert names == {"trial=run-0", "trial=run-2"}
    # It is exported as soon as it can be.
    service.heal()
    made = export(runs, tmp_path / "out", tables=["tensors"], options=options)
    assert made.files == 1


def test_a_bucket_that_refuses_is_named(service, runs):
    service.fail(error(403, "AccessDenied"), "ListObjectsV2", times=float("inf"))
    with pytest.raises(PermissionError, match=f"s3://{BUCKET}/jobs/: .*AccessDenied"):
        scan_of(service, runs, "trials").partitions()
