"""The PyTorch hook at every step: changes between steps, and tensors that take the slow
path."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Iterator, Tuple

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import names_of, recorded
from smdebug.rules import RuleSet
from torch import nn

X = torch.ones(2, 3)


def model_of_two() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))


def of_step(trial: smd.Trial, name: str, step: int) -> Any:
    return trial.tensor(name).value(step).tolist()


class Outputs(nn.Module):
    """Returns the value that it was created with."""

    def __init__(self, *outputs: Any) -> None:
        super().__init__()
        self.outputs = outputs

    def forward(self, *inputs: Any) -> Tuple[Any, ...]:
        return self.outputs


# ---- numbers -----------------------------------------------------------------------------


def test_who_shares_a_name_shares_its_numbers(out_dir):
    model, losses = model_of_two(), [nn.MSELoss(), nn.MSELoss()]
    with recorded(out_dir, model) as hook:
        for loss in losses:
            hook.register_loss(loss)
        for _ in range(2):
            y = model(X)
            for number, loss in enumerate(losses):
                loss(torch.full((1,), float(number)), torch.zeros(1))
            hook.record_tensor_value("MSELoss", y.sum())
            hook.record_tensor_value("MSELoss", torch.tensor(3.0))
    trial = smd.create_trial(out_dir)
    assert names_of(trial, "MSELoss_output") == [f"MSELoss_output_{i}" for i in range(4)]
    for step in range(2):
        assert [of_step(trial, f"MSELoss_output_{i}", step) for i in (0, 1, 3)] == [0, 1, 3]


def test_tensors_among_other_values_are_numbered_in_order(out_dir):
    model = Outputs(X, None, {"deep": X + 1}, X + 2, [nn.Parameter(X + 3)], 7)
    with recorded(out_dir, model):
        for _ in range(2):
            model(X, "text", [X + 1], X + 2)
    trial = smd.create_trial(out_dir)
    for step in range(2):
        for side, count in (("input", 3), ("output", 4)):
            values = [trial.tensor(f"Outputs_{side}_{i}").value(step).max() for i in range(count)]
            assert values == list(range(1, count + 1))
            assert not trial.has_tensor(f"Outputs_{side}_{count}")


@pytest.mark.parametrize("name", ["loss" * 100, "λ_loss", "loss" + "x" * 224])
def test_names_of_any_length_and_script(out_dir, name):
    model = nn.Identity()
    with recorded(out_dir, model) as hook:
        model(X)
        for number in range(12):
            hook.record_tensor_value(name, torch.tensor(float(number)))
    trial = smd.create_trial(out_dir)
    values = [trial.tensor(f"{name}_output_{i}").value(0) for i in range(12)]
    assert values == list(range(12))


# ---- changes between steps -----------------------------------------------------------------


def test_parameters_are_those_that_the_model_has_now(out_dir):
    model = model_of_two()
    shared = nn.Parameter(torch.full((4,), 8.0))

    def name(part: str) -> str:
        return f"Sequential_{part}"

    with recorded(out_dir, model):
        model(X)
        model[0].weight = nn.Parameter(torch.full((4, 3), 5.0))
        model(X)
        model[1] = nn.Linear(4, 1)
        nn.init.constant_(model[1].bias, 6.0)
        model(X)
        model[0].register_parameter("scale", nn.Parameter(torch.tensor(7.0)))
        model(X)
        model[0].register_parameter("first", shared)
        model[1].register_parameter("second", nn.Parameter(torch.full((4,), 9.0)))
        model(X)
        model[1].second = shared
        model[0].bias = None
        model(X)
        with torch.no_grad():
            shared.fill_(10.0)
        model(X)
    trial = smd.create_trial(out_dir)
    assert of_step(trial, name("0.weight"), 0) != [[5] * 3] * 4
    assert of_step(trial, name("0.weight"), 1) == [[5] * 3] * 4
    assert [trial.tensor(name("1.bias")).value(step).shape for step in (1, 2)] == [(2,), (1,)]
    assert of_step(trial, name("1.bias"), 2) == [6]
    assert trial.tensor(name("0.scale")).steps() == [3, 4, 5, 6]
    assert trial.tensor(name("0.bias")).steps() == [0, 1, 2, 3, 4]
    assert trial.tensor(name("1.second")).steps() == [4]
    assert [of_step(trial, name("0.first"), step)[0] for step in (4, 5, 6)] == [8, 8, 10]


def test_a_model_may_tell_of_its_parameters_itself(out_dir):
    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [nn.Parameter(torch.tensor(1.0))]

        def named_parameters(self, *unused: Any, **given: Any) -> Iterator[Tuple[str, Any]]:
            for number, parameter in enumerate(self.hidden):
                yield f"hidden{number}", parameter

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.hidden.append(nn.Parameter(torch.tensor(2.0)))
            return x

    model = Grows()
    with recorded(out_dir, model):
        for _ in range(3):
            model(X)
    trial = smd.create_trial(out_dir)
    assert [len(trial.tensor(f"Grows_hidden{i}").steps()) for i in range(3)] == [3, 2, 1]


def test_a_parameter_that_is_gone_is_not_kept(out_dir):
    model = model_of_two()
    with recorded(out_dir, model, save_config=smd.SaveConfig(save_interval=2)):
        model(X)
        gone = weakref.ref(model[0].weight)
        model[0].weight = nn.Parameter(torch.zeros(4, 3))
        model(X)
        gc.collect()
        assert gone() is None


def test_what_is_wanted_may_change_from_step_to_step(out_dir):
    model = model_of_two()
    with recorded(out_dir, model, save_all=False, include_regex="^0_output") as hook:
        model(X)
        hook.get_collection("default").include("^1_output")
        model(X)
        hook.get_collection("default").include("bias$")
        model(X).sum().backward()
    trial = smd.create_trial(out_dir)
    steps = {name: trial.tensor(name).steps() for name in trial.tensor_names()}
    biases = [f"{what}Sequential_{i}.bias" for what in ("", "gradient/") for i in (0, 1)]
    outputs = {"0_output_0": [0, 1, 2], "1_output_0": [1, 2]}
    assert steps == {**outputs, **{name: [2] for name in biases}}


# ---- the slow path -------------------------------------------------------------------------


def test_a_tensor_between_others_that_cannot_be_saved(out_dir):
    model = Outputs(X, torch.ones(2, device="meta"), X + 1)
    with recorded(out_dir, model, raise_errors=False) as hook:
        for _ in range(2):
            model(torch.ones(2, device="meta"), X)
        assert hook.failures == 4
    trial = smd.create_trial(out_dir)
    names = ["Outputs_input_1", "Outputs_output_0", "Outputs_output_2"]
    assert trial.tensor_names() == names
    assert of_step(trial, "Outputs_output_2", 1) == [[2] * 3] * 2


def test_a_search_that_runs_away_costs_one_tensor(out_dir, caplog):
    # Rules select the tensor, so it is passed to them before the search for its name fails.
    model = nn.Sequential()
    slow = "a" * 40 + "b"
    model.add_module(slow, nn.Identity())
    model.add_module("quick", nn.Identity())
    settings = {"save_all": False, "include_regex": ["quick_output", r"^(a+)+_"]}
    with recorded(out_dir, model, raise_errors=False, **settings) as hook:
        hook.attach(RuleSet("aws").add("FirstNonFinite"))
        model(X)
        assert hook.failures == 2
    assert f"saving {slow}_input_0 failed" in caplog.text
    assert smd.create_trial(out_dir).tensor_names() == ["quick_output_0"]


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_elements_that_are_not_what_memory_holds(out_dir):
    numbers = torch.tensor([1 + 2j, 3 - 4j]).conj()
    dense = torch.tensor([[0.0, 5.0]])
    turned = torch.tensor([1.0, 2.0]).expand(2, 2).t()
    model = Outputs(numbers.imag, numbers, dense.to_sparse(), dense.to_sparse_csr(), turned)
    assert model.outputs[0].is_neg()
    with recorded(out_dir, model):
        model(numbers.imag)
    trial = smd.create_trial(out_dir)
    assert of_step(trial, "Outputs_input_0", 0) == [-2, 4]
    expected = [[-2, 4], [1 - 2j, 3 + 4j], [[0, 5]], [[0, 5]], [[1, 1], [2, 2]]]
    assert [of_step(trial, f"Outputs_output_{i}", 0) for i in range(5)] == expected


@pytest.mark.filterwarnings("ignore:Please use functorch.vmap")
def test_tensors_that_stand_for_others(out_dir):
    # PyTorch 1 has it in another module.
    vmap = torch.vmap if hasattr(torch, "vmap") else torch._vmap_internals.vmap
    # Newer versions say what such a tensor stands for.
    are_recorded = hasattr(getattr(torch, "func", None), "debug_unwrap")
    failures = 0 if are_recorded else 2 * 3
    model = model_of_two()
    with recorded(out_dir, model, raise_errors=False) as hook:
        batch = vmap(model)(X)
        assert hook.failures == failures
        np.testing.assert_array_equal(batch.detach(), model(X).detach())
        assert hook.failures == failures
    trial = smd.create_trial(out_dir)
    assert trial.tensor("Sequential_0.weight").steps() == [0, 1]
    outputs = trial.tensor("0_output_0")
    assert outputs.steps() == ([0, 1] if are_recorded else [1])
    if are_recorded:
        np.testing.assert_array_equal(outputs.value(0), outputs.value(1))


def test_kinds_of_tensors_of_ones_own(out_dir):
    class Doubled(torch.Tensor):
        """Represents twice the elements that its memory holds."""

        def detach(self) -> torch.Tensor:
            return self.as_subclass(torch.Tensor).detach() * 2

    model = Outputs(X.as_subclass(Doubled), X)
    with recorded(out_dir, model):
        model(X.as_subclass(Doubled))
    trial = smd.create_trial(out_dir)
    assert of_step(trial, "Outputs_input_0", 0) == [[2] * 3] * 2
    assert of_step(trial, "Outputs_output_0", 0) == [[2] * 3] * 2
    assert of_step(trial, "Outputs_output_1", 0) == [[1] * 3] * 2


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1), (300, 100)])
def test_shapes(out_dir, shape):
    value = torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)
    model = Outputs(value)
    with recorded(out_dir, model):
        model()
    saved = smd.create_trial(out_dir).tensor("Outputs_output_0").value(0)
    np.testing.assert_array_equal(saved, value.numpy())
