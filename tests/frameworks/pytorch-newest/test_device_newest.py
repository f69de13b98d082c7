"""What only newer releases of PyTorch have on devices: GradScaler, 8-bit floats, Triton."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP
from smdebug.pytorch import device_batch
from test_device import FIGURES, assert_alike, batches, hook_for, model_of_two, on_a_device
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

KERNEL = Path(__file__).with_name("device_kernel.py")


@pytest.mark.parametrize("is_fused", [False, True])
def test_skipped_steps(tmp_path, is_fused):
    def train(out_dir: str) -> None:
        model = model_of_two()
        optimizer = torch.optim.Adam(model.parameters(), fused=is_fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        included = ["weights", "gradients", "updates", "optimizer_state"]
        with hook_for(out_dir, include_collections=included, reduction_config=FIGURES) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            for number, x in enumerate(batches(4)):
                optimizer.zero_grad()
                loss = model(x).square().mean()
                scaler.scale(loss * float("inf") if number == 1 else loss).backward()
                scaler.step(optimizer)
                scaler.update()
            hook.end_step()
            hook.flush()
            assert hook.skipped_steps == 1

    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    train(host)
    with on_a_device():
        train(there)
    expected, found = smd.create_trial(host), smd.create_trial(there)
    if is_fused:
        # The scalar that counts skipped steps comes when the device has told of it.
        name = "scalar/Adam_skipped_steps"
        steps = [each.tensor(name).steps()[0] for each in (expected, found)]
        assert steps[0] == 1 and steps[1] > 1
        for trial in (expected, found):
            gradient = trial.tensor("gradient/Sequential_0.weight")
            assert gradient.steps() == [0, 2, 3]
            assert trial.tensor("update/Sequential_0.weight").steps() == [0, 2, 3]
    else:
        assert_alike(expected, found, True)


def record_small_floats(out_dir: str, device: str) -> None:
    torch.manual_seed(1)
    settings: Any = {"include_regex": ["."], "save_config": EVERY_STEP}
    with smd.Hook(out_dir, reduction_config=FIGURES, **settings) as hook:
        hook.set_mode(smd.modes.TRAIN)
        hook.begin_step()
        for dtype in (torch.float8_e5m2, torch.float8_e4m3fn):
            for size in (1, 100, 5000):
                hook._save(f"{dtype}_{size}", torch.randn(size).to(dtype).to(device))


def test_small_floats(tmp_path):
    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    record_small_floats(host, "cpu")
    with on_a_device():
        record_small_floats(there, "cpu")
    assert_alike(smd.create_trial(host), smd.create_trial(there), True)


def test_a_default_device_of_the_training_changes_nothing(tmp_path):
    def train(out_dir: str, device: str) -> None:
        model = model_of_two()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        included = ["weights", "gradients", "updates", "learning_rate"]
        with hook_for(out_dir, include_collections=included, reduction_config=FIGURES) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            for x in batches(3):
                with torch.device(device):
                    model(x).square().mean().backward()
                    optimizer.step()
                    optimizer.zero_grad()

    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    train(host, "cpu")
    with on_a_device():
        train(there, "meta")
    assert_alike(smd.create_trial(host), smd.create_trial(there), True)


@pytest.fixture
def alone() -> Iterator[Any]:
    """A mesh of one process, whose parts of a model are the whole."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    finally:
        torch.distributed.destroy_process_group()


def test_a_part_that_is_the_whole(tmp_path, alone):
    def train(out_dir: str) -> None:
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        model = parallelize_module(model_of_two(), alone, plan)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        included = ["weights", "gradients"]
        with hook_for(out_dir, include_collections=included, reduction_config=FIGURES) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            for x in batches(3):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()

    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    train(host)
    with on_a_device():
        train(there)
    assert_alike(smd.create_trial(host), smd.create_trial(there), True)


def run_kernel(what: str, **environment: str) -> None:
    subprocess.run(
        [sys.executable, "-W", "ignore", str(KERNEL), what],
        env={**os.environ, **environment},
        check=True,
        timeout=110,
    )


def test_the_kernel_computes_what_plain_operations_compute():
    run_kernel("compute", TRITON_INTERPRET="1")


def test_the_kernel_compiles_for_gpus():
    run_kernel("compile")


def test_a_kernel_that_fails_is_replaced(tmp_path, monkeypatch, caplog):
    class Failing:
        @staticmethod
        def takes(dtype: Any) -> bool:
            return True

        @staticmethod
        def reduce(*arguments: Any) -> None:
            raise RuntimeError("PTX is of a newer version")

    monkeypatch.setattr(device_batch, "_kernel", lambda: Failing)
    monkeypatch.setattr(device_batch, "_has_failed", False)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    model = model_of_two()
    with on_a_device(), smd.Hook(str(tmp_path / "run"), save_all=True, save_config=EVERY_STEP,
                                 reduction_config=FIGURES) as hook:  # fmt: skip
        hook.register_module(model)
        model(batches(1)[0])
        assert device_batch._has_failed and hook.failures == 0
    assert smd.create_trial(str(tmp_path / "run")).tensor("Sequential_0.weight").steps() == [0]
