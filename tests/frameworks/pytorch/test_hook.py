"""The PyTorch hook: what it records of a training, and under which names."""

from __future__ import annotations

from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, names_of, recorded
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.pytorch.hook import _WITH_KEYWORDS
from smdebug.rules import Level, RuleSet
from torch import nn

X, Y = torch.ones(2, 3), torch.tensor([0, 1])


class Tower(nn.Sequential):
    """A model with two layers."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 4), nn.Linear(4, 2))


def train_one(model: nn.Module, loss_module: nn.Module, x: torch.Tensor = X) -> None:
    model.zero_grad()
    loss_module(model(x), Y).backward()


# ---- values and steps ----------------------------------------------------------------


def test_parameters_are_as_they_were_before_the_step(out_dir):
    model, loss_module = Tower(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    before, gradients = [], []
    with recorded(out_dir, model) as hook:
        hook.register_loss(loss_module)
        for _ in range(3):
            before.append(model[1].weight.detach().clone().numpy())
            train_one(model, loss_module)
            gradients.append(model[1].weight.grad.clone().numpy())
            optimizer.step()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    for step in range(3):
        np.testing.assert_array_equal(trial.tensor("Tower_1.weight").value(step), before[step])
        gradient = trial.tensor("gradient/Tower_1.weight").value(step)
        np.testing.assert_array_equal(gradient, gradients[step])
    assert trial.tensor("CrossEntropyLoss_output_0").value(2).shape == ()


def test_losses_alone_are_saved_by_default(out_dir):
    model, loss_module = Tower(), nn.CrossEntropyLoss()
    hook = smd.Hook(out_dir)
    hook.register_hook(model)
    hook.register_loss(loss_module)
    for _ in range(501):
        train_one(model, loss_module)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 500]
    assert trial.tensor_names() == ["CrossEntropyLoss_output_0"]


def test_rules_learn_of_losses_with_class_weights(out_dir):
    weights = torch.tensor([1.0, 20.0])
    with smd.Hook(out_dir, save_config=EVERY_STEP) as hook:
        at_once = {"first_steps": 1, "steps": 1, "rare_error": None}
        hook.attach(RuleSet().add("ClassImbalance", at_once))
        model, losses = nn.Linear(4, 2), [nn.CrossEntropyLoss(weights), nn.NLLLoss()]
        hook.register_module(model)
        for loss in losses:
            hook.register_loss(loss)
        labels = (torch.arange(2000) % 50 == 0).long()
        output = model(torch.randn(2000, 4)).log_softmax(1)
        for loss in losses:
            loss(output, labels)
    found = [(each.tensor, each.level) for each in hook.take_findings()]
    assert found == [
        ("CrossEntropyLoss_input_1", Level.WORTH_A_LOOK), ("NLLLoss_input_1", Level.FINDING),
    ]  # fmt: skip


def test_evaluation_without_gradients(out_dir):
    model, loss_module = Tower(), nn.CrossEntropyLoss()
    with recorded(out_dir, model) as hook:
        hook.set_mode(smd.modes.TRAIN)
        train_one(model, loss_module)
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            model(X)
        with torch.inference_mode():
            model(X)
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.EVAL) == [0, 1]
    assert trial.tensor("gradient/Tower_0.weight").steps(smd.modes.EVAL) == []
    assert trial.tensor("0_output_0").steps(smd.modes.EVAL) == [0, 1]


def test_each_model_begins_steps_of_its_own(out_dir):
    class Generator(Tower):
        pass

    class Critic(Tower):
        pass

    generator, critic = Generator(), Critic()
    with recorded(out_dir, generator) as hook:
        hook.register_module(critic)
        generator(X)
        critic(X)
        critic(X)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("Generator_0.weight").steps() == [0]
    assert trial.tensor("Critic_0.weight").steps() == [1, 2]


def test_gradients_of_a_sparse_embedding(out_dir):
    model = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2))
    with recorded(out_dir, model):
        model(torch.tensor([1, 1, 4])).sum().backward()
    gradient = smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight").value(0)
    np.testing.assert_array_equal(gradient, model[0].weight.grad.to_dense().numpy())


# ---- names -----------------------------------------------------------------------------


def test_a_module_called_again_goes_on_counting(out_dir):
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x: torch.Tensor) -> Any:
            return self.relu(x), self.relu(-x)

    model = Twice()
    with recorded(out_dir, model):
        model(X)
        model(X)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("relu_output_0").steps() == [0, 1]
    assert names_of(trial, "relu_input") == ["relu_input_0", "relu_input_1"]
    assert names_of(trial, "relu_output") == ["relu_output_0", "relu_output_1"]
    assert trial.tensor("Twice_output_1").value(1).tolist() == torch.relu(-X).tolist()


def test_calls_from_threads_are_all_counted(out_dir):
    # Like the names of DataParallel's replicas.
    model = nn.Sequential(nn.ReLU())
    with recorded(out_dir, model, include_regex="^0_output", save_all=False):
        model(X)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: model[0](X), range(400)))
    trial = smd.create_trial(out_dir)
    assert set(names_of(trial, "0_output")) == {f"0_output_{i}" for i in range(401)}


def test_nested_values_are_numbered_in_order(out_dir):
    @dataclass
    class Result:
        first: torch.Tensor
        comment: str
        rest: List[torch.Tensor]

    Pair = namedtuple("Pair", "left right")

    class Nested(nn.Module):
        def forward(self, x: Any) -> Any:
            first, second = x["a"], x["b"][0]
            return Result(first, "text", [second, Pair(first + 1, {"deep": second + 1})])

    model = Nested()
    with recorded(out_dir, model):
        model({"a": X, "b": [X + 1, None]})
    trial = smd.create_trial(out_dir)
    assert names_of(trial, "Nested_input") == ["Nested_input_0", "Nested_input_1"]
    outputs = [trial.tensor(f"Nested_output_{i}").value(0).max() for i in range(4)]
    assert outputs == [1, 2, 2, 3]
    assert not trial.has_tensor("Nested_output_4")


def test_keyword_inputs_have_names_of_their_own(out_dir):
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor, mask: Any = None) -> torch.Tensor:
            return x * mask

    model = Masked()
    with recorded(out_dir, model):
        model(X, mask=X)
    # PyTorch 1 does not report them.
    keywords = ["Masked_input_mask_0"] if _WITH_KEYWORDS else []
    trial = smd.create_trial(out_dir)
    assert names_of(trial, "Masked_input") == ["Masked_input_0", *keywords]


def test_what_is_shared_is_recorded_once(out_dir):
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.decoder = nn.Sequential(nn.Linear(3, 3)), nn.Sequential()
            self.decoder.add_module("same", self.encoder[0])
            self.extra = nn.Linear(3, 3)
            self.extra.weight = self.encoder[0].weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.extra(self.decoder(self.encoder(x)))

    model = Tied()
    with recorded(out_dir, model):
        model(X).sum().backward()
    trial = smd.create_trial(out_dir)
    weight = "Tied_encoder.0.weight"
    assert names_of(trial, "Tied.*weight") == [weight, f"gradient/{weight}"]
    assert names_of(trial, r"\.(0|same)_output") == ["encoder.0_output_0", "encoder.0_output_1"]


# ---- losses ------------------------------------------------------------------------------


def test_a_loss_of_ones_own_is_a_loss(out_dir):
    class Dice(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x - y).square().mean()

    dice, model = Dice(), Tower()
    with recorded(out_dir, model) as hook:
        hook.register_loss(dice)
        hook.register_loss(dice)
        dice(model(X), torch.zeros(2, 2))
        hook.record_tensor_value("other_loss", torch.ones(()))
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["Dice_output_0", "other_loss_output_0"]
    assert not trial.has_tensor("Dice_output_1")


def test_a_loss_inside_of_the_model_has_the_name_of_its_class(out_dir):
    class Judged(Tower):
        def __init__(self) -> None:
            super().__init__()
            self.criterion = nn.MSELoss()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.criterion(self[1](self[0](x)), torch.zeros(2, 2))

    model = Judged()
    with recorded(out_dir, model) as hook:
        hook.register_loss(model.criterion)
        model(X)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["MSELoss_output_0"]
    assert names_of(trial, "criterion") == []


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.float64(0.5)])
def test_a_loss_may_be_a_number(out_dir, number):
    """As loss.item() is, which many scripts log."""
    model = Tower()
    with recorded(out_dir, model) as hook:
        model(X)
        hook.record_tensor_value("train_loss", number)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["train_loss_output_0"]
    assert trial.tensor("train_loss_output_0").value(0) == 0.5


def test_what_is_no_tensor_is_no_loss(out_dir):
    hook = smd.Hook(out_dir)
    with pytest.raises(SMDebugTypeError, match="my_loss: a str is not a torch.Tensor"):
        hook.record_tensor_value("my_loss", "0.5")
    with pytest.raises(SMDebugTypeError, match="a function is not a torch.nn.Module"):
        hook.register_loss(nn.functional.mse_loss)


# ---- modules -----------------------------------------------------------------------------


def test_modules_are_registered_once(out_dir, caplog):
    model = Tower()
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    with pytest.raises(SMDebugValueError, match="Tower is registered already"):
        hook.register_module(model)
    with pytest.raises(SMDebugValueError, match="0.1 is registered already"):
        hook.register_module(nn.Sequential(nn.Sequential(nn.ReLU(), model[1])))
    with pytest.raises(SMDebugTypeError, match="a Tensor is not a torch.nn.Module"):
        hook.register_module(X)
    assert caplog.text == ""


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_model_without_its_parameters_is_not_registered(out_dir):
    model = nn.Sequential(nn.Linear(3, 4), nn.LazyLinear(2))
    hook = smd.Hook(out_dir)
    with pytest.raises(SMDebugValueError, match="1.weight is not initialised.*call the model"):
        hook.register_module(model)
    model(X)
    hook.register_module(model)


def test_collections_of_modules(out_dir):
    model = Tower()
    hook = smd.Hook(out_dir, include_collections=["ins", "outs"], save_config=EVERY_STEP)
    hook.get_collection("ins").add_module_tensors(model[0], inputs=True, outputs=False)
    outs = smd.Collection("outs", reduction_config=smd.ReductionConfig(["max"]))
    outs.add_module_tensors(model)
    hook.add_collection(outs)
    hook.register_module(model)
    model(X)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="ins") == ["0_input_0"]
    assert trial.tensor_names(collection="outs") == ["Tower_output_0"]
    maximum = trial.tensor("Tower_output_0").reduction_value(0, "max")
    assert maximum == model(X).max().item()


def test_a_collection_of_a_module_that_is_not_registered(out_dir, caplog):
    model = Tower()
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.get_collection("mine").add_module_tensors(nn.ReLU())
    with pytest.raises(InvalidCollectionConfiguration, match="mine"):
        model(X)
    assert "collection mine: its module ReLU is not registered with the hook" in caplog.text


def test_wrapped_models_keep_the_names_of_their_wrappers(out_dir):
    model = nn.DataParallel(Tower())
    with recorded(out_dir, model):
        for _ in range(2):
            model(X).sum().backward()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1]
    assert trial.tensor("DataParallel_module.0.weight").steps() == [0, 1]
    assert trial.tensor("gradient/DataParallel_module.0.weight").steps() == [0, 1]
    assert trial.tensor("module.0_output_0").steps() == [0, 1]
    assert trial.tensor("DataParallel_output_0").value(1).shape == (2, 2)
