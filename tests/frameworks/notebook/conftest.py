"""Fixtures of the tests in notebooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest
from training import record_training

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/cli"))


@pytest.fixture(autouse=True)
def short_waits(strict_and_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "20")
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that ended with NaN, which tests must not change."""
    path = tmp_path_factory.mktemp("notebook") / "run"
    record_training(path)
    return path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    from browser import Browser

    shown = Browser(tmp_path_factory.mktemp("browser"))
    yield shown
    shown.close()
