"""Tests that every kind of damage is found, and nothing else."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from cli_program import Program


@pytest.fixture
def damaged(trials, tmp_path):
    """Returns the program, in a folder with a copy of a trial to damage."""
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


def test_a_tensor_of_which_every_step_is_damaged(damaged):
    for path in (damaged.folder / "run/events").rglob("*.tfevents"):
        path.write_bytes(path.read_bytes()[:50])
    done = damaged.run("show run fc1.weight")
    assert done.returncode == 4 and "smdebug verify run" in done.stderr
    assert "no saved step" not in done.stderr
    assert damaged.run("show run fc1.weight --json").returncode == 4


def test_a_cut_event_file(damaged):
    path = event_file(damaged, 9)
    path.write_bytes(path.read_bytes()[:100])
    assert {fault["step"] for fault in faults(damaged)} == {9}


def test_a_missing_event_file(damaged):
    event_file(damaged, 4).unlink()
    found = faults(damaged)
    assert {fault["code"] for fault in found} == {"VALUE_UNAVAILABLE"}
    assert {fault["step"] for fault in found} == {4}


def test_one_line_for_each_damaged_file(damaged):
    event_file(damaged, 7).write_bytes(b"\0" * 40)
    event_file(damaged, 9).unlink()
    count = len(faults(damaged))
    lines = damaged("verify run", 10).splitlines()
    assert len(lines) == 3 and all(line.startswith("fault  ") for line in lines[:2])
    others = sum(int(re.search(r"; (\d+) more faults? in this file, see --all$", line)[1]) for line in lines[:2])
    assert others + 2 == count and lines[2].endswith(f", {count} faults")
    every = damaged("verify run --all", 10).splitlines()
    assert len(every) == count + 1 and not any("--all" in line for line in every)


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
    data[removed["start_idx"] + removed["length"] - 1] ^= 1  # in the footer
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


def test_names_that_no_query_can_use(damaged):
    for step, name in ((3, "a\0b"), (4, "")):
        content = json.loads(index_file(damaged, step).read_text())
        content["tensor_payload"][0]["tensorname"] = name
        index_file(damaged, step).write_text(json.dumps(content))
    content = json.loads(index_file(damaged, 5).read_text())
    content["shape_payload"] = [{"tensorname": "w", "originalname": "w\0", "shape": [1]}]
    index_file(damaged, 5).write_text(json.dumps(content))
    other = damaged.folder / os.fsdecode(b"run/index/000000000/000000000009_\xff.json")
    other.write_bytes(index_file(damaged, 9).read_bytes())
    event_file(damaged, 7).write_bytes(b"")
    found = faults(damaged)
    assert {fault["code"] for fault in found} == {"CORRUPT_DATA"}
    indexes = {Path(fault["path"]).name[:12] for fault in found if fault["step"] is None}
    assert indexes >= {f"{step:012d}" for step in (3, 4, 5)}
    assert {fault["step"] for fault in found} >= {7}
    assert "27: 23 TRAIN" in damaged.run("ls run").stdout


def test_every_damaged_index_file(damaged):
    for step in range(20):
        index_file(damaged, step).write_text("{")
    assert len(faults(damaged)) == 20


def test_folders_and_links_in_place_of_files(damaged):
    event_file(damaged, 4).unlink()
    event_file(damaged, 4).mkdir()
    index_file(damaged, 5).unlink()
    index_file(damaged, 5).symlink_to(index_file(damaged, 6))
    (damaged.folder / "run/events/loop").symlink_to(damaged.folder / "run")
    (damaged.folder / "run/index/loop").symlink_to(damaged.folder / "run/index")
    index_file(damaged, 7).unlink()
    index_file(damaged, 7).mkdir()
    told = {(fault["code"], fault["step"]) for fault in faults(damaged)}
    assert told >= {("CORRUPT_DATA", None), ("CORRUPT_DATA", 4)}


def test_event_files_are_read_without_collections(damaged):
    shutil.rmtree(damaged.folder / "run/collections")
    event_file(damaged, 9).write_bytes(b"x" * 100)
    codes = sorted(fault["code"] for fault in faults(damaged))
    assert codes == ["CORRUPT_DATA", "MISSING_COLLECTIONS"]


@pytest.mark.parametrize("kind", ["workers", "reversed", "damaged"])
def test_many_index_files_cost_no_more_each(damaged, kind):
    count = 20_000
    text = index_file(damaged, 0).read_text()
    content = json.loads(text)
    content["tensor_payload"] = [
        each for each in content["tensor_payload"] if each["tensorname"] == "loss"
    ]
    shutil.rmtree(damaged.folder / "run/index")
    for bucket in range(count // 1000):
        (damaged.folder / f"run/index/{bucket:09d}").mkdir(parents=True)
    for i in range(count):
        step, worker = (0, i) if kind == "workers" else (i, 0)
        content["meta"]["mode_step"] = count - i if kind == "reversed" else step
        path = damaged.folder / f"run/index/{step // 1000:09d}/{step:012d}_worker_{worker}.json"
        path.write_text("{" if kind == "damaged" else json.dumps(content))
    began = os.times().children_user
    done = damaged.run("verify run")
    took = os.times().children_user - began
    assert done.returncode == (10 if kind == "damaged" else 0), done.stdout[-500:]
    assert f"{count} {'faults' if kind == 'damaged' else 'records'}" in done.stdout.splitlines()[-1]
    assert took < 10  # seconds; a quadratic search takes that for each thousand files


# ---- other commands ----

DAMAGED = "smdebug: warning: skipped "


def damage_a_record(program, step=7, tensor="fc1.weight"):
    content = json.loads(index_file(program, step).read_text())
    [place] = [each for each in content["tensor_payload"] if each["tensorname"] == tensor]
    path = event_file(program, step)
    data = bytearray(path.read_bytes())
    data[place["start_idx"] + place["length"] // 2] ^= 1
    path.write_bytes(data)
    return path


def skips_damage(program, command, code=4, names="smdebug verify run"):
    """Returns the output of a command that reports damage, and how to see all of it."""
    done = program.run(command)
    assert done.returncode == code, done.stdout + done.stderr
    *told, last = done.stderr.splitlines()
    assert told and all(line.startswith("smdebug: warning: ") for line in told)
    assert last.startswith(DAMAGED) and names in last
    return done.stdout


def test_ls_skips_damage_without_an_index_file(damaged):
    index_file(damaged, 3).write_text('{"meta": ')
    assert "29: 24 TRAIN" in skips_damage(damaged, "ls run")


def test_ls_skips_damage_without_a_value(damaged):
    damage_a_record(damaged, step=29)
    assert "gradient/fc1.weight" in skips_damage(damaged, "ls run")


def test_show_skips_damage(damaged):
    path = damage_a_record(damaged)
    done = skips_damage(damaged, "show run fc1.weight")
    assert "29 steps" in done
    assert len(skips_damage(damaged, "show run fc1.weight --json").splitlines()) == 29
    assert path.name in damaged.run("show run fc1.weight").stderr
    damage_a_record(damaged, step=0)
    assert "28 steps" in skips_damage(damaged, "show run fc1.weight")


def test_diff_skips_damage(damaged, trials):
    shutil.copytree(trials / "run", damaged.folder / "same")
    damage_a_record(damaged)
    assert "4 of 4 tensors" in skips_damage(damaged, "diff run same")
    assert "4 of 4 tensors" in skips_damage(damaged, "diff same run")
    shutil.copytree(trials / "other_run", damaged.folder / "other")
    assert "step 12" in skips_damage(damaged, "diff run other", 10)


def test_tensorboard_skips_damage(damaged):
    damage_a_record(damaged)
    event_file(damaged, 9).unlink()
    assert "wrote 30 steps" in skips_damage(damaged, "tensorboard run logs")
    assert list(damaged.folder.glob("logs/*/events.*"))


def test_rules_skip_damage(damaged):
    damage_a_record(damaged, tensor="gradient/fc1.weight")
    found = skips_damage(damaged, "rules run --all --profile aws --rule VanishingGradient,threshold=1e-8", 10)
    assert "step 28" in found and "30 steps" in found
    assert "passed" in skips_damage(damaged, "rules run --rule ExplodingTensor")


def test_report_skips_damage(damaged):
    path = damage_a_record(damaged)
    skips_damage(damaged, "report run -o page.html --rule ExplodingTensor")
    assert path.name in (damaged.folder / "page.html").read_text()


def test_expressions_that_exceed_the_limit_together(damaged):
    [path] = damaged.folder.glob("run/collections/*/*.json")
    content = json.loads(path.read_text())
    content["collections"]["hostile"] = {
        "name": "hostile",
        "include_regex": [f"(?:a|aa){{{9 + i % 5}}}{i}$" for i in range(900)],
        "tensor_names": [],
    }
    path.write_text(json.dumps(content))
    index = index_file(damaged, 0)
    content = json.loads(index.read_text())
    [first, *_] = content["tensor_payload"]
    content["tensor_payload"] = [
        {**first, "tensorname": "a" * 40 + f"cb{i}x"} for i in range(300)
    ]
    index.write_text(json.dumps(content))
    assert "a" * 40 + "cb7x" in skips_damage(damaged, "ls run")  # within the limit of each run


def test_other_commands_fail_at_a_damaged_value(damaged):
    path = event_file(damaged, 7)
    path.write_bytes(path.read_bytes()[:100])
    assert str(path) in damaged.complaint("show run fc1.weight --step 7", 4)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("verify run --set bogus=1", "a trial has no option 'bogus'"),
        ("verify run --set end_delay_seconds=x", "end_delay_seconds is 'x'"),
    ],
)
def test_a_mistake_in_the_command_is_no_damage(damaged, command, said):
    assert said in damaged.complaint(command, 2)


def test_event_files_below_the_home_folder_are_read(damaged, monkeypatch):
    monkeypatch.setenv("HOME", str(damaged.folder))
    assert damaged("verify '~/run'").split(":")[1] == damaged("verify run").split(":")[1]
    event_file(damaged, 9).write_bytes(b"")
    assert "fault" in damaged("verify '~/run'", 10)
