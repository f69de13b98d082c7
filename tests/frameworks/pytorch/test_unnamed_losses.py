"""Losses that a script does not give to the hook: backward passes begin with them."""

from __future__ import annotations

import gc
import weakref
from typing import Any, Callable, List, Optional, Set, Tuple

import pytest
import smdebug.pytorch as smd
import torch
import torch.nn.functional as F
from helpers import EVERY_STEP
from smdebug.rules import RuleSet
from torch import Tensor, nn

Loss = Callable[[Tensor, Tensor], Tensor]
STEPS = 160
OUTPUT = "backward_loss_output_0"
INPUTS = {f"backward_loss/CrossEntropyLoss_input_{number}" for number in (0, 1)}


def cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(scores, targets)


def train(
    out_dir: str, compute: Loss, *, rules: bool = True, optimizers: int = 1, passes: int = 1,
    give: Optional[Callable[[Any, Tensor], Any]] = None, steps: int = STEPS,
) -> Tuple[Any, List[Any]]:  # fmt: skip
    """Returns the trial and the results of the rules with findings."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    parts = (model,) if optimizers == 1 else (model[0], model[2])
    all_of = [torch.optim.Adam(part.parameters(), lr=0.01) for part in parts]
    rule_set = RuleSet().add_all()
    collections = ["losses"]
    with smd.Hook(
        out_dir, save_config=EVERY_STEP, include_collections=collections, raise_errors=True
    ) as hook:
        hook.register_module(model)
        for optimizer in all_of:
            hook.register_optimizer(optimizer)
        if rules:
            hook.attach(rule_set)
        for _ in range(steps):
            for optimizer in all_of:
                optimizer.zero_grad()
            for _ in range(passes):
                x = torch.randn(32, 8)
                loss = compute(model(x), x[:, :3].argmax(1)) / passes
                loss.backward()
                if give is not None:
                    give(hook, loss)
            for optimizer in all_of:
                optimizer.step()
    return smd.create_trial(out_dir), [each for each in rule_set.results() if each.first]


def hot(targets: Tensor) -> Tensor:
    return F.one_hot(targets, 3).float()


@pytest.mark.parametrize(
    ("compute", "is_loss"),
    [
        (lambda outputs, y: ((outputs - hot(y)) ** 2).mean(), True),
        (lambda outputs, y: (hot(y) - outputs).pow(2).sum(1).mean(), True),
        (lambda outputs, y: torch.mean(torch.abs(outputs[:, 0] - hot(y)[:, 0])), True),
        (lambda outputs, y: (outputs - hot(y)).square().mean() * 8, True),
        (lambda outputs, y: ((outputs - hot(y)) ** 3).mean(), False),
        (lambda outputs, y: ((outputs - hot(y)) ** 2).sum(), False),
        (lambda outputs, y: ((outputs - outputs.flip(1)) ** 2).mean(), False),
        (lambda outputs, y: (outputs ** 2).mean(), False),
        (lambda outputs, y: ((outputs - hot(y)) ** 2).mean() + outputs.mean() ** 2, False),
    ],
)  # fmt: skip
def test_a_loss_that_the_script_writes(compute: Loss, is_loss: bool, out_dir: str) -> None:
    trial, found = train(out_dir, compute, steps=20)
    assert [name for name in trial.tensor_names() if "backward_loss" in name] == [OUTPUT] * is_loss
    assert not [each for each in found if each.rule == "LossNotDecreasing"]
    if is_loss:
        values = list(trial.tensor(OUTPUT).values(mode=smd.modes.TRAIN).values())
        assert 0 < values[-1] < values[0] < 3


def names_in(trial: Any) -> Set[str]:
    return {name for name in trial.tensor_names() if "backward" in name}


def test_the_loss_is_known_from_its_pass(out_dir):
    trial, found = train(out_dir, cross_entropy)
    assert not found
    assert names_in(trial) == {OUTPUT}
    # It is not known before that the script gives none.
    assert trial.tensor(OUTPUT).steps() == list(range(2, STEPS))
    first, last = (trial.tensor(OUTPUT).value(step) for step in (2, STEPS - 1))
    assert 0.8 < first < 1.4 and last < 0.3


def test_what_it_got_is_judged(out_dir):
    _, found = train(out_dir, lambda scores, y: F.cross_entropy(scores.softmax(1), y))
    assert "backward_loss/CrossEntropyLoss_input_0" in {each.first.tensor for each in found}
    _, found = train(f"{out_dir}_2", lambda scores, y: F.cross_entropy(scores, y[torch.randperm(32)]))
    assert {(each.rule, each.first.tensor) for each in found} == {("LossNotDecreasing", OUTPUT)}


def test_a_loss_with_smoothed_labels_is_judged(out_dir):
    _, found = train(
        out_dir, lambda scores, y: F.cross_entropy(scores, y[torch.randperm(32)], label_smoothing=0.1)
    )
    assert {(each.rule, each.first.tensor) for each in found} == {("LossNotDecreasing", OUTPUT)}


@pytest.mark.parametrize("passes", [1, 2])
def test_passes_of_an_update_are_counted(out_dir, passes):
    trial, found = train(out_dir, cross_entropy, passes=passes)
    assert not found
    assert names_in(trial) == {f"backward_loss_output_{number}" for number in range(passes)}
    # Before it was divided.
    assert 0.8 < trial.tensor(OUTPUT).value(2) < 1.4


@pytest.mark.parametrize(
    ("compute", "is_saved"),
    [
        (lambda scores, y: F.cross_entropy(scores, y, reduction="sum"), False),
        (lambda scores, y: F.cross_entropy(scores, y, reduction="sum") / len(y), True),
        (lambda scores, y: F.cross_entropy(scores, y, label_smoothing=0.1), True),
        (lambda scores, y: 0.9 * F.cross_entropy(scores, y) + 0.1 * scores.square().mean(), False),
        (lambda scores, y: F.cross_entropy(scores, y) + scores.square().mean(), False),
        (lambda scores, y: -scores.log_softmax(1)[torch.arange(len(y)), y].mean(), False),
    ],
)
def test_a_loss_that_is_more_than_a_function_need_not_fall(out_dir, compute, is_saved):
    trial, found = train(out_dir, compute)
    assert not found
    assert names_in(trial) == ({OUTPUT} if is_saved else set())


@pytest.mark.parametrize(
    "settings",
    [
        {"rules": False},
        {"optimizers": 2},
        {"give": lambda hook, loss: hook.record_tensor_value("loss", loss)},
        {"give": lambda hook, loss: hook.record_tensor_value("loss", loss.item())},
    ],
)
def test_it_is_not_saved_besides_others(out_dir, settings):
    trial, _ = train(out_dir, cross_entropy, steps=8, **settings)
    assert not names_in(trial)


def give(*names: str) -> Callable[[Any, Tensor], None]:
    """Records the loss by names, as a tensor, or as a number by those that end with ()."""

    def record(hook: Any, loss: Tensor) -> None:
        for name in names:
            is_number = name.endswith("()")
            hook.record_tensor_value(name.rstrip("()"), loss.item() if is_number else loss)

    return record


def test_a_metric_is_no_loss(out_dir):
    trial, found = train(out_dir, cross_entropy, give=give("accuracy()"))
    assert not found
    assert names_in(trial) == {OUTPUT}
    assert trial.tensor_names(collection="losses") == [OUTPUT]


@pytest.mark.parametrize(
    ("names", "settings", "losses"),
    [
        (["triplet"], {}, ["triplet_output_0"]),
        (["triplet", "loss"], {}, ["loss_output_0"]),
        (["triplet", "kl"], {}, []),
        (["triplet"], {"optimizers": 2}, []),
        (["triplet"], {"rules": False}, []),
    ],
)
def test_a_loss_may_have_any_name(out_dir, names, settings, losses):
    def own(scores: Tensor, y: Tensor) -> Tensor:
        return -scores.log_softmax(1)[torch.arange(len(y)), y].mean()

    trial, found = train(out_dir, own, give=give(*names), **settings)
    assert not found
    assert [name for name in trial.tensor_names() if name.endswith("_output_0")] == losses


@pytest.mark.parametrize("is_registered", [True, False])
def test_a_loss_that_is_recorded_before_its_pass(out_dir, is_registered):
    model = nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, raise_errors=True)
    hook.register_module(model)
    if is_registered:
        hook.register_optimizer(optimizer)
    hook.attach(RuleSet().add_all())
    for _ in range(8):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8)).square().logsumexp(1).mean()
        hook.record_tensor_value("objective", loss)
        (loss / 2).backward()
        optimizer.step()
    gone = weakref.ref(model.weight)
    del model, optimizer, loss
    gc.collect()
    # What the hook knows of the graph keeps no model.  PyTorch 1 tells no updates of other optimizers.
    assert is_registered or gone() is None
    hook.close()
    losses = smd.create_trial(out_dir).tensor_names(collection="losses")
    assert losses == ["objective_output_0"] or not is_registered


def test_such_a_loss_is_judged(out_dir):
    def shuffled(scores: Tensor, y: Tensor) -> Tensor:
        return -scores.log_softmax(1)[torch.arange(len(y)), y[torch.randperm(32)]].mean()

    _, found = train(out_dir, shuffled, give=give("objective"))
    assert {(each.rule, each.first.tensor) for each in found} == {
        ("LossNotDecreasing", "objective_output_0")
    }


def test_losses_of_another_training_are_not_its_own(out_dir):
    """Its hook is open, and its last step, while another model is trained."""
    models = [nn.Linear(8, 3), nn.Linear(8, 3)]
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in models]
    hooks = [
        smd.Hook(f"{out_dir}/{number}", save_config=EVERY_STEP, include_collections=["losses"], raise_errors=True)
        for number in range(2)
    ]
    for hook, model, optimizer in zip(hooks, models, optimizers):
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet().add_all())
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(4, 8)), torch.randint(3, (4,))).backward()
            optimizer.step()
    for number, hook in enumerate(hooks):
        hook.close()
        trial = smd.create_trial(f"{out_dir}/{number}")
        assert names_in(trial) == {OUTPUT}
        assert trial.tensor(OUTPUT).steps() == list(range(2, 10))


@pytest.mark.parametrize("is_module", [False, True])
def test_a_sum_over_samples_is_compared_with_no_guess(out_dir, is_module):
    """It is far above the loss of a guess, which is one of a sample, however far it falls."""
    torch.manual_seed(12)
    x = torch.randn(512, 16)
    y = (x @ torch.randn(16, 10) + 0.5 * torch.randn(512, 10)).argmax(1)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    loss_of = nn.CrossEntropyLoss(reduction="sum")
    rules = RuleSet().add_all()
    with smd.Hook(out_dir, raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        if is_module:
            hook.register_loss(loss_of)
        hook.attach(rules)
        for _ in range(250):
            k = torch.randint(0, 512, (32,))
            optimizer.zero_grad()
            loss = loss_of(model(x[k]), y[k])
            if not is_module:
                hook.record_tensor_value("loss", loss)
            loss.backward()
            optimizer.step()
    assert [each.message for each in rules.results() if each.first] == []


def test_what_holds_weights_back_is_no_loss(out_dir: str) -> None:
    """The loss of a task that no function computes, and a pass for the weights themselves."""
    torch.manual_seed(1)
    model = nn.Linear(8, 3)
    before = model.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rules = RuleSet().add_all()
    with smd.Hook(out_dir, save_config=EVERY_STEP, include_collections=["losses"]) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(rules)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.randn(32, 8)).exp().sum(1).log().mean().backward()
            ((model.weight - before) ** 2).mean().backward()
            optimizer.step()
    assert not [name for name in smd.create_trial(out_dir).tensor_names() if "backward" in name]
