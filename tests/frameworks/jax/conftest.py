"""Two devices on the CPU, which JAX must know of before it is imported."""

import os
import socket

import pytest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch, strict_and_alone):
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")


@pytest.fixture
def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
