"""Tests that the queue, or the size of the read value, bounds the memory of a job."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Callable, Mapping

import pytest
from fault_programs import BUILD, settings
from toxiproxy import BadNetwork

MIB = 1 << 20
QUEUE = 8 * MIB
# Above the bound: threads, connection buffers, and memory that the allocator keeps.
MORE = 8 * MIB
# Up to eight steps on their way to S3, each a whole event file (docs/s3.md).
UPLOADS = 8 * MIB
IMPATIENT = {
    "s3_max_attempts": "1",
    "s3_connect_seconds": "0.5",
    "s3_first_byte_seconds": "0.5",
    "s3_stall_seconds": "0.5",
}


def measure(
    job: str, folder: str | Path, mib: int, steps: int, options: Mapping[str, str],
    after_opening: Callable[[], None] = lambda: None, **environment: str,
) -> tuple[int, int]:  # fmt: skip
    """Returns the peak memory of a job in bytes, and the number of failed calls."""
    process = subprocess.Popen(
        [BUILD / "bin/fault_measured", job, str(folder), str(mib), str(steps), *settings(options)],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        after_opening()
        output, _ = process.communicate("\n", timeout=120)
    _, peak, _, failures = output.split()
    print(f"{job} {steps} times {mib} MiB: {int(peak) / MIB:.1f} MiB, {failures} failures")
    return int(peak), int(failures)


@pytest.fixture
def network(server):
    made = BadNetwork(server.endpoint)
    yield made
    made.close()


@pytest.mark.parametrize("policy", ["block", "drop"])
def test_recording_to_a_slow_disk(scratch: Path, policy: str) -> None:
    options = {"queue_bytes": str(QUEUE), "queue_policy": policy}
    slow = {"LD_PRELOAD": str(BUILD / "lib/libfault_slow_calls.so"), "SLOW_MIB_PER_SECOND": "50"}
    peak, failures = measure("record", scratch / "run", 1, 128, options, **slow)
    assert peak < QUEUE + MORE
    assert (failures > 0) == (policy == "drop")


@pytest.mark.parametrize("policy", ["block", "drop"])
def test_recording_to_a_service_that_is_gone(server, bucket: str, network, policy: str) -> None:
    options = {"queue_bytes": str(QUEUE), "queue_policy": policy, **IMPATIENT}
    options.update(server.options(s3_endpoint=network.endpoint))
    peak, failures = measure("record", f"s3://{bucket}/a", 1, 128, options, network.cut_off)
    assert peak < QUEUE + UPLOADS + MORE
    assert failures > 0


@pytest.mark.parametrize("policy", ["block", "drop"])
def test_recording_to_a_service_that_is_silent(server, bucket: str, network, policy: str) -> None:
    options = {"queue_bytes": str(QUEUE), "queue_policy": policy, **IMPATIENT}
    options.update(server.options(s3_endpoint=network.endpoint))

    def silence() -> None:
        network.spoil("timeout", timeout=0)

    peak, failures = measure("record", f"s3://{bucket}/a", 1, 128, options, silence)
    assert peak < QUEUE + UPLOADS + MORE
    assert failures > 0


def test_reading_a_large_value(scratch: Path) -> None:
    measure("record", scratch / "run", 256, 2, {})
    peak, failures = measure("read", scratch / "run", 256, 2, {})
    assert peak < 256 * MIB + MORE
    assert failures == 0


def test_reading_a_large_value_of_s3(server, bucket: str) -> None:
    options = server.options()
    measure("record", f"s3://{bucket}/a", 256, 2, options)
    peak, failures = measure("read", f"s3://{bucket}/a", 256, 2, options)
    assert peak < 256 * MIB + MORE
    assert failures == 0
