"""The original (boto3) reads what we put, and we read what it put, on one server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from servers import ACCESS, SECRET

import smdebug as smd

PROGRAM = Path(__file__).with_name("original_s3.py")


@pytest.fixture
def original(server):
    """Runs a command of original_s3.py with the original library."""

    def run(*arguments: str) -> object:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment.update(
            AWS_ENDPOINT_URL=server.endpoint,
            AWS_ACCESS_KEY_ID=ACCESS,
            AWS_SECRET_ACCESS_KEY=SECRET,
            AWS_REGION="us-east-1",
            AWS_DEFAULT_REGION="us-east-1",
        )
        done = subprocess.run(
            [os.environ["SMDEBUG_ORIGINAL_PYTHON"], PROGRAM, *arguments],
            env=environment, capture_output=True, text=True, timeout=100, check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_the_original_reads_ours(server, bucket, original):
    url = f"s3://{bucket}/ours"
    every_step = smd.SaveConfig(save_interval=1)
    with smd.Hook(url, save_all=True, save_config=every_step, options=server.options()) as hook:
        for step in range(3):
            with hook.step():
                hook.save("weight", np.arange(4, dtype=np.float32) + step)
    assert original("read", url) == {
        "steps": [0, 1, 2],
        "weight": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]],
    }


def test_we_read_the_originals(server, bucket, original):
    url = f"s3://{bucket}/theirs"
    original("write", url)
    with smd.create_trial(url, options=server.options()) as trial:
        assert trial.steps() == [0, 1, 2]
        weight = trial.tensor("weight")
        assert [weight.value(step).tolist() for step in trial.steps()] == [
            [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5],
        ]
