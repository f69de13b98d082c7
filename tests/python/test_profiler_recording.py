"""Profiles recorded from Python: events, the service's configuration, mistakes."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from pathlib import Path
from typing import Any, Dict, List

import pytest
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.profiler import LocalAlgorithmMetricsReader, Profiler


def events_in(folder: Path) -> List[Any]:
    reader = LocalAlgorithmMetricsReader(str(folder))
    reader.refresh_event_file_list()
    return reader.get_events(0, 2_000_000_000_000_000)


def write_config(path: Path, **parameters: Any) -> None:
    path.write_text(json.dumps({"ProfilingParameters": parameters}))


def test_events_of_each_kind(tmp_path: Path) -> None:
    with Profiler(tmp_path, node="7-host") as profiler:
        begin = profiler.now()
        profiler.event("copy", "Copies", begin, 250, step=3, bytes=9, to="cpu\u00e9")
        profiler.event("until now", "Copies", begin)
        with profiler.span("load", phase="DataLoaderIter", step=4, worker_id=1):
            time.sleep(0.002)
        with pytest.raises(KeyError), profiler.span("fails"):
            raise KeyError
        profiler.instant("mark", step=5)
    assert profiler.count("events_written") == 5
    found = {each.event_name: each for each in events_in(tmp_path)}
    assert set(found) == {"copy", "until now", "load", "fails"}  # readers skip instants
    assert found["copy"].duration == 250 and found["copy"].event_phase == "Copies"
    assert found["copy"].event_args["to"] == "cpu\u00e9"
    assert found["copy"].event_args["step_num"] == "3"
    assert found["load"].duration >= 2000 and found["load"].event_args["worker_id"] == 1
    assert found["fails"].event_phase == "fails"


def test_mistakes_name_the_value(tmp_path: Path) -> None:
    with pytest.raises(SMDebugValueError, match="300"):
        Profiler(tmp_path, sample_milliseconds=300)
    with pytest.raises(SMDebugError, match="rotate_second"):
        Profiler(tmp_path, options={"rotate_second": "1"})
    profiler = Profiler(tmp_path)
    with pytest.raises(SMDebugValueError, match="NaN|nan"):
        profiler.event("e", "p", 0, 1, value=math.nan)
    with pytest.raises(SMDebugTypeError, match="object"):
        profiler.event("e", "p", 0, 1, value=object())
    with pytest.raises(SMDebugValueError):
        profiler.event("e", "p", 0, -5)
    with pytest.raises(SMDebugValueError):
        profiler.event("", "p", 0, 1)
    with pytest.raises(TypeError):
        profiler.event("e", "p", "soon", 1)  # type: ignore[arg-type]
    with pytest.raises(SMDebugValueError, match="gpu"):
        profiler.is_active("gpu", 0)
    with pytest.raises(SMDebugValueError, match="evnts"):
        profiler.count("evnts")
    profiler.close()
    profiler.close()
    with pytest.raises(SMDebugError, match="closed"):
        profiler.event("e", "p", 0, 1)


def test_events_of_many_threads(tmp_path: Path) -> None:
    with Profiler(tmp_path) as profiler:

        def record() -> None:
            for step in range(500):
                with profiler.span("work", step=step):
                    pass

        threads = [threading.Thread(target=record) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(events_in(tmp_path)) == 2000


def test_a_child_process_has_no_profiler(tmp_path: Path) -> None:
    profiler = Profiler(tmp_path)
    profiler.event("parent", "p", 0, 1)
    child = os.fork()
    if child == 0:
        try:
            profiler.event("child", "p", 0, 1)
        except SMDebugError:
            del profiler
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    profiler.close()
    assert [each.event_name for each in events_in(tmp_path)] == ["parent"]


def test_follows_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "profilerconfig.json"
    monkeypatch.setenv("SMPROFILER_CONFIG_PATH", str(config))
    profiler = Profiler.from_config()
    assert not profiler.update()
    profiler.event("off", "p", 0, 1)
    folder = tmp_path / "MyDir"
    python = "{'StartStep': 2, 'NumSteps': 1, 'ProfilerName': 'PyInstrument', }"
    write_config(config, LocalPath=str(folder), PythonProfilingConfig=python)
    assert profiler.update()
    assert profiler.setting("out_dir") == str(folder)  # the original writes to mydir
    assert profiler.setting("profiler_name") == "pyinstrument"
    assert [profiler.is_active("python", step) for step in range(4)] == [0, 0, 1, 0]
    profiler.event("on", "p", 0, 1)
    config.write_text(json.dumps({"DisableProfiler": True}))
    assert not profiler.update()
    profiler.event("off", "p", 0, 1)
    profiler.close()
    assert [each.event_name for each in events_in(folder)] == ["on"]


def test_an_invalid_setting_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = tmp_path / "profilerconfig.json"
    write_config(config, LocalPath=str(tmp_path / "p"), RotateMaxFileSizeInBytes="many", Locl=1)
    caplog.set_level("WARNING", "smdebug")
    profiler = Profiler.from_config(config)
    assert profiler.update()
    text = "\n".join(caplog.messages)
    assert f"{config}: ProfilingParameters.RotateMaxFileSizeInBytes: expected a number" in text
    assert "'many'" in text and "'Locl'" in text
    config.write_text("no json")
    with pytest.raises(SMDebugValueError, match=r"profilerconfig.json: not valid JSON"):
        Profiler.from_config(config)
    profiler.close()


EVIL: List[str] = [
    "__import__('os').system('touch {}')",
    "{{'StartStep': __import__('os').system('touch {}')}}",
    "[x for x in open('{}', 'w')]",
]


@pytest.mark.parametrize("evil", EVIL)
def test_a_configuration_runs_nothing(tmp_path: Path, evil: str) -> None:
    config, mark = tmp_path / "c.json", tmp_path / "evaluated"
    part = evil.format(mark)
    write_config(config, LocalPath=str(tmp_path / "p"), DetailedProfilingConfig=part)
    profiler = Profiler.from_config(config)
    assert profiler.update() and not profiler.is_active("detailed", 0)
    assert not mark.exists()
    profiler.close()


WINDOWS: Dict[str, List[int]] = {
    "{'StartStep': 0}": [0],  # the original never profiles this
    "{'startstep': '1', 'NUMSTEPS': 2}": [1, 2],
    "{'StartTimeInSecSinceEpoch': 0, 'Duration': 4e9}": [0, 1, 2, 3],  # as the SDK writes it
    "{'StartTimeInSecSinceEpoch': 0, 'DurationInSeconds': 1}": [],
    "{'StartStep': 1, 'Duration': 5}": [],
    "{}": [],
}


@pytest.mark.parametrize("window", WINDOWS)
def test_windows(tmp_path: Path, window: str) -> None:
    config = tmp_path / "c.json"
    write_config(config, LocalPath=str(tmp_path / "p"), DetailedProfilingConfig=window)
    profiler = Profiler.from_config(config)
    assert [step for step in range(4) if profiler.is_active("detailed", step)] == WINDOWS[window]
    profiler.close()


def test_a_file_ends_with_time(tmp_path: Path) -> None:
    with Profiler(tmp_path, rotate_seconds=1) as profiler:
        profiler.event("a", "A", profiler.now(), 1)
        end = time.monotonic() + 20
        while not events_in(tmp_path) and time.monotonic() < end:
            time.sleep(0.05)
        assert [each.event_name for each in events_in(tmp_path)] == ["a"]  # and nobody flushed
        profiler.event("b", "A", profiler.now(), 1)
    assert [each.event_name for each in events_in(tmp_path)] == ["a", "b"]


def test_a_machine_without_gpus_is_told_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="smdebug"):
        with Profiler(tmp_path, sample_milliseconds=100) as profiler:
            end = time.monotonic() + 20
            while profiler.count("samples") == 0 and time.monotonic() < end:
                time.sleep(0.05)
    lines = [record.message for record in caplog.records if "GPU" in record.message]
    has_gpu = Path("/dev/nvidiactl").exists()
    assert len(lines) == (0 if has_gpu else 1)
    assert all(line.startswith("no GPUs are sampled: ") for line in lines)
