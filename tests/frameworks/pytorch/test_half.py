"""Trainings in half precision: what is read back, and its statistics, against plain PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP
from torch import nn

# PyTorch 1 has no 8-bit floats, and the newest has more than the library.
SMALL = [
    name
    for name in (
        "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz",
    )
    if hasattr(torch, name)
]  # fmt: skip


class Cast(nn.Module):
    """Returns its input in another type."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(self.dtype)


@pytest.mark.parametrize("name", SMALL)
def test_values_come_back_as_numbers(out_dir, name):
    x = torch.linspace(-8, 8, 99)
    model = Cast(getattr(torch, name))
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        expected = model(x)
    tensor = smd.create_trial(out_dir).tensor("Cast_output_0")
    value = tensor.value(0)
    assert value.dtype == ("float16" if name == "float16" else "float32")
    np.testing.assert_array_equal(value, expected.float())
    assert tensor.buffer(0).dtype == (name if name != "float8_e4m3fnuz" else "float32")


@pytest.mark.parametrize("name", SMALL)
def test_statistics_are_those_of_float32(out_dir, name):
    # The norm of 16,796 eights is 1036.8, which is none of the small types' numbers; that of
    # large float16 exceeds their range.
    numbers = torch.full((16796,), 8.0)
    numbers[0] = 200.0
    model = Cast(getattr(torch, name))
    config = smd.ReductionConfig(["min", "max", "mean", "sum", "std"], norms=["l1", "l2"])
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, reduction_config=config) as hook:
        hook.register_module(model)
        output = model(numbers * (300 if name == "float16" else 1)).double()
    tensor = smd.create_trial(out_dir).tensor("Cast_output_0")
    expected = {
        "min": output.min(), "max": output.max(), "mean": output.mean(), "sum": output.sum(),
        "std": output.std(unbiased=False), "l1": output.abs().sum(), "l2": output.norm(),
    }  # fmt: skip
    for reduction, number in expected.items():
        value = tensor.reduction_value(0, reduction)
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, number.item(), rtol=1e-5, err_msg=reduction)


def test_a_training_in_bfloat16(out_dir):
    torch.manual_seed(12)
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 2)).to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = smd.ReductionConfig(norms=["l2"], save_raw_tensor=True)
    with smd.Hook(
        out_dir, include_collections=["gradients"], save_config=EVERY_STEP, reduction_config=config
    ) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        gradients = []
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(3, 6, dtype=torch.bfloat16)).float().square().mean().backward()
            gradients.append(model[0].weight.grad.clone())
            optimizer.step()
    tensor = smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight")
    for step, gradient in enumerate(gradients):
        np.testing.assert_array_equal(tensor.value(step), gradient.float())
        norm = tensor.reduction_value(step, "l2")
        np.testing.assert_allclose(norm, gradient.double().norm().item(), rtol=1e-6)
        shared = torch.from_dlpack(tensor.buffer(step))
        assert shared.dtype == torch.bfloat16 and torch.equal(shared, gradient)
