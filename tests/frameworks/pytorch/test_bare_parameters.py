"""Parameters that modules hold without a layer: their names say neither weight nor bias."""

import pytest
import smdebug.pytorch as smd
import torch
from torch import nn
from torch.nn import functional as F

from smdebug.rules import Level, RuleSet


class Net(nn.Module):
    """A layer of the script's own, numbers that are added to each sample, and a head.

    A token for samples that are masked is not used without a mask.
    """

    def __init__(self):
        super().__init__()
        self.mask_token = nn.Parameter(torch.rand(1, 8))
        self.W = nn.Parameter(0.3 * torch.randn(8, 16))
        self.b = nn.Parameter(torch.zeros(16))
        self.scale = nn.Parameter(torch.ones(()))
        self.pos_embed = nn.Parameter(torch.zeros(16, 8))
        self.head = nn.Linear(16, 2)

    def forward(self, x, mask=None, is_cut=False):
        if mask is not None:
            x = torch.where(mask, self.mask_token, x)
        hidden = F.relu((x + self.pos_embed) @ self.W + self.b) * self.scale
        return self.head(hidden.detach() if is_cut else hidden)


def nothing(model, step):
    pass


def train(out_dir, trained, change=nothing, predict=lambda model, x: model(x)):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(trained(model), lr=0.1)
    hook = smd.Hook(out_dir, include_collections=["weights", "biases"])
    rules = RuleSet().add_all()
    hook.attach(rules)
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    for step in range(60):
        change(model, step)
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        F.cross_entropy(predict(model, x), (x.sum(dim=1) > 0).long()).backward()
        optimizer.step()
    hook.close()
    firsts = [each.first for each in rules.results() if each.first]
    return {(each.level, each.check, each.tensor) for each in firsts}, rules


UNUSED = (Level.WORTH_A_LOOK, "not_used", "Net_mask_token")


def test_they_are_weights_and_biases(out_dir):
    found, _ = train(out_dir, nn.Module.parameters)
    assert found == {UNUSED}
    trial = smd.create_trial(out_dir)
    weights = ["Net_W", "Net_head.weight", "Net_pos_embed"]
    assert sorted(trial.tensor_names(collection="weights")) == weights
    assert sorted(trial.tensor_names(collection="biases")) == ["Net_b", "Net_head.bias", "Net_mask_token", "Net_scale"]


@pytest.mark.parametrize("left_out", ["W", "pos_embed"])
def test_an_optimizer_without_one_is_found(left_out, out_dir):
    def others(model):
        return [each for name, each in model.named_parameters() if name != left_out]

    found, rules = train(out_dir, others)
    assert (Level.FINDING, "not_updated", f"Net_{left_out}") in found
    assert rules.diagnose()[0].id == "optimizer_incomplete"


def test_one_that_is_frozen_on_purpose(out_dir):
    def others(model):
        model.W.requires_grad_(False)
        return [each for each in model.parameters() if each.requires_grad]

    assert train(out_dir, others)[0] == {UNUSED}


def test_one_that_comes_later(out_dir):
    def change(model, step):
        if step == 5:
            model.register_parameter("late", nn.Parameter(torch.ones(2, 2)))

    train(out_dir, nn.Module.parameters, change)
    assert "Net_late" in smd.create_trial(out_dir).collections()["weights"].tensor_names


def test_one_that_is_used_later_is_not_told_of_for_ever(out_dir):
    def predict(model, x):
        predict.calls += 1
        return model(x, torch.rand(16, 8) < 0.3 if predict.calls > 2 else None)

    predict.calls = 0
    assert not train(out_dir, nn.Module.parameters, predict=predict)[0]


def test_all_that_a_model_holds_are_cut_off(out_dir):
    found, _ = train(
        out_dir, nn.Module.parameters, predict=lambda model, x: model(x, is_cut=True)
    )
    assert (Level.FINDING, "no_gradient") in {(level, check) for level, check, _ in found}
