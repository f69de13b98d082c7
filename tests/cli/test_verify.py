"""Damage of each kind is found, and only that."""

import json
import shutil

import pytest
from cli_program import Program


@pytest.fixture
def damaged(trials, tmp_path):
    """A copy of a trial, to be damaged."""
    shutil.copytree(trials / "run", tmp_path / "run")
    return Program(tmp_path)


def event_file(program, step):
    return program.folder / f"run/events/{step:012d}/{step:012d}_worker_0.tfevents"


def index_file(program, step):
    return program.folder / f"run/index/000000000/{step:012d}_worker_0.json"


def faults(program):
    *found, last = program.objects("verify run --json", 10)
    assert last["summary"]["faults"] == len(found)
    return found


def test_a_changed_byte(damaged):
    path = event_file(damaged, 7)
    content = bytearray(path.read_bytes())
    content[80] ^= 1
    path.write_bytes(content)
    [fault] = faults(damaged)
    assert (fault["code"], fault["tensor"], fault["step"]) == ("CORRUPT_DATA", "fc1.weight", 7)
    assert str(path) == fault["path"]
    assert "('fc1.weight' at step 7 of worker_0)" in damaged("verify run", 10)


def test_a_cut_event_file(damaged):
    path = event_file(damaged, 9)
    path.write_bytes(path.read_bytes()[:100])
    assert {fault["step"] for fault in faults(damaged)} == {9}


def test_a_missing_event_file(damaged):
    event_file(damaged, 4).unlink()
    found = faults(damaged)
    assert {fault["code"] for fault in found} == {"VALUE_UNAVAILABLE"}
    assert {fault["step"] for fault in found} == {4}


def test_a_damaged_index_file(damaged):
    index_file(damaged, 3).write_text('{"meta": ')
    [fault] = faults(damaged)
    assert fault["path"].endswith("000000000003_worker_0.json") and fault["step"] is None


def test_a_damaged_record_that_no_index_names(damaged):
    index = index_file(damaged, 8)
    content = json.loads(index.read_text())
    removed = content["tensor_payload"].pop(0)
    index.write_text(json.dumps(content))
    path = event_file(damaged, 8)
    data = bytearray(path.read_bytes())
    data[removed["start_idx"] + removed["length"] - 1] ^= 1  # of the footer
    path.write_bytes(data)
    [fault] = faults(damaged)
    assert (fault["path"], fault["tensor"]) == (f"events/{8:012d}/{8:012d}_worker_0.tfevents", None)


def test_a_damaged_collections_file(damaged):
    [path] = damaged.folder.glob("run/collections/*/*.json")
    path.write_text("{")
    [fault] = faults(damaged)
    assert fault["path"] == str(path)


def test_an_event_file_without_index_is_a_note(damaged):
    index_file(damaged, 29).unlink()
    told = damaged("verify run")
    assert told.startswith(f"note   events/{29:012d}/{29:012d}_worker_0.tfevents: has no index file")
    assert "no faults" in told


def test_other_commands_tell_of_damage_and_go_on(damaged):
    index_file(damaged, 3).write_text('{"meta": ')
    done = damaged.run("ls run")
    assert done.returncode == 0 and "29: 24 TRAIN" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("smdebug: warning: ") and "000000000003_worker_0.json" in line


def test_other_commands_fail_at_a_damaged_value(damaged):
    path = event_file(damaged, 7)
    path.write_bytes(path.read_bytes()[:100])
    assert str(path) in damaged.complaint("show run fc1.weight --step 7", 4)
