"""Tests jobs that record to S3 or read from it while calls to the C library fail."""

from __future__ import annotations

import subprocess

import pytest
from fault_programs import ERRORS, IS_TORTURE, every_call, recorder

# Sockets never report a full disk.
NETWORK_ERRORS = [error for error in ERRORS if error != "ENOSPC"]
# A failing call may leave a request without an answer; the request then takes this long.
IMPATIENT = {
    "s3_max_attempts": "2",
    "s3_connect_seconds": "1",
    "s3_first_byte_seconds": "1",
    "s3_stall_seconds": "1",
}
PATIENT = {"s3_max_attempts": "2"}


@pytest.fixture(scope="session")
def trial(server) -> str:
    server.client().create_bucket(Bucket="to-read")
    folder = "s3://to-read/trial"
    command = recorder(folder, 1, 2, "flush", server.options())
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder


def stride(all_of_them: int, share: int) -> int:
    return all_of_them if IS_TORTURE else share


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("error", NETWORK_ERRORS)
def test_calls_of_a_job_that_records(server, bucket: str, error: str) -> None:
    options = {**server.options(), **IMPATIENT}
    folder = f"s3://{bucket}/a"
    number = every_call("record", folder, "calls", ERRORS[error], "once", options, stride(1, 7))
    assert number > 100


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("error", NETWORK_ERRORS)
def test_calls_of_a_job_that_reads(server, trial: str, error: str) -> None:
    options = {**server.options(), **IMPATIENT}
    number = every_call("read", trial, "calls", ERRORS[error], "once", options, stride(1, 29))
    assert number > 100


# Each request takes until its timeout.
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("error", ["EIO", "EMFILE"])
def test_calls_of_a_job_that_never_succeed_again(server, bucket: str, error: str) -> None:
    options = {**server.options(), **IMPATIENT}
    folder = f"s3://{bucket}/a"
    number = every_call("record", folder, "calls", ERRORS[error], "on", options, stride(5, 73))
    assert number > 100


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_records(server, bucket: str, how: str) -> None:
    options = {**server.options(), **PATIENT}
    number = every_call("record", f"s3://{bucket}/a", "memory", 0, how, options, stride(1, 61))
    assert number > 1000


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_reads(server, trial: str, how: str) -> None:
    options = {**server.options(), **PATIENT}
    number = every_call("read", trial, "memory", 0, how, options, stride(3, 211))
    assert number > 1000
