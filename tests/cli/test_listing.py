"""Listings: natural order, and the trials of a folder or bucket."""

import json
import shutil
import time

import numpy as np
import pytest
from cli_program import Program
from cli_trials import EVERY_STEP, record_run

import smdebug as smd


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def record_layers(path, factor=1, workers=1):
    hooks = [
        smd.Hook(path, save_all=True, save_config=EVERY_STEP, include_workers="all", worker=f"worker_{rank}",
                 num_workers=workers)
        for rank in range(workers)
    ]  # fmt: skip
    for hook in hooks:
        with hook.step(smd.modes.TRAIN):
            for i in (10, 2, 1, "02"):
                hook.save(f"fc{i}.weight", np.full(3, factor, np.float32))
    for hook in hooks:
        hook.close()


LAYERS = ["fc1.weight", "fc02.weight", "fc2.weight", "fc10.weight"]


def test_names_are_in_natural_order(tmp_path):
    record_layers(tmp_path / "run", workers=12)
    record_layers(tmp_path / "other", factor=2)
    program = Program(tmp_path)
    assert program("ls run --names").splitlines() == LAYERS
    assert program("ls run --names --regex fc").splitlines() == LAYERS
    assert program("ls run --names --collection all").splitlines() == LAYERS
    listed = json.loads(program("ls run --json"))
    assert [each["name"] for each in listed["tensors"]] == LAYERS
    assert listed["workers"] == [f"worker_{rank}" for rank in range(12)]
    assert "12: worker_0 to worker_11" in program("ls run")
    compared = [each["tensor"] for each in program.objects("diff run other --json", 10) if "tensor" in each]
    assert compared == LAYERS


def test_the_names_of_collections(smdebug):
    names = smdebug("ls run --collections").splitlines()
    assert {"gradients", "losses", "weights"} <= set(names) and names == sorted(names)


@pytest.fixture
def farm(tmp_path):
    """A folder of trials in each state."""
    record_run(tmp_path / "runs/lr=10")
    record_run(tmp_path / "runs/lr=2")
    record_layers(tmp_path / "runs/sweep/a", workers=2)
    (tmp_path / "runs/nothing").mkdir()
    return tmp_path


def test_the_trials_of_a_folder(farm):
    program = Program(farm)
    assert program("ls runs --names").splitlines() == ["lr=2", "lr=10", "sweep/a"]
    lines = program("ls runs").splitlines()
    assert lines[:2] == ["runs", "  3 trials: 3 finished"]
    assert lines[3].split() == ["TRIAL", "STATE", "STEPS", "LAST", "STEP", "WORKERS", "WRITTEN"]
    assert lines[4].split()[:5] == ["lr=2", "finished", "30", "29", "1"] and lines[4].endswith("s ago")
    assert lines[6].split()[:5] == ["sweep/a", "finished", "1", "0", "2"]
    assert program("ls runs --names --regex ^lr").splitlines() == ["lr=2", "lr=10"]
    assert program("ls runs --names --set wait_seconds=1 --set s3_region=eu-west-1").count("\n") == 3
    listed = json.loads(program("ls runs --json"))
    assert listed["path"] == "runs"
    trial = listed["trials"][0]
    assert (trial["name"], trial["state"], trial["steps"], trial["problem"]) == ("lr=2", "finished", 30, None)
    assert trial["last_time"].startswith("20") and trial["last_time"].endswith("Z")


def test_a_trial_that_failed_says_why(farm):
    with pytest.raises(ZeroDivisionError), smd.Hook(farm / "runs/bad"):
        1 / 0
    lines = Program(farm)("ls runs").splitlines()
    assert lines[1] == "  4 trials: 1 failed, 3 finished"
    assert lines[4].split()[:2] == ["bad", "failed"]
    assert lines[4].endswith("ZeroDivisionError: division by zero")
    assert "  job      failed: ZeroDivisionError: division by zero\n" in Program(farm)("ls runs/bad")


def test_other_folders_of_the_names_of_a_trials_parts(farm):
    """Python's packages have some, and people keep runs in a folder "events"."""
    (farm / "runs/venv/pip/index/sources").mkdir(parents=True)
    (farm / "runs/empty/collections").mkdir(parents=True)
    record_layers(farm / "runs/events/b")
    smd.Hook(farm / "runs/begun").close()
    shutil.rmtree(farm / "runs/lr=2/collections")
    shutil.rmtree(farm / "runs/lr=2/events")
    program = Program(farm)
    assert program("ls . --names").splitlines() == [
        "runs/begun", "runs/events/b", "runs/lr=2", "runs/lr=10", "runs/sweep/a",
    ]  # fmt: skip
    (farm / "alone/index").mkdir(parents=True)
    assert "1 trial: 1 empty" in program("ls alone")


def test_trials_that_run_and_trials_that_cannot_be_read(farm):
    hook = smd.Hook(farm / "runs/live", save_config=EVERY_STEP)
    with hook.step():
        hook.save_scalar("x", 1.0)
    hook.flush()
    for path in (farm / "runs/lr=2/collections").rglob("*.json"):
        path.write_text("{", encoding="utf-8")
    listed = {each["name"]: each for each in json.loads(Program(farm)("ls runs --json"))["trials"]}
    assert listed["live"]["state"] == "running"
    assert listed["lr=2"]["state"] in ("unreadable", "finished")
    hook.close()


def test_a_folder_without_trials(farm):
    program = Program(farm)
    assert "there is no trial in this folder" in program.complaint("ls runs/nothing", 3)
    assert program.complaint("ls runs --collection x", 2) == "runs: this is not a trial, so it has no collections"
    assert program("ls runs --names --regex nope") == ""
    assert "0 trials" in program("ls runs --regex nope")
    assert "(" in program.complaint("ls runs --regex (", 2)


def test_hostile_names_of_trials(tmp_path):
    record_layers(tmp_path / "runs/\x1b[31mred")
    assert Program(tmp_path)("ls runs --names") == "\\x1b[31mred\n"
    assert "\x1b" not in Program(tmp_path)("ls runs")


def test_a_thousand_trials(tmp_path):
    record_layers(tmp_path / "first")
    for i in range(1000):
        shutil.copytree(tmp_path / "first", tmp_path / f"runs/seed={i}")
    program = Program(tmp_path)
    begin = time.monotonic()
    names = program("ls runs --names").splitlines()
    assert names == [f"seed={i}" for i in range(1000)]
    assert time.monotonic() - begin < 20
    begin = time.monotonic()
    assert "1000 trials: 1000 finished" in program("ls runs")
    assert time.monotonic() - begin < 10, "finished trials are known from the first listing"


def test_the_trials_of_a_bucket(server, tmp_path):
    for name in ("runs/lr=10", "runs/lr=2"):
        record_layers(f"s3://my-bucket/{name}")
    program = Program(tmp_path)
    assert program("ls s3://my-bucket/runs --names").splitlines() == ["lr=2", "lr=10"]
    listed = json.loads(program("ls s3://my-bucket --json"))["trials"]
    assert [(each["name"], each["state"]) for each in listed] == [("runs/lr=2", "finished"), ("runs/lr=10", "finished")]
    program.complaint("ls s3://my-bucket/none", 3)
