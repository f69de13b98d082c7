"""Two processes that share a model: each records its part, against plain PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sharded_training import KINDS, STEPS, WORKERS

from smdebug import create_trial, modes
from smdebug.exceptions import SMDebugRuntimeError

SCRIPT = Path(__file__).parent / "sharded_training.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of all recorded trainings."""
    folder = tmp_path_factory.mktemp("sharded")
    running = [
        subprocess.Popen(
            [sys.executable, SCRIPT, folder, str(rank)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(WORKERS)
    ]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_each_process_records_what_it_applies(folder, kind):
    trial = create_trial(folder / kind / "trial")
    assert trial.workers() == [f"worker_{rank}" for rank in range(WORKERS)]
    assert trial.steps(modes.TRAIN) == list(range(STEPS))
    for rank in range(WORKERS):
        facts = torch.load(folder / kind / f"{rank}.pt")
        for step, tensors in enumerate(facts):
            for name, (weight, gradient) in tensors.items():
                for tensor, expected in (("", weight), ("gradient/", gradient)):
                    if expected is None:
                        continue
                    saved = trial.tensor(f"{tensor}net_{name}")
                    value = saved.value(step, modes.TRAIN, f"worker_{rank}")
                    np.testing.assert_array_equal(value, expected.float(), f"{tensor}{name}")
                if gradient is None:
                    continue
                state = trial.tensor(f"optimizer_state/net_{name}/exp_avg")
                value = state.value(step, modes.TRAIN, f"worker_{rank}")
                assert value.shape == weight.shape
    assert trial.tensor("loss_output_1").steps(modes.TRAIN) == list(range(STEPS))


WITH_PLACES = [kind for kind in KINDS if not kind.startswith("fsdp1")]


@pytest.mark.parametrize("kind", WITH_PLACES)
def test_parts_make_a_whole(folder, kind):
    trial = create_trial(folder / kind / "trial")
    wholes = torch.load(folder / kind / "whole.pt")
    for step, tensors in enumerate(wholes):
        for name, (weight, gradient) in tensors.items():
            found = trial.tensor(f"net_{name}").full_value(step, modes.TRAIN)
            np.testing.assert_array_equal(found, weight)
            found = trial.tensor(f"gradient/net_{name}").full_value(step, modes.TRAIN)
            np.testing.assert_array_equal(found, gradient)
            state = trial.tensor(f"optimizer_state/net_{name}/exp_avg")
            assert state.full_value(step, modes.TRAIN).shape == weight.shape


def test_a_whole_without_a_part_is_refused(folder):
    trial = create_trial(folder / "fsdp2" / "trial")
    tensor = trial.tensor("net_0.weight")
    tensor.workers = lambda *unused: ["worker_1"]
    with pytest.raises(SMDebugRuntimeError, match='include_workers="all"'):
        tensor.full_value(0, modes.TRAIN)


def test_parts_without_a_place_are_refused(folder):
    # The first FSDP does not say which elements of a parameter a process has.
    trial = create_trial(folder / "fsdp1_flat" / "trial")
    [name, *_] = [name for name in trial.tensor_names(regex="^net_")]
    with pytest.raises(SMDebugRuntimeError, match="workers have saved different values"):
        trial.tensor(name).full_value(0, modes.TRAIN)
