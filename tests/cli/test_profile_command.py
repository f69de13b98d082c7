"""Tests smdebug profile: the parts of steps, findings, the files that it writes, and mistakes."""

import json
import shutil

import pytest
from chrome_trace import checked
from cli_program import Program
from profiles import gpu, write_samples

from smdebug.profiler import Profiler

STEP = "Step:ModeKeys.TRAIN"
AWS_RULES = {
    "BatchSize", "CPUBottleneck", "Dataloader", "GPUMemoryIncrease", "IOBottleneck",
    "LoadBalancing", "LowGPUUtilization", "MaxInitializationTime", "OverallFrameworkMetrics",
    "OverallSystemUsage", "StepOutlier",
}  # fmt: skip
REPORT_KEYS = {"RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters"}


def record(folder, steps, node="1-algo-1"):
    """Records steps one after the other; each is (total, wait, forward) in microseconds."""
    with Profiler(folder, node=node) as profiler:
        begin = profiler.now()
        for number, (total, wait, forward) in enumerate(steps):
            profiler.event(STEP, STEP, begin, total, step=number)
            profiler.event("next", "DataLoaderIter", begin, wait, step=number)
            profiler.event("model", "Forward", begin + wait, forward, step=number)
            begin += total


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder with profiles; tests must not change it."""
    folder = tmp_path_factory.mktemp("profiles")
    # Steps of 10, 11, ... 30 ms, each a tenth of it for data and half of it for the forward pass.
    record(folder / "growing", [(ms * 1000, ms * 100, ms * 500) for ms in range(10, 31)])
    record(folder / "starved", [(10_000, 6_000, 3_000)] * 40)
    record(folder / "healthy", [(10_000, 500, 9_000)] * 40)
    return folder


@pytest.fixture
def smdebug(folder):
    return Program(folder)


def timeline_of(profile):
    [path] = (profile / "framework/pevents").glob("*/*_pythontimeline.json")
    return path


# ---- the table -----------------------------------------------------------------------


def test_the_parts_of_a_step(smdebug):
    lines = smdebug("profile growing").splitlines()
    assert lines[0] == "algo-1-1: 21 steps"
    assert lines[1].split() == "part of a step share p50 ms p95 ms p99 ms max ms".split()
    assert [line.split() for line in lines[2:6]] == [
        "step 100.0 % 20.000 29.000 29.800 30.000".split(),
        "data wait 10.0 % 2.000 2.900 2.980 3.000".split(),
        "forward 50.0 % 10.000 14.500 14.900 15.000".split(),
        "rest of the step 40.0 % 8.000 11.600 11.920 12.000".split(),
    ]


def test_the_rows_of_the_timeline(smdebug):
    lines = smdebug("profile growing").splitlines()
    assert lines[6].split() == "row of the timeline share events mean ms".split()
    # The time of a step outside of its parts remains in its own row.
    assert [line.split() for line in lines[7:]] == [
        "Forward 50.0 % 21 10.000".split(),
        f"{STEP} 40.0 % 21 8.000".split(),
        "DataLoaderIter 10.0 % 21 2.000".split(),
    ]


def test_each_worker_has_a_table(tmp_path):
    for rank in (1, 2, 10):
        record(tmp_path / "profile", [(rank * 1000, 100, 500)] * 3, node=f"{rank}-algo-1")
    shown = Program(tmp_path)("profile profile")
    heads = [line for line in shown.splitlines() if not line.startswith(" ")]
    assert heads == [f"algo-1-{rank}: 3 steps" for rank in (1, 2, 10)]
    medians = [line.split()[3] for line in shown.splitlines() if line.startswith("  step ")]
    assert medians == ["1.000", "2.000", "10.000"]


def test_a_worker_without_steps_comes_last(tmp_path):
    with Profiler(tmp_path / "profile", node="1-algo-1") as profiler:
        profiler.event("fetch", "DataLoaderWorker", profiler.now(), 4_000)
    record(tmp_path / "profile", [(1000, 100, 500)] * 3, node="2-algo-1")
    lines = Program(tmp_path)("profile profile").splitlines()
    assert lines[0] == "algo-1-2: 3 steps"
    assert lines[-3] == "algo-1-1: no steps"
    assert lines[-1].split() == ["DataLoaderWorker", "1", "4.000"]


def test_names_of_phases_are_escaped(tmp_path):
    with Profiler(tmp_path / "profile") as profiler:
        profiler.event("e", "\x1b[31mred", profiler.now(), 1_000)
    shown = Program(tmp_path)("profile profile")
    assert "\x1b" not in shown and r"\x1b[31mred" in shown


def test_samples_alone_are_a_profile(tmp_path):
    values = {("cpu", "cpu0", "CPUUtilization"): lambda part: 50.0}
    write_samples(tmp_path / "profile", values, seconds=30)
    assert Program(tmp_path)("profile profile") == "no events of a timeline\n"


# ---- JSON ----------------------------------------------------------------------------


def test_json_of_phases(smdebug):
    found = {each["name"]: each for each in smdebug.objects("profile growing --json")}
    assert {name: each["kind"] for name, each in found.items()} == {
        "step": "step", "data wait": "part", "forward": "part", "rest of the step": "part",
        "DataLoaderIter": "phase", "Forward": "phase", STEP: "phase",
    }  # fmt: skip
    assert all(each["worker"] == "algo-1-1" and each["count"] == 21 for each in found.values())
    step = found["step"]
    assert [step[f"{name}_us"] for name in ("total", "p50", "max")] == [420_000, 20_000, 30_000]
    assert step["p95_us"] == pytest.approx(29_000) and step["p99_us"] == pytest.approx(29_800)
    assert found["data wait"]["share"] == pytest.approx(0.1)
    assert found["data wait"]["total_us"] == 42_000
    assert found["forward"]["p95_us"] == pytest.approx(14_500)
    assert found["Forward"]["p95_us"] is None and found["Forward"]["total_us"] > 0
    parts = [each["share"] for each in found.values() if each["kind"] == "part"]
    assert sum(parts) == pytest.approx(1)


def test_json_of_findings(smdebug):
    objects = smdebug.objects("profile starved --json --rule DataLoaderStarves", 10)
    assert len(objects) == len(smdebug.objects("profile starved --json")) + 1
    finding = objects[-1]
    assert (finding["rule"], finding["status"]) == ("DataLoaderStarves", "finding")
    assert (finding["worker"], finding["tensor"]) == ("algo-1-1", "data wait")
    assert finding["value"] == pytest.approx(0.6) and finding["limit"] == 0.2
    assert finding["step"] is None and finding["mode_step"] is None


# ---- rules ---------------------------------------------------------------------------


def test_findings_say_what_to_do(smdebug):
    lines = smdebug("profile starved --rules calibrated", 10).splitlines()
    [at] = [i for i, line in enumerate(lines) if line.startswith("DataLoaderStarves: ")]
    assert lines[at] == (
        "DataLoaderStarves: steps wait for data in 60 % of their time, 6.0 ms of each; "
        "the limit is 20 % (algo-1-1)"
    )
    assert lines[at + 1].startswith("  What to do: Use more workers")
    assert lines[-1] == "1 finding; 19 rules evaluated"


def test_a_healthy_job_passes(smdebug):
    lines = smdebug("profile healthy --rules calibrated").splitlines()
    assert lines[-1] == "0 findings; 19 rules evaluated"
    assert lines[-2].startswith("not enough data for ") and "Straggler" in lines[-2]


def test_no_rule_is_evaluated_unless_asked(smdebug):
    shown = smdebug("profile starved")
    assert "DataLoaderStarves" not in shown and "evaluated" not in shown


@pytest.mark.parametrize(("share", "code"), [("0.59", 10), ("0.61", 0)])
def test_a_parameter_of_a_rule(smdebug, share, code):
    shown = smdebug(f"profile starved --rule DataLoaderStarves,share={share}", code)
    count = "1 finding" if code else "0 findings"
    assert shown.endswith(f"{count}; 1 rule evaluated\n")


def test_several_rules(smdebug):
    shown = smdebug("profile starved -r DataLoaderStarves,share=0.9 -r StepOutlier -r Straggler")
    assert shown.endswith("0 findings; 3 rules evaluated\n")
    assert "not enough data for Straggler: " in shown  # a rule that is named says why


# ---- files ---------------------------------------------------------------------------


def test_the_timeline_is_a_trace(smdebug, tmp_path):
    trace = tmp_path / "out.json"
    assert smdebug(f"profile growing --timeline {trace}").endswith(f"wrote {trace}\n")
    checked(trace)
    events = json.loads(trace.read_text())
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 3 * 21
    [model] = [each for each in spans if each["name"] == "model" and each["args"]["step_num"] == 5]
    assert (model["ts"], model["dur"], model["cat"]) == (60_000 + 1_500, 7_500, "forward")
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert names == {"algo-1-1", STEP, "DataLoaderIter", "Forward"}


def test_the_timeline_has_the_samples(tmp_path):
    values = {("cpu", "cpu0", "CPUUtilization"): lambda part: 40 * part}
    write_samples(tmp_path / "profile", values, seconds=2, interval=0.5)
    Program(tmp_path)("profile profile --timeline out.json")
    events = json.loads((tmp_path / "out.json").read_text())
    counters = [event for event in events if event["ph"] == "C"]
    assert [list(event["args"].values()) for event in counters] == [[0], [10], [20], [30]]
    assert counters[3]["ts"] - counters[0]["ts"] == 1_500_000


def test_a_file_for_each_rule(smdebug, tmp_path):
    shown = smdebug(f"profile starved --rules aws --report-json {tmp_path / 'reports'}")
    assert shown.endswith(f"11 rules evaluated\nwrote {tmp_path / 'reports'}\n")
    files = {path.name: json.loads(path.read_text()) for path in (tmp_path / "reports").iterdir()}
    assert files.keys() == {f"{rule}.json" for rule in AWS_RULES}
    for report in files.values():
        assert report.keys() == REPORT_KEYS
    assert files["LoadBalancing.json"]["RuleParameters"] == "threshold:0.2\npatience:1000"
    loader = files["Dataloader.json"]
    assert loader["RuleTriggered"] == 0 and loader["Datapoints"] == 40
    assert loader["Details"]["dataloading_time"]["p50"] == pytest.approx(0.006)


def test_the_report_of_a_rule_that_fires(tmp_path):
    write_samples(tmp_path / "profile", {gpu(): lambda part: 5.0}, seconds=600, interval=0.5)
    command = "profile profile --rules aws --rule LowGPUUtilization --report-json reports"
    assert "LowGPUUtilization: " in Program(tmp_path)(command, 10)
    [path] = (tmp_path / "reports").iterdir()
    report = json.loads(path.read_text())
    assert path.name == "LowGPUUtilization.json"
    assert report["RuleTriggered"] > 0 and report["Violations"] > 0
    assert report["Datapoints"] == 1200


def test_reports_replace_those_of_another_run(smdebug, tmp_path):
    (tmp_path / "BatchSize.json").write_text("before")
    smdebug(f"profile starved --rules aws --report-json {tmp_path}")
    assert json.loads((tmp_path / "BatchSize.json").read_text()).keys() == REPORT_KEYS


# ---- mistakes ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["nowhere", "nowhere/at", "empty", "starved/framework", "a_file"])
def test_a_folder_without_a_profile(folder, path):
    (folder / "empty").mkdir(exist_ok=True)
    (folder / "a_file").touch()
    said = Program(folder).complaint(f"profile {path}", 3)
    assert said.startswith(f"{folder / path} has no profile; ") and '"framework"' in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--rules aws2", "--rules: 'aws2' is none of calibrated, aws"),
        ("--rule Stragler", "there is no rule over profiles 'Stragler'; did you mean 'Straggler'?"),
        ("--rules aws --rule Straggler", "Straggler is not a rule of the profile aws"),
        ("--rule DataLoaderStarves,shar=1",
         "DataLoaderStarves has no parameter 'shar'; did you mean 'share'?"),
        ("--rule DataLoaderStarves,share=x",
         "DataLoaderStarves: share is 'x'; it must be a number from 0 to 1"),
        ("--rule DataLoaderStarves,share=1.5",
         "DataLoaderStarves: share is '1.5'; it must be a number from 0 to 1"),
        ("--set foo=1", "there is no option 'foo'; "),
        ("--set scan_interval_us=x", "scan_interval_us is 'x'; it must be 1000000 or more"),
        ("--colour", "profile has no option '--colour'; "),
        ("--timeline", "--timeline needs a value, FILE; see smdebug profile --help"),
        ("more", "unexpected 'more'; "),
    ],
)  # fmt: skip
def test_a_wrong_option(smdebug, options, said):
    assert smdebug.complaint(f"profile starved {options}", 2).startswith(said)


def test_a_missing_argument(smdebug):
    assert smdebug.complaint("profile", 2).startswith("PROFILE is required")
    assert "path" in smdebug.complaint("profile ''", 2)


def test_files_that_cannot_be_written(smdebug, tmp_path):
    said = smdebug.complaint(f"profile starved --timeline {tmp_path}/none/out.json", 5)
    assert f"{tmp_path}/none/out.json" in said
    said = smdebug.complaint(f"profile starved --report-json {tmp_path}/none/reports", 5)
    assert f"{tmp_path}/none/reports" in said
    (tmp_path / "file").write_text("before")
    said = smdebug.complaint(f"profile starved --report-json {tmp_path}/file", 5)
    assert f"{tmp_path}/file" in said
    assert (tmp_path / "file").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# ---- damage --------------------------------------------------------------------------


def test_a_timeline_that_is_cut_off_gives_its_whole_events(folder, tmp_path):
    shutil.copytree(folder / "starved", tmp_path / "profile")
    path = timeline_of(tmp_path / "profile")
    whole = path.read_text()
    # Within the event after 20 whole steps.
    cut = whole.index('"step_num": "20"')
    path.write_text(whole[:cut])
    done = Program(tmp_path).run("profile profile")
    [line] = done.stderr.splitlines()
    assert done.returncode == 4
    assert line.startswith("smdebug: warning: ")
    assert f"{path}: line {whole[:cut].count(chr(10)) + 1} is cut off; skipped" in line
    assert done.stdout.startswith("algo-1-1: 20 steps\n")
    waits = "data wait 60.0 % 6.000 6.000 6.000 6.000".split()
    assert waits in [row.split() for row in done.stdout.splitlines()]


def test_a_file_that_is_no_timeline_is_skipped(folder, tmp_path):
    shutil.copytree(folder / "starved", tmp_path / "profile")
    path = timeline_of(tmp_path / "profile")
    other = path.with_name(path.name.replace("_1-algo-1_", "_2-algo-1_"))
    other.write_text("no timeline")
    done = Program(tmp_path).run("profile profile")
    assert done.returncode == 4
    assert str(other) in done.stderr and "skipped" in done.stderr
    # A finding counts for more.
    assert Program(tmp_path).run("profile profile --rules calibrated").returncode == 10
    assert done.stdout == Program(folder)("profile starved")
