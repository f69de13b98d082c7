"""Fixtures that run the program smdebug in a folder with recorded trials."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/s3"))
sys.path.append(str(ROOT / "tests/profiler"))
if importlib.util.find_spec("smdebug") is None:
    sys.path.insert(0, str(ROOT / "build/python"))

from cli_program import Program  # noqa: E402
from cli_trials import record_run, record_workers  # noqa: E402

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.timeout(120))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Keeps the catalogues of these trials out of the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")


@pytest.fixture(scope="session")
def trials(tmp_path_factory):
    """Returns a folder with the trials run, other_run and workers; tests must not change it."""
    folder = tmp_path_factory.mktemp("trials")
    record_run(folder / "run")
    record_run(folder / "other_run", wrong_at=12)
    record_workers(folder / "workers")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from browser import Browser

    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture
def smdebug(trials):
    """Returns the program, which runs in the folder of the trials."""
    return Program(trials)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Starts an S3 service with my-bucket, and points the environment to it."""
    from servers import ACCESS, SECRET, run_versitygw

    for name in list(os.environ):
        if name.startswith(("AWS_", "SMDEBUG_S3_")):
            monkeypatch.delenv(name)
    for service in run_versitygw(tmp_path / "server"):
        service.client().create_bucket(Bucket="my-bucket")
        monkeypatch.setenv("AWS_ENDPOINT_URL", service.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield service


