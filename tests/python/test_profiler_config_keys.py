"""The keys of profilerconfig.json: each is accepted without a warning, and has its effect."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler import LocalAlgorithmMetricsReader, LocalSystemMetricsReader, Profiler

END = 4_000_000_000_000_000
SECONDS = 30  # of each wait, at most
WINDOWS = {
    "DetailedProfilingConfig": "detailed",
    "DataloaderProfilingConfig": "dataloader",
    "PythonProfilingConfig": "python",
    "SMDataParallelProfilingConfig": "smdataparallel",
    "HorovodProfilingConfig": "horovod",
}
# As the service's SDK writes it.
PYTHON = (
    "{'StartStep': 9, 'NumSteps': 1, 'ProfilerName': 'cprofile', 'cProfileTimer': 'total_time', }"
)


class Job:
    """Opens profilers that follow a configuration, and closes them."""

    def __init__(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.folder = folder / "Profile"
        self.config = folder / "profilerconfig.json"
        self.caplog = caplog
        self.profilers: List[Profiler] = []
        caplog.set_level("WARNING", "smdebug")

    def open(self, **parameters: Any) -> Profiler:
        return self.open_file(ProfilingParameters={"LocalPath": str(self.folder), **parameters})

    def open_file(self, **document: Any) -> Profiler:
        self.config.write_text(json.dumps(document))
        profiler = Profiler.from_config(self.config, sample_gpus=False, node="1-algo-1")
        self.profilers.append(profiler)
        return profiler

    def close(self) -> None:
        while self.profilers:
            self.profilers.pop().close()

    def warnings(self) -> List[str]:
        self.close()  # passes on all log lines
        return self.caplog.messages

    def events(self) -> List[Any]:
        reader = LocalAlgorithmMetricsReader(str(self.folder))
        reader.refresh_event_file_list()
        return reader.get_events(0, END)

    def timelines(self) -> List[Path]:
        return sorted(self.folder.rglob("*_pythontimeline.json"))


@pytest.fixture
def job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Job]:
    job = Job(tmp_path, caplog)
    yield job
    job.close()


def steps_of(profiler: Profiler, feature: str, count: int = 20) -> List[int]:
    return [step for step in range(count) if profiler.is_active(feature, step)]


def wait_until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < limit, "nothing happens"
        time.sleep(0.05)


# ---- the whole file ------------------------------------------------------------------


def everything(folder: Path) -> Dict[str, Any]:
    """Returns a file with all keys, as the service and its SDK write it."""
    return {
        "DisableProfiler": False,
        "ProfilerEnabled": True,
        "S3OutputPath": "s3://bucket/prefix",
        "ProfilingIntervalInMilliseconds": 500,
        "ProfilingParameters": {
            "LocalPath": str(folder),
            "RotateMaxFileSizeInBytes": "10485760",
            "RotateFileCloseIntervalInSeconds": "60",
            "FileOpenFailThreshold": "50",
            "ProfilerEnabled": True,
            "DetailedProfilingConfig": '{"StartStep": 5, "NumSteps": 1, }',
            "DataloaderProfilingConfig": "{'StartStep': 7, 'NumSteps': 1, 'MetricsRegex': '.*', }",
            "PythonProfilingConfig": PYTHON,
            "HorovodProfilingConfig": '{"StartStep": 13, "NumSteps": 1, }',
            "SMDataParallelProfilingConfig": '{"StartStep": 15, "NumSteps": 1, }',
        },
    }


def check_everything(job: Job, profiler: Profiler) -> None:
    assert profiler.update()
    assert profiler.setting("config_path") == str(job.config)
    assert profiler.setting("out_dir") == str(job.folder)
    starts = {feature: steps_of(profiler, feature) for feature in WINDOWS.values()}
    expected = {"detailed": 5, "dataloader": 7, "python": 9, "horovod": 13, "smdataparallel": 15}
    assert starts == {feature: [step] for feature, step in expected.items()}
    assert profiler.setting("profiler_name") == "cprofile"
    assert profiler.setting("cprofile_timer") == "total_time"
    assert profiler.setting("metrics_regex") == ".*"
    wait_until(lambda: profiler.count("samples") > 0)
    assert job.warnings() == []


def test_all_keys_together(job: Job) -> None:
    check_everything(job, job.open_file(**everything(job.folder)))


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_keys_in_any_case(job: Job, change: Callable[[str], str]) -> None:
    document = everything(job.folder)
    parameters = document.pop("ProfilingParameters")
    changed: Dict[str, Any] = {change(key): value for key, value in document.items()}
    changed[change("ProfilingParameters")] = {
        change(key): value for key, value in parameters.items()
    }
    check_everything(job, job.open_file(**changed))


def test_numbers_may_be_numbers_or_texts(job: Job) -> None:
    document = everything(job.folder)
    document["ProfilingIntervalInMilliseconds"] = "500"
    for key in ("RotateMaxFileSizeInBytes", "RotateFileCloseIntervalInSeconds"):
        document["ProfilingParameters"][key] = int(document["ProfilingParameters"][key])
    check_everything(job, job.open_file(**document))


# ---- on and off ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "is_on"), [(True, False), ("true", False), (False, True), ("False", True)]
)
def test_disable_profiler(job: Job, value: object, is_on: bool) -> None:
    parameters = {"LocalPath": str(job.folder), "DetailedProfilingConfig": "{'StartStep': 0}"}
    profiler = job.open_file(DisableProfiler=value, ProfilingParameters=parameters)
    assert profiler.update() == is_on
    assert profiler.is_active("detailed", 0) == is_on
    profiler.event("e", "p", profiler.now(), 1)
    assert job.warnings() == []
    assert len(job.events()) == is_on


@pytest.mark.parametrize("document", [{}, {"ProfilingParameters": {}}])
def test_nothing_is_profiled_without_parameters(job: Job, document: Dict[str, Any]) -> None:
    profiler = job.open_file(**document)
    assert not profiler.update()
    assert profiler.setting("out_dir") == "/opt/ml/output/profiler"
    profiler.event("e", "p", profiler.now(), 1)
    assert profiler.count("events_written") == 0
    assert job.warnings() == []


@pytest.mark.parametrize(
    "ignored",
    [
        {"ProfilerEnabled": False},
        {"ProfilerEnabled": "false"},
        {"S3OutputPath": "s3://bucket/prefix"},
        {"FileOpenFailThreshold": 50},
    ],
)
def test_ignored_keys_of_the_file(job: Job, ignored: Dict[str, Any]) -> None:
    parameters = {"LocalPath": str(job.folder)}
    profiler = job.open_file(ProfilingParameters=parameters, **ignored)
    assert profiler.update() and profiler.setting("out_dir") == str(job.folder)
    assert job.warnings() == []


@pytest.mark.parametrize(
    "ignored",
    [
        {"FileOpenFailThreshold": 0},
        {"FileOpenFailThreshold": "50"},
        {"ProfilerEnabled": False},
        {"S3OutputPath": "s3://bucket/prefix"},
    ],
)
def test_ignored_parameters(job: Job, ignored: Dict[str, Any]) -> None:
    profiler = job.open(**ignored)
    assert profiler.update()
    profiler.event("e", "p", profiler.now(), 1)
    assert job.warnings() == []
    assert len(job.events()) == 1


def test_a_window_with_an_invalid_limit_is_told_to_be_never_active(job: Job) -> None:
    profiler = job.open(DetailedProfilingConfig="{'StartStep': 3, 'NumSteps': 0}")
    assert profiler.update() and not profiler.is_active("detailed", 3)
    [line] = job.warnings()
    assert "NumSteps is 0" in line and line.endswith("what it configures is not profiled")


# ---- files ---------------------------------------------------------------------------


def test_local_path_keeps_its_case(job: Job) -> None:
    profiler = job.open()
    profiler.event("e", "p", profiler.now(), 1)
    assert profiler.setting("out_dir") == str(job.folder)
    assert job.warnings() == []
    assert job.folder.name == "Profile" and len(job.events()) == 1


@pytest.mark.parametrize(("size", "is_split"), [(2048, True), ("2048", True), (10_485_760, False)])
def test_rotate_max_file_size(job: Job, size: object, is_split: bool) -> None:
    profiler = job.open(RotateMaxFileSizeInBytes=size)
    for step in range(200):
        profiler.event("work", "p", profiler.now(), 1, step=step)
    assert job.warnings() == []
    files = job.timelines()
    assert len(files) > 3 if is_split else len(files) == 1
    # A file ends with the event that makes it too large.
    assert all(path.stat().st_size < 4096 for path in files) or not is_split
    assert len(job.events()) == 200


@pytest.mark.parametrize("seconds", [1, "1"])
def test_rotate_file_close_interval(job: Job, seconds: object) -> None:
    profiler = job.open(RotateFileCloseIntervalInSeconds=seconds)
    profiler.event("e", "p", profiler.now(), 1)
    wait_until(job.timelines)  # neither flushed nor closed
    assert len(job.events()) == 1
    assert job.warnings() == []


def test_a_file_stays_open_for_a_minute_by_default(job: Job) -> None:
    profiler = job.open()
    profiler.event("e", "p", profiler.now(), 1)
    wait_until(lambda: list(job.folder.rglob("*.tmp")))
    time.sleep(2)
    assert job.timelines() == []
    profiler.flush(timeout=SECONDS)
    assert len(job.timelines()) == 1


# ---- samples -------------------------------------------------------------------------


@pytest.mark.parametrize("is_parameter", [True, False])
def test_profiling_interval(job: Job, is_parameter: bool) -> None:
    interval = {"ProfilingIntervalInMilliseconds": 100}
    parameters = {"LocalPath": str(job.folder), **(interval if is_parameter else {})}
    document = {} if is_parameter else interval
    profiler = job.open_file(ProfilingParameters=parameters, **document)
    wait_until(lambda: profiler.count("samples") >= 5)
    assert job.warnings() == []
    reader = LocalSystemMetricsReader(str(job.folder))
    reader.refresh_event_file_list()
    times = sorted({each.timestamp for each in reader.get_events(0, END)})
    assert len(times) >= 5
    # Samples may be late on a busy machine, never early.  The last one is taken at the end.
    assert all(later - sooner > 0.09 for sooner, later in zip(times, times[1:-1]))


@pytest.mark.parametrize("interval", [{}, {"ProfilingIntervalInMilliseconds": 0}])
def test_no_samples_by_default(job: Job, interval: Dict[str, Any]) -> None:
    profiler = job.open(**interval)
    time.sleep(0.3)
    assert profiler.count("samples") == 0
    assert job.warnings() == []
    assert list(job.folder.rglob("*.algo-*.json")) == []


# ---- windows of steps ----------------------------------------------------------------

STEPS: Dict[str, List[int]] = {
    "{'StartStep': 3, 'NumSteps': 2}": [3, 4],
    '{"StartStep": 3, "NumSteps": 2, }': [3, 4],
    "{'startstep': '3', 'NUMSTEPS': '2'}": [3, 4],
    "{'StartStep': 3}": [3],
    "{'StartStep': 0}": [0],
    "{'NumSteps': 3}": [0, 1, 2],
    "": [],
    "{}": [],
}


@pytest.mark.parametrize("key", WINDOWS)
@pytest.mark.parametrize("window", STEPS)
def test_a_window_of_steps(job: Job, key: str, window: str) -> None:
    profiler = job.open(**{key: window})
    for feature in WINDOWS.values():
        assert steps_of(profiler, feature) == (STEPS[window] if feature == WINDOWS[key] else [])
    assert job.warnings() == []


@pytest.mark.parametrize("key", WINDOWS)
def test_a_window_may_be_an_object(job: Job, key: str) -> None:
    profiler = job.open(**{key: {"StartStep": 3, "NumSteps": 2}})
    assert steps_of(profiler, WINDOWS[key]) == [3, 4]
    assert job.warnings() == []


def test_a_window_without_a_start_begins_with_the_first_step(job: Job) -> None:
    profiler = job.open(DetailedProfilingConfig="{'NumSteps': 2}")
    assert [profiler.is_active("detailed", step) for step in (7, 8, 9)] == [True, True, False]
    assert job.warnings() == []


@pytest.mark.parametrize("key", WINDOWS)
@pytest.mark.parametrize(
    "window",
    [
        "{'StartStep': 0, 'NumSteps': 99, 'Duration': 1000}",
        "{'StartStep': 0, 'StartTimeInSecSinceEpoch': 0}",
        "{'StartStep': 'soon', 'NumSteps': 99}",
        "{'StartStep': 0, 'NumSteps': 'all'}",
        "{'StartTimeInSecSinceEpoch': 'now', 'Duration': 1000}",
    ],
)
def test_an_invalid_window_is_never_active(job: Job, key: str, window: str) -> None:
    profiler = job.open(**{key: window})
    assert profiler.update() and steps_of(profiler, WINDOWS[key]) == []
    told = job.warnings()
    assert told and all(line.startswith(f"{job.config}: {key}") for line in told)


def test_a_changed_window_counts_from_the_next_update(job: Job) -> None:
    profiler = job.open(DetailedProfilingConfig="{'StartStep': 3}")
    assert steps_of(profiler, "detailed") == [3]
    parameters = {"LocalPath": str(job.folder), "DetailedProfilingConfig": "{'StartStep': 12}"}
    job.config.write_text(json.dumps({"ProfilingParameters": parameters}))
    assert profiler.update() and steps_of(profiler, "detailed") == [12]
    assert job.warnings() == []


# ---- windows of time -----------------------------------------------------------------


@pytest.mark.parametrize("key", WINDOWS)
@pytest.mark.parametrize("length", ["Duration", "DurationInSeconds"])
def test_a_window_of_time(job: Job, key: str, length: str) -> None:
    for start, is_active in ((-60, True), (-5000, False), (3000, False)):
        begin = time.time() + start
        window = f"{{'StartTimeInSecSinceEpoch': {begin}, '{length}': 1000, }}"
        profiler = job.open(**{key: window})
        assert steps_of(profiler, WINDOWS[key], 4) == (list(range(4)) if is_active else [])
        assert job.warnings() == []


def test_a_window_of_time_is_active_only_within_it(job: Job) -> None:
    start, end = time.time() + 1, time.time() + 2.5
    profiler = job.open(
        PythonProfilingConfig=f"{{'StartTimeInSecSinceEpoch': {start}, 'Duration': {end - start}}}"
    )
    seen = set()
    after = 0.0
    margin = 0.01  # of the texts of these times
    while after < end + 0.2:
        before = time.time()
        is_active = profiler.is_active("python", 0)
        after = time.time()
        if after < start - margin or before > end + margin:
            assert not is_active
        elif before > start + margin and after < end - margin:
            assert is_active
        seen.add((is_active, before > end))
        time.sleep(0.02)
    assert seen >= {(False, False), (True, False), (False, True)}
    assert job.warnings() == []


def test_a_time_without_a_length_is_one_step(job: Job) -> None:
    profiler = job.open(DetailedProfilingConfig="{'StartTimeInSecSinceEpoch': 1}")
    assert [profiler.is_active("detailed", step) for step in (4, 4, 5)] == [True, True, False]
    assert job.warnings() == []


def test_a_length_without_a_start_begins_with_the_first_step(job: Job) -> None:
    profiler = job.open(DetailedProfilingConfig="{'DurationInSeconds': 0.5}")
    time.sleep(0.6)  # the window begins with the first question
    assert profiler.is_active("detailed", 0)
    wait_until(lambda: not profiler.is_active("detailed", 1))
    assert job.warnings() == []


# ---- what else windows hold ----------------------------------------------------------


def test_metrics_regex_selects_by_the_beginning_of_names(job: Job) -> None:
    window = "{'StartStep': 1, 'NumSteps': 2, 'MetricsRegex': 'Load|copy'}"
    profiler = job.open(DataloaderProfilingConfig=window)
    assert profiler.setting("metrics_regex") == "Load|copy"
    for name in ("Load", "loader", "copy_"):
        assert [profiler.is_active("dataloader", step, name) for step in (0, 1)] == [False, True]
    for name in ("UnLoad", "a copy"):
        assert not profiler.is_active("dataloader", 1, name)
    assert profiler.is_active("dataloader", 1)
    assert job.warnings() == []


@pytest.mark.parametrize("name", ["cprofile", "pyinstrument", "PyInstrument"])
def test_profiler_name(job: Job, name: str) -> None:
    window = f"{{'StartStep': 1, 'ProfilerName': '{name}'}}"
    profiler = job.open(PythonProfilingConfig=window)
    assert profiler.setting("profiler_name") == name.lower()
    assert steps_of(profiler, "python") == [1]
    assert job.warnings() == []


@pytest.mark.parametrize("timer", ["total_time", "cpu_time", "off_cpu_time", "default"])
def test_cprofile_timer(job: Job, timer: str) -> None:
    window = f"{{'StartStep': 1, 'cProfileTimer': '{timer}'}}"
    profiler = job.open(PythonProfilingConfig=window)
    assert profiler.setting("cprofile_timer") == timer
    assert steps_of(profiler, "python") == [1]
    assert job.warnings() == []


# ---- mistakes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"LocalPaht": "/p"}, ["'LocalPaht'", "'LocalPath'"]),
        ({"DetailedProfilingConfg": "{}"},
         ["'DetailedProfilingConfg'", "'DetailedProfilingConfig'"]),
        ({"ProfilingIntervalInMilliseconds": 300}, ["ProfilingIntervalInMilliseconds", "300"]),
        ({"RotateFileCloseIntervalInSeconds": "soon"},
         ["RotateFileCloseIntervalInSeconds", "'soon'"]),
        ({"PythonProfilingConfig": "{'StartStep': 1, 'cProfileTimer': 'clock'}"},
         ["cProfileTimer", "'clock'", "off_cpu_time"]),
        ({"HorovodProfilingConfig": "{'StartStp': 1}"}, ["'StartStp'", "'StartStep'"]),
        ({"SMDataParallelProfilingConfig": "open('/etc/passwd')"},
         ["SMDataParallelProfilingConfig", "open("]),
    ],
)  # fmt: skip
def test_a_mistake_is_one_log_line(job: Job, wrong: Dict[str, Any], told: List[str]) -> None:
    assert job.open(**wrong).update()
    [line] = job.warnings()
    for part in [str(job.config), *told]:
        assert part in line


def test_an_unknown_setting_or_feature(job: Job) -> None:
    profiler = job.open()
    with pytest.raises(SMDebugValueError, match="dataloder"):
        profiler.is_active("dataloder", 0)
    with pytest.raises(Exception, match="profiler_nam"):
        profiler.setting("profiler_nam")
