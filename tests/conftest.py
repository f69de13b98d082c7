"""Prepares the process for the tests."""

import logging
import signal

import pytest

# A shell starts background jobs with SIGINT ignored, and child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line("markers", "whole: takes long; `make test-frameworks WHOLE=1` runs it")


@pytest.fixture(autouse=True)
def every_line():
    """Resets the limit on repeated log lines, so that tests do not affect each other."""
    for each in logging.getLogger("smdebug").filters:
        getattr(each, "msgs", {}).clear()
