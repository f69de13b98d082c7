"""Tests that the original's own readers read a profile that this library recorded."""

import json

import pytest


@pytest.fixture(scope="module")
def profile(tmp_path_factory, ours, original):
    """Returns the folder, the events that were recorded, and what the original reads."""
    folder = tmp_path_factory.mktemp("profile")
    recorded = ours("write_profile.py", folder)
    return folder, recorded, original("dump_profile.py", folder)


def test_the_original_reads_every_event(profile):
    _, recorded, read = profile
    found = [
        [each["name"], each["phase"], each["begin"], each["duration"], each["args"]["step_num"]]
        for each in read["events"]
    ]
    assert sorted(found) == sorted(recorded)


def test_nodes_and_arguments_are_read(profile):
    _, _, read = profile
    assert {each["node"] for each in read["events"]} == {"algo-1-314"}
    assert all(isinstance(each["args"]["pid"], int) for each in read["events"])
    with_more = [each["args"] for each in read["events"] if "device" in each["args"]]
    assert with_more and all(args["pin_memory"] is True for args in with_more)


def test_the_original_reads_every_sample(profile):
    folder, _, read = profile
    lines = [
        json.loads(line)
        for path in (folder / "system").rglob("*.json")
        for line in path.read_text().splitlines()
    ]
    keys = ("Type", "Name", "Dimension", "Value", "NodeId", "Timestamp")
    assert sorted(read["metrics"]) == sorted([line[key] for key in keys] for line in lines)
    assert {"cpu", "memory", "i/o", "network"} <= {line["Type"] for line in lines}
    assert all(0 <= line["Value"] <= 100 for line in lines if line["Type"] in ("cpu", "memory"))


def test_folders_are_those_of_the_original(profile):
    folder, recorded, _ = profile
    timelines = sorted(path.relative_to(folder) for path in folder.glob("framework/pevents/*/*"))
    assert [path.parent.name for path in timelines] == ["2024013123", "2024020100", "2024020100"]
    ends = [recorded[i][2] + recorded[i][3] for i in (150, 250, 399)]
    assert [path.name for path in timelines] == [
        f"{end}_314-algo-1_pythontimeline.json" for end in ends
    ]
    for name in ("framework", "system"):
        assert (folder / name / "training_job_end.ts").exists()
    assert not list(folder.rglob("*.tmp"))
