"""Each rule over a profile with what it looks for, and over one that looks alike and is healthy."""

import json
import random

import pytest
from profiles import BEGIN, Timeline, gpu, gpu_memory, noisy, write_samples
from smdebug.profiler.analysis.rules import evaluate_profile

pytestmark = pytest.mark.timeout(60)

CORE = ("cpu", "cpu0", "CPUUtilization")
WAITS = ("cpu", "cpu0", "I/OWaitPercentage")
FORWARD, BACKWARD, OPTIMIZER = 10.0, 20.0, 3.0  # milliseconds


def found(folder, **options):
    return {finding.rule: finding for finding in evaluate_profile(folder, **options).findings}


def steps(folder, count=120, kernels=None, exchange=None, **parts):
    """Writes steps; `kernels` and `exchange` are of a device: begin and length in a step."""
    timeline, chance = Timeline(folder), random.Random(1)
    for number in range(count):
        begin = timeline.now
        timeline.step(number, backward=BACKWARD * chance.gauss(1, 0.02), **parts)
        if kernels is not None:
            timeline.add("gpu_functions", begin + kernels[0], kernels[1], number)
        if exchange is not None:
            timeline.add("gpu_functions", begin + exchange[0], exchange[1], number)
            timeline.events[-1]["name"] = "ncclDevKernel_AllReduce"
    timeline.write()


# ---- the machine -------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["aws", "calibrated"])
@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("CPUBottleneck", {CORE: lambda part: 99.0, gpu(): lambda part: 2.0}),
        ("IOBottleneck", {WAITS: lambda part: 80.0, gpu(): lambda part: 2.0}),
        ("LowGPUUtilization", {gpu(): noisy(lambda part: 30)}),
        (
            "BatchSize",
            {
                CORE: noisy(lambda part: 20),
                gpu(): noisy(lambda part: 30),
                gpu_memory(): noisy(lambda part: 15),
            },
        ),
    ],
)
def test_a_machine_that_waits(tmp_path, profile, rule, values):
    write_samples(tmp_path, values, 1500)
    assert rule in found(tmp_path, profile=profile)


@pytest.mark.parametrize("profile", ["aws", "calibrated"])
def test_a_machine_that_works(tmp_path, profile):
    values = {CORE: noisy(lambda part: 95), WAITS: noisy(lambda part: 3)}
    values.update({gpu(): noisy(lambda part: 92), gpu_memory(): noisy(lambda part: 80)})
    write_samples(tmp_path, values, 1500)
    steps(tmp_path)
    assert found(tmp_path, profile=profile) == {}


@pytest.mark.parametrize("profile", ["aws", "calibrated"])
def test_a_first_step_that_is_late(tmp_path, profile):
    # The threshold is in minutes.
    for late, name in ((25, "late"), (15, "early")):
        folder = tmp_path / name
        write_samples(folder, {CORE: noisy(lambda part: 50)}, 1800, interval=5)
        timeline = Timeline(folder)
        timeline.now = late * 60_000.0
        for number in range(50):
            timeline.step(number)
        timeline.write()
        assert ("MaxInitializationTime" in found(folder, profile=profile)) is (name == "late")


# ---- a step --------------------------------------------------------------------------------


def test_a_device_that_waits_for_the_host(tmp_path):
    steps(tmp_path / "idle", kernels=(12.0, 8.0))
    finding = found(tmp_path / "idle")["StepTimeSplit"]
    assert (finding.check, finding.tensor) == ("device", "device")
    assert finding.value == pytest.approx(8 / 34, abs=0.02)
    steps(tmp_path / "busy", kernels=(2.0, 30.0))
    assert found(tmp_path / "busy") == {}


def test_the_parts_of_a_step(tmp_path):
    steps(tmp_path, wait=6.0, copies=3.0, AllReduce=2.0, rest=4.0, kernels=(10.0, 24.0))
    rows = {row.name: row for row in evaluate_profile(tmp_path).phases}
    whole = 6 + FORWARD + BACKWARD + OPTIMIZER + 3 + 2 + 4
    wanted = {"data wait": 6, "host": 3, "communication": 2, "rest of the step": 4}
    for name, length in {**wanted, "forward": FORWARD, "optimizer": OPTIMIZER}.items():
        assert rows[name].share == pytest.approx(length / whole, abs=0.01), name
    [device] = [row for row in rows.values() if row.kind == "overlap" and row.name.startswith("device")]
    assert device.share == pytest.approx(24 / whole, abs=0.01)


def test_communication_that_is_overlapped_is_no_fault(tmp_path):
    # By the device, beside its other kernels; and by the training, which waits for it.
    steps(tmp_path / "beside", kernels=(2.0, 31.0), exchange=(13.0, 17.0))
    assert found(tmp_path / "beside") == {}
    shares = {row.name: row.share for row in evaluate_profile(tmp_path / "beside").phases}
    assert shares["exchange"] == pytest.approx(17 / 34, abs=0.02)
    assert shares.get("exposed exchange", 0) == pytest.approx(0, abs=0.02)
    steps(tmp_path / "after", AllReduce=17.0)
    finding = found(tmp_path / "after")["CommunicationOverlap"]
    assert finding.value == pytest.approx(17 / 51, abs=0.02)


@pytest.mark.parametrize(
    ("rule", "parts", "share"),
    [
        ("DataLoaderStarves", {"wait": 20.0}, 20 / 53),
        ("StepTimeSplit", {"copies": 25.0}, 25 / 59),
        ("CommunicationOverlap", {"AllReduce": 25.0}, 25 / 59),
    ],
)
def test_a_cause_is_named_with_its_share_of_a_step(tmp_path, rule, parts, share):
    steps(tmp_path, **parts)
    assert found(tmp_path)[rule].value == pytest.approx(share, abs=0.02)


# ---- bad input ---------------------------------------------------------------------------------


def test_a_clock_that_jumps_is_no_fault(tmp_path):
    """The machine's clock goes back an hour, then forth: samples and a second timeline."""
    values = {gpu(): noisy(lambda part: 92), gpu_memory(): noisy(lambda part: 60)}
    write_samples(tmp_path, values, 600)
    [path] = (tmp_path / "system/incremental").rglob(f"{BEGIN + 300}.*.json")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[10:40]:
        line["Timestamp"] -= 3600
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    steps(tmp_path)
    back = Timeline(tmp_path, "9-algo-1")
    back.now = 100_000.0
    for number in range(30):
        back.step(number)
    back.now = 50_000.0
    for number in range(30, 60):
        back.step(number)
    back.write()
    evaluation = evaluate_profile(tmp_path)
    assert [each.rule for each in evaluation.findings] == []
    assert all(0 <= row.share <= 1 and row.p50 >= 0 for row in evaluation.phases)
