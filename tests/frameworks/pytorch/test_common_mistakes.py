"""Mistakes of usual scripts, each beside the script without it."""

from __future__ import annotations

import logging
import random
from typing import Any, Callable, Iterator, List, Optional, Set, Tuple

import pytest
import smdebug.pytorch as smd
import torch
from torch import Tensor, nn

from smdebug.rules import RuleSet

Batch = Callable[[], Tuple[Tensor, Tensor]]


def train(
    out_dir: str, model: nn.Module, loss: nn.Module, batch: Batch, *,
    steps: int = 60, resets: str = "first", accumulates: int = 1, registers: bool = True,
) -> List[Any]:  # fmt: skip
    """Returns the findings of all rules, and the first cause."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.register_loss(loss)
    if registers:
        hook.register_optimizer(optimizer)
    rules = RuleSet().add_all()
    hook.attach(rules)
    for step in range(steps):
        if resets == "each" or (resets == "first" and step % accumulates == 0):
            optimizer.zero_grad()
        elif resets == "in place":
            optimizer.zero_grad(set_to_none=False)
        x, y = batch()
        loss(model(x), y).backward()
        if resets == "last":
            optimizer.zero_grad(set_to_none=True)  # as by default, since PyTorch 2
        if step % accumulates == accumulates - 1:
            optimizer.step()
    hook.close()
    findings = [each for each in hook.take_findings() if each.level.name == "FINDING"]
    causes = [each.id for each in rules.diagnose()]
    return [{(each.rule, each.check) for each in findings}, causes[:1]]


def classes() -> Tuple[nn.Module, nn.Module, Batch]:
    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        return x, (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    return model, nn.CrossEntropyLoss(), batch


def numbers(last: nn.Module, loss: nn.Module, is_flat: bool) -> Tuple[nn.Module, nn.Module, Batch]:
    """Yes or no, or a number, of the shape (32, 1) or (32)."""
    is_yes = isinstance(loss, nn.BCEWithLogitsLoss)

    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        y = (x[:, :1] > 0).float() if is_yes else x[:, :1] - x[:, 1:2]
        return x, y.flatten() if is_flat else y

    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1), last), loss, batch


@pytest.mark.parametrize("registers", [True, False])
def test_gradients_that_are_reset_before_the_update(registers: bool, out_dir: str) -> None:
    found, causes = train(out_dir, *classes(), resets="last", registers=registers)
    assert ("UpdateNotApplied", "nothing_updated") in found
    assert causes == ["nothing_updated"]


@pytest.mark.parametrize("accumulates", [1, 8])
@pytest.mark.parametrize("registers", [True, False])
def test_a_usual_script_has_no_findings(registers: bool, accumulates: int, out_dir: str) -> None:
    found, _ = train(out_dir, *classes(), registers=registers, accumulates=accumulates, steps=160)
    assert not found


@pytest.mark.parametrize(
    "resets, calls", [("each", 200), ("in place", 200), ("never", 2000)]
)
def test_an_optimizer_that_is_never_called(
    resets: str, calls: int, out_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found, causes = train(
            out_dir, *classes(), accumulates=9999, steps=calls + 50, resets=resets
        )
    assert [each for each in caplog.messages if f"was not called in {calls} calls" in each]
    assert not [each for each in caplog.messages if "register_optimizer" in each]
    # Then each call is a step.
    assert ("UpdateNotApplied", "nothing_updated") in found
    assert causes[0] == "nothing_updated"


def test_an_accumulation_of_very_many_batches(
    out_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found, causes = train(out_dir, *classes(), accumulates=300, steps=1200)
    assert not found and not caplog.messages


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("is_flat", [True, False])
def test_targets_of_another_shape(is_flat: bool, out_dir: str) -> None:
    found, causes = train(out_dir, *numbers(nn.Identity(), nn.MSELoss(), is_flat))
    assert (("LossInput", "broadcast") in found) == is_flat
    assert causes == (["loss_of_wrong_output"] if is_flat else [])


@pytest.mark.parametrize("last", [nn.Sigmoid(), nn.Identity()])
def test_a_sigmoid_before_logits(last: nn.Module, out_dir: str) -> None:
    found, causes = train(out_dir, *numbers(last, nn.BCEWithLogitsLoss(), False))
    is_fault = isinstance(last, nn.Sigmoid)
    assert (("LossInput", "probabilities") in found) == is_fault
    assert causes == (["loss_of_wrong_output"] if is_fault else [])


@pytest.mark.parametrize("is_function", [False, True])
@pytest.mark.parametrize("weight", [None, 0.2, 5.0])
def test_rare_positives_that_count_less(
    weight: Optional[float], is_function: bool, out_dir: str
) -> None:
    pos_weight = None if weight is None else torch.tensor([weight])

    class Loss(nn.Module):
        def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
            return nn.functional.binary_cross_entropy_with_logits(
                scores, targets, pos_weight=pos_weight
            )

    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        return x, (x[:, :1] > 1.2).float()

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    loss = Loss() if is_function else nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    found, causes = train(out_dir, model, loss, batch)
    assert (("LossInput", "weight") in found) == (weight == 0.2)
    assert causes == (["classes_imbalanced"] if weight == 0.2 else [])


@pytest.mark.parametrize("is_function", [False, True])
@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 20.0], [20.0, 5.0, 1.0]])
def test_rare_classes_that_count_less(
    weights: Optional[List[float]], is_function: bool, out_dir: str
) -> None:
    weight = None if weights is None else torch.tensor(weights)

    class Loss(nn.Module):
        def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
            return nn.functional.cross_entropy(scores, targets, weight=weight)

    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        return x, (x[:, 0] > 0.8).long() + (x[:, 0] > 1.6).long()

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    loss = Loss() if is_function else nn.CrossEntropyLoss(weight=weight)
    found, causes = train(out_dir, model, loss, batch)
    is_fault = weights is not None and weights[0] == 20
    assert (("LossInput", "rare_classes") in found) == is_fault
    assert causes == (["classes_imbalanced"] if is_fault else [])


@pytest.mark.parametrize("ignored", [None, [0, 1], torch.tensor([1, 2]), 1.0])
def test_losses_may_have_anything_for_the_ignored_class(ignored: Any, out_dir: str) -> None:
    model, loss, batch = classes()

    class Own(nn.Module):
        ignore_index = ignored

        def forward(self, y: Tensor, target: Tensor) -> Tensor:
            return loss(y, target)

    found, _ = train(out_dir, model, Own(), batch)
    assert not found


@pytest.mark.parametrize("ignored", [0, -100])
def test_a_class_that_the_loss_ignores_is_not_imbalanced(ignored: int, out_dir: str) -> None:
    model, _, batch = classes()

    def padded() -> Tuple[Tensor, Tensor]:
        x, y = batch()
        return x, torch.where(torch.arange(32) < 30, torch.zeros_like(y), y % 3 + 1)

    found, _ = train(out_dir, model, nn.CrossEntropyLoss(ignore_index=ignored), padded)
    assert (("ClassImbalance", "imbalance") in found) == (ignored != 0)


@pytest.mark.parametrize("first", [nn.BatchNorm1d(8), nn.Identity()])
def test_inputs_that_the_model_normalises(first: nn.Module, out_dir: str) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        return 300 * x + 1000, x[:, :1] - x[:, 1:2]

    torch.manual_seed(1)
    model = nn.Sequential(first, nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    found, causes = train(out_dir, model, nn.MSELoss(), batch)
    is_fault = isinstance(first, nn.Identity)
    assert causes == (["inputs_not_normalised"] if is_fault else [])
    assert is_fault or not found


@pytest.mark.parametrize(
    ("second", "is_fault"),
    [(nn.BatchNorm2d(4), False), (nn.LayerNorm(6), True), (nn.Identity(), True)],
)
def test_images_that_the_model_normalises_later(
    second: nn.Module, is_fault: bool, out_dir: str
) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        y = torch.randint(4, (32,))
        return 16 * torch.rand(32, 1, 8, 8) * (1 + y[:, None, None, None]) / 4, y

    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), second, nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 4)
    )
    found, _ = train(out_dir, model, nn.CrossEntropyLoss(), batch)
    assert (("CheckInputImages", "mean") in found) is is_fault


@pytest.mark.parametrize("buffer", [1, 100, 1000])
def test_samples_that_are_stored_by_class(buffer: int, out_dir: str) -> None:
    """A loader that shuffles within a buffer, as for files that are read one after the other."""
    model, loss, batch = classes()
    batches = [batch() for _ in range(32)]
    x, y = (torch.cat(each)[:1000] for each in zip(*batches))
    order = y.argsort(stable=True)

    def loader() -> Iterator[Tuple[Tensor, Tensor]]:
        chance, waiting, chosen = random.Random(1), [], []
        for _ in range(10):
            for sample in order.tolist():
                waiting.append(sample)
                if len(waiting) < buffer:
                    continue
                chosen.append(waiting.pop(chance.randrange(len(waiting))))
                if len(chosen) == 32:
                    yield x[chosen], y[chosen]
                    chosen = []

    batches_in_order = loader()
    found, causes = train(out_dir, model, loss, lambda: next(batches_in_order), steps=160)
    if buffer < 1000:
        assert ("ClassImbalance", "sorted") in found and causes == ["samples_sorted"]
    else:
        assert not found


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.second(self.first(x).relu()).relu())


def stored(out_dir: str) -> Set[Tuple[str, str]]:
    findings = list(RuleSet().add_all().evaluate(smd.create_trial(out_dir), wait=False))
    return {(each.rule, each.check) for each in findings if each.level.name == "FINDING"}


@pytest.mark.parametrize("thaws", [False, True])
def test_a_trial_tells_later_what_was_frozen(thaws: bool, out_dir: str) -> None:
    _, loss, batch = classes()
    model = Layers()
    model.first.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    every = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, save_config=every, include_collections=["weights", "gradients"])
    hook.register_module(model)
    for step in range(60):
        if step == 30 and thaws:
            model.first.requires_grad_(True)
        x, y = batch()
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    hook.close()
    assert not stored(out_dir)
    trial = smd.create_trial(out_dir)
    names = {"Layers_first.weight", "Layers_first.bias"}
    assert trial.collection("once_frozen" if thaws else "frozen").tensor_names == names
    assert trial.collection("reset_gradients").include_regex == ["^gradient/"]


def test_a_trial_tells_nothing_of_gradients_that_are_not_reset(out_dir: str) -> None:
    model, loss, batch = classes()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    every = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, save_config=every, include_collections=["weights", "gradients"])
    hook.register_module(model)
    for _ in range(60):
        x, y = batch()
        loss(model(x), y).backward()
        optimizer.step()
    hook.close()
    assert "reset_gradients" not in smd.create_trial(out_dir).collections()
    assert ("UpdateNotApplied", "accumulating") in stored(out_dir)


class Adversaries(nn.Module):
    """Holds the networks of a GAN, each with an optimizer of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maker = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        self.judge = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))


@pytest.mark.parametrize("is_detached", [True, False])
def test_a_generator_that_gets_no_gradient(is_detached: bool, out_dir: str) -> None:
    torch.manual_seed(1)
    model, loss = Adversaries(), nn.BCEWithLogitsLoss()
    made, judged = (torch.optim.Adam(part.parameters(), lr=0.001) for part in (model.maker, model.judge))
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.register_optimizer(made)
    hook.register_optimizer(judged)
    rules = RuleSet().add_all()
    hook.attach(rules)
    for _ in range(30):
        for _ in range(2):
            fake = model.maker(torch.randn(32, 8)).detach()
            judged.zero_grad()
            (loss(model.judge(torch.randn(32, 2)), torch.ones(32, 1)) + loss(model.judge(fake), torch.zeros(32, 1))).backward()
            judged.step()
        fake = model.maker(torch.randn(32, 8))
        made.zero_grad()
        loss(model.judge(fake.detach() if is_detached else fake), torch.ones(32, 1)).backward()
        made.step()
    hook.close()
    found = {(each.rule, each.check) for each in hook.take_findings() if each.level.name == "FINDING"}
    assert (("UpdateNotApplied", "no_gradient") in found) == is_detached
    assert [each.id for each in rules.diagnose()] == (["gradient_cut"] if is_detached else [])
