"""Calls of the C library fail under jobs in other languages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fault_programs import BUILD, ERRORS, IS_TORTURE

PYTHON = [sys.executable, str(Path(__file__).with_name("failing_binding.py"))]


def every_call(
    program: list[str], libraries: str, folder: Path, group: str, error: int, stride: int
) -> int:
    """How many calls there are under functions of the libraries."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(BUILD / "lib/libfault_failing_calls.so"),
        "FAULT_UNDER": libraries,
    }
    done = subprocess.run(
        [*program, str(folder), group, str(error), str(1 if IS_TORTURE else stride)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=1000,
        check=True,
    )
    *faults, last = done.stdout.splitlines()
    assert not faults, "\n".join(faults)
    print(f"{group} {error}: {last}")
    return int(last.split()[0])


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("error", ERRORS)
def test_calls_under_python(scratch: Path, error: str) -> None:
    libraries = "libsmdebug.so,_raw.abi3.so"
    assert every_call(PYTHON, libraries, scratch, "calls", ERRORS[error], 5) > 100


@pytest.mark.timeout(1000)
def test_memory_under_python(scratch: Path) -> None:
    libraries = "libsmdebug.so,_raw.abi3.so"
    assert every_call(PYTHON, libraries, scratch, "memory", 0, 11) > 1000
