"""Trials with tensors in parts (ADR 0023): every command treats them as one tensor.

Each test compares a trial with an equal one whose tensors are one record each.  The parts are
small here; what the library writes for tensors of 2 GiB is tested in tests/large and tests/unit.
"""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import List

import numpy as np
import pytest
from cli_program import Program
from report_page import Page

from smdebug import Hook, SaveConfig, create_trial, modes

STEPS, ROWS = 12, 6
EVERY_STEP = SaveConfig(save_interval=1)


def weight(step: int) -> np.ndarray:
    values = np.random.default_rng(step).normal(size=(ROWS, 4)).astype("float32")
    values[-1, -1] = 10 + step  # the extreme is in the last part
    return values


def record(folder: Path, in_parts: bool) -> None:
    with Hook(str(folder), include_collections=["weights"], save_config=EVERY_STEP) as hook:
        for step in range(STEPS):
            with hook.step(modes.TRAIN):
                if in_parts:
                    for part in range(3):
                        rows = slice(2 * part, 2 * part + 2)
                        hook.save(f"fc.weight/part_{part}", weight(step)[rows])
                else:
                    hook.save("fc.weight", weight(step))
                hook.save_scalar("loss", 1.0 / (step + 1))


def join(folder: Path) -> None:
    """Makes the index files name the parts' tensor, as those of a large tensor do."""
    for path in folder.glob("index/*/*.json"):
        index = json.loads(path.read_text())
        for entry in index["tensor_payload"]:
            whole, _, part = entry["tensorname"].partition("/part_")
            if part:
                entry.update(part_of=whole, part=int(part), whole_shape=[ROWS, 4])
        path.write_text(json.dumps(index))
    for path in folder.glob("collections/*/*.json"):
        names = ", ".join(f'"fc.weight/part_{part}"' for part in range(3))
        assert names in path.read_text()
        path.write_text(path.read_text().replace(names, '"fc.weight"'))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    record(folder / "parts/run", in_parts=True)
    join(folder / "parts/run")
    record(folder / "whole/run", in_parts=False)
    return folder


@pytest.fixture
def both(recorded, tmp_path):
    """Returns the program in the folder of the trial with parts, and in that of the whole one."""
    shutil.copytree(recorded, tmp_path / "trials")
    return Program(tmp_path / "trials/parts"), Program(tmp_path / "trials/whole")


def test_the_trials_are_equal(both):
    parts, whole = (create_trial(str(each.folder / "run")) for each in both)
    assert parts.tensor_names() == whole.tensor_names() == ["fc.weight", "scalar/loss"]
    for step in range(STEPS):
        np.testing.assert_array_equal(parts.tensor("fc.weight").value(step), weight(step))


@pytest.mark.parametrize(
    "command",
    [
        "ls run",
        "ls run --json",
        "show run fc.weight",
        "show run fc.weight --json --reduction min,max,median,l2,abs_max",
        "show run fc.weight --step 7 --all",
        "show run fc.weight --step 7 --json",
        "rules run --all --json",
    ],
)
def test_a_command_prints_the_same(both, command):
    parts, whole = (each.run(command) for each in both)
    assert parts.returncode in (0, 10) and parts.stderr == ""
    assert parts.stdout == whole.stdout and "part_" not in parts.stdout


def test_no_difference_is_found(both):
    parts, whole = both
    assert "differ" not in parts(f"diff run {whole.folder / 'run'}")


def test_the_report_is_the_same(both):
    pages = []
    for each in both:
        each("report run -o page.html", each.run("report run -o page.html").returncode)
        pages.append(Page((each.folder / "page.html").read_text(encoding="utf-8")))
    parts, whole = pages
    assert parts.data == whole.data and "fc.weight" in parts.text
    assert "part_" not in parts.text


def events(content: bytes) -> List[bytes]:
    """Returns the records of an event file, without the time at which each was recorded."""
    found = []
    while content:
        [length] = struct.unpack_from("<Q", content)
        assert content[12] == 0x09  # the field of the time
        found.append(content[12 + 9 : 12 + length])
        content = content[12 + length + 4 :]
    return found


def test_the_files_of_tensorboard_are_the_same(both):
    contents = []
    for each in both:
        each("tensorboard run logs")
        [path] = (each.folder / "logs").rglob("events.out.tfevents.*")
        contents.append(events(path.read_bytes()))
    assert contents[0] == contents[1] and len(contents[0]) > STEPS
    assert b"fc.weight" in b"".join(contents[0])


def test_every_part_is_verified(both):
    program, _ = both
    assert "no faults" in program("verify run")
    path = program.folder / "run/events/000000000007/000000000007_worker_0.tfevents"
    original = path.read_bytes()
    entries = json.loads(
        (program.folder / "run/index/000000000/000000000007_worker_0.json").read_text()
    )["tensor_payload"]
    for entry in [each for each in entries if "part" in each]:
        content = bytearray(original)
        content[entry["start_idx"] + entry["length"] - 10] ^= 1  # in the values
        path.write_bytes(content)
        *faults, last = program.objects("verify run --json", 10)
        assert last["summary"]["faults"] == len(faults) == 1
        assert (faults[0]["code"], faults[0]["step"]) == ("CORRUPT_DATA", 7)
        assert faults[0]["tensor"] == "fc.weight"
        assert program.run("show run fc.weight --step 7").returncode == 4
    path.write_bytes(original[: entries[1]["start_idx"] + 20])
    faults = program.objects("verify run --json", 10)[:-1]
    assert {fault["step"] for fault in faults} == {7}


@pytest.mark.parametrize("change", [{"part": 5}, {"whole_shape": [9, 4]}, {"whole_shape": [6, 5]}])
def test_parts_that_do_not_fit_are_faults(both, change):
    program, _ = both
    path = program.folder / "run/index/000000000/000000000003_worker_0.json"
    index = json.loads(path.read_text())
    index["tensor_payload"][1].update(change)
    path.write_text(json.dumps(index))
    *faults, _ = program.objects("verify run --json", 10)
    assert {fault["code"] for fault in faults} == {"CORRUPT_DATA"}
    assert str(path) in {fault["path"] for fault in faults}
