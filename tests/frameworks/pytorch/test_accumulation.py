"""Gradients of several batches that are added up for an optimizer that nobody registered."""

from __future__ import annotations

import copy
from typing import Any, List, Optional

import pytest
import smdebug.pytorch as smd
import torch
from torch import nn

from smdebug.rules import RuleSet

STEPS, SUMMED = 200, 25
MOST = 500  # see unregistered.py

# PyTorch 1 tells of no update that is not registered.
IS_HEARD = not torch.__version__.startswith("1.")


def train(
    hook: smd.Hook,
    summed: int,
    fault: str = "",
    sets_to_none: bool = True,
    model: Optional[nn.Module] = None,
) -> None:
    torch.manual_seed(0)
    x = torch.randn(STEPS * 16, 8)
    y = x[:, :3].argmax(1)
    model = model or nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    trained = copy.deepcopy(model) if fault == "of a copy" else model
    optimizer = torch.optim.Adam(trained.parameters(), 0.01)
    loss = nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(loss)
    for step in range(STEPS):
        if step % 60 == 59:  # between the batches of an update
            model.eval()
            with torch.no_grad():
                for _ in range(100):
                    model(x[:16])
            model.train()
        part = slice(step * 16, step * 16 + 16)
        if fault == "never called":
            optimizer.zero_grad(set_to_none=sets_to_none)
        (loss(model(x[part]), y[part]) / summed).backward()
        if (step + 1) % summed == 0 and fault != "never called":
            optimizer.step()
            optimizer.zero_grad(set_to_none=sets_to_none)
    hook.close()


def told(out_dir: Any) -> List[float]:
    trial = smd.create_trial(out_dir)
    if "scalar/batches_per_update" not in trial.tensor_names():
        return []
    return [each.item() for each in trial.tensor("scalar/batches_per_update").values().values()]


def hook_of(out_dir: Any, interval: int = 1) -> smd.Hook:
    return smd.Hook(
        out_dir,
        include_collections=["weights", "biases", "gradients"],
        save_config=smd.SaveConfig(save_interval=interval),
    )


@pytest.mark.parametrize("sets_to_none", [True, False])
@pytest.mark.parametrize("interval", [1, 7])
def test_weights_may_wait_for_the_update(sets_to_none: bool, interval: int, out_dir: Any) -> None:
    train(hook_of(out_dir, interval), SUMMED, sets_to_none=sets_to_none)
    assert max(told(out_dir), default=0) == SUMMED * IS_HEARD
    found = list(RuleSet().add_all().evaluate(smd.create_trial(out_dir)))
    assert not found or (not IS_HEARD and interval == 1)


class Adapted(nn.Module):
    """A layer that is not trained, with an adapter whose second part begins with zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(8, 32)
        self.first, self.second = nn.Linear(8, 4, bias=False), nn.Linear(4, 32, bias=False)
        self.head = nn.Linear(32, 3)
        self.base.requires_grad_(False)
        nn.init.zeros_(self.second.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.base(x) + self.second(self.first(x))))


def test_a_weight_of_zeros_waits_for_the_update(out_dir: Any) -> None:
    rules = RuleSet().add("AllZero").add("TensorVariance")
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    train(hook, 8, model=Adapted())
    assert {each.rule for each in rules.results() if each.first} == (
        set() if IS_HEARD else {"AllZero", "TensorVariance"}
    )


def test_rules_of_the_training_know_it(out_dir: Any) -> None:
    hook = hook_of(out_dir, 1000)
    hook.attach(RuleSet().add_all())
    train(hook, SUMMED)
    assert bool(hook.take_findings()) is not IS_HEARD


def test_an_update_after_each_batch_is_not_told(out_dir: Any) -> None:
    train(hook_of(out_dir), 1)
    assert not told(out_dir)


@pytest.mark.parametrize("sets_to_none", [True, False])
def test_an_optimizer_that_is_never_called_is_found(sets_to_none: bool, out_dir: Any) -> None:
    train(hook_of(out_dir), 1, "never called", sets_to_none)
    checks = {each.check for each in RuleSet().add_all().evaluate(smd.create_trial(out_dir))}
    assert "nothing_updated" in checks and not told(out_dir)


def test_an_optimizer_that_is_never_called_is_found_without_a_reset_too(out_dir: Any) -> None:
    """After so many steps it can be no accumulation."""
    model, loss = nn.Linear(4, 1), nn.MSELoss()
    hook = hook_of(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet().add("UpdateNotApplied"))
    for _ in range(MOST + 20):
        loss(model(torch.randn(8, 4)), torch.zeros(8, 1)).backward()
    hook.close()
    steps = [each.step for each in hook.take_findings()]
    assert steps and (min(steps) > MOST - 10) is IS_HEARD


def test_an_optimizer_of_a_copy_is_found(out_dir: Any) -> None:
    train(hook_of(out_dir), 1, "of a copy")
    checks = {each.check for each in RuleSet().add_all().evaluate(smd.create_trial(out_dir))}
    assert "nothing_updated" in checks and not told(out_dir)
