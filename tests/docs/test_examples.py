"""Runs the Python examples, and checks their output."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("PYTHONPATH") or str(ROOT / "build/python")


def test_train_digits(tmp_path):
    script = ROOT / "examples/python/train_digits.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "digits"],
        env={**os.environ, "PYTHONPATH": PACKAGE}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "recorded 440 steps of 8 tensors"
    first, last = map(float, re.fullmatch(r"loss (\S+) at first, (\S+) at last", lines[1]).groups())
    assert first > 2 and last < 0.3, "it learns"
    [step] = re.findall(r"^Plateau: met at step (\d+)$", done.stdout, re.MULTILINE)
    # Each epoch of 21 batches ends with an evaluation.  The rule needs five evaluations.
    assert int(step) % 22 == 21 and int(step) > 4 * 22
    assert lines[3:] == ["VanishingGradient: never met"]
