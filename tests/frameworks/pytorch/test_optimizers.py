"""The PyTorch hook with registered optimizers: what they apply, against plain PyTorch."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any, Callable, Dict, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, recorded
from smdebug.exceptions import SMDebugTypeError
from smdebug.rules import RuleSet
from torch import nn

ALL_OF_IT = [
    "weights", "biases", "gradients", "updates", "optimizer_state", "learning_rate",
    "weight_decay",
]  # fmt: skip
Step = Callable[[nn.Module, torch.optim.Optimizer, torch.Tensor], None]


def model_of_two() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def batches(count: int) -> List[torch.Tensor]:
    torch.manual_seed(4)
    return [torch.randn(5, 3) for _ in range(count)]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()


def plain(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss_of(model, x).backward()
    optimizer.step()


def clipped(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss_of(model, x).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    optimizer.step()


def accumulated(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    for part in x.split(2):
        (loss_of(model, part) / 3).backward()
    optimizer.step()


def with_a_closure(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        return loss

    optimizer.step(closure)


def with_a_closure_by_name(
    model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor
) -> None:
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        return loss

    optimizer.step(closure=closure)


def several_backwards(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    output = model(x)
    output.square().mean().backward(retain_graph=True)
    output.abs().mean().backward()
    optimizer.step()


def siamese(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    (model(x) - model(x.flip(0))).square().mean().backward()
    optimizer.step()


STEPS = [
    plain, clipped, accumulated, with_a_closure, with_a_closure_by_name, several_backwards, siamese,
]  # fmt: skip


def facts(
    model: nn.Module, make: Callable[[Any], torch.optim.Optimizer], step: Step, count: int
) -> List[Dict[str, Any]]:
    """Trains without a hook.  Returns for each step the tensors, by the hook's names."""
    optimizer = make(model.parameters())
    found = []
    for x in batches(count):
        before = {name: each.detach().clone() for name, each in model.named_parameters()}
        step(model, optimizer, x)
        now: Dict[str, Any] = {"learning_rate/_0": torch.tensor(optimizer.param_groups[0]["lr"])}
        for name, each in model.named_parameters():
            now[f"Sequential_{name}"] = before[name]
            now[f"gradient/Sequential_{name}"] = each.grad.clone()
            now[f"update/Sequential_{name}"] = each.detach() - before[name]
            for key, value in optimizer.state[each].items():
                if torch.is_tensor(value) and key != "step":
                    now[f"optimizer_state/Sequential_{name}/{key}"] = value.clone()
        found.append(now)
    return found


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_what_is_recorded_is_what_the_optimizer_applies(out_dir, step, kind):
    def make(parameters: Any) -> torch.optim.Optimizer:
        return getattr(torch.optim, kind)(parameters, lr=0.25, weight_decay=0.125)

    model = model_of_two()
    expected = facts(copy.deepcopy(model), make, step, 3)
    optimizer = make(model.parameters())
    with smd.Hook(out_dir, include_collections=ALL_OF_IT, save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(3):
            step(model, optimizer, x)
    trial = smd.create_trial(out_dir)
    assert trial.steps() == trial.steps(smd.modes.TRAIN) == [0, 1, 2]
    for number, tensors in enumerate(expected):
        for name, value in tensors.items():
            name = name.replace("learning_rate/_0", f"learning_rate/{kind}_0")
            np.testing.assert_array_equal(trial.tensor(name).value(number), value.numpy(), name)
        assert trial.tensor(f"weight_decay/{kind}_0").value(number) == 0.125
    states = 2 if kind == "Adam" else 0
    assert len(trial.tensor_names()) == 4 * (3 + states) + 2
    assert len(trial.tensor_names(collection="weights")) == 2
    assert len(trial.tensor_names(collection="updates")) == 4
    assert len(trial.tensor_names(collection="optimizer_state")) == 4 * states


def test_nobody_gets_more_than_was_asked_for(out_dir):
    model = model_of_two()
    optimizer = torch.optim.Adam(model.parameters())
    settings = {"include_collections": ["weights", "biases", "gradients"]}
    with recorded(out_dir, model, save_all=False, **settings) as hook:
        hook.register_optimizer(optimizer)
        plain(model, optimizer, batches(1)[0])
    names = smd.create_trial(out_dir).tensor_names()
    assert all(name.startswith(("Sequential_", "gradient/Sequential_")) for name in names)
    assert len(names) == 8


def test_steps_that_save_nothing_are_counted(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    every_third = smd.SaveConfig(save_interval=3)
    with recorded(out_dir, model, save_all=False, include_collections=["gradients"],
                  save_config=every_third) as hook:  # fmt: skip
        hook.register_optimizer(optimizer)
        gradients = []
        for x in batches(7):
            accumulated(model, optimizer, x)
            gradients.append(model[0].weight.grad.clone().numpy())
    tensor = smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight")
    assert tensor.steps() == [0, 3, 6]
    for step in (0, 3, 6):
        np.testing.assert_array_equal(tensor.value(step), gradients[step])


# ---- evaluations, several models and optimizers --------------------------------------------


def test_the_mode_is_that_of_the_model(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        for x in batches(2):
            model.train()
            accumulated(model, optimizer, x)
            model.eval()
            with torch.no_grad():
                model(x)
                model(x)
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == [0, 1]
    assert trial.steps(smd.modes.EVAL) == [0, 1, 2, 3]
    assert trial.tensor("gradient/Sequential_0.weight").steps(smd.modes.TRAIN) == [0, 1]
    assert trial.tensor("Sequential_0.weight").steps(smd.modes.EVAL) == [0, 1, 2, 3]


def test_an_evaluation_does_not_cut_a_step_in_two(out_dir, caplog):
    model, loss_module = model_of_two(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def evaluate(x: torch.Tensor) -> None:
        model.eval()
        with torch.no_grad():
            hook.record_tensor_value("loss", loss_module(model(x), torch.zeros(len(x), 2)))
        model.train()

    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        hook.register_loss(loss_module)
        for x in batches(2):
            optimizer.zero_grad()
            for part in x.split(3):
                loss_module(model(part), torch.zeros(len(part), 2)).backward()
                evaluate(part)
            optimizer.step()
            evaluate(x)
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == trial.steps(smd.modes.EVAL) == [0, 1]
    losses = trial.tensor_names(collection="losses")
    assert losses == ["MSELoss_output_0", "MSELoss_output_1", "loss_output_0"]
    assert trial.tensor("loss_output_0").steps(smd.modes.TRAIN) == []
    assert trial.tensor("gradient/Sequential_0.weight").steps(smd.modes.TRAIN) == [0, 1]
    assert caplog.text.count("before optimizer.step() has applied the gradients") == 1


def test_a_mode_that_was_set_stays(out_dir):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        hook.set_mode(smd.modes.PREDICT)
        model.eval()
        model(batches(1)[0])
    assert smd.create_trial(out_dir).steps(smd.modes.PREDICT) == [0]


def test_a_training_in_eval_mode_is_a_training(out_dir):
    model = model_of_two().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        for x in batches(2):
            plain(model, optimizer, x)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradient/Sequential_0.weight").steps(smd.modes.TRAIN) == [0, 1]
    # The hook learns it from the first update.
    assert trial.steps(smd.modes.EVAL) == [0]


def test_calls_without_gradients_begin_no_step_of_a_training(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        for x in batches(2):
            plain(model, optimizer, x)
            with torch.no_grad():
                model(x)
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1]


def test_two_models_with_an_optimizer_each(out_dir):
    class Critic(nn.Sequential):
        pass

    generator, critic = model_of_two(), Critic(nn.Linear(2, 1))
    first = torch.optim.SGD(generator.parameters(), lr=0.1)
    second = torch.optim.SGD(critic.parameters(), lr=0.1)
    gradients: Dict[str, List[Any]] = {"Critic_0.weight": [], "Sequential_0.weight": []}
    with recorded(out_dir, generator) as hook:
        hook.register_module(critic)
        hook.register_optimizer(first, second)
        for x in batches(2):
            second.zero_grad()
            critic(generator(x).detach()).mean().backward()
            second.step()
            gradients["Critic_0.weight"].append(critic[0].weight.grad.clone())
            first.zero_grad()
            (-critic(generator(x)).mean()).backward()
            first.step()
            gradients["Sequential_0.weight"].append(generator[0].weight.grad.clone())
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    for name, steps in (("Critic_0.weight", [0, 2]), ("Sequential_0.weight", [1, 3])):
        tensor = trial.tensor(f"gradient/{name}")
        assert tensor.steps() == steps
        for step, gradient in zip(steps, gradients[name]):
            np.testing.assert_array_equal(tensor.value(step), gradient)
    assert trial.has_tensor("learning_rate/SGD_0") and trial.has_tensor("learning_rate/SGD_2_0")


def test_two_optimizers_of_one_backward_pass_share_a_step(out_dir):
    model = model_of_two()
    first = torch.optim.SGD(model[0].parameters(), lr=0.1)
    second = torch.optim.Adam(model[2].parameters())
    with recorded(out_dir, model) as hook:
        hook.register_optimizer([first, second])
        for x in batches(2):
            model.zero_grad()
            loss_of(model, x).backward()
            first.step()
            second.step()
    trial = smd.create_trial(out_dir)
    for part in ("0.weight", "2.weight"):
        assert trial.tensor(f"gradient/Sequential_{part}").steps() == [0, 1]


# ---- life --------------------------------------------------------------------------------------


def test_a_closed_hook_has_left_the_optimizer(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = dict(optimizer.__dict__)
    hook = recorded(out_dir, model)
    hook.register_optimizer(optimizer)
    hook.register_optimizer(optimizer)
    copies = copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))
    for each in copies:
        each.step()
    plain(model, optimizer, batches(1)[0])
    assert hook.step == 0
    hook.close()
    assert {key for key in optimizer.__dict__ if key not in before} == set()
    plain(model, optimizer, batches(1)[0])


def test_a_schedule_may_wrap_the_optimizer_before_and_after(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    first = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        second = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        for x in batches(3):
            plain(model, optimizer, x)
            first.step()
            second.step()
    rates = smd.create_trial(out_dir).tensor("learning_rate/SGD_0")
    assert [float(rates.value(step)) for step in range(3)] == [1, 0.25, 0.0625]


def test_parameters_of_no_module_are_named_in_a_warning(out_dir, caplog):
    model, other = model_of_two(), nn.Linear(2, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        for x in batches(2):
            plain(model, optimizer, x)
    said = "2 parameters of a registered optimizer belong to no registered module"
    assert caplog.text.count(said) == 1


def test_what_is_no_optimizer_is_refused(out_dir):
    hook = smd.Hook(out_dir)
    with pytest.raises(SMDebugTypeError, match="a Sequential is not a torch.optim.Optimizer"):
        hook.register_optimizer(model_of_two())


def test_a_step_may_be_ended_by_hand(out_dir):
    from smdebug.rules import RuleSet

    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with recorded(out_dir, model) as hook:
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="stop"))
        steps = 0
        for x in batches(3):
            plain(model, optimizer, x)
            steps += 1
            hook.end_step()
            hook.end_step()
            if hook.stop_finding is not None:
                break
        assert steps == 1 and hook.stop_finding.step == 0
    assert smd.create_trial(out_dir).steps() == [0]


def test_without_an_optimizer_two_backwards_of_a_step_add_up(out_dir):
    for to_none in (True, False):
        model = nn.Linear(2, 1, bias=False)
        with torch.no_grad():
            model.weight.fill_(1.0)
        folder = f"{out_dir}_{to_none}"
        with recorded(folder, model):
            for step in range(2):
                model.zero_grad(set_to_none=to_none)
                output = model(torch.ones(1, 2))
                output.sum().backward(retain_graph=True)
                (output.sum() * 10).backward(retain_graph=True)
                if step == 1:
                    output.sum().backward()
        gradient = smd.create_trial(folder).tensor("gradient/Linear_weight")
        assert gradient.value(0).tolist() == [[11, 11]]
        assert gradient.value(1).tolist() == [[12, 12]]


@pytest.mark.parametrize("included", [[], ["updates"], ["optimizer_state"]])
def test_rules_alone_ask_for_no_updates_and_states(out_dir, included):
    model = model_of_two()
    optimizer = torch.optim.Adam(model.parameters())
    with smd.Hook(out_dir, save_config=EVERY_STEP, include_collections=included) as hook:
        hook.attach(RuleSet("aws").add("FirstNonFinite"))
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        seen = []
        save, save_each, save_both = hook._save, hook._save_each, hook._save_with_gradients
        hook._save = lambda name, value: (seen.append(name), save(name, value))
        hook._save_each = lambda names, values: (seen.extend(names), save_each(names, values))
        hook._save_with_gradients = lambda names, values: (
            seen.extend(names),
            save_both(names, values),
        )[1]
        for x in batches(2):
            plain(model, optimizer, x)
    kinds = {name.partition("/")[0] for name in seen}
    assert {"gradient", "Sequential_0.weight"} <= kinds
    assert ("update" in kinds, "optimizer_state" in kinds) == (
        "updates" in included,
        "optimizer_state" in included,
    )


# ---- gradients that are not reset --------------------------------------------------------


def test_other_names_of_a_collection_count_from_the_next_step_on(out_dir):
    # As many names as before, and then one more, which a custom tensor brings.
    model = nn.Sequential(nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    settings = {"save_all": False, "include_collections": ["mine"]}
    weight, bias = "update/Sequential_0.weight", "update/Sequential_0.bias"
    with recorded(out_dir, model, **settings) as hook:
        hook.register_optimizer(optimizer)
        mine = hook.get_collection("mine")
        for names in ({weight}, {bias}, {bias}):
            mine.tensor_names = names
            plain(model, optimizer, torch.ones(1, 2))
        hook.save_tensor(weight, torch.ones(1, 2), "mine")
        for _ in range(2):
            plain(model, optimizer, torch.ones(1, 2))
    trial = smd.create_trial(out_dir)
    assert trial.tensor(bias).steps() == [1, 2, 3, 4]
    assert set(trial.tensor(weight).steps()) >= {0, 4}
    assert 1 not in trial.tensor(weight).steps()


def never(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    loss_of(model, x).backward()
    optimizer.step()


def never_and_clipped(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    loss_of(model, x).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def to_zeros(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    optimizer.zero_grad(set_to_none=False)
    loss_of(model, x).backward()
    optimizer.step()


def beside_another(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> None:
    """As a discriminator, whose gradients the generator's loss fills after its update."""
    for to_none in (True, False):
        optimizer.zero_grad(set_to_none=to_none)
        loss_of(model, x).backward()
        optimizer.step()
        loss_of(model, x).backward()


@pytest.mark.parametrize("is_registered", [True, False])
@pytest.mark.parametrize(
    ("step", "is_reset"),
    [
        (plain, True), (accumulated, True), (clipped, True), (to_zeros, True),
        (beside_another, True), (never, False), (never_and_clipped, False),
    ],
)  # fmt: skip
def test_gradients_that_are_not_reset_are_recorded_and_found(
    step: Step, is_reset: bool, is_registered: bool, out_dir: str
) -> None:
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    hook = recorded(out_dir, model)
    if is_registered:
        hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for x in batches(12):
        step(model, optimizer, x)
    hook.close()
    live = [each for each in hook.take_findings() if each.check == "accumulating"]
    trial = smd.create_trial(out_dir)
    stored = RuleSet().add("UpdateNotApplied").evaluate(trial, wait=False)
    assert [str(each) for each in stored if each.check == "accumulating"] == list(map(str, live))
    held = [name for name in trial.tensor_names() if name.startswith("held_gradient/")]
    assert held == ["held_gradient/Sequential_2.bias"]
    if is_reset:
        told = trial.tensor(held[0])
        assert [told.reduction_value(at, "max", abs=True) for at in told.steps()] == [0]
    assert {each.tensor for each in live} == (set() if is_reset else {"gradient/Sequential_2.bias"})
    assert is_reset or "not reset to zero" in live[0].message


class Clamping(torch.optim.SGD):
    """Changes parameters after the step of its base class, for which PyTorch may call hooks too."""

    def step(self, closure: Any = None) -> Any:
        result = super().step(closure)
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter.clamp_(-0.1, 0.1)
        return result


@pytest.mark.parametrize("has_closure", [False, True])
@pytest.mark.parametrize("is_base_used", [False, True])
def test_an_optimizer_whose_step_calls_that_of_its_class(out_dir, is_base_used, has_closure):
    if is_base_used:
        torch.optim.SGD(model_of_two().parameters(), lr=0.1)
    model = model_of_two()
    optimizer = Clamping(model.parameters(), lr=0.1)
    changes = []
    with recorded(out_dir, model, include_collections=["updates"]) as hook:
        hook.register_optimizer(optimizer)
        for x in batches(3):
            before = model[0].weight.detach().clone()

            def evaluate(x: torch.Tensor = x) -> torch.Tensor:
                optimizer.zero_grad()
                loss = loss_of(model, x)
                loss.backward()
                return loss

            if has_closure:
                optimizer.step(evaluate)
            else:
                evaluate()
                optimizer.step()
            changes.append((model[0].weight.detach() - before).numpy())
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    recorded_changes = [trial.tensor("update/Sequential_0.weight").value(i) for i in range(3)]
    np.testing.assert_allclose(recorded_changes, changes, atol=1e-7)


def test_the_hook_keeps_no_parameters_of_a_model_that_is_gone(out_dir):
    model = model_of_two()
    seen = [weakref.ref(each) for each in model.parameters()]
    with recorded(out_dir, model) as hook:
        x = batches(1)[0]
        loss_of(model, x).backward()
        hook.end_step()
        del model
        gc.collect()
        assert [each() for each in seen] == [None] * len(seen)
