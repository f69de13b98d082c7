"""Finished trials are readable without a wait."""

import pytest


@pytest.fixture(autouse=True)
def no_waits(strict_and_alone, monkeypatch):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")
