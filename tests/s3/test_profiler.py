"""Profiler folders in buckets."""

from __future__ import annotations

from pathlib import Path

import duckdb
import smdebug
from servers import ACCESS, SECRET
from smdebug import create_trial

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
