"""Rules over profiles: the original's, and those that find planted faults and leave healthy jobs alone."""

import json
import random
import subprocess
import sys

import pytest
from chrome_trace import checked
from profiles import Timeline, gpu, gpu_memory, noisy, write_samples
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.analysis.rules import evaluate_profile, profile_rules

pytestmark = pytest.mark.timeout(60)

LONG = {"wait": 1.0, "forward": 10.0, "backward": 20.0, "optimizer": 3.0}  # milliseconds of a step


def found(folder, **options):
    return {finding.rule: finding for finding in evaluate_profile(folder, **options).findings}


def steps(folder, count=200, node="1-algo-1", seed=0, **planted):
    """Writes steps whose parts vary by 3 %; `planted` maps a part to a function of the step."""
    chance = random.Random(seed)
    timeline = Timeline(folder, node)
    for number in range(count):
        parts = {name: value * chance.gauss(1, 0.03) for name, value in LONG.items()}
        timeline.step(number, **{**parts, **{name: value(number) for name, value in planted.items()}})
    timeline.write()


def test_a_healthy_job_has_no_findings(tmp_path):
    steps(tmp_path)
    busy = noisy(lambda part: 92, 3)
    values = {gpu("gpu0"): busy, gpu("gpu1"): busy, gpu_memory(): noisy(lambda part: 80)}
    values["memory", "MemoryUsedPercent", ""] = noisy(lambda part: 40)
    write_samples(tmp_path, values, 300)
    evaluation = evaluate_profile(tmp_path)
    assert evaluation.findings == []
    assert {result.rule for result in evaluation.results} == {rule.name for rule in profile_rules()}


@pytest.mark.parametrize(
    ("rule", "culprit", "planted"),
    [
        ("DataLoaderStarves", "data wait", {"wait": lambda step: 15.0}),
        ("StepTimeSplit", "copies", {"copies": lambda step: 25.0}),
        ("StepTimeSplit", "rest of the step", {"rest": lambda step: 25.0}),
        ("StepTimeDrift", "backward", {"backward": lambda step: 20.0 + step * 0.2}),
        ("StepOutlier", "data wait", {"wait": lambda step: 400.0 if step in (50, 77, 120, 171) else 1.0}),
        ("CheckpointStalls", "checkpoint", {"checkpoint": lambda step: 300.0 if step % 25 == 24 else 0.0}),
        ("CheckpointStalls", "rest of the step", {"rest": lambda step: 300.0 if step % 25 == 24 else 0.0}),
        ("CommunicationOverlap", "communication", {"AllReduce": lambda step: 25.0}),
        ("BatchSize", "batch", dict.fromkeys(("forward", "backward", "optimizer"), lambda step: 0.3)),
    ],
)
def test_a_planted_fault_is_named(tmp_path, rule, culprit, planted):
    steps(tmp_path, **planted)
    finding = found(tmp_path)[rule]
    assert finding.tensor == culprit
    assert finding.worker == "algo-1-1"
    assert finding.value > finding.limit or rule == "BatchSize"


def test_the_slow_one_of_workers_is_named(tmp_path):
    for rank in range(4):
        slow = rank == 2
        steps(
            tmp_path,
            node=f"{rank}-algo-1",
            seed=rank,
            backward=lambda step, slow=slow: 32.0 if slow else 20.0,
            AllReduce=lambda step, slow=slow: 1.0 if slow else 13.0,
        )
    findings = found(tmp_path)
    assert list(findings) == ["Straggler"]
    assert (findings["Straggler"].worker, findings["Straggler"].tensor) == ("algo-1-2", "backward")


def test_the_slow_one_of_workers_that_wait_in_backward_is_named(tmp_path):
    for rank in range(4):
        slow = rank == 2
        steps(
            tmp_path,
            node=f"{rank}-algo-1",
            seed=rank,
            forward=lambda step, slow=slow: 22.0 if slow else 10.0,
            backward=lambda step, slow=slow: 20.0 if slow else 32.0,
        )
    findings = found(tmp_path)
    assert list(findings) == ["Straggler"]
    assert (findings["Straggler"].worker, findings["Straggler"].tensor) == ("algo-1-2", "forward")


def test_short_waits_for_data_cannot_be_helped(tmp_path):
    tiny = {"forward": 0.5, "backward": 1.1, "optimizer": 0.5}
    steps(tmp_path, wait=lambda step: 0.7, **{name: lambda step, value=value: value for name, value in tiny.items()})
    assert "DataLoaderStarves" not in found(tmp_path)
    assert "DataLoaderStarves" in found(tmp_path, parameters={"DataLoaderStarves_shortest_ms": 0.5})


def core_waits(folder, share, seconds=10):
    write_samples(folder, {("process", "CoreWaitPercentage", ""): noisy(share, 3)}, seconds, interval=0.1)


def test_a_training_without_cores_is_named(tmp_path):
    steps(tmp_path)
    core_waits(tmp_path, lambda part: 45)
    finding = found(tmp_path)["CPUBottleneck"]
    assert (finding.check, finding.tensor) == ("contention", "CPU")
    assert finding.value == pytest.approx(45, abs=2)
    assert found(tmp_path, parameters={"CPUBottleneck_wait_threshold": 60}) == {}


@pytest.mark.parametrize("fetch", [20.0, 47.0])
def test_a_loader_without_cores_is_not_blamed_if_it_is_idle(tmp_path, fetch):
    steps(tmp_path, wait=lambda step: 15.0)
    loader = Timeline(tmp_path, "7-algo-1")
    for number in range(200):
        loader.add("DataLoaderWorker", 48.0 * number, fetch)
    loader.write()
    core_waits(tmp_path, lambda part: 45)
    assert ("DataLoaderStarves" in found(tmp_path)) == (fetch > 40)


def test_steps_are_long_while_others_use_the_cores(tmp_path):
    parts = {name: lambda step, value=value: value * (3 if step >= 100 else 1) for name, value in LONG.items()}
    steps(tmp_path, **parts)
    assert "StepTimeDrift" in found(tmp_path)
    core_waits(tmp_path, lambda part: 0 if part < 0.25 else 66, seconds=14)
    assert list(found(tmp_path)) == ["CPUBottleneck"]


@pytest.mark.parametrize("end", [95, 45])
def test_a_leak_on_a_gpu(tmp_path, end):
    write_samples(tmp_path, {gpu_memory(): noisy(lambda part: 20 + (end - 20) * part, 0.3)}, 3600, interval=5)
    findings = found(tmp_path)
    assert {"GPUMemoryIncrease", "DeviceMemoryLeak"} <= findings.keys()
    assert findings["DeviceMemoryLeak"].tensor == "gpu0"


def test_a_jump_on_a_gpu(tmp_path):
    write_samples(tmp_path, {gpu_memory(): noisy(lambda part: 20 if part < 0.5 else 45)}, 600)
    findings = found(tmp_path)
    assert findings["GPUMemoryIncrease"].check == "jump"
    assert "DeviceMemoryLeak" not in findings


def test_memory_that_settles_is_no_leak(tmp_path):
    write_samples(tmp_path, {gpu_memory(): noisy(lambda part: 80 - 60 * 0.01 ** (10 * part), 0.3)}, 600)
    assert found(tmp_path).keys() & {"GPUMemoryIncrease", "DeviceMemoryLeak"} == set()


def test_a_leak_on_the_host(tmp_path):
    memory = {("memory", "MemoryUsedPercent", ""): noisy(lambda part: 30 + 20 * part, 0.3)}
    write_samples(tmp_path, memory, 600)
    assert found(tmp_path)["HostMemoryLeak"].check == "leak"


def test_a_leak_of_the_process(tmp_path):
    name = ("process", "ResidentBytes", "")
    write_samples(tmp_path / "leak", {name: lambda part: (400 + 200 * part) * 1e6}, 4, interval=0.1)
    finding = found(tmp_path / "leak")["HostMemoryLeak"]
    assert (finding.check, finding.tensor) == ("process", "process")
    assert finding.value == pytest.approx(40, abs=10)
    write_samples(tmp_path / "cache", {name: lambda part: (400 + 600 * min(part, 0.3)) * 1e6}, 4, interval=0.1)
    write_samples(tmp_path / "little", {name: lambda part: (400 + 20 * part) * 1e6}, 4, interval=0.1)
    assert found(tmp_path / "cache") == found(tmp_path / "little") == {}


@pytest.mark.parametrize("profile", ["calibrated", "aws"])
def test_an_idle_gpu_beside_a_busy_one(tmp_path, profile):
    values = {gpu("gpu0"): noisy(lambda part: 97, 0.5), gpu("gpu1"): lambda part: 0.0}
    write_samples(tmp_path, values, 1200)
    assert "LoadBalancing" in found(tmp_path, profile=profile)


def test_verdicts_of_the_original_s_rules_are_not_sticky(tmp_path):
    from smdebug.profiler.analysis.rules.gpu_memory_increase import GPUMemoryIncrease
    from smdebug.trials import create_trial

    write_samples(tmp_path / "p", {gpu_memory(): lambda part: 20.0 if part < 0.4 else 45.0}, 300)
    trial = create_trial(str(tmp_path / "p"), profiler=True, output_dir=str(tmp_path / "out"))
    rule = GPUMemoryIncrease(trial, patience=40)
    begin = trial.first_timestamp
    fired = [rule.invoke_for_timerange(begin + i * 60_000_000, begin + (i + 1) * 60_000_000) for i in range(5)]
    assert fired == [False, False, True, False, False]
    assert rule.report["RuleTriggered"] > 0


def test_parameters_of_rules(tmp_path):
    steps(tmp_path, wait=lambda step: 15.0)
    assert found(tmp_path, rules=["DataLoaderStarves"], parameters={"DataLoaderStarves_share": 0.9}) == {}
    with pytest.raises(SMDebugValueError, match="shaer.*share"):
        found(tmp_path, parameters={"DataLoaderStarves_shaer": 0.9})
    with pytest.raises(SMDebugValueError, match="did you mean 'Straggler'"):
        found(tmp_path, rules=["Stragler"])
    with pytest.raises(SMDebugValueError, match="not a rule of the profile aws"):
        found(tmp_path, profile="aws", rules=["Straggler"])


def test_nested_events_count_once(tmp_path):
    timeline = Timeline(tmp_path)
    for number in range(50):
        timeline.step(number)
        timeline.add("copies", timeline.now - 10, 5, number)  # inside backward
    timeline.write()
    rows = evaluate_profile(tmp_path).phases
    parts = {row.name: row for row in rows if row.kind == "part"}
    assert parts["host"].p50 == pytest.approx(5000)
    assert parts["backward"].p50 == pytest.approx(15000)
    assert sum(row.share for row in parts.values()) == pytest.approx(1)


def test_the_timeline_of_all_files_is_a_trace(tmp_path):
    steps(tmp_path, count=20)
    write_samples(tmp_path, {gpu(): lambda part: 50.0}, 10)
    evaluate_profile(tmp_path).write_timeline(tmp_path / "trace.json")
    events = checked(tmp_path / "trace.json")
    assert sum(event["ph"] == "X" for event in events) == 100
    assert sum(event["ph"] == "C" for event in events) == 10


def test_events_that_overlap_have_rows_of_their_own(tmp_path):
    line = Timeline(tmp_path)
    for number in range(50):
        line.add("fetch", 10.0 * number, 35.0, number)
    line.add("fetch", 0.0, 600.0)  # written last, begins first
    line.write()
    evaluate_profile(tmp_path).write_timeline(tmp_path / "trace.json")
    events = checked(tmp_path / "trace.json")
    rows = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert rows == ["fetch", "fetch (2)", "fetch (3)", "fetch (4)"]


@pytest.mark.parametrize("text", ["", "{}", "[", '[{"ph": "X", "pid": 0, "ts": 1e308, "dur": 1e308, "name": "a"}]'])
def test_foreign_files_harm_no_rule(tmp_path, text):
    steps(tmp_path, wait=lambda step: 15.0)
    [folder] = (tmp_path / "framework/pevents").iterdir()
    (folder / "1706745600000000_7-algo-1_pythontimeline.json").write_text(text)
    (folder / "9706745600000000_8-algo-1_pythontimeline.json").write_text(text)
    assert "DataLoaderStarves" in found(tmp_path)
    evaluate_profile(tmp_path).charts()


def test_a_timeline_that_cannot_be_written_leaves_what_was_there(tmp_path):
    steps(tmp_path, count=200)
    trace = tmp_path / "out" / "trace.json"
    trace.parent.mkdir()
    trace.write_text("before")
    code = (
        "import resource, sys\n"
        "from smdebug.profiler.analysis.rules import evaluate_profile\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "evaluate_profile(sys.argv[1]).write_timeline(sys.argv[2])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path, trace], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(trace) in done.stderr
    assert trace.read_text() == "before" and [path.name for path in trace.parent.iterdir()] == ["trace.json"]
    evaluate_profile(tmp_path).write_timeline(trace)
    assert json.loads(trace.read_text()) and [path.name for path in trace.parent.iterdir()] == ["trace.json"]
