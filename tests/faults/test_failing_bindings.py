"""Calls of the C library fail under jobs in other languages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fault_programs import BUILD, ERRORS, IS_TORTURE, calls_of

PYTHON = [sys.executable, str(Path(__file__).with_name("failing_binding.py"))]


def calls_under_python(folder: Path, group: str, error: int, stride: int) -> int:
    """Makes each `stride`th call below the package fail in turn; returns the number of calls."""
    environment = {
        "LD_PRELOAD": str(BUILD / "lib/libfault_failing_calls.so"),
        "FAULT_UNDER": "libsmdebug.so,_raw.abi3.so",
    }
    every = str(1 if IS_TORTURE else stride)
    return calls_of([*PYTHON, folder, group, str(error), every], environment)


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("error", ERRORS)
def test_calls_under_python(scratch: Path, error: str) -> None:
    assert calls_under_python(scratch, "calls", ERRORS[error], 9) > 100


@pytest.mark.timeout(1000)
def test_memory_under_python(scratch: Path) -> None:
    assert calls_under_python(scratch, "memory", 0, 29) > 1000
