"""Models that are trained on after an evaluation."""

from __future__ import annotations

from typing import Any, List

import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP
from smdebug.rules import RuleSet
from torch import nn


def findings_of(out_dir: str, inner: nn.Module, is_registered: bool, puts_back: bool) -> List[Any]:
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(20, 16), inner, nn.Linear(16, 4))
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    with smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True) as hook:
        hook.attach(RuleSet().add("LeftInEvaluation"))
        hook.register_module(model)
        hook.register_loss(loss)
        if is_registered:
            hook.register_optimizer(optimizer)
        for _ in range(3):
            for _ in range(7):
                optimizer.zero_grad()
                loss(model(torch.randn(8, 20)), torch.randint(4, (8,))).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                model(torch.randn(8, 20))
            model.train(puts_back)
    return hook.take_findings()


@pytest.mark.parametrize("is_registered", [False, True])
@pytest.mark.parametrize("inner", [nn.Dropout(0.1), nn.BatchNorm1d(16)])
def test_a_model_that_is_not_put_back_is_found(out_dir, inner, is_registered):
    assert findings_of(f"{out_dir}_1", inner, is_registered, puts_back=True) == []
    found = findings_of(f"{out_dir}_2", inner, is_registered, puts_back=False)
    assert {each.tensor for each in found} == {"evaluation_mode/Sequential"}
    # Until the first gradient comes, the first call after an evaluation is one of it, too.
    assert len(found) == 2 * 7 - 1 - 4


@pytest.mark.parametrize(
    ("inner", "is_found"),
    [(nn.BatchNorm1d(16), True), (nn.BatchNorm1d(16, track_running_stats=False), False), (nn.Dropout(0.1), False)],
)
def test_a_model_is_in_evaluation_mode_from_the_beginning(out_dir, inner, is_found):
    """On purpose, unless nothing can have updated its statistics."""
    model = nn.Sequential(nn.Linear(20, 16), inner, nn.Linear(16, 4)).eval()
    assert bool(findings_in_evaluation(f"{out_dir}_1", model)) is is_found
    model.train()
    model(torch.randn(8, 20))
    assert findings_in_evaluation(f"{out_dir}_2", model.eval()) == []


def findings_in_evaluation(out_dir: str, model: nn.Module) -> List[Any]:
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True) as hook:
        hook.attach(RuleSet().add("LeftInEvaluation"))
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for _ in range(8):
            optimizer.zero_grad()
            model(torch.randn(8, 20)).square().mean().backward()
            optimizer.step()
    return hook.take_findings()


@pytest.mark.parametrize("inner", [nn.Dropout(0.0), nn.ReLU(), nn.LayerNorm(16)])
def test_a_mode_that_changes_nothing_is_not_saved(out_dir, inner):
    assert findings_of(out_dir, inner, True, puts_back=False) == []
    assert "evaluation_mode/Sequential" not in smd.create_trial(out_dir).tensor_names()
