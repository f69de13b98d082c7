"""A server for jobs that record to S3, and a clean environment."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "s3"))

from servers import new_bucket, run_versitygw  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    yield from run_versitygw(tmp_path_factory.mktemp("server"))


@pytest.fixture
def bucket(server, request):
    return new_bucket(server, request.node.name)


@pytest.fixture
def scratch():
    """A folder for many small files; in memory where it can be, where a disk adds nothing."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """None of the machine's credentials, and no service's job."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "SMDEBUG_S3_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
