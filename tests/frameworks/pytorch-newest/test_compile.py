"""Compiled models: how many graphs there are with the hook and without."""

from __future__ import annotations

import copy
from typing import Any, Callable, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, names_of
from torch import nn

X = torch.linspace(-1, 1, 12).reshape(4, 3)
EVERY_OTHER = smd.SaveConfig(save_interval=2)


class Counting:
    """A compiler that runs the graphs as they are, and counts them."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.graphs += 1
        return graph.forward


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def model_of_blocks() -> nn.Module:
    torch.manual_seed(6)
    blocks = [nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True)) for _ in range(4)]
    return nn.Sequential(*blocks, nn.Linear(3, 2))


def in_place(model: nn.Module, **settings: Any) -> nn.Module:
    model.compile(**settings)
    return model


Compile = Callable[..., nn.Module]
WAYS = pytest.mark.parametrize("compiled", [torch.compile, in_place], ids=["wrapped", "in_place"])


def run_once(model: nn.Module) -> None:
    """Compiles the model's first graph, as a training does that runs before the hook comes."""
    model(X).sum().backward()
    model.zero_grad()


def train(model: nn.Module, loss_module: nn.Module, hook: Any = None) -> List[Any]:
    """Trains six steps and evaluates two; returns losses and gradients."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if hook is not None:
        hook.register_optimizer(optimizer)
    found = []
    for _ in range(6):
        model.train()
        optimizer.zero_grad()
        loss = loss_module(model(X), torch.zeros(4, 2))
        loss.backward()
        optimizer.step()
        found.append((loss.item(), next(model.parameters()).grad.clone()))
    model.eval()
    for _ in range(2):
        with torch.no_grad():
            loss_module(model(X), torch.zeros(4, 2))
    return found


def graphs_without(compiled: Compile, fullgraph: bool, order: str) -> int:
    counting = Counting()
    model = compiled(model_of_blocks(), backend=counting, fullgraph=fullgraph)
    if order == "late":
        run_once(model)
    train(model, nn.MSELoss())
    torch._dynamo.reset()
    return counting.graphs


@WAYS
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("order", ["before", "after", "late"])
def test_a_hook_adds_no_graphs(out_dir, compiled, fullgraph, order):
    expected = graphs_without(compiled, fullgraph, order)
    assert expected > 0
    counting, model, loss_module = Counting(), model_of_blocks(), nn.MSELoss()
    settings = {"backend": counting, "fullgraph": fullgraph}
    values = train(copy.deepcopy(model), nn.MSELoss())
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_OTHER)
    hook.register_loss(loss_module)
    if order == "before":
        hook.register_module(model)
        model = compiled(model, **settings)
    else:
        model = compiled(model, **settings)
        if order == "late":
            run_once(model)
        hook.register_module(model)
    found = train(model, loss_module, hook)
    hook.close()
    assert counting.graphs == expected
    assert [loss for loss, _ in found] == [loss for loss, _ in values]
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == [0, 2, 4]
    assert trial.steps(smd.modes.EVAL) == [0]
    for step in (0, 2, 4):
        loss = trial.tensor("MSELoss_output_0").value(step, smd.modes.TRAIN)
        assert loss == np.float32(values[step][0])
        gradient = trial.tensor("gradient/Sequential_0.0.weight").value(step, smd.modes.TRAIN)
        np.testing.assert_array_equal(gradient, values[step][1])
    assert trial.tensor("Sequential_4.bias").steps(smd.modes.TRAIN) == [0, 2, 4]


@WAYS
@pytest.mark.parametrize("order", ["before", "after"])
def test_without_an_optimizer_a_hook_adds_no_graphs_either(out_dir, compiled, order):
    counting, model = Counting(), model_of_blocks()
    hook = smd.Hook(out_dir, include_collections=["weights", "gradients"], save_config=EVERY_STEP)
    loss_module = nn.MSELoss()
    hook.register_loss(loss_module)
    if order == "before":
        hook.register_module(model)
        model = compiled(model, backend=counting, fullgraph=True)
    else:
        model = compiled(model, backend=counting, fullgraph=True)
        hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss_module(model(X), torch.zeros(4, 2)).backward()
        optimizer.step()
    hook.close()
    assert counting.graphs == 1
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    for name in ("gradient/Sequential_0.0.weight", "Sequential_0.0.weight", "MSELoss_output_0"):
        assert trial.tensor(name).steps() == [0, 1, 2, 3]


def test_the_real_compiler(out_dir):
    model, loss_module = model_of_blocks(), nn.MSELoss()
    values = train(copy.deepcopy(model), nn.MSELoss())
    with smd.Hook(out_dir, include_collections=["gradients"], save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        hook.register_loss(loss_module)
        train(torch.compile(model, fullgraph=True, backend="aot_eager"), loss_module, hook)
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    for step in range(6):
        gradient = trial.tensor("gradient/Sequential_0.0.weight").value(step, smd.modes.TRAIN)
        np.testing.assert_allclose(gradient, values[step][1], rtol=1e-5)


def test_a_compiled_part_of_a_model_is_named_as_without(out_dir):
    model = model_of_blocks()
    model[1] = torch.compile(model[1], backend="eager")
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        model(X).sum().backward()
    trial = smd.create_trial(out_dir)
    assert trial.has_tensor("Sequential_1.0.weight")
    assert trial.has_tensor("gradient/Sequential_1.0.weight")
    assert names_of(trial, "^1_output") == ["1_output_0"]
    # What is within a graph is not recorded.
    assert names_of(trial, "^1.0_output") == [] and names_of(trial, "^2.0_output")


def test_missing_activations_are_named(out_dir, caplog):
    model = torch.compile(model_of_blocks(), backend="eager")
    hook = smd.Hook(out_dir, include_collections=["parts"], save_config=EVERY_STEP)
    hook.get_collection("parts").include("^0.0_output")
    hook.register_module(model)
    model(X)
    hook.close()
    said = "no tensor of the collection parts was recorded; compiled models record no inputs"
    assert said in caplog.text


class Tapped(nn.Module):
    """A model that records an activation."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(smd.tap(torch.relu(self.first(x)), "hidden"))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("order", ["before", "after"])
def test_activations_within_a_graph(out_dir, backend, order):
    model, loss_module = Tapped(), nn.MSELoss()
    values = train(copy.deepcopy(model), nn.MSELoss())
    twin, activations = copy.deepcopy(model), []
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(6):
        activations.append(torch.relu(twin.first(X)).detach())
        optimizer.zero_grad()
        nn.MSELoss()(twin(X), torch.zeros(4, 2)).backward()
        optimizer.step()
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP) as hook:
        hook.register_loss(loss_module)
        if order == "before":
            hook.register_module(model)
        model = torch.compile(model, fullgraph=True, backend=backend)
        if order == "after":
            hook.register_module(model)
        train(model, loss_module, hook)
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    assert names_of(trial, "^hidden") == ["hidden_output_0"]
    hidden = trial.tensor("hidden_output_0")
    gradient = trial.tensor("gradient/Tapped_first.weight")
    for step in range(6):
        value = hidden.value(step, smd.modes.TRAIN)
        np.testing.assert_allclose(value, activations[step], rtol=1e-5, atol=1e-6)
        value = gradient.value(step, smd.modes.TRAIN)
        np.testing.assert_allclose(value, values[step][1], rtol=1e-4, atol=1e-6)
    assert hidden.steps(smd.modes.EVAL) == [0, 1]


def test_a_compiled_step_with_its_backward_pass(out_dir: str) -> None:
    """A loss that is recorded as a number has none of its step compiled again."""
    targets = torch.tensor([0, 1, 0, 1])

    def losses(name: str, is_recorded: bool) -> List[float]:
        torch._dynamo.reset()
        model, counting = model_of_blocks(), Counting()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), targets)
            loss.backward()
            return loss

        found: List[float] = []
        compiled = torch.compile(step, backend=counting)
        with smd.Hook(f"{out_dir}/{name}", include_regex=["loss"], raise_errors=True) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            for _ in range(5):
                found.append(compiled(X).item())
                optimizer.step()
                if is_recorded:
                    hook.record_tensor_value("loss", found[-1])
        return [*found, counting.graphs]

    assert losses("recorded", True) == losses("not", False)
