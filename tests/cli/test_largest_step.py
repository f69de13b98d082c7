"""Tests that the largest step is read like any other, and that a larger step is damage."""

import json
import shutil

import numpy as np
import pytest
from cli_program import Program
from cli_trials import EVERY_STEP

import smdebug as smd
from smdebug.core.writer import FileWriter

LARGEST = 2**63 - 2
BEYOND = LARGEST + 1

COMMANDS = [
    "ls run",
    "ls run --json",
    "show run loss",
    f"show run loss --step {LARGEST}",
    "show run loss --mode train",
    "rules run --rule LossNotDecreasing --all --json",
    "rules run --rule UpdateNotApplied --profile calibrated",
    "rules run --follow",
    "report run -o report.html",
    "diff run copy",
    "diff run copy --mode train",
    "verify run",
    "tensorboard run events",
]


def record(path):
    with smd.Hook(str(path), save_all=True, save_config=EVERY_STEP) as hook:
        for step in range(3):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", 1.0 / (1 + step))
                hook.save("weight", np.full(4, step, np.float32))
    with FileWriter(path, "worker_0", step=LARGEST) as writer:
        for name, value in [("loss", 0.125), ("weight", np.full(4, 7, np.float32))]:
            writer.write_tensor(value, name, mode=smd.modes.TRAIN, mode_step=LARGEST)


def index_file(path, step):
    return path / f"index/{step // 1000:09d}/{step:012d}_worker_0.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("largest")
    record(folder / "run")
    return folder


@pytest.fixture
def program(recorded, tmp_path):
    """Returns the program, in a folder with two trials that reach the largest step."""
    for name in ("run", "copy"):
        shutil.copytree(recorded / "run", tmp_path / name)
    return Program(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_the_largest_step(program, command):
    done = program.run(command)
    assert done.returncode in (0, 10), done.stdout + done.stderr
    assert done.stderr == ""


def test_the_largest_step_is_shown(program):
    [shown] = program.objects(f"show run loss --step {LARGEST} --json")
    assert (shown["step"], shown["mode_step"], shown["values"]) == (LARGEST, LARGEST, [0.125])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_exits_if_an_index_is_beyond_the_largest_step(program, command):
    """The tests of damage check the exit codes."""
    beyond = index_file(program.folder / "run", BEYOND)
    shutil.copy(index_file(program.folder / "run", LARGEST), beyond)
    program.run(command)  # must not time out


def test_verify_reports_an_index_beyond_the_largest_step(program):
    beyond = index_file(program.folder / "run", BEYOND)
    shutil.copy(index_file(program.folder / "run", LARGEST), beyond)
    fault, last = program.objects("verify run --json", 10)
    assert (fault["code"], fault["path"]) == ("CORRUPT_DATA", str(beyond))
    assert last["summary"]["faults"] == 1


def test_a_mode_step_beyond_the_largest_is_damage(program):
    path = index_file(program.folder / "run", LARGEST)
    index = json.loads(path.read_text())
    index["meta"]["mode_step"] = BEYOND
    path.write_text(json.dumps(index))
    fault, _ = program.objects("verify run --json", 10)
    assert (fault["code"], fault["path"]) == ("CORRUPT_DATA", str(path))
