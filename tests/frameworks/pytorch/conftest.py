"""Runs scripts in their own processes, with either library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

HERE = Path(__file__).parent
ORIGINAL = os.environ.get("SMDEBUG_PYTORCH_ORIGINAL_PYTHON", "")
# No test waits for a trial that is still being written.
WAITS = {"SMDEBUG_TRAINING_END_DELAY_REFRESH": "0", "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT": "1"}

Run = Callable[..., "subprocess.Popen[str]"]


def start(command: list[Any], **environment: str) -> subprocess.Popen[str]:
    """Starts a process; `output_of` reads its output."""
    return subprocess.Popen(
        [str(part) for part in command],
        env={**os.environ, **WAITS, "SMDEBUG_LOG_LEVEL": "off", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(autouse=True)
def short_waits(strict_and_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WAITS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def ours() -> Run:
    """Starts a script with this library: ours("trainings.py", folder, RANK="1")."""
    return lambda script, *arguments, **environment: start(
        [sys.executable, HERE / script, *arguments], **environment
    )


@pytest.fixture(scope="session")
def original() -> Run:
    """Starts a script with the original library."""
    assert ORIGINAL, "SMDEBUG_PYTORCH_ORIGINAL_PYTHON does not name the original's interpreter"
    return lambda script, *arguments, **environment: start(
        [ORIGINAL, HERE / "run_original.py", HERE / script, *arguments],
        **{"PYTHONPATH": "", **environment},
    )
