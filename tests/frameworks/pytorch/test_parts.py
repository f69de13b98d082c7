"""Models that have no `forward`: their parts are called, and not they themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List

import pytest
import torch
from torch import nn
from torch.nn import functional

import smdebug.pytorch as smd
from smdebug.rules import RuleSet
from smdebug.trials import create_trial

STEPS = 40


class Holder(nn.Module):
    """Holds modules, and has no `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 16)])
        self.head = nn.Linear(16, 3)


def make(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "class":
        model = Holder()
        return model, lambda x: model.head(model.body[1](model.body[0](x).relu()))
    body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
    parts: Any = nn.ModuleDict({"body": body, "head": nn.Linear(16, 3)})
    if kind == "dict":
        return parts, lambda x: parts["head"](parts["body"](x))
    listed = nn.ModuleList(parts.values())
    return listed, lambda x: listed[1](listed[0](x))


def train(folder: Path, kind: str, *, registers: bool, only_head: bool = False) -> List[str]:
    """Trains, and returns the rules that found something."""
    model, network = make(kind)
    x = torch.randn(16, 8)
    y = (x @ torch.randn(8, 3)).argmax(1)
    trained = list(model.parameters())[-2:] if only_head else model.parameters()
    optimizer = torch.optim.SGD(trained, lr=0.1)
    rules = RuleSet().add("UpdateNotApplied")
    every = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(str(folder), save_all=True, save_config=every)
    hook.register_module(model)
    if registers:
        hook.register_optimizer(optimizer)
    hook.attach(rules)
    for _ in range(STEPS):
        model.zero_grad()
        functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    hook.close()
    return [each.rule for each in rules.results() if each.first]


@pytest.mark.parametrize("registers", [True, False])
@pytest.mark.parametrize("kind", ["dict", "list", "class"])
def test_calls_of_the_parts_are_steps(tmp_path: Path, kind: str, registers: bool) -> None:
    assert train(tmp_path / "run", kind, registers=registers) == []
    trial = create_trial(str(tmp_path / "run"))
    assert len(trial.steps()) == STEPS
    names = trial.tensor_names(regex="^(?!backward_loss).*(weight|_input_0|_output_0)$")
    weights = [each for each in names if each.endswith("weight") and "/" not in each]
    assert len(weights) == (3 if kind == "class" else 2)
    assert {f"gradient/{each}" for each in weights} <= set(names)
    for each in names:
        assert trial.tensor(each).steps() == list(range(STEPS)), each


@pytest.mark.parametrize("kind", ["dict", "list", "class"])
def test_an_optimizer_that_lacks_a_part_is_found(tmp_path: Path, kind: str) -> None:
    assert train(tmp_path / "run", kind, registers=True, only_head=True) == ["UpdateNotApplied"]
