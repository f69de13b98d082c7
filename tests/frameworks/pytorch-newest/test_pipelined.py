"""Stages of a model in several processes, each of which computes micro-batches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from pipelined_training import KINDS, MICRO_BATCHES, STEPS
from smdebug.trials import create_trial

SCRIPT = Path(__file__).with_name("pipelined_training.py")

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_records_what_it_applies(kind: str, tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, SCRIPT, tmp_path, str(rank), kind],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
        assert "no loss was recorded" not in errors
    trial = create_trial(str(tmp_path / "run"))
    assert trial.steps() == list(range(STEPS))
    names = trial.tensor_names()
    for rank in range(2):
        for step, expected in enumerate(torch.load(tmp_path / f"{rank}.pt")):
            for name, values in expected.items():
                recorded = trial.tensor(name).value(step, worker=f"worker_{rank}")
                assert np.array_equal(recorded, values.numpy().reshape(recorded.shape)), name
    # PyTorch also calls each stage, and the loss, with tensors that hold no data.
    assert f"stage0_output_{MICRO_BATCHES - 1}" in names
    assert f"stage0_output_{MICRO_BATCHES}" not in names
    assert f"MSELoss_output_{MICRO_BATCHES}" not in names


def test_without_a_stage_a_missing_loss_is_named(tmp_path: Path, caplog) -> None:
    """This file imports pipelines, but this training has none."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with smd.Hook(str(tmp_path)) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert "no loss was recorded" in caplog.text
