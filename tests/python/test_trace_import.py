"""Traces of other programs in a profile."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, List

import pytest
from smdebug.exceptions import SMDebugError
from smdebug.profiler import LocalAlgorithmMetricsReader, import_chrome_trace

BASE = 1_706_745_580_000_000
TRACE = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7, "ts": 100, "dur": 900},
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 110.4, "dur": 20, "args": {"n": 1}},
        {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 13, "ts": 150, "dur": 3, "args": {"device": 1}},
    ],
    "baseTimeNanoseconds": BASE * 1000,
}  # fmt: skip


def events_in(folder: Path) -> List[Any]:
    reader = LocalAlgorithmMetricsReader(str(folder))
    reader.refresh_event_file_list()
    return reader.get_events(0, 4_000_000_000_000_000)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_trace_of_torch(tmp_path: Path, is_compressed: bool) -> None:
    text = json.dumps(TRACE).encode()
    trace = tmp_path / ("t.json.gz" if is_compressed else "t.json")
    trace.write_bytes(gzip.compress(text) if is_compressed else text)
    assert import_chrome_trace(trace, tmp_path / "profile", node="9-algo-1") == 3
    found = {each.event_name: each for each in events_in(tmp_path / "profile")}
    assert found["aten::add"].event_phase == "cpu_functions"
    assert found["aten::add"].start_time == BASE + 110
    assert found["aten::add"].event_args["step_num"] == "3"
    assert found["aten::add"].event_args["n"] == 1
    assert found["add"].event_phase == "gpu_functions-dev:1"
    assert found["ProfilerStep#3"].event_phase == "Step:ModeKeys.TRAIN"
    assert found["add"].node_id == "algo-1-9"


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    text = json.dumps(TRACE).encode()
    for name, content, expected in (
        ("cut.json", text[:-40], "cut.json is no trace in Chrome's format: it is cut off"),
        ("foreign.json", b'{"a": 1}', 'foreign.json .* has no list "traceEvents"'),
        ("binary.json", bytes(range(256)), "binary.json is no trace"),
        ("cut.json.gz", gzip.compress(text)[:-9], "cut.json.gz is no whole file of gzip"),
        ("plain.json.gz", text, "plain.json.gz is no whole file of gzip"),
        ("hidden.json", gzip.compress(text), "hidden.json is compressed"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SMDebugError, match=expected):
            import_chrome_trace(tmp_path / name, tmp_path / "profile")
    with pytest.raises(FileNotFoundError):
        import_chrome_trace(tmp_path / "missing.json", tmp_path / "profile")
    assert not (tmp_path / "profile").exists() or not events_in(tmp_path / "profile")
