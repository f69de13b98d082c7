"""Tests that rules spare trainings of adapters (LoRA), whose second factor begins at zero."""

import pytest
import smdebug.pytorch as smd
import torch
from torch import nn

from smdebug.rules import RuleSet

STEPS, RANK = 100, 4


class Adapted(nn.Module):
    """A frozen layer with an adapter."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(RANK, base.in_features) * 0.05)
        self.B = nn.Parameter(torch.zeros(base.out_features, RANK))

    def forward(self, x):
        return self.base(x) + x @ self.A.t() @ self.B.t()


def train(model, loss, task, steps):
    """Returns the losses."""
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=3e-3)
    losses = []
    for _ in range(steps):
        x = torch.randn(32, 16)
        optimizer.zero_grad()
        value = loss(model(x), (x @ task).argmax(1))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses


@pytest.mark.parametrize("is_pretrained", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_rules_spare_adapters(seed, is_pretrained, tmp_path):
    torch.manual_seed(seed)
    layers = [nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)]
    task, loss = torch.randn(16, 4), nn.CrossEntropyLoss()
    if is_pretrained:
        train(nn.Sequential(*layers), loss, task, 200)
    model = nn.Sequential(*(Adapted(each) if isinstance(each, nn.Linear) else each for each in layers))
    rules = RuleSet().add_all()
    hook = smd.Hook(str(tmp_path / "run"), save_config=smd.SaveConfig(save_interval=10**6))
    hook.register_module(model)
    hook.register_loss(loss)
    hook.attach(rules)
    losses = train(model, loss, task + torch.randn(16, 4), STEPS)
    hook.close()
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    told = [(each.level.name, each.check) for each in hook.take_findings()]
    assert told == ([] if is_pretrained else [("WORTH_A_LOOK", "untrained")])
