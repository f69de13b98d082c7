"""Profiler folders in buckets."""

from __future__ import annotations

import cProfile
import marshal
from pathlib import Path

import duckdb
import smdebug
from servers import ACCESS, SECRET
from smdebug import create_trial
from smdebug.core.access_layer.s3handler import S3Handler
from smdebug.profiler.analysis.python_profile_analysis import cProfileAnalysis
from smdebug.profiler.analysis.python_stats_reader import S3PythonStatsReader

FIXTURES = Path(__file__).parents[1] / "profiler/fixtures/healthy"
FAR = 4_000_000_000_000_000


def test_a_bucket_gives_what_its_folder_gives(server, bucket, monkeypatch, tmp_path):
    client = server.client()
    for path in FIXTURES.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), bucket, f"jobs/1/{path.relative_to(FIXTURES)}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    for table in ("profile_events", "system_metrics"):
        here = smdebug.scan(FIXTURES, table, options={"name": "1"})  # noqa: F841
        there = smdebug.scan(f"s3://{bucket}/jobs", table)  # noqa: F841
        assert duckdb.sql("from there").fetchall() == duckdb.sql("from here").fetchall()
    trial = create_trial(f"s3://{bucket}/jobs/1", profiler=True, output_dir=str(tmp_path / "out"))
    assert trial.job_finished()
    assert len(trial.get_system_metrics(0, FAR)) == 1144
    assert len(trial.get_framework_metrics(0, FAR)) == 420
    assert trial.get_latest_timestamp() == 1706745600000000


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
