"""Runs scripts with the original library, in the environment that the Makefile creates."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_ORIGINAL_PYTHON", "")
SETTINGS = {
    "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0",
    "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT": "1",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.timeout(180))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)


def run(python, path, script, *arguments):
    """Runs a script, and returns its last line of output as JSON; None without output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, str(HERE / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, **SETTINGS, "SMDEBUG_LOG_LEVEL": "off", **path},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else None


@pytest.fixture(scope="session")
def original():
    """Runs a script with the original library: original("dump_trial.py", path)."""
    if not os.path.exists(ORIGINAL):
        pytest.skip("SMDEBUG_ORIGINAL_PYTHON does not name the interpreter of the original")
    return lambda script, *arguments: run(ORIGINAL, {}, script, *arguments)


@pytest.fixture(scope="session")
def ours():
    """Runs a script with this library."""
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return lambda script, *arguments: run(sys.executable, path, script, *arguments)
