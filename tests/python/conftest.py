"""Runs the tests against the package in build/python, unless PYTHONPATH names another."""

import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("smdebug") is None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "build" / "python"))

from helpers import Recorder  # noqa: E402

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.timeout(60))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """Makes tests not wait for late files or for missing trials."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "1")


@pytest.fixture
def out_dir(tmp_path):
    """The folder of a trial that does not exist yet."""
    return str(tmp_path / "run")


@pytest.fixture
def recorder(out_dir):
    """Writes steps of a trial one by one, without a hook."""
    return Recorder(out_dir)
