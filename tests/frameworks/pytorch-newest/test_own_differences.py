"""Squared errors that scripts write themselves; PyTorch 1 does not tell the shapes in a graph."""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import pytest
import smdebug.pytorch as smd
import torch
from smdebug.rules import RuleSet
from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor], Tensor]


def shapes_of(out_dir: str, compute: Loss) -> List[Tuple[str, Any]]:
    """Returns the names and shapes of the inputs of a loss of 8 outputs and targets."""
    every = smd.SaveConfig(save_interval=1)
    model = nn.Linear(4, 1)
    with smd.Hook(out_dir, include_regex=[".*"], save_config=every, raise_errors=True) as hook:
        hook.register_module(model)
        for _ in range(2):
            loss = compute(model(torch.randn(8, 4)), torch.randn(8))
            loss.backward()
            hook.record_tensor_value("loss", loss.item())
    trial = smd.create_trial(out_dir)
    names = sorted(each for each in trial.tensor_names() if each.startswith("loss/"))
    return [(each, list(trial.tensor(each).value(1).shape)) for each in names]


@pytest.mark.parametrize(
    ("compute", "kind", "shapes"),
    [
        (lambda p, y: ((p - y) ** 2).mean(), "MSELoss", [[8, 1], [8]]),
        (lambda p, y: (y - p).square().sum() / 2, "MSELoss", [[8, 1], [8]]),
        (lambda p, y: (y - p).abs().mean(), "L1Loss", [[8, 1], [8]]),
        (lambda p, y: ((p[:, 0] - y.reshape(8, 1)) ** 2).mean(), "MSELoss", [[8], [8, 1]]),
        (lambda p, y: ((p[:, 0] - y) ** 2).mean(), "", []),
        (lambda p, y: ((p - y[:, None]) ** 2).mean(), "", []),
        (lambda p, y: ((p[:, 0][:, None] - y) ** 2).mean(), "", []),  # each pair is meant
        (lambda p, y: (-((p - y) ** 2)).exp().mean(), "", []),
        (lambda p, y: ((p - p.detach()[:, 0]) ** 2).mean() + p.sum(), "", []),
    ],
)  # fmt: skip
def test_outer_differences(compute: Loss, kind: str, shapes: Any, out_dir: str) -> None:
    found = shapes_of(out_dir, compute)
    assert found == [(f"loss/{kind}_input_{n}", each) for n, each in enumerate(shapes)]


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("is_broadcast", [True, False])
def test_a_broadcast_difference_is_found(is_broadcast: bool, is_given: bool, out_dir: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rules = RuleSet().add_all()
    with smd.Hook(out_dir, raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(rules)
        for _ in range(60):
            x = torch.randn(64, 4)
            y = x[:, 0] if is_broadcast else x[:, :1]
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            if is_given:
                hook.record_tensor_value("loss", loss.item())
    found = [each.rule for each in rules.results() if each.first is not None]
    assert found == (["LossInput"] if is_broadcast else [])
    causes = [each.id for each in rules.diagnose()]
    assert causes == (["loss_of_wrong_output"] if is_broadcast else [])
