"""When the outputs of a device's modules are reduced, and what they cost until then."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import recorded
from smdebug.pytorch import device_batch, late_tensors
from test_device import FIGURES, assert_alike, batches, hook_for, on_a_device
from torch import nn


class Residual(nn.Module):
    """Some of its outputs die before it returns; of each two modules, one takes the other's."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.inner = nn.ModuleList(nn.Sequential(nn.Linear(30, 30), nn.Tanh()) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for each in self.inner:
            x = x + each(x)
        return x.square().mean()


# The names of the tensors that were reduced together.
Batches = List[List[str]]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Batches]:
    found: Batches = []
    launch = device_batch.DeviceBatch.__init__

    def noting(self: Any, wanted: Any, on: Any) -> None:
        found.append([each.name for each in wanted])
        launch(self, wanted, on)

    monkeypatch.setattr(device_batch.DeviceBatch, "__init__", noting)
    with on_a_device():
        yield found


@contextlib.contextmanager
def recorded_outputs(out_dir: str, model: nn.Module, **settings: Any) -> Iterator[smd.Hook]:
    with hook_for(out_dir, include_collections=["outputs"], **settings) as hook:
        hook.get_collection("outputs").include("_(in|out)put_")
        hook.register_module(model)
        yield hook


def test_the_outputs_of_a_model_are_reduced_together(out_dir, launched):
    model = Residual()
    with recorded_outputs(out_dir, model) as hook:
        for x in batches(3):
            model(x).backward()
            hook.end_step()
    assert [len(each) for each in launched if "inner.0.0_output_0" in each] == [26, 26, 26]
    assert len(launched) <= 6


def test_one_tensor_of_two_names_is_reduced_once(tmp_path, monkeypatch):
    reduced: List[int] = []
    reduce = device_batch._reduced

    def noting(tensors: List[Any], figures: List[int], has_sample: bool) -> Any:
        reduced.append(len(tensors))
        return reduce(tensors, figures, has_sample)

    def train(out_dir: str) -> None:
        model = Residual()
        with recorded_outputs(out_dir, model, reduction_config=FIGURES) as hook:
            for x in batches(3):
                model(x).backward()
                hook.end_step()

    monkeypatch.setattr(device_batch, "_reduced", noting)
    host, device = str(tmp_path / "host"), str(tmp_path / "device")
    train(host)
    with on_a_device():
        train(device)
    assert_alike(smd.create_trial(host), smd.create_trial(device), True)
    # The first step reduces copies.  Later ones see that 25 names stand for 12 tensors.
    assert reduced[1:] == [12, 12]


def test_what_a_training_does_not_keep_is_bounded(out_dir, launched, monkeypatch):
    model, most = Residual(), 5 * 30 * 4 * 3  # bytes of three outputs
    monkeypatch.setattr(late_tensors, "_MOST_HELD", most)
    with recorded_outputs(out_dir, model) as hook:
        for x in batches(4):
            model(x).backward()
            hook.end_step()
        with_graph = [len(each) for each in launched[-2:]]
        launched.clear()
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            model(batches(1)[0])
    # Outputs of Linear die at once; those of Tanh, which its gradient needs, do not.
    assert max(with_graph) > 8
    assert max(len(each) for each in launched) == 4


@pytest.mark.parametrize("way", ["changing", "inference"])
def test_outputs_that_may_change_are_copied(out_dir, launched, way):
    class Changing(Residual):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for each in self.inner:
                x = each(x).add_(1) if way == "changing" else each(x)
            return x.square().mean()

    model = Changing()
    expected = []
    quiet = torch.inference_mode() if way == "inference" else contextlib.nullcontext()
    with recorded(out_dir, model) as hook, quiet:
        for x in batches(3):
            expected.append(model.inner[0](x).detach().clone())
            launched.clear()
            model(x)
            hook.end_step()
        assert hook.failures == 0
    assert len(launched) <= 2
    output = smd.create_trial(out_dir).tensor("inner.0.1_output_0")
    for step, value in enumerate(expected):
        np.testing.assert_array_equal(output.value(step), value.numpy())


def test_a_name_that_is_used_twice_in_a_step(out_dir, launched):
    """Only the second output is changed in place."""

    class Twice(Residual):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = self.inner[0](x)
            return (first + self.inner[0](first).mul_(2)).square().mean()

    model = Twice()
    with recorded(out_dir, model, raise_errors=False) as hook:
        for x in batches(4):
            expected = model.inner[0](model.inner[0](x)).detach()
            model(x)
            hook.end_step()
        assert hook.failures == 0
    output = smd.create_trial(out_dir).tensor("inner.0.1_output_1")
    assert output.steps() == [0, 1, 2, 3]
    np.testing.assert_array_equal(output.value(3), expected.numpy())
