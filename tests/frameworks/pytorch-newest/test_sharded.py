"""Processes that share a model: each records its part, against plain PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sharded_training import KINDS, STEPS

from smdebug import create_trial, modes
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.rules import RuleSet

SCRIPT = Path(__file__).parent / "sharded_training.py"


# As tensors of the host are recorded, and as those of a device are.
PATHS = {"host": {}, "device": {"SMDEBUG_TEST_DEVICE_PATH": "1"}}
ALL_RECORD = [kind for kind in KINDS if not kind.endswith("_one")]
WITH_ELEMENTS = [kind for kind in ALL_RECORD if not kind.endswith("_statistics")]


@pytest.fixture(scope="module", params=["host", pytest.param("device", marks=pytest.mark.whole)])
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Returns the folder of all recorded trainings."""
    folder = tmp_path_factory.mktemp("sharded")
    environment = {"OMP_NUM_THREADS": "1", "SMDEBUG_LOG_LEVEL": "info", **PATHS[request.param]}
    done = subprocess.run(
        [sys.executable, SCRIPT, folder], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", WITH_ELEMENTS)
def test_each_process_records_what_it_applies(folder, kind):
    trial = create_trial(folder / kind / "trial")
    assert trial.workers() == [f"worker_{rank}" for rank in range(KINDS[kind])]
    assert trial.steps(modes.TRAIN) == list(range(STEPS))
    for rank in range(KINDS[kind]):
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


def wholes_of(folder, kind):
    """Yields the step, the tensor and its whole in plain PyTorch."""
    trial = create_trial(folder / kind / "trial")
    for step, tensors in enumerate(torch.load(folder / kind / "whole.pt")):
        for name, (weight, gradient) in tensors.items():
            yield step, trial.tensor(f"net_{name}"), weight.float().numpy()
            yield step, trial.tensor(f"gradient/net_{name}"), gradient.float().numpy()


@pytest.mark.parametrize("kind", [kind for kind in WITH_ELEMENTS if kind != "fsdp1_flat"])
def test_parts_make_a_whole(folder, kind):
    for step, tensor, whole in wholes_of(folder, kind):
        np.testing.assert_array_equal(tensor.full_value(step, modes.TRAIN), whole)
        assert tensor.full_shape(step, modes.TRAIN) == whole.shape
        if not tensor.name.startswith("gradient/"):
            state = tensor.trial.tensor(f"optimizer_state/{tensor.name}/exp_avg")
            assert state.full_value(step, modes.TRAIN).shape == whole.shape


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith("_statistics")])
def test_statistics_of_parts_merge(folder, kind):
    for step, tensor, whole in wholes_of(folder, kind):
        found = tensor.full_statistics(step, modes.TRAIN)
        numbers = torch.from_numpy(whole).double()
        assert found["count"] == numbers.numel()
        assert found["min"] == numbers.min()
        assert found["max"] == numbers.max()
        # Parts are saved as float32, so what cancels is exact to that fraction of the magnitudes.
        size = float(numbers.abs().sum())
        np.testing.assert_allclose(found["sum"], numbers.sum(), atol=1e-6 * size)
        np.testing.assert_allclose(found["mean"], numbers.mean(), atol=1e-6 * size / whole.size)
        variance = numbers.var(correction=0)
        np.testing.assert_allclose(found["variance"], variance, rtol=1e-6)
        np.testing.assert_allclose(found["std"], variance.sqrt(), rtol=1e-6)
        np.testing.assert_allclose(found["l1"], size, rtol=1e-6)
        np.testing.assert_allclose(found["l2"], numbers.norm(), rtol=1e-6)
        abs_mean = tensor.full_reduction(step, "mean", modes.TRAIN, abs=True)
        np.testing.assert_allclose(abs_mean, size / whole.size, rtol=1e-6)
        with pytest.raises(SMDebugRuntimeError, match="save the raw value"):
            tensor.full_reduction(step, "median", modes.TRAIN)


def test_the_placement_is_recorded(folder):
    tensor = create_trial(folder / "hybrid" / "trial").tensor("net_0.weight")
    parts = [tensor.placement(f"worker_{rank}") for rank in range(4)]
    assert [part.offset for part in parts] == [(0, 0), (5, 0), (0, 0), (5, 0)]
    assert [part.part for part in parts] == [(5, 6), (4, 6), (5, 6), (4, 6)]
    assert {part.mesh for part in parts} == {(2, 2)}
    assert {part.split for part in parts} == {(-1, 0)}
    trial = create_trial(folder / "fsdp1" / "trial")
    [name] = trial.tensor_names(regex=r"^net_.*0\.weight$")
    parts = [trial.tensor(name).placement(f"worker_{rank}") for rank in range(2)]
    assert all(part.is_flat and part.shape == (9, 6) for part in parts)


def test_no_part_is_a_tensor(folder):
    for kind in KINDS:
        names = create_trial(folder / kind / "trial").tensor_names()
        assert not [name for name in names if name.startswith("shard/")]


def test_replicas_are_recorded_once(folder):
    trial = create_trial(folder / "ddp_one" / "trial")
    assert trial.workers() == ["worker_0"]
    for step, tensor, whole in wholes_of(folder, "ddp_one"):
        np.testing.assert_array_equal(tensor.value(step, modes.TRAIN), whole)
        np.testing.assert_array_equal(tensor.full_value(step, modes.TRAIN), whole)
    for rank in range(2):
        assert "include_workers" not in (folder / "ddp_one" / f"{rank}.log").read_text()


def test_recording_one_part_warns_once(folder):
    assert create_trial(folder / "fsdp2_one" / "trial").workers() == ["worker_0"]
    logs = [(folder / "fsdp2_one" / f"{rank}.log").read_text() for rank in range(2)]
    assert logs[0].count('include_workers="all"') == 1
    assert "include_workers" not in logs[1]
    for step, tensor, _ in wholes_of(folder, "fsdp2_one"):
        with pytest.raises(SMDebugRuntimeError, match='include_workers="all"'):
            tensor.full_value(step, modes.TRAIN)


@pytest.mark.parametrize("kind", WITH_ELEMENTS)
def test_rules_take_no_part_for_a_replica(folder, kind):
    rules = RuleSet().add("WorkerDivergence")
    assert not list(rules.evaluate(create_trial(folder / kind / "trial")))


def test_parts_without_a_place_are_refused(folder):
    # Without use_orig_params, the first FSDP's parameters are flat and padded.
    trial = create_trial(folder / "fsdp1_flat" / "trial")
    [name, *_] = [name for name in trial.tensor_names(regex="^net_")]
    with pytest.raises(SMDebugRuntimeError, match="not how they fit together"):
        trial.tensor(name).full_value(0, modes.TRAIN)
