"""Fixtures: a server for jobs that record to S3, and a clean environment."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "s3"))

from servers import new_bucket, run_versitygw  # noqa: E402


MEMORY = Path("/dev/shm")


def fresh_folder() -> Path:
    """Returns a folder for many small files, in memory if possible."""
    return Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))


@pytest.fixture(scope="session")
def server():
    yield from run_versitygw(fresh_folder())


@pytest.fixture
def bucket(server, request):
    return new_bucket(server, request.node.name)


@pytest.fixture
def scratch():
    folder = fresh_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """Hides the machine's credentials and service variables."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "SMDEBUG_S3_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
