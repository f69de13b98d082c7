"""Gradients that a GradScaler scales: PyTorch 1 has it for devices only."""

from __future__ import annotations

import copy
from typing import Any, List, Tuple

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import recorded
from smdebug.rules import RuleSet
from test_optimizers import batches, loss_of, model_of_two
from torch import nn


def scaled_training(hook: Any, model: nn.Module, optimizer: Any) -> Tuple[List[Any], List[float]]:
    """Trains four steps, of which the scaler skips the second; returns weights and losses."""
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    gradients, losses = [], []
    for number, x in enumerate(batches(4)):
        optimizer.zero_grad()
        loss = loss_of(model, x)
        if hook is not None:
            hook.record_tensor_value("loss", loss)
        scaler.scale(loss if number != 1 else loss * float("inf")).backward()
        scaler.step(optimizer)
        scaler.update()
        gradients.append([each.grad.clone() for each in model.parameters()])
        losses.append(loss.item())
    return gradients, losses


@pytest.mark.parametrize("is_fused", [False, True])
def test_scaled_gradients_are_recorded_unscaled_and_skips_as_skips(out_dir, is_fused):
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), fused=is_fused)

    model = model_of_two()
    gradients, losses = scaled_training(None, twin := copy.deepcopy(model), make(twin))
    optimizer = make(model)
    step = torch.amp.GradScaler.step
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        scaled_training(hook, model, optimizer)
        assert hook.skipped_steps == 1
    assert torch.amp.GradScaler.step is step
    for ours, theirs in zip(model.parameters(), twin.parameters()):
        assert torch.equal(ours, theirs)
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    assert [trial.tensor("loss_output_0").value(each) for each in range(4)] == losses
    gradient = trial.tensor("gradient/Sequential_0.weight")
    assert gradient.steps() == [0, 2, 3]
    skipped = trial.tensor("scalar/Adam_skipped_steps")
    assert skipped.steps() == [1] and skipped.value(1) == 1
    for number in gradient.steps():
        found = gradient.value(number)
        np.testing.assert_allclose(found, gradients[number][0], rtol=1e-6)
    # The scale has gone down at the skipped step: what is recorded does not show it.
    assert np.abs(gradient.value(0)).max() < 1


def test_rules_find_nothing_in_a_skipped_step(out_dir):
    model = model_of_two()
    optimizer = torch.optim.Adam(model.parameters())
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet().add("UpdateNotApplied").add("FirstNonFinite").add("ExplodingTensor"))
        scaled_training(None, model, optimizer)
        assert hook.skipped_steps == 1
    assert hook.take_findings() == []


def test_a_scaled_loss_that_is_recorded_as_a_number_has_its_inputs(out_dir: str) -> None:
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with recorded(out_dir, model, save_all=False, include_regex=["loss"]) as hook:
        hook.register_optimizer(optimizer)
        for _ in range(4):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.arange(16) % 3)
            scaler.scale(loss / 3).backward()
            scaler.step(optimizer)
            scaler.update()
            hook.record_tensor_value("loss", loss.item())
    targets = smd.create_trial(out_dir).tensor("loss/CrossEntropyLoss_input_1")
    assert targets.steps() == [1, 2, 3]
