"""Each call of the C library that a job makes fails once, and each with all after it."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Mapping

import pytest
from fault_programs import BUILD, recorder, settings

SHORT = -1  # reads and writes do half of what they are asked to
ERRORS = {
    "EIO": errno.EIO,
    "ENOSPC": errno.ENOSPC,
    "EINTR": errno.EINTR,
    "EMFILE": errno.EMFILE,
    "short": SHORT,
}
DURABLE = {"durability": "step"}


def every_call(
    job: str, folder: str | Path, group: str, error: int, how: str,
    options: Mapping[str, str],
) -> int:  # fmt: skip
    """How many calls there are."""
    program = BUILD / "bin/fault_every_call"
    done = subprocess.run(
        [program, job, folder, group, str(error), how, "1", "1", *settings(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=1000,
        check=True,
    )
    *faults, last = done.stdout.splitlines()
    assert not faults, "\n".join(faults)
    print(f"{job} {group} {error} {how}: {last}")
    return int(last.split()[0])


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
        return  # a call that is interrupted for ever is made for ever
    assert every_call("record", scratch / "a", "calls", ERRORS[error], how, DURABLE) > 100


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
@pytest.mark.parametrize("error", ERRORS)
def test_calls_of_a_job_that_reads(trial: Path, error: str, how: str) -> None:
    if how == "on" and error == "EINTR":
        return
    assert every_call("read", trial, "calls", ERRORS[error], how, {}) > 50


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_records(scratch: Path, how: str) -> None:
    assert every_call("record", scratch / "a", "memory", 0, how, DURABLE) > 400


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["once", "on"])
def test_memory_of_a_job_that_reads(trial: Path, how: str) -> None:
    assert every_call("read", trial, "memory", 0, how, {}) > 1000


@pytest.mark.timeout(3000)
def test_short_calls_of_a_job_that_records_to_s3(server, bucket: str) -> None:
    options = {**server.options(), "s3_max_attempts": "2"}
    calls = every_call("record", f"s3://{bucket}/a", "calls", SHORT, "once", options)
    assert calls > 50
