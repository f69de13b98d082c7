"""What the tests need of the process they run in."""

import logging
import signal

import pytest

# Whoever starts the tests in the background of a shell has them ignore it, and so what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def every_line():
    """No test loses a line of the log because others have logged it three times."""
    for each in logging.getLogger("smdebug").filters:
        getattr(each, "msgs", {}).clear()
