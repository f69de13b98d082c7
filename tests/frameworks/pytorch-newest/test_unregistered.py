"""Learning rates of optimizers that nobody has registered, which rules want to know."""

from __future__ import annotations

import copy
import gc
import sys
from typing import Any, Dict, List

import smdebug.pytorch as smd
import torch
from helpers import names_of, recorded
from smdebug.rules import RuleSet
from test_optimizers import batches, loss_of, model_of_two


def train(model: Any, *optimizers: Any, steps: int = 4) -> None:
    for x in batches(steps):
        for each in optimizers:
            each.zero_grad()
        loss_of(model, x).backward()
        for each in optimizers:
            each.step()


def judged(out_dir: str, model: Any) -> smd.Hook:
    hook = recorded(out_dir, model)
    hook.attach(RuleSet("calibrated").add_all())
    return hook


def rates(out_dir: str) -> Dict[str, List[float]]:
    trial = smd.create_trial(out_dir)
    return {name: [float(trial.tensor(name).value(step)) for step in trial.tensor(name).steps()]
            for name in names_of(trial, "^learning_rate/|^weight_decay/")}  # fmt: skip


def listeners() -> int:
    return len(sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks)


def test_rules_know_each_new_rate(out_dir):
    model = model_of_two()
    groups = [{"params": [each], "lr": rate} for each, rate in zip(model.parameters(), (0.5, 0.25))]
    optimizer = torch.optim.SGD(groups, lr=0.125)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with judged(out_dir, model) as hook:
        for x in batches(3):
            optimizer.zero_grad()
            loss_of(model, x).backward()
            optimizer.step()
            schedule.step()
        assert hook.failures == 0
    assert rates(out_dir) == {"learning_rate/SGD_0": [0.5, 0.25, 0.125], "learning_rate/SGD_1": [0.25, 0.125, 0.0625]}


def test_without_rules_nothing_more_is_recorded(out_dir):
    model = model_of_two()
    with recorded(out_dir, model):
        train(model, torch.optim.SGD(model.parameters(), lr=0.5))
    assert rates(out_dir) == {}


def test_a_registered_optimizer_is_recorded_once(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with judged(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        train(model, optimizer)
    assert rates(out_dir) == {"learning_rate/SGD_0": [0.5] * 4, "weight_decay/SGD_0": [0.0] * 4}


def test_optimizers_of_one_class_have_names_of_their_own(out_dir):
    model = model_of_two()
    first, _, second = model
    with judged(out_dir, model):
        train(model, *(torch.optim.SGD(each.parameters(), lr) for each, lr in ((first, 0.5), (second, 0.25))))
    assert rates(out_dir) == {"learning_rate/SGD_0": [0.5], "learning_rate/SGD_2_0": [0.25]}


def test_a_rate_that_stays_is_told_now_and_then(out_dir):
    model = model_of_two()
    with judged(out_dir, model):
        train(model, torch.optim.SGD(model.parameters(), lr=0.5), steps=20)
    assert smd.create_trial(out_dir).tensor("learning_rate/SGD_0").steps() == [0, 7, 14]


def test_rules_of_some_steps_learn_it(out_dir):
    model = model_of_two()
    rules = RuleSet("calibrated", smd.SaveConfig(save_interval=3, start_step=1)).add_all()
    with recorded(out_dir, model) as hook:
        hook.attach(rules)
        train(model, torch.optim.SGD(model.parameters(), lr=1e-12), steps=120)
    assert [each.id for each in rules.diagnose()][:1] == ["rate_too_low"]


def test_a_rate_that_is_a_tensor_is_told_at_each_step(out_dir):
    model = model_of_two()
    with judged(out_dir, model):
        train(model, torch.optim.Adam(model.parameters(), lr=torch.tensor(0.5)))
    assert rates(out_dir) == {"learning_rate/Adam_0": [0.5] * 4}


def test_an_optimizer_that_is_made_again_has_the_same_name(out_dir):
    model = model_of_two()
    with judged(out_dir, model):
        for _ in range(3):
            train(model, torch.optim.SGD(model.parameters(), lr=0.5), steps=2)
            gc.collect()
    assert rates(out_dir) == {"learning_rate/SGD_0": [0.5] * 3}


class Unhashable(torch.optim.SGD):
    __hash__ = None  # type: ignore[assignment]


def test_an_optimizer_without_a_hash_is_not_told(out_dir):
    model = model_of_two()
    with judged(out_dir, model) as hook:
        train(model, Unhashable(model.parameters(), lr=0.5), steps=2)
        assert hook.failures == 0
    assert rates(out_dir) == {}


def test_what_applies_nothing_has_no_rate(out_dir):
    """Optimizers of another model, without gradients, or with gradients of zeros."""
    model = model_of_two()
    other = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with judged(out_dir, model) as hook:
        train(model, torch.optim.SGD(other.parameters(), lr=0.25))
        for keeps in (True, False):
            for x in batches(2):
                loss_of(model, x).backward()
                optimizer.zero_grad(set_to_none=not keeps)
                optimizer.step()
        assert hook.failures == 0
    assert rates(out_dir) == {}


def test_the_optimizer_of_a_model_that_is_registered_later_is_heard(out_dir):
    model, later = model_of_two(), torch.nn.Linear(3, 1)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.5) for each in (model, later)]
    with judged(out_dir, model) as hook:
        for step in range(20):
            if step == 4:
                hook.register_module(later)
            for each, parameters in zip(optimizers, (model, later)):
                for parameter in parameters.parameters():
                    parameter.grad = torch.ones_like(parameter)
                if step % 2 == 0:
                    loss_of(model, batches(1)[0]).backward()
                each.step()
        assert hook.failures == 0
    assert set(rates(out_dir)) == {"learning_rate/SGD_0", "learning_rate/SGD_2_0"}


def test_two_updates_in_a_step_are_no_failure(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with judged(out_dir, model) as hook:
        for x in batches(3):
            loss_of(model, x).backward()
            optimizer.step()
            optimizer.param_groups[0]["lr"] /= 2
            optimizer.step()
        assert hook.failures == 0
    assert set(rates(out_dir)) == {"learning_rate/SGD_0"}


def test_a_closed_hook_hears_nothing(out_dir):
    before = listeners()
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with judged(out_dir, model):
        assert listeners() == before + 1
        train(model, optimizer)
    assert listeners() == before
    train(model, optimizer)


def compiled_training(model: Any) -> Dict[str, int]:
    """Returns why updates are more than one graph, and how often."""
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters["graph_break"]
    counters.clear()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    step = torch.compile(lambda: optimizer.step(), backend="eager")
    for x in batches(3):
        optimizer.zero_grad()
        loss_of(model, x).backward()
        step()
    return dict(counters)


def test_a_compiled_update_stays_as_it_is(out_dir):
    model = model_of_two()
    twin = copy.deepcopy(model)
    breaks = compiled_training(twin)
    with judged(out_dir, model) as hook:
        assert compiled_training(model) == breaks
        assert hook.failures == 0
    for ours, theirs in zip(model.parameters(), twin.parameters()):
        assert torch.equal(ours, theirs)


def test_a_rate_that_changes_nothing_is_named_as_the_cause(out_dir):
    model = model_of_two()
    rules = RuleSet("calibrated").add_all()
    with recorded(out_dir, model, save_all=False) as hook:
        hook.attach(rules)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)
        for x in batches(120):
            optimizer.zero_grad()
            loss = loss_of(model, x)
            hook.record_tensor_value("loss", loss)
            loss.backward()
            optimizer.step()
    assert [each.id for each in rules.diagnose()][:1] == ["rate_too_low"]
