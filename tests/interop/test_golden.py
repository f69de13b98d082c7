"""Tests that trials of the original library are read correctly."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = sorted(path.parent.name for path in GOLDEN.glob("*/manifest.json"))


def test_golden_trials_exist():
    assert len(CASES) == 13


@pytest.mark.parametrize("case", CASES)
def test_a_golden_trial_is_read_without_a_wrong_value(case):
    done = subprocess.run(
        [sys.executable, str(GOLDEN / "check_fixtures.py"), str(GOLDEN), case],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    total = re.search(r"TOTAL equal (\d+) .* wrong (\d+)", done.stdout)
    assert total, done.stdout + done.stderr
    assert int(total.group(2)) == 0, done.stdout
    assert int(total.group(1)) > 0
    assert done.returncode == 0
