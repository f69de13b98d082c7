"""Runs the example, and looks at what it prints and records."""

import re
import subprocess
import sys
from pathlib import Path

import smdebug as smd

ROOT = Path(__file__).resolve().parents[3]


def test_train_spirals(tmp_path):
    folder = tmp_path / "spirals"
    done = subprocess.run(
        [sys.executable, ROOT / "examples/jax/train_spirals.py", folder],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, plateau, vanishing = done.stdout.splitlines()
    assert first == "recorded 100 steps of 10 tensors"
    [step] = re.findall(r"^Plateau: met at step (\d+)$", plateau)
    assert int(step) >= 590, "60 saved steps are needed to tell"
    assert vanishing == "VanishingGradient: never met"
    losses = list(smd.create_trial(folder).tensor("loss").values(smd.modes.TRAIN).values())
    assert losses[0] > 0.5 and sum(losses[-10:]) / 10 < 0.35, "it learns"
