"""Traces of TensorFlow's own profiler, in the folders where the original left them."""

import gzip
import json
import logging
import os
import shutil
import sys
from pathlib import Path

import pytest
from test_as_the_original import HERE, ORIGINAL, dumped

from smdebug.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader

pytestmark = pytest.mark.timeout(120)

BEGIN, END = 1706745590000000, 1706745591000000
FAR = 4_000_000_000_000_000


def trace_of():
    """As TensorFlow's converter writes it: floats, and an empty object at the end."""
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "name": "process_sort_index", "args": {"sort_index": 1}},
        {"ph": "M", "pid": 1, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13"}},
        {"ph": "M", "pid": 47, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 47, "tid": 9, "name": "thread_name", "args": {"name": "python"}},
    ]
    for i in range(20):
        events.append({"ph": "X", "pid": 1, "tid": 13, "ts": 1000.25 * i, "dur": 800.5, "name": f"MatMul:{i}",
                       "args": {"long_name": f"model/dense_{i % 2}/MatMul", "group_id": str(i // 10)}})  # fmt: skip
        events.append({"ph": "X", "pid": 47, "tid": 9, "ts": 1000.0 * i, "dur": 90.0, "name": "EagerExecute"})
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": [*events, {}]}


def add_trace(folder, step, host="ip-10-0-0-1.ec2.internal", content=None, begin=BEGIN, end=END):
    top = folder / f"framework/tensorflow/detailed_profiling/2024013123/{step:09}"
    path = top / f"plugins/profile/2024_01_31_23_59_50/{host}.trace.json.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(trace_of()).encode()) if content is None else content)
    if begin is not None:
        (top / f"1-algo-1_{begin}_{end}.metadata").touch()
    return path


def test_both_read_the_same(tmp_path):
    folder = tmp_path / "profile"
    shutil.copytree(HERE / "fixtures/healthy", folder)
    add_trace(folder, 5)
    add_trace(folder, 6, begin=BEGIN + 2_000_000, end=END + 2_000_000)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    [theirs] = dumped(ORIGINAL, [folder], tmp_path / "theirs", plain)
    [ours] = dumped(sys.executable, [folder], tmp_path / "ours", dict(os.environ))
    assert sum("/device:GPU:0" in event for event in ours["framework"][0]) == 40
    for part in ("files", "framework", "steps", "merged", "frames"):
        assert ours[part] == theirs[part], part


def test_an_event_has_its_time_row_and_file(tmp_path):
    add_trace(tmp_path, 5)
    events = LocalAlgorithmMetricsReader(str(tmp_path)).get_events(0, FAR)
    assert len(events) == 40
    first = next(event for event in events if event.event_name == "MatMul:1")
    assert (first.start_time, first.duration) == (BEGIN + 1000.25, 800.5)
    assert (first.event_phase, first.node_id, first.file_type) == ("/device:GPU:0", "ip-10-0-0-1", "TFProfilerMetrics")
    assert first.event_args["long_name"] == "model/dense_1/MatMul"
    endings = LocalAlgorithmMetricsReader(str(tmp_path))
    assert len(endings.get_events(0, FAR, file_suffix_filter=["trace.json.gz"])) == 40
    assert endings.get_events(0, FAR, file_suffix_filter=["pythontimeline.json"]) == []


WHOLE = gzip.compress(json.dumps(trace_of()).encode())
BAD = {
    "cut": (WHOLE[:-20], "its end is missing"),
    "plain": (b"{}", "incorrect header check"),
    "other": (gzip.compress(b"[1, 2]"), "it has no traceEvents"),
    "deep": (gzip.compress(b"[" * 100_000), "recursion"),
    "not JSON": (gzip.compress(b"nothing"), "Expecting value"),
    "large": (gzip.compress(b" " * (600 << 20), 1), "more than 512 MiB"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_trace_is_named_and_left_out(kind, tmp_path, caplog):
    content, reason = BAD[kind]
    bad = add_trace(tmp_path, 5, content=content)
    add_trace(tmp_path, 6)
    with caplog.at_level(logging.WARNING):
        assert len(LocalAlgorithmMetricsReader(str(tmp_path)).get_events(0, FAR)) == 40
    assert f"{bad} is no trace of TensorFlow" in caplog.text and reason in caplog.text


def test_a_trace_without_times_is_left_out(tmp_path):
    add_trace(tmp_path, 5, begin=None)
    assert LocalAlgorithmMetricsReader(str(tmp_path)).get_events(0, FAR) == []


def test_unpacked_traces_are_removed_with_the_reader(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    add_trace(tmp_path / "profile", 5)
    reader = LocalAlgorithmMetricsReader(str(tmp_path / "profile"))
    assert len(reader.get_events(0, FAR)) == 40
    assert len(list(Path(scratch).rglob("*.trace.json"))) == 1
    del reader
    assert list(scratch.iterdir()) == []
