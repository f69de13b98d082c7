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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the trainings of all kinds."""
    folder = tmp_path_factory.mktemp("pipelined")
    done = subprocess.run(
        [sys.executable, SCRIPT, folder], env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    said = "".join(each.read_text() for each in folder.rglob("*.log"))
    assert done.returncode == 0, done.stderr + said
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_records_what_it_applies(kind: str, trained: Path) -> None:
    folder = trained / kind
    for rank in range(2):
        assert "no loss was recorded" not in (folder / f"{rank}.log").read_text()
    trial = create_trial(str(folder / "run"))
    assert trial.steps() == list(range(STEPS))
    names = trial.tensor_names()
    for rank in range(2):
        for step, expected in enumerate(torch.load(folder / f"{rank}.pt")):
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
