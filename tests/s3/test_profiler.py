"""Profiler folders in buckets."""

from __future__ import annotations

import cProfile
import json
import marshal
import subprocess
import time
from pathlib import Path

import duckdb
import pandas
import pytest
import smdebug
from servers import ACCESS, SECRET
from smdebug import create_trial
from smdebug.core.access_layer.s3handler import S3Handler
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler import S3SystemMetricsReader
from smdebug.profiler.analysis.python_profile_analysis import cProfileAnalysis
from smdebug.profiler.analysis.python_stats_reader import S3PythonStatsReader
from smdebug.profiler.analysis.rules import evaluate_profile
from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline, MergeUnit
from smdebug.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame

FIXTURES = Path(__file__).parents[1] / "profiler/fixtures"
PROGRAM = Path(__file__).parents[2] / "build/bin/smdebug"
FAR = 4_000_000_000_000_000
SECONDS = (1_706_745_550_000_000, 1_706_745_600_000_000)


@pytest.fixture
def in_bucket(server, bucket, monkeypatch):
    """Returns a function that copies a fixture into a bucket, and returns both places."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)

    def copy(name):
        client, folder = server.client(), FIXTURES / name
        for path in folder.rglob("*"):
            if path.is_file():
                client.upload_file(str(path), bucket, f"{name}/1/{path.relative_to(folder)}")
        return folder, f"s3://{bucket}/{name}"

    return copy


# The last has lines that are cut off, and files that end within one.
@pytest.mark.parametrize("name", ["healthy", "multi_node", "torn_line"])
def test_a_bucket_gives_what_its_folder_gives(in_bucket, name, tmp_path):
    folder, jobs = in_bucket(name)
    for table in ("profile_events", "system_metrics"):
        here = smdebug.scan(folder, table, options={"name": "1"})  # noqa: F841
        there = smdebug.scan(jobs, table)  # noqa: F841
        rows = duckdb.sql("from here").fetchall()
        assert rows and duckdb.sql("from there").fetchall() == rows
    trial, local = (
        create_trial(path, profiler=True, output_dir=str(tmp_path / "out")) for path in (f"{jobs}/1", str(folder))
    )
    assert trial.job_finished() == local.job_finished()
    assert len(trial.get_system_metrics(0, FAR)) == len(local.get_system_metrics(0, FAR)) > 0
    assert len(trial.get_framework_metrics(0, FAR)) == len(local.get_framework_metrics(0, FAR)) > 0
    assert trial.get_latest_timestamp() == local.get_latest_timestamp()


def test_frames_rules_and_timelines_of_a_bucket(in_bucket, tmp_path):
    folder, jobs = in_bucket("cpu_bottleneck")
    ours, theirs = PandasFrame(f"{jobs}/1"), PandasFrame(str(folder))
    pandas.testing.assert_frame_equal(ours.get_all_system_metrics(), theirs.get_all_system_metrics())
    pandas.testing.assert_frame_equal(ours.get_all_framework_metrics(), theirs.get_all_framework_metrics())
    merged = []
    for number, path in enumerate((f"{jobs}/1", str(folder))):
        out = tmp_path / str(number)
        out.mkdir()
        written = MergedTimeline(path, output_directory=str(out)).merge_timeline(*SECONDS, MergeUnit.TIME)
        merged.append(json.loads(Path(written).read_text()))
    assert merged[0] == merged[1] and len(merged[0]) > 100
    findings = [
        [(each.rule, each.tensor, each.value) for each in evaluate_profile(path, profile="aws").findings]
        for path in (f"{jobs}/1", str(folder))
    ]
    assert findings[0] == findings[1] and findings[0][0][0] == "CPUBottleneck"
    done = subprocess.run(
        [PROGRAM, "profile", f"{jobs}/1", "--rules", "aws"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 10 and "CPUBottleneck" in done.stdout


def test_python_profiles_of_a_bucket_are_copied_once(server, bucket, monkeypatch, tmp_path):
    client = server.client()
    recorder = cProfile.Profile()
    recorder.runcall(sorted, range(9))
    recorder.create_stats()
    content = marshal.dumps(recorder.stats)
    folder = "train-0-stepstart-1706745541000000.0_train-0-stepend-1706745541500000.0"
    key = f"jobs/2/framework/pytorch/cprofile/1-algo-1/{folder}/python_stats"
    outside = f"jobs/2/framework/pytorch/cprofile/{folder}/python_stats"
    for name in (key, outside, f"jobs/2/framework2/pytorch/cprofile/1-algo-1/{folder}/python_stats"):
        client.put_object(Bucket=bucket, Key=name, Body=content)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    analysis = cProfileAnalysis(str(tmp_path), f"s3://{bucket}/jobs/2")
    copy = tmp_path / "python_stats/1-algo-1" / folder / "python_stats"
    assert [each.stats_path for each in analysis.python_profile_stats] == [str(copy)]
    before = copy.stat().st_mtime_ns
    assert analysis.fetch_profile_stats_by_step(0).ps.stats == marshal.loads(content)
    assert copy.stat().st_mtime_ns == before
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [copy]


def test_keys_with_dots_do_not_leave_the_folder(monkeypatch, tmp_path):
    folder = "train-0-stepstart-1_train-0-stepend-2"
    keys = [f"p/framework/pytorch/{middle}/{folder}/python_stats" for middle in ("cprofile/..", "../x")]
    monkeypatch.setattr(S3Handler, "list_prefix", lambda request: keys)
    assert S3PythonStatsReader(str(tmp_path), "s3://bucket/p").load_python_profile_stats() == []
    assert list(tmp_path.iterdir()) == []


def test_a_reader_looks_back_as_far_as_it_is_told(in_bucket, server, bucket, monkeypatch):
    """New files of a bucket are looked for after those that are older than the trailing duration."""
    _, jobs = in_bucket("healthy")
    reader = S3SystemMetricsReader(f"{jobs}/1")
    known = len(reader.get_events(0, FAR))
    last = reader.get_timestamp_of_latest_available_file()
    prefix = "healthy/1/system/incremental"
    line = b'{"Type": "cpu", "Name": "cpu0", "Dimension": "CPUUtilization", "Value": 1.0, "NodeId": "algo-1", "Timestamp": %d}\n'
    for later in (-30, 120):
        seconds = last // 1_000_000 + later
        key = f"{prefix}/{time.strftime('%Y%m%d%H', time.gmtime(seconds))}/{seconds}.algo-9.json"
        server.client().put_object(Bucket=bucket, Key=key, Body=line % seconds)
    monkeypatch.setenv("TRAILING_DURATION_MICROSECONDS", "1000000")
    reader.refresh_event_file_list()
    assert len(reader.get_events(0, FAR)) == known + 1
    monkeypatch.setenv("TRAILING_DURATION_MICROSECONDS", "300000000")
    reader.refresh_event_file_list()
    assert len(reader.get_events(0, FAR)) == known + 2
    monkeypatch.setenv("TRAILING_DURATION_MICROSECONDS", "5 min")
    with pytest.raises(SMDebugValueError, match="TRAILING_DURATION_MICROSECONDS is '5 min'"):
        reader.refresh_event_file_list()
