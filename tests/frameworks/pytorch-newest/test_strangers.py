"""A small part of tests/rules/strangers/measure.py: `make measure-strangers` runs it whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = Path(__file__).resolve().parents[2] / "rules/strangers/measure.py"
HEALTHY = ["mixture_of_experts", "lora_finetune"]
PAIRS = ["softmax_over_batch", "loss_negated", "eval_left_on", "trainer_rate"]

pytestmark = pytest.mark.timeout(240)


def test_trainings_of_a_stranger_are_judged(tmp_path: Path) -> None:
    only = f"^({'|'.join(HEALTHY + PAIRS)})$"
    words = ["--seeds", "0", "--only", only, "--lines", tmp_path / "lines"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", MEASURE, *words], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "healthy without a finding: 6 of 6" in ended.stdout
    assert "blamed" not in ended.stdout and "missed" not in ended.stdout
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert {each["name"] for each in lines if each["findings"]} == set(PAIRS)
