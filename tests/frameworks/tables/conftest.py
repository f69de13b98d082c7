"""Fixtures of the tests of tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import make_farm


@pytest.fixture(scope="session")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trials, which tests must not change."""
    folder = tmp_path_factory.mktemp("farm")
    make_farm(folder)
    return folder


@pytest.fixture(autouse=True)
def short_waits(strict_and_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")
