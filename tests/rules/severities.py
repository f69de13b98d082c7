"""Faults with a severity from 0 (hardly a fault) to 1 (gross), for drawn trainings.

`inject` adds the fault to a training and returns expressions for the tensors that cause it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Callable, FrozenSet, List, Set

import torch
from drawing import Drawn
from faults import BROKEN, GRADIENTS, INPUTS, LATE, LOSSES, START, STILL, STUCK, UNSTABLE, WEIGHTS
from faults import exactly, weights_of
from torch import nn
from trainer import Training

__all__ = ["GRADED", "Graded"]

ANY = WEIGHTS + GRADIENTS + LOSSES + INPUTS + [r"_(in|out)put_\d$"]


@dataclass
class Planted:
    """What a fault needs to know: the training, how severe, and when it begins."""

    training: Training
    drawn: Drawn
    severity: float
    begins: int
    chance: random.Random = field(default_factory=random.Random)

    def log(self, least: float, most: float) -> float:
        """Returns a size between the two, evenly on a scale of logarithms."""
        return float(least * (most / least) ** self.severity)


@dataclass(frozen=True)
class Graded:
    """A fault with a severity; the fields are those of `faults.Fault`."""

    name: str
    inject: Callable[[Planted], List[str]]
    rules: FrozenSet[str]
    also: FrozenSet[str]
    begins_late: bool
    fits: Callable[[Drawn], bool]


GRADED: List[Graded] = []


def graded(
    rules: Set[str],
    also: Set[str] = frozenset(),  # type: ignore[assignment]
    late: bool = False,
    fits: Callable[[Drawn], bool] = lambda drawn: True,
) -> Callable[[Any], Any]:
    def add(inject: Any) -> Any:
        sets = frozenset(rules), frozenset(also)
        GRADED.append(Graded(inject.__name__, inject, *sets, late, fits))
        return inject

    return add


def has_layers(drawn: Drawn) -> bool:
    return drawn.family in ("perceptron", "autoencoder", "convolution")


def learns_classes(drawn: Drawn) -> bool:
    return "classes" in drawn.parts()


@graded(BROKEN | {"WeightUpdateRatio", "LossNotDecreasing", "TensorVariance"}, UNSTABLE)
def rate_too_high(planted: Planted) -> List[str]:
    """A learning rate that is 30 to 3,000 times too high."""
    planted.training.learning_rate *= planted.log(30, 3000)
    return ANY


@graded({"UpdateNotApplied", "LossNotDecreasing", "WeightUpdateRatio"}, STUCK | STILL)
def rate_too_low(planted: Planted) -> List[str]:
    """A learning rate that is 100 to 1e9 times too low."""
    planted.training.learning_rate /= planted.log(100, 1e9)
    return ANY


@graded({"UpdateNotApplied"}, UNSTABLE)
def never_reset(planted: Planted) -> List[str]:
    """Gradients are reset only every n-th step, or never."""
    training = planted.training
    training.resets_gradients = False
    every = int(planted.log(8, 300))
    training.before_step.append(
        lambda step: training.model.zero_grad() if step % every == 0 else None
    )
    return ANY


@graded(BROKEN | {"WeightUpdateRatio", "BitFlip", "TensorVariance"}, UNSTABLE, late=True)
def bit_flip(planted: Planted) -> List[str]:
    """One element of a weight is multiplied by a power of two, once."""
    training = planted.training
    parameters = [each for each in training.model.parameters() if each.dim() > 1]
    chosen = planted.chance.choice(parameters)
    # Not one of zeros, as of padding, which stay zeros.
    large = (chosen.detach().abs().view(-1) > 1e-3).nonzero().view(-1).tolist()
    place = planted.chance.choice(large or [0])
    factor = 2.0 ** round(planted.log(3, 60))

    def flip(step: int) -> None:
        if step == planted.begins:
            with torch.no_grad():
                flat = chosen.view(-1)
                flat[place] *= factor

    training.before_step.append(flip)
    return [exactly(training.name_of(chosen)), *ANY]


@graded(BROKEN, UNSTABLE, late=True, fits=lambda drawn: "tokens" not in drawn.parts())
def not_a_number(planted: Planted) -> List[str]:
    """The loss becomes NaN for some samples."""
    training = planted.training
    count = [0]
    next_batch = training.next_batch

    def broken() -> Any:
        x, y = next_batch()
        count[0] += 1
        late = count[0] > planted.begins * training.batches_of_step
        if late and x.dtype.is_floating_point:
            x = x.clone()
            x.view(-1)[planted.chance.randrange(x.numel())] = float("nan")
        return x, y

    training.next_batch = broken
    return ANY


@graded({"UpdateNotApplied"}, STILL | STUCK, fits=has_layers)
def without_a_layer(planted: Planted) -> List[str]:
    """The optimiser lacks some layers."""
    weights = weights_of(planted.training)
    count = max(1, round(planted.severity * len(weights) / 2))
    missing = planted.chance.sample(weights, count)
    trained = planted.training.trained
    planted.training.trained = [
        each for each in trained if not any(each is other for other in missing)
    ]
    return [exactly(planted.training.name_of(each)) for each in missing]


@graded({"UpdateNotApplied"}, STILL | STUCK, fits=has_layers)
def detached(planted: Planted) -> List[str]:
    """The outputs of the first layer are detached, so that it never learns."""
    first = planted.training.modules((nn.Linear, nn.Conv2d))[0]
    first.register_forward_hook(lambda module, inputs, output: output.detach().requires_grad_())
    return [planted.training.name_of(first.weight).replace(".weight", r"\.(weight|bias)")]


@graded({"DeadRelu"}, STUCK | STILL | START | {"VanishingGradient"},
        fits=lambda drawn: has_layers(drawn) and drawn.activation == "relu")  # fmt: skip
def dead_units(planted: Planted) -> List[str]:
    """A layer's units begin with biases of -1 to -30."""
    layers = planted.training.modules((nn.Linear, nn.Conv2d))[:-1]
    norms = planted.training.modules((nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm))
    layer = planted.chance.choice(norms or layers)
    nn.init.constant_(layer.bias, -planted.log(3, 30))
    return [r"\d+_output_0$"]


@graded({"TensorVariance", "PoorWeightInitialization", "SaturatedActivation", "ExplodingTensor",
         "LossNotDecreasing"},
        UNSTABLE, fits=lambda drawn: has_layers(drawn) and drawn.normalisation == "none")  # fmt: skip
def weights_too_large(planted: Planted) -> List[str]:
    """All weights begin 5 to 100 times too large."""
    factor = planted.log(5, 100)
    with torch.no_grad():
        for weight in weights_of(planted.training):
            weight *= factor
    return ANY


@graded({"PoorWeightInitialization", "VanishingGradient", "LossNotDecreasing", "AllZero",
         "TensorVariance"}, STUCK | STILL | START,
        fits=lambda drawn: has_layers(drawn) and drawn.normalisation == "none"
        and drawn.depth > 1)  # fmt: skip
def weights_too_small(planted: Planted) -> List[str]:
    """All weights begin 10 to 1e6 times too small."""
    factor = planted.log(10, 1e6)
    with torch.no_grad():
        for weight in weights_of(planted.training):
            weight /= factor
    return ANY


@graded({"UnchangedTensor"}, LATE | STUCK, fits=lambda drawn: drawn.accumulation == 1)
def repeated_batches(planted: Planted) -> List[str]:
    """The loader returns the same batch at every step."""
    training = planted.training
    batch = training.data.batch(training.batch_size)
    training.next_batch = lambda: batch
    return INPUTS + [r"Loss_input_1$", r"_input_0$"]


@graded({"LossNotDecreasing"}, STUCK | LATE | START, fits=learns_classes)
def shuffled_labels(planted: Planted) -> List[str]:
    """A part of the labels, from 70 % to all, belongs to other samples."""
    training = planted.training
    training.steps = 160
    next_batch = training.next_batch
    share = 0.7 + 0.3 * planted.severity

    def shuffled() -> Any:
        x, y = next_batch()
        wrong = torch.rand(len(y), generator=training.data.generator) < share
        return x, torch.where(wrong, training.data.classes(len(y)), y)

    training.next_batch = training.next_evaluation = shuffled
    return LOSSES + [r"Loss_input_[01]$"]


@graded({"Overfit", "Overtraining"}, LATE, fits=lambda drawn: has_layers(drawn) and drawn.depth > 1
        and drawn.width >= 32 and drawn.family == "perceptron")  # fmt: skip
def overfit(planted: Planted) -> List[str]:
    """Trains long with few samples, some of them with wrong labels."""
    training = planted.training
    count = int(planted.log(200, 24))
    x, y = training.data.batch(count)
    wrong = torch.rand(count, generator=training.data.generator) < 0.1 + 0.3 * planted.severity
    y = torch.where(wrong, training.data.classes(count), y)

    def some() -> Any:
        chosen = torch.randperm(count, generator=training.data.generator)[: training.batch_size]
        return x[chosen], y[chosen]

    training.next_batch = some
    training.steps = 300
    training.factor = lambda step: 1.0
    return LOSSES


@graded({"UpdateNotApplied", "WeightUpdateRatio"}, STILL | STUCK)
def lost_updates(planted: Planted) -> List[str]:
    """Weights are rounded to eight bits, and updates are too small for them."""
    training = planted.training
    training.learning_rate /= planted.log(3, 300)

    def rounds(step: int) -> None:
        with torch.no_grad():
            for parameter in training.model.parameters():
                parameter.copy_(parameter.to(torch.bfloat16).float())

    training.before_step.append(rounds)
    return ANY


@graded(BROKEN | {"WeightUpdateRatio", "LossNotDecreasing", "TensorVariance"}, UNSTABLE, late=True)
def rate_grows(planted: Planted) -> List[str]:
    """From some step on, the learning rate grows at every step."""
    training, usual = planted.training, planted.training.factor
    by = 1 + planted.log(0.1, 1)
    training.factor = lambda step: usual(step) * by ** max(0, step - planted.begins)
    return ANY


@graded({"ClassImbalance"}, {"Confusion", "LossNotDecreasing"}, fits=learns_classes)
def imbalanced_classes(planted: Planted) -> List[str]:
    """One class is 15 to 200 times as frequent as the others."""
    training = planted.training
    rare = 1 / planted.log(15, 200)

    def imbalanced() -> Any:
        x, y = training.data.batch(training.batch_size * 8)
        chosen = (y == 0) | (torch.rand(len(y), generator=training.data.generator) < rare)
        kept = chosen.nonzero()[: training.batch_size, 0]
        return x[kept], y[kept]

    training.next_batch = training.next_evaluation = imbalanced
    return [r"Loss_input_[01]$"]
