"""What the builds for other systems are tested with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Dict, List, Tuple

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "tests/conformance/scenario.json"
NATIVE = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))

UNIT_TESTS = ["base_test", "format_test", "record_test", "analyze_test"]
C_TESTS = [
    "smoke_test",
    "null_test",
    "output_test",
    "settings_test",
    "files_test",
    "callback_test",
    "dlpack_test",
    "hook_threads_test",
    "late_test",
    "metadata_test",
    "owned_test",
    "profiler_test",
    "scan_test",
    "statistics_test",
    "values_test",
]


# Reading a trial waits for none that could come late.
NO_DELAY = {"SMDEBUG_TRAINING_END_DELAY_REFRESH": "0"}


def run_unit_tests(command: List[str], folder: Path) -> None:
    assert "[  PASSED  ]" in run([*command, "--gtest_brief=1"], folder, {})


def run(command: List[str], folder: Path, variables: Dict[str, str] = NO_DELAY) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def answers(command: List[str], folder: Path) -> Tuple[int, str, str]:
    """A program's exit status, and what it printed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout != ""
    return done.returncode, done.stdout, done.stderr


def contents(folder: Path) -> Dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
