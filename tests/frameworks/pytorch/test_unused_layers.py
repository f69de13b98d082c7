"""Weights of layers that the loss does not depend on need no gradient; those of others do."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any, Callable, Dict, List

import pytest
import smdebug.pytorch as smd
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from smdebug.rules import Level, RuleSet

STEPS = 20


class Classifier(nn.Module):
    """A layer, another one that a test decides about, and a head."""

    def __init__(self, use: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.other = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)
        self._use = use
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self._use(self, self.body(x)))


def not_called(model: Any, x: Tensor) -> Tensor:
    return x


def without_effect(model: Any, x: Tensor) -> Tensor:
    model.other(x)
    return x


def called(model: Any, x: Tensor) -> Tensor:
    return x + model.other(x)


def called_later(model: Any, x: Tensor) -> Tensor:
    model.calls += 1
    return called(model, x) if model.calls > STEPS // 2 else x


def after_a_cut(model: Any, x: Tensor) -> Tensor:
    return called(model, x.detach())


def used_by_a_function(model: Any, x: Tensor) -> Tensor:
    return x + F.linear(x, model.other.weight, model.other.bias)


def on_keywords(model: Any, x: Tensor) -> Tensor:
    model.other(input=x)
    return x


def behind_a_branch(model: Any, x: Tensor) -> Tensor:
    return x + model.other(x).detach()


def nothing(step: int, model: nn.Module, hook: smd.Hook) -> None:
    pass


def end_step(step: int, model: nn.Module, hook: smd.Hook) -> None:
    hook.end_step()


def evaluate(step: int, model: nn.Module, hook: smd.Hook) -> None:
    model.eval()
    with torch.no_grad():
        model(torch.randn(4, 8))
    model.train()


def look_ahead(step: int, model: nn.Module, hook: smd.Hook) -> None:
    """As a rollout does: in training mode, and without gradients."""
    with torch.no_grad():
        model(torch.randn(4, 8))


def train(
    model: nn.Module,
    out_dir: str,
    is_registered: bool = True,
    after: Callable[[int, nn.Module, smd.Hook], None] = nothing,
    needs_gradient: bool = False,
    **settings: Any,
) -> RuleSet:
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    settings.setdefault("save_config", smd.SaveConfig(save_interval=1))
    hook = smd.Hook(out_dir, **settings)
    hook.register_module(model)
    if is_registered:
        hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for step in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(16, 8, requires_grad=needs_gradient)
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        optimizer.step()
        after(step, model, hook)
    hook.close()
    return rules


def found(rules: RuleSet) -> Dict[str, Level]:
    (result,) = rules.results()
    return {} if result.first is None else {result.first.check: result.first.level}


@pytest.mark.parametrize("is_registered", [False, True])
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (not_called, {"not_used": Level.WORTH_A_LOOK}),
        (without_effect, {"not_used": Level.WORTH_A_LOOK}),
        (called, {}),
        (after_a_cut, {"no_gradient": Level.FINDING}),
        (used_by_a_function, {}),
    ],
)
def test_a_layer_without_gradients_is_at_fault_if_the_loss_is_to_depend_on_it(
    use: Callable[..., Tensor], expected: Dict[str, Level], is_registered: bool, out_dir: str
) -> None:
    rules = train(
        Classifier(use),
        out_dir,
        is_registered,
        include_collections=["weights", "biases", "gradients"],
    )
    # Without an optimizer, rules hear of no gradient that is missing, but a trial shows it.
    assert found(rules) == expected
    stored = RuleSet().add("UpdateNotApplied")
    list(stored.evaluate(smd.create_trial(out_dir)))
    assert found(stored) == expected


WITH_KEYWORDS = "with_kwargs" in inspect.signature(nn.Module.register_forward_pre_hook).parameters


@pytest.mark.parametrize("is_registered", [False, True])
@pytest.mark.parametrize("after", [end_step, evaluate, look_ahead])
def test_what_a_loop_does_between_its_steps_does_not_matter(
    after: Callable[[int, nn.Module, smd.Hook], None], is_registered: bool, out_dir: str
) -> None:
    rules = train(Classifier(without_effect), out_dir, is_registered, after, include_collections=[
        "weights", "biases", "gradients",
    ])  # fmt: skip
    if after is look_ahead and not is_registered:
        return  # Each call is a step, with the gradients of the call before.
    assert found(rules) == {"not_used": Level.WORTH_A_LOOK}


def test_inputs_that_need_a_gradient_are_data(out_dir: str) -> None:
    rules = train(Classifier(after_a_cut), out_dir, needs_gradient=True)
    assert found(rules) == {"no_gradient": Level.FINDING}


@pytest.mark.skipif(not WITH_KEYWORDS, reason="PyTorch 1 shows no keyword arguments")
def test_inputs_may_be_keyword_arguments(out_dir: str) -> None:
    rules = train(Classifier(on_keywords), out_dir)
    assert found(rules) == {"not_used": Level.WORTH_A_LOOK}


def test_a_small_branch_that_is_cut_off_looks_like_one_that_nobody_needs(out_dir: str) -> None:
    rules = train(Classifier(behind_a_branch), out_dir)
    assert found(rules) == {"not_used": Level.WORTH_A_LOOK}
    assert "detach" in rules.results()[0].message


def test_a_part_that_is_cut_off_is_no_small_branch(out_dir: str) -> None:
    model = Classifier(called)
    model.other = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model._use = behind_a_branch
    assert found(train(model, out_dir)) == {"no_gradient": Level.FINDING}


def test_a_weight_that_a_used_layer_holds_too_is_used(out_dir: str) -> None:
    model = Classifier(after_a_cut)
    model.unused = nn.Linear(8, 8)
    model.unused.weight = model.body.weight
    rules = train(model, out_dir)
    assert found(rules) == {"no_gradient": Level.FINDING}
    assert rules.results()[0].first.tensor == "Classifier_body.bias"


def test_a_step_without_a_backward_pass_tells_nothing(out_dir: str) -> None:
    """As of a triplet: without an optimizer, each call of the model is a step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    loss = nn.TripletMarginLoss()
    for _ in range(6):
        optimizer.zero_grad()
        loss(*(model(torch.randn(16, 8)) for _ in range(3))).backward()
        optimizer.step()
    hook.close()
    assert "not_used" not in smd.create_trial(out_dir).collections()


def test_a_running_trial_tells_of_it(out_dir: str) -> None:
    seen: List[bool] = []

    def look(step: int, model: nn.Module, hook: smd.Hook) -> None:
        hook.end_step()
        seen.append("not_used" in smd.create_trial(out_dir).collections())

    train(Classifier(not_called), out_dir, after=look)
    assert seen[3:] == [True] * (STEPS - 3)


def test_inputs_that_cannot_be_read_cost_only_the_knowledge(out_dir: str) -> None:
    class Bad(dict):
        def values(self) -> Any:
            raise KeyError("missing")

    class Picky(nn.Linear):
        def forward(self, x: Any) -> Tensor:
            return super().forward(x["x"])

    model = Classifier(called)
    model.other = Picky(8, 8)
    model._use = lambda model, x: x + model.other(Bad(x=x))
    assert found(train(model, out_dir)) == {}


def test_a_layer_that_is_called_later_is_not_at_fault(out_dir: str) -> None:
    rules = train(Classifier(called_later), out_dir, include_collections=["weights", "gradients"])
    assert found(rules) == {"not_used": Level.WORTH_A_LOOK}
    stored = RuleSet().add("UpdateNotApplied")
    list(stored.evaluate(smd.create_trial(out_dir)))
    assert found(stored).get("no_gradient") is None


def test_the_look_names_the_first_weight_and_counts_the_others(out_dir: str) -> None:
    rules = train(Classifier(not_called), out_dir)
    (result,) = rules.results()
    assert result.first is not None and result.first.tensor == "Classifier_other.bias"
    assert result.message == (
        "worth a look: no gradient came to 'Classifier_other.bias', nor to 1 more: their layers "
        "are not called, or the loss needs nothing that they return; remove them, or look for "
        "detach and argmax"
    )
    assert not rules.diagnose()


def test_attention_and_lists_of_parameters_are_used_without_a_call(out_dir: str) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(8)) for _ in range(2)])
            self.head = nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            x = x[:, None]
            x = self.attention(x, x, x)[0][:, 0]
            return self.head(x * self.scales[0] * self.scales[1])

    rules = train(Mixed(), out_dir)
    assert found(rules) == {}
    assert "not_used" not in smd.create_trial(out_dir).collections()


def test_a_model_is_copied_and_pickled_in_its_first_steps(out_dir: str) -> None:
    copies: List[Any] = []
    model = Classifier(called)
    model.register_forward_hook(lambda *unused: copies.append(copy.deepcopy(model.other)) or None)
    model.body.register_forward_hook(
        lambda *unused: copies.append(pickle.loads(pickle.dumps(model.head))) or None
    )
    train(model, out_dir)
    assert len(copies) == 2 * STEPS
    for each in copies[:6]:
        each(torch.ones(1, 8))


def test_the_callbacks_are_gone_after_two_steps(out_dir: str) -> None:
    counts: List[int] = []
    model = Classifier(not_called)
    model.register_forward_hook(
        lambda *unused: counts.append(len(model.other._forward_pre_hooks)) or None
    )
    train(model, out_dir)
    assert counts[:2] == [1, 1] and set(counts[2:]) == {0}


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="PyTorch 1 compiles nothing")
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (without_effect, {"not_used": Level.WORTH_A_LOOK}),
        (called, {}),
        (after_a_cut, {"no_gradient": Level.FINDING}),
    ],
)
def test_of_a_compiled_model_the_first_layer_is_at_fault(
    use: Callable[..., Tensor], expected: Dict[str, Level], out_dir: str
) -> None:
    graphs: List[Any] = []

    def backend(graph: Any, examples: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    rules = train(torch.compile(Classifier(use), backend=backend), out_dir)  # type: ignore[arg-type]
    assert found(rules) == expected
    assert len(graphs) == 1
