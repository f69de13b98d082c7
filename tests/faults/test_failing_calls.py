"""Tests jobs in which each call to the C library fails: alone, and with all later calls."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fault_programs import ERRORS, IS_TORTURE, every_call, recorder

DURABLE = {"durability": "step"}
STRIDE = 1 if IS_TORTURE else 3


@pytest.fixture
def trial(scratch: Path) -> Path:
    folder = scratch / "trial"
    subprocess.run(recorder(folder, 1, 2, "flush", {}), check=True, capture_output=True, timeout=60)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
@pytest.mark.parametrize("error", ERRORS)
def test_calls_of_a_job_that_records(scratch: Path, error: str, how: str) -> None:
    if how == "on" and error == "EINTR":
        return  # a call that is always interrupted would be repeated forever
    assert every_call("record", scratch / "a", "calls", ERRORS[error], how, DURABLE, STRIDE) > 100


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
@pytest.mark.parametrize("error", ERRORS)
def test_calls_of_a_job_that_reads(trial: Path, error: str, how: str) -> None:
    if how == "on" and error == "EINTR":
        return
    assert every_call("read", trial, "calls", ERRORS[error], how, {}, STRIDE) > 40


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_records(scratch: Path, how: str) -> None:
    assert every_call("record", scratch / "a", "memory", 0, how, DURABLE, STRIDE) > 400


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_reads(trial: Path, how: str) -> None:
    assert every_call("read", trial, "memory", 0, how, {}, STRIDE) > 800
