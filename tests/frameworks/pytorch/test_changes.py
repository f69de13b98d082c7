"""The PyTorch hook with models that change, repeat themselves, or are recorded empty."""

from __future__ import annotations

import weakref
from typing import Any, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, names_of, recorded
from smdebug.exceptions import SMDebugValueError
from smdebug.rules import RuleSet
from torch import nn
from torch.utils.checkpoint import checkpoint

X = torch.ones(2, 3)
OPTIMIZERS = pytest.mark.parametrize("has_optimizer", [False, True])


def model_of_two() -> nn.Sequential:
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))


def train(model: nn.Module, optimizer: Any) -> None:
    optimizer.zero_grad()
    model(X).square().mean().backward()
    optimizer.step()


# ---- callbacks ---------------------------------------------------------------------------


class Masked(nn.Module):
    def forward(self, x, loss_of_output=None):
        return x if loss_of_output is None else x * loss_of_output


def watched_of(model: nn.Module) -> List[str]:
    return [path for path, each in model.named_modules() if path and each._forward_hooks]


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"include_collections": ["weights", "gradients"]}, []),
        ({"include_regex": ["^1_output_0"]}, ["0", "1", "2"]),
        ({"include_collections": ["loss_of_two"]}, ["0", "1", "2"]),
        ({"save_all": True}, ["0", "1", "2"]),
    ],
    ids=["parameters", "regex", "collection", "all"],
)
@OPTIMIZERS
def test_only_modules_whose_tensors_can_be_wanted_are_watched(
    out_dir, settings, expected, has_optimizer
):
    model = model_of_two().append(nn.Identity())
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, **settings)
    hook.get_collection("loss_of_two").include("2_output_0")
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if has_optimizer:
        hook.register_optimizer(optimizer)
    hook.register_loss(nn.MSELoss())
    train(model, optimizer)
    assert watched_of(model) == expected
    hook.close()
    assert watched_of(model) == []


def test_what_is_watched_follows_collections_and_rules(out_dir):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    hook.register_module(model)
    model(X)
    assert watched_of(model) == []
    hook.get_collection("losses").include("^1_output_0$")
    model(X)
    assert watched_of(model) == ["0", "1"]
    hook.close()
    assert smd.create_trial(out_dir).tensor("1_output_0").steps() == [1]


@pytest.mark.parametrize(
    "rules, expected",
    [
        ([], []),
        (["VanishingGradient"], []),
        (["DeadRelu"], ["1"]),
        (["RepeatedBatch"], []),
        (["ExplodingTensor"], ["0", "1"]),
    ],
    ids=["none", "gradients", "activations", "inputs", "all"],
)
def test_rules_watch_the_modules_whose_tensors_they_evaluate(out_dir, rules, expected):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=100, start_step=100))
    rule_set = RuleSet()
    for rule in rules:
        rule_set.add(rule)
    hook.attach(rule_set)
    hook.register_module(model)
    model(X)
    assert watched_of(model) == expected
    hook.close()
    assert watched_of(model) == []


def test_modules_are_watched_at_the_steps_that_rules_evaluate(out_dir):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=100, start_step=100))
    rule_set = RuleSet(save_config=smd.SaveConfig(save_interval=2))
    rule_set.add("DeadRelu")
    hook.attach(rule_set)
    hook.register_module(model)
    watched = []
    for _ in range(4):
        model(X)
        watched.append(watched_of(model))
    hook.close()
    assert watched == [["1"], [], ["1"], []]


def test_what_rules_want_follows_collections(out_dir):
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=100, start_step=100))
    rule_set = RuleSet()
    rule_set.add("DeadRelu")
    hook.attach(rule_set)
    hook.register_module(model)
    model(X)
    assert watched_of(model) == []
    hook.get_collection("relu_output").include("^0_output_0$")
    model(X)
    assert watched_of(model) == ["0"]
    hook.close()


def test_a_keyword_can_be_what_a_collection_contains(out_dir):
    model = nn.Sequential(nn.Identity(), Masked())
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    hook.register_module(model)
    model(X)
    assert watched_of(model) == ["1"]
    hook.close()


# ---- parameters --------------------------------------------------------------------------


@OPTIMIZERS
def test_parameters_that_are_unfrozen_swapped_or_added_are_found(out_dir, has_optimizer):
    model = model_of_two()
    model[0].weight.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    expected = {}
    with recorded(out_dir, model) as hook:
        if has_optimizer:
            hook.register_optimizer(optimizer)
        train(model, optimizer)
        model[0].weight.requires_grad_(True)
        train(model, optimizer)
        expected["0.weight", 1] = model[0].weight.grad.clone()
        model[1].weight = nn.Parameter(torch.ones(2, 4))
        optimizer.add_param_group({"params": [model[1].weight]})
        train(model, optimizer)
        expected["1.weight", 2] = model[1].weight.grad.clone()
        model.add_module("2", nn.Linear(2, 2))
        optimizer.add_param_group({"params": list(model[2].parameters())})
        train(model, optimizer)
        expected["2.weight", 3] = model[2].weight.grad.clone()
        model[0].weight.requires_grad_(False)
        model[0].weight.grad = None
        train(model, optimizer)
    trial = smd.create_trial(out_dir)
    steps = {"0.weight": [1, 2, 3], "1.weight": [0, 1, 2, 3, 4], "2.weight": [3, 4]}
    for name, found in steps.items():
        assert trial.tensor(f"gradient/Sequential_{name}").steps() == found
    for (name, step), gradient in expected.items():
        value = trial.tensor(f"gradient/Sequential_{name}").value(step)
        np.testing.assert_array_equal(value, gradient)


def test_a_gradient_that_is_gone_keeps_no_callback(out_dir):
    model = model_of_two()
    old = model[0].weight
    with recorded(out_dir, model):
        model(X)
        model[0].weight = nn.Parameter(torch.ones(4, 3))
        model(X)
        assert not old._backward_hooks
        gone = weakref.ref(old)
        del old
        assert gone() is None


def test_rules_know_which_parameters_are_frozen(out_dir):
    class LowRank(nn.Module):
        """A frozen layer and a trained change of it, as PEFT makes them."""

        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(3, 3)
            self.base.requires_grad_(False)
            self.down, self.up = nn.Linear(3, 1, bias=False), nn.Linear(1, 3, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.base(x) + self.up(self.down(x))

    findings = []
    for tells in (True, False):
        model = LowRank()
        optimizer = torch.optim.SGD([*model.down.parameters(), *model.up.parameters()], lr=0.1)
        hook = recorded(f"{out_dir}_{tells}", model)
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet("aws").add("UpdateNotApplied"))
        if not tells:
            hook._tell_frozen = lambda: None
        for _ in range(6):
            train(model, optimizer)
        hook.close()
        findings.append(hook.take_findings())
    assert findings[0] == []
    assert findings[1][0].tensor.startswith("LowRank_base")


# ---- names --------------------------------------------------------------------------------


def test_two_models_of_one_class_by_name(out_dir):
    actor, critic = model_of_two(), model_of_two()
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_module(actor, name="actor")
    hook.register_module(critic, name="critic")
    with pytest.raises(SMDebugValueError, match="another model has the name 'actor'"):
        hook.register_module(model_of_two(), name="actor")
    actor(X).sum().backward()
    critic(X + 1).sum().backward()
    hook.close()
    trial = smd.create_trial(out_dir)
    for step, (name, model) in enumerate((("actor", actor), ("critic", critic))):
        gradient = trial.tensor(f"gradient/{name}_1.weight")
        assert gradient.steps() == [step]
        np.testing.assert_array_equal(gradient.value(step), model[1].weight.grad)
        assert trial.tensor(f"{name}.0_output_0").steps() == [step]
        assert trial.tensor(f"{name}_output_0").steps() == [step]
    assert names_of(trial, "Sequential") == []


def test_two_models_of_one_class_without_a_name(out_dir, caplog):
    first, second = model_of_two(), model_of_two()
    with recorded(out_dir, first) as hook:
        hook.register_module(second)
        first(X).sum().backward()
        second(X + 1).sum().backward()
    assert "a second Sequential is registered" in caplog.text
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradient/Sequential_1.weight").steps() == [0]
    assert trial.tensor("gradient/Sequential_2_1.weight").steps() == [1]


# ---- calls that repeat ---------------------------------------------------------------------


class Checkpointed(nn.Module):
    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.head = nn.Linear(3, 2)
        self.settings = settings

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = checkpoint(self.block, x, **self.settings) if self.settings is not None else x
        return self.head(y)


def kinds_of_checkpoints() -> List[bool]:
    return [True, False]


@OPTIMIZERS
@pytest.mark.parametrize("use_reentrant", kinds_of_checkpoints())
def test_what_a_checkpoint_computes_again_is_not_recorded_again(
    out_dir, use_reentrant, has_optimizer
):
    model = Checkpointed(use_reentrant=use_reentrant)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = X.clone().requires_grad_()
    with recorded(out_dir, model) as hook:
        if has_optimizer:
            hook.register_optimizer(optimizer)
        for _ in range(2):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            gradient = model.block[0].weight.grad.clone()
            optimizer.step()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1]
    assert names_of(trial, "output") == [
        "Checkpointed_output_0", "block.0_output_0", "block.1_output_0", "block_output_0",
        "head_output_0",
    ]  # fmt: skip
    found = trial.tensor("gradient/Checkpointed_block.0.weight").value(1)
    np.testing.assert_array_equal(found, gradient)


@OPTIMIZERS
def test_generating_makes_no_steps(out_dir, has_optimizer):
    class Speaker(nn.Sequential):
        def generate(self, count: int) -> torch.Tensor:
            with torch.no_grad():
                return [self(X) for _ in range(count)][-1]

    model = Speaker(nn.Linear(3, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        if has_optimizer:
            hook.register_optimizer(optimizer)
        for _ in range(2):
            model.generate(3)
            optimizer.zero_grad()
            output = model(X)
            model.generate(2)
            loss = output.mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
            optimizer.step()
            model.eval()
            model.generate(4)
            model.train()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1]
    assert trial.tensor("gradient/Speaker_0.weight").steps() == [0, 1]
    assert names_of(trial, "output") == ["0_output_0", "Speaker_output_0", "loss_output_0"]


def test_modules_that_change_their_inputs(out_dir):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True))
    with torch.no_grad():
        model[0].weight.fill_(-1.0)
    with recorded(out_dir, model):
        model(X)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("1_input_0").value(0).max() < -1
    assert trial.tensor("0_output_0").value(0).max() < -1
    assert trial.tensor("1_output_0").value(0).max() == 0
    assert names_of(trial, "1_input") == ["1_input_0"]


def test_a_tensor_within_a_model(out_dir):
    class Model(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return smd.tap(smd.tap(x, "inside"), "inside") + super().forward(x)

    model = Model(3, 3)
    assert smd.tap(X, "outside") is X
    with recorded(out_dir, model, save_all=False, include_regex="inside"):
        for _ in range(2):
            model(X).sum().backward()
    model(X)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="default") == ["inside_output_0", "inside_output_1"]
    assert trial.tensor("inside_output_1").steps() == [0, 1]


# ---- losses -----------------------------------------------------------------------------------


def test_a_loss_that_a_model_returns_by_name_is_a_loss(out_dir):
    class Output(dict):
        """Like the outputs of transformers."""

    class Model(nn.Linear):
        def forward(self, x: torch.Tensor) -> Any:
            y = super().forward(x)
            return Output(loss=y.square().mean(), logits=y)

    model = Model(3, 2)
    with smd.Hook(out_dir, save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        losses = [model(X)["loss"].item() for _ in range(2)]
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["Model_loss_output_0"]
    assert [trial.tensor("Model_loss_output_0").value(step) for step in range(2)] == losses


# ---- nothing is empty in silence ---------------------------------------------------------------


def test_a_model_that_is_not_called_is_named_when_the_hook_closes(out_dir, caplog):
    model = model_of_two()
    with recorded(out_dir, model):
        pass
    assert "no step was recorded: the hook saw no call of the registered Sequential" in caplog.text


def test_a_model_of_which_parts_alone_are_called_is_named(out_dir, caplog):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        for _ in range(2):
            loss = model[0](torch.ones(1, model[0].in_features)).sum()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    assert "the hook saw no call of the registered Sequential, so its inputs" in caplog.text


def test_a_training_without_a_loss_is_named(out_dir, caplog):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model, save_all=False):
        train(model, optimizer)
    assert 'no loss was recorded; give the loss module to register_loss' in caplog.text
    assert 'include_regex="Sequential_output_0"' in caplog.text


def test_changes_without_gradients_are_named(out_dir, caplog):
    model = model_of_two()
    with recorded(out_dir, model):
        model(X)
        with torch.no_grad():
            model[0].weight.add_(1.0)
    assert "weights have changed, but no gradient was recorded" in caplog.text


def test_an_empty_collection_is_named(out_dir, caplog):
    model = model_of_two()
    settings = {"save_all": False, "include_collections": ["updates", "mine"]}
    with recorded(out_dir, model, **settings) as hook:
        hook.get_collection("updates").include("^update/")
        hook.get_collection("mine").include("^nothing")
        model(X)
    assert "no tensor of the collection updates was recorded; give the optimizer" in caplog.text
    assert "no tensor of the collection mine was recorded" in caplog.text


def test_nothing_is_said_of_a_whole_recording(out_dir, caplog):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        loss = model(X).square().mean()
        hook.record_tensor_value("loss", loss)
        loss.backward()
        optimizer.step()
    assert caplog.text == ""
