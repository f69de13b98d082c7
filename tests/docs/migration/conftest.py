"""Fixtures for the snippets of the original's documentation, which the tests run unchanged.

Each topic has a file.  If a page names a folder, the test makes one for itself.  If it names a
bucket, the test starts a server that has a bucket with this name.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/s3"))
if importlib.util.find_spec("smdebug") is None:
    sys.path.insert(0, os.environ.get("PYTHONPATH") or str(ROOT / "build/python"))

from jobs import record_resnet  # noqa: E402
from servers import ACCESS, SECRET, run_versitygw  # noqa: E402

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.timeout(60))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")


@pytest.fixture
def out_dir(tmp_path):
    """Returns a path for a new trial."""
    return str(tmp_path / "mnist_job")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory):
    yield from run_versitygw(tmp_path_factory.mktemp("s3"))


@pytest.fixture
def s3(s3_server, monkeypatch):
    """Returns a function that creates a bucket, and points the library to its server."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    client = s3_server.client()

    def make(bucket):
        if bucket not in [found["Name"] for found in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=bucket)

    return make


@pytest.fixture
def resnet(out_dir):
    """Records a job of 121 training steps, and returns its path."""
    record_resnet(out_dir, 121)
    return out_dir
