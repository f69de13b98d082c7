"""Settings of layers, modes and schedules that nobody chooses."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any, Callable, List

import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP
from smdebug.pytorch import unregistered
from smdebug.pytorch.layer_settings import _initial_part_of_frozen
from smdebug.rules import RuleSet
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(20, 4, num_layers=2, dropout=dropout)

    def forward(self, x: Any) -> Any:
        return self.lstm(x[None])[0][0]


def sequential(inner: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(20, 16), inner, nn.Linear(16, 4))


def findings_of(
    out_dir: str,
    model: nn.Module,
    evaluate: Callable[[nn.Module], Any] = nn.Module.eval,
    sets_mode: bool = True,
    warm_up: int = 1,
) -> List[Any]:
    """Returns what is found in a training with three evaluations."""
    torch.manual_seed(2)
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / warm_up))
    with smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True) as hook:
        hook.attach(RuleSet().add("UnusualSettings"))
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for _ in range(3):
            model.train()
            if sets_mode:
                hook.set_mode(smd.modes.TRAIN)
            for _ in range(30):
                optimizer.zero_grad()
                loss(model(torch.randn(8, 20)), torch.randint(4, (8,))).backward()
                optimizer.step()
                schedule.step()
            evaluate(model)
            if sets_mode:
                hook.set_mode(smd.modes.EVAL)
            with torch.no_grad():
                model(torch.randn(8, 20))
    return hook.take_findings()


def checks_of(*arguments: Any, **settings: Any) -> List[Any]:
    return [(each.check, each.tensor) for each in findings_of(*arguments, **settings)]


@pytest.mark.parametrize(
    ("model", "tensors"),
    [
        (sequential(nn.Dropout(0.9)), ["dropout/Sequential_1"]),
        (Recurrent(0.9), ["dropout/Recurrent_lstm"]),
        (sequential(nn.Dropout(0.6)), []),
        (sequential(nn.Identity()), []),
    ],
)
def test_a_dropout_of_most_inputs_is_found(out_dir, model, tensors):
    assert checks_of(out_dir, model) == [("dropout", tensor) for tensor in tensors]


@pytest.mark.parametrize("is_registered", [True, False])
@pytest.mark.parametrize(
    ("make", "tensors"),
    [
        (partial(torch.optim.Adam, betas=(0.999, 0.9)), ["beta_excess/Adam_0"]),
        (partial(torch.optim.Adam, betas=(0.9, 0.9)), []),
        (partial(torch.optim.SGD, lr=0.1), []),
    ],
)
def test_swapped_betas_are_found(out_dir, make, tensors, is_registered):
    if unregistered._register is None:
        is_registered = True  # PyTorch 1 tells nothing of other optimizers
    model = sequential(nn.ReLU())
    optimizer = make(model.parameters())
    with smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True) as hook:
        hook.attach(RuleSet().add("UnusualSettings"))
        hook.register_module(model)
        if is_registered:
            hook.register_optimizer(optimizer)
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.randn(8, 20)).square().mean().backward()
            optimizer.step()
    found = [(each.check, each.tensor) for each in hook.take_findings()]
    assert found == [("betas", tensor) for tensor in tensors]


class Tower(nn.Module):
    """A frozen body, with two normalisations or without, and a head that is trained."""

    def __init__(self, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(20, 16), norm(16), nn.ReLU(), nn.Linear(16, 16), norm(16)
        )
        self.body.requires_grad_(False)
        self.head = nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


def as_it_began(tower: Tower) -> None:
    pass


def loaded(tower: Tower) -> None:
    for parameter in tower.body.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))


def partly_loaded(tower: Tower) -> None:
    layer = tower.body[3 if isinstance(tower.body[1], nn.Identity) else 1]
    layer.weight[0] *= 1.5


@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.Identity])
@pytest.mark.parametrize(
    ("load", "follows", "is_found"),
    [
        (as_it_began, False, True),
        (loaded, False, False),
        (partly_loaded, False, False),
        # A copy that follows the trained weights, as an average or the target of a network.
        (as_it_began, True, False),
    ],
)
def test_a_frozen_body_that_was_never_trained_is_found(out_dir, norm, load, follows, is_found):
    model = Tower(norm)
    with torch.no_grad():
        load(model)
    optimizer = torch.optim.SGD(model.head.parameters(), 1e-2)
    with smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True) as hook:
        hook.attach(RuleSet().add("UnusualSettings"))
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for step in range(210):
            optimizer.zero_grad()
            model(torch.randn(8, 20)).square().mean().backward()
            optimizer.step()
            if follows and step == 149:
                with torch.no_grad():
                    loaded(model)
    found = [(each.check, each.tensor, each.step) for each in hook.take_findings()]
    assert found == [("untrained", "initial_frozen/Tower", 199)] * is_found


def test_a_frozen_part_that_is_spread_over_processes_is_not_looked_at():
    model = Tower(nn.LayerNorm)
    assert _initial_part_of_frozen(model) == 1
    # Comparing a DTensor would wait for processes that may have no rules.
    for parameter in model.body.parameters():
        parameter.placements = ()
    assert _initial_part_of_frozen(model) is None
    assert _initial_part_of_frozen(Tower(nn.LayerNorm).to("meta")) is None


def in_training(model: nn.Module) -> None:
    pass


def with_dropout_only(model: nn.Module) -> None:
    """Samples predictions, as Monte Carlo dropout does."""
    model.eval()
    for layer in model.modules():
        layer.train(isinstance(layer, nn.Dropout))


@pytest.mark.parametrize(
    ("inner", "evaluate", "sets_mode", "count"),
    [
        (nn.Dropout(0.1), in_training, True, 2),
        (nn.BatchNorm1d(16), in_training, True, 2),
        (nn.BatchNorm1d(16), nn.Module.eval, True, 0),
        (nn.LayerNorm(16), in_training, True, 0),
        (nn.Dropout(0.1), with_dropout_only, True, 0),
        # Nothing says that these calls are evaluations.
        (nn.Dropout(0.1), in_training, False, 0),
    ],
)
def test_an_evaluation_in_training_mode_is_found(out_dir, inner, evaluate, sets_mode, count):
    found = checks_of(out_dir, sequential(inner), evaluate, sets_mode)
    assert found == [("training_mode", "training_mode/Sequential")] * count


@pytest.mark.parametrize("sets_mode", [True, False])
@pytest.mark.parametrize(("momentum", "count"), [(0.001, 3), (0.02, 0), (0.1, 0), (None, 0)])
def test_statistics_that_have_not_arrived_are_found(out_dir, momentum, count, sets_mode):
    model = sequential(nn.BatchNorm1d(16, momentum=momentum))
    found = checks_of(out_dir, model, sets_mode=sets_mode)
    assert found == [("statistics", "initial_statistics/Sequential_1")] * count


@pytest.mark.parametrize(("warm_up", "is_found"), [(1000, True), (60, False)])
def test_a_warm_up_without_an_end_is_found(out_dir, warm_up, is_found, caplog):
    found = checks_of(out_dir, sequential(nn.ReLU()), warm_up=warm_up)
    assert found == [("warmup", "learning_rate/SGD_0")] * is_found
    assert ("rose until the training ended" in caplog.text) == is_found


def test_a_model_that_is_one_such_layer_is_not_kept(out_dir):
    model = nn.BatchNorm1d(20)
    findings_of(out_dir, model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
