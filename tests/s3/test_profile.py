"""Tests of profiles that are recorded into a bucket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from servers import ACCESS, SECRET

WRITE_PROFILE = Path(__file__).resolve().parents[1] / "interop/write_profile.py"


def test_a_bucket_has_the_files_of_a_folder(server, bucket):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SMDEBUG_S3_ENDPOINT": server.endpoint,
        "SMDEBUG_S3_REGION": "us-east-1",
    }
    done = subprocess.run(
        [sys.executable, str(WRITE_PROFILE), f"s3://{bucket}/job"],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )
    assert done.returncode == 0, done.stderr
    client = server.client()
    keys = [each["Key"] for each in client.list_objects_v2(Bucket=bucket)["Contents"]]
    timelines = [key for key in keys if key.startswith("job/framework/pevents/20240")]
    events = [
        (event["name"], str(event["args"]["step_num"]))
        for key in timelines
        for event in json.loads(client.get_object(Bucket=bucket, Key=key)["Body"].read())
        if event["ph"] == "X"
    ]
    recorded = [(name, step) for name, _, _, _, step in json.loads(done.stdout)]
    assert len(timelines) == 3
    assert sorted(events) == sorted(recorded)
    assert any(key.startswith("job/system/incremental/") for key in keys)
    assert {f"job/{folder}/training_job_end.ts" for folder in ("framework", "system")} < set(keys)
    assert not any(key.endswith(".tmp") for key in keys)
