"""Losses that functions compute: their inputs come from the graph of the loss."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set, Tuple

import pytest
import smdebug.pytorch as smd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from smdebug.rules import RuleSet

Loss = Callable[[Tensor, Tensor], Tensor]


class Doubled(nn.Module):
    """A class of one's own, as many scripts have."""

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        return 2 * F.cross_entropy(scores, targets)


def symmetric(scores: Tensor) -> Tensor:
    """What pairs are compared by in both directions."""
    targets = torch.arange(len(scores))
    return F.cross_entropy(scores, targets) + F.cross_entropy(scores.T, targets)


def batch(classes: int = 3) -> Tuple[Tensor, Tensor]:
    x = torch.randn(32, 8)
    return x, x[:, :classes].argmax(1)


def recorded(out_dir: str, compute: Loss, **settings: Any) -> Dict[str, List[int]]:
    """Returns the shapes of all tensors of a loss's inputs in one step."""
    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, include_regex=[".*"], raise_errors=True, **settings) as hook:
        hook.register_module(model)
        x, y = batch()
        loss = compute(model(x), y)
        hook.record_tensor_value("loss", loss)
        loss.backward()
    trial = smd.create_trial(out_dir)
    names = [each for each in trial.tensor_names() if each.startswith("loss/")]
    return {each: list(trial.tensor(each).value(0).shape) for each in sorted(names)}


def train(
    out_dir: str, compute: Loss, *, sizes: Callable[[Tensor], Tensor] = lambda y: y, steps: int = 160,
    outputs: int = 3,
) -> Set[Tuple[str, Any]]:  # fmt: skip
    """Returns the findings of all rules."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, outputs))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    rules = RuleSet().add_all()
    with smd.Hook(out_dir, raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(rules)
        for _ in range(steps):
            x, y = batch()
            loss = compute(model(x), sizes(y))
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        hook.end_step()
        found = hook.take_findings()
    return {(each.rule, each.check) for each in found if each.level.name == "FINDING"}


CROSS_ENTROPY = "loss/CrossEntropyLoss_input_"


@pytest.mark.parametrize(
    ("compute", "prefix", "shapes"),
    [
        (F.cross_entropy, CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: F.nll_loss(s.log_softmax(1), y), CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: F.nll_loss(s, y), "loss/NLLLoss_input_", [[32, 3], [32]]),
        (lambda s, y: F.cross_entropy(s[None].permute(0, 2, 1), y[None]), CROSS_ENTROPY,
         [[1, 3, 1, 32], [1, 1, 32]]),
        (lambda s, y: F.mse_loss(s[:, 0], y.float()), "loss/MSELoss_input_", [[32], [32]]),
        (lambda s, y: F.smooth_l1_loss(s[:, 0], y.float()), "loss/SmoothL1Loss_input_", [[32]] * 2),
        (lambda s, y: F.huber_loss(s[:, 0], y.float()), "loss/HuberLoss_input_", [[32], [32]]),
        (lambda s, y: F.binary_cross_entropy_with_logits(s[:, 0], y / 2),
         "loss/BCEWithLogitsLoss_input_", [[32], [32]]),
        (lambda s, y: F.binary_cross_entropy(s[:, 0].sigmoid(), y / 2), "loss/BCELoss_input_",
         [[32], [32]]),
        (lambda s, y: F.cross_entropy(s, y, reduction="none").mean(), CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: F.cross_entropy(s, y, reduction="sum") / 32, CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: 1 * F.cross_entropy(s, y) / 1, CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: F.cross_entropy(s, y) / 4, "loss/term/CrossEntropyLoss_input_", [[32, 3], [32]]),
        (lambda s, y: F.cross_entropy(s, y) + F.cross_entropy(s[:9], y[:9]),
         "loss/term/CrossEntropyLoss_input_", [[32, 3], [32], [9, 3], [9]]),
        (lambda s, y: nn.CrossEntropyLoss()(s, y), CROSS_ENTROPY, [[32, 3], [32]]),
        (lambda s, y: symmetric(s @ s.T) / 2, CROSS_ENTROPY, [[32, 32], [32]] * 2),
        (lambda s, y: 0.5 * symmetric(s @ s.T), CROSS_ENTROPY, [[32, 32], [32]] * 2),
        # These are at another level than each of their parts.
        (lambda s, y: symmetric(s @ s.T), "loss/term/CrossEntropyLoss_input_", [[32, 32], [32]] * 2),
        (lambda s, y: (F.cross_entropy(s, y) + F.cross_entropy(s @ s.T, torch.arange(32))) / 2,
         "loss/term/CrossEntropyLoss_input_", [[32, 3], [32], [32, 32], [32]]),
    ],
)  # fmt: skip
def test_what_functions_compute_losses_from(
    compute: Loss, prefix: str, shapes: List[List[int]], out_dir: str
) -> None:
    assert recorded(out_dir, compute) == {f"{prefix}{i}": each for i, each in enumerate(shapes)}


@pytest.mark.parametrize(
    "compute",
    [
        lambda s, y: s.square().mean(),
        lambda s, y: F.cross_entropy(s, y).detach().requires_grad_(),
        lambda s, y: (F.kl_div(s.log_softmax(1), torch.ones(32, 3) / 3) + s.sum()) ** 2,
    ],
)
def test_losses_without_such_a_function_have_no_inputs(compute: Loss, out_dir: str) -> None:
    assert recorded(out_dir, compute) == {}


def test_nothing_is_read_where_nothing_wants_it(out_dir: str) -> None:
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, raise_errors=True) as hook:
        hook.register_module(model)
        x, y = batch()
        hook.record_tensor_value("loss", F.cross_entropy(model(x), y))
    assert smd.create_trial(out_dir).tensor_names() == ["loss_output_0"]


def test_save_all_saves_what_the_original_saves(out_dir: str) -> None:
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, save_all=True, raise_errors=True) as hook:
        hook.register_module(model)
        x, y = batch()
        hook.record_tensor_value("loss", F.cross_entropy(model(x), y))
    assert not [each for each in smd.create_trial(out_dir).tensor_names() if "/" in each]


def test_a_collection_takes_them(out_dir: str) -> None:
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, include_regex=["loss/.*_input_1$"], raise_errors=True) as hook:
        hook.register_module(model)
        x, y = batch()
        hook.record_tensor_value("loss", F.cross_entropy(model(x), y))
    trial = smd.create_trial(out_dir)
    assert trial.tensor("loss/CrossEntropyLoss_input_1").value(0).tolist() == y.tolist()
    assert "loss/CrossEntropyLoss_input_0" not in trial.tensor_names()


def test_a_loss_recorded_after_its_graph_was_freed(
    out_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    def computed(scores: Tensor, targets: Tensor) -> Tensor:
        loss = 1 * F.cross_entropy(scores, targets)
        torch.autograd.grad(loss, model.weight)
        return loss

    every = smd.SaveConfig(save_interval=1)
    with smd.Hook(out_dir, include_regex=[".*"], save_config=every, raise_errors=True) as hook:
        model = nn.Linear(8, 3)
        hook.register_module(model)
        for _ in range(10):
            hook.record_tensor_value("loss", computed(model(batch()[0]), batch()[1]))
    assert caplog.text.count("loss was recorded after its graph was freed") == 1
    assert not [each for each in smd.create_trial(out_dir).tensor_names() if "CrossEnt" in each]


def test_a_checkpoint_computes_nothing_twice(out_dir: str) -> None:
    model = nn.Linear(8, 3)
    calls = []
    x, y = batch()

    def computed(inputs: Tensor) -> Tensor:
        calls.append(1)
        return F.cross_entropy(model(inputs), y)

    every = smd.SaveConfig(save_interval=1)
    with smd.Hook(out_dir, include_regex=[".*"], save_config=every, raise_errors=True) as hook:
        hook.register_module(model)
        for _ in range(2):
            loss = checkpoint(computed, x, use_reentrant=False)
            hook.record_tensor_value("loss", loss)
            loss.backward()
    assert smd.create_trial(out_dir).tensor("loss_output_0").steps() == [0, 1]
    # PyTorch's saved tensors tell of a checkpoint since 2.6.
    tells = hasattr(F.cross_entropy(model(x), y).grad_fn._raw_saved_self, "unpack_hook")
    assert len(calls) == 4 or not tells


def test_a_large_vocabulary_has_only_targets(out_dir: str) -> None:
    def computed(scores: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(scores.repeat(1, 20_000), targets)

    assert recorded(out_dir, computed) == {"loss/CrossEntropyLoss_input_1": [32]}


def test_a_class_of_ones_own(out_dir: str) -> None:
    model, loss_module = nn.Linear(8, 3), Doubled()
    with smd.Hook(out_dir, include_regex=[".*"], raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_loss(loss_module)
        x, y = batch()
        loss_module(model(x), y).backward()
    names = smd.create_trial(out_dir).tensor_names()
    assert "Doubled/term/CrossEntropyLoss_input_1" in names
    assert not [each for each in names if each.startswith("CrossEntropyLoss")]


def test_the_loss_that_a_model_returns(out_dir: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, x: Tensor, y: Tensor) -> Dict[str, Tensor]:
            scores = self.layer(x)
            return {"loss": F.cross_entropy(scores, y), "logits": scores}

    model = Model()
    with smd.Hook(out_dir, include_regex=[".*"], raise_errors=True) as hook:
        hook.register_module(model)
        x, y = batch()
        model(x, y)["loss"].backward()
    trial = smd.create_trial(out_dir)
    assert trial.tensor("Model_loss/CrossEntropyLoss_input_1").value(0).tolist() == y.tolist()


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("compute", "check"),
    [
        (lambda s, y: F.cross_entropy(s.softmax(1), y), "probabilities"),
        (lambda s, y: F.cross_entropy(s.softmax(-1).float(), y), "probabilities"),
        (lambda s, y: F.cross_entropy(s.relu(), y), "cut_off"),
        (lambda s, y: F.nll_loss(s.softmax(1), y), "probabilities"),
        (lambda s, y: F.nll_loss(s.log_softmax(0), y), "probabilities"),
        (lambda s, y: F.nll_loss(s.log_softmax(-2), y), "probabilities"),
        (lambda s, y: F.binary_cross_entropy_with_logits(s[:, 0].sigmoid(), (y == 0).float()),
         "probabilities"),
        (lambda s, y: F.mse_loss(s[:, :1], y.float()), "broadcast"),
        (lambda s, y: F.mse_loss((s[:, 0] + 1).relu(), y - 1.0), "cut_off"),
    ],
)  # fmt: skip
def test_a_loss_of_a_wrong_output(compute: Loss, check: str, out_dir: str) -> None:
    assert ("LossInput", check) in train(out_dir, compute, steps=60)


@pytest.mark.parametrize(
    "compute",
    [
        F.cross_entropy,
        lambda s, y: F.nll_loss(s.log_softmax(1), y),
        lambda s, y: F.cross_entropy(s, y, label_smoothing=0.1),
        lambda s, y: F.cross_entropy(s, y, ignore_index=0),
        lambda s, y: F.binary_cross_entropy_with_logits(s[:, 0], (y == 0).float()),
        lambda s, y: F.binary_cross_entropy(s[:, 0].sigmoid(), (y == 0).float()),
        lambda s, y: F.mse_loss(s[:, 0], y.float()),
        lambda s, y: F.cross_entropy(s, y) + 0.01 * s.square().mean(),
    ],
)
def test_usual_losses_have_no_findings(compute: Loss, out_dir: str) -> None:
    assert not train(out_dir, compute)


def test_a_class_that_the_loss_ignores_is_not_imbalanced(out_dir: str) -> None:
    def padded(targets: Tensor) -> Tensor:
        return torch.where(torch.rand(32) < 0.95, torch.zeros_like(targets), targets)

    found = train(out_dir, lambda s, y: F.cross_entropy(s, y, ignore_index=0), sizes=padded)
    assert ("ClassImbalance", "imbalance") not in found
    assert ("ClassImbalance", "imbalance") in train(f"{out_dir}-all", F.cross_entropy, sizes=padded)


class Tagger(nn.Module):
    """Scores five classes of each of six tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(x)


@pytest.mark.parametrize("flatten", [lambda s: s.view(-1, 5), lambda s: s.transpose(0, 1).reshape(-1, 5)])
@pytest.mark.parametrize("is_module", [True, False])
def test_scores_that_were_flattened_are_those_of_parts(out_dir, flatten, is_module):
    assert of_parts(f"{out_dir}_1", Tagger(), torch.randn(4, 6, 8), flatten, is_module)
    assert not of_parts(f"{out_dir}_2", Tagger(), torch.randn(24, 8), lambda s: s.view(-1, 5), is_module)


def of_parts(out_dir: str, model: nn.Module, x: Tensor, flatten: Any, is_module: bool) -> bool:
    loss = nn.CrossEntropyLoss()
    with smd.Hook(out_dir, include_regex=[".*"], raise_errors=True) as hook:
        hook.register_module(model)
        if is_module:
            hook.register_loss(loss)
        hook.attach(RuleSet().add("ClassImbalance"))
        computed = loss(flatten(model(x)), torch.randint(5, (24,)))
        if not is_module:
            hook.record_tensor_value("loss", computed)
        computed.backward()
        return bool(hook.get_collection("losses_of_parts").include_regex)
