"""Weights of layers that the loss does not depend on need no gradient; those of others do."""

from __future__ import annotations

import copy
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


def train(model: nn.Module, out_dir: str, is_registered: bool = True, **settings: Any) -> RuleSet:
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    settings.setdefault("save_config", smd.SaveConfig(save_interval=1))
    hook = smd.Hook(out_dir, **settings)
    hook.register_module(model)
    if is_registered:
        hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(16, 8)
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        optimizer.step()
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
        Classifier(use), out_dir, is_registered, include_collections=["weights", "biases", "gradients"]
    )
    # Without an optimizer, rules hear of no gradient that is missing, but a trial shows it.
    assert found(rules) == expected
    stored = RuleSet().add("UpdateNotApplied")
    list(stored.evaluate(smd.create_trial(out_dir)))
    assert found(stored) == expected


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
    assert result.message.endswith(
        ": the loss does not depend on the layer of 'Classifier_other.bias', nor those of 1 other "
        "weights: remove layers that nothing needs, or use what they return"
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
