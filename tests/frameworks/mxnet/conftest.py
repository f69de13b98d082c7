"""Imports MXNet, whose import logs many warnings."""

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mxnet  # noqa: F401


@pytest.fixture(autouse=True)
def short_waits(monkeypatch, strict_and_alone):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
