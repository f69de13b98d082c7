"""Faults of trainings, the rules that must find them, and the tensors that cause them.

A fault changes a `Training` before it runs, and returns expressions for the names of the
tensors that cause it.  At least one of `rules` must find the fault.  Rules in `also` may find
its consequences.  A finding of any other rule is a mistake.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Callable, FrozenSet, List

import torch
from architectures import PADDING, Architecture
from torch import Tensor, nn
from trainer import WORKERS, Training

__all__ = ["FAULTS", "Fault"]

Inject = Callable[[Training], List[str]]

LINEAR = (nn.Linear, nn.Conv2d)
LOSSES = [r"Loss_output_0$"]
WEIGHTS = [r"^(?!gradient/)_?[A-Z]\w*_.*(weight|bias|places)"]
GRADIENTS = [r"^gradient/"]
INPUTS = [r"^(?!.*Loss)[A-Z]\w*_input_0$"]

# Rules that may find the consequences in a model that does not learn.
STUCK = {"LossNotDecreasing", "Overtraining", "ClassImbalance", "Confusion", "CollapsedOutput"}
BROKEN = {"ExplodingTensor", "FirstNonFinite"}
STILL = {"UpdateNotApplied", "WeightUpdateRatio", "UnchangedTensor"}


@dataclass(frozen=True)
class Fault:
    """A fault of a training.

    Attributes
    ----------
    inject : callable
        Adds the fault to a training.
    needs : str
        The part that an architecture must have; "" for none.
    rules, also : set of str
        The rules that must find the fault, and the rules that may.
    begins : int
        The first training step with the fault.
    """

    name: str
    inject: Inject
    needs: str
    rules: FrozenSet[str]
    also: FrozenSet[str]
    begins: int

    def fits(self, architecture: Architecture) -> bool:
        if "deep" in (self.needs, *architecture.has):
            return self.needs == "deep" and "deep" in architecture.has
        return not self.needs or self.needs in architecture.has


FAULTS: List[Fault] = []


def fault(
    needs: str = "", *, rules: set[str], also: set[str] = frozenset(), begins: int = 0
) -> Callable[[Inject], Inject]:
    def add(inject: Inject) -> Inject:
        sets = frozenset(rules), frozenset(also)
        FAULTS.append(Fault(inject.__name__, inject, needs, *sets, begins))
        return inject

    return add


def exactly(name: str) -> str:
    return f"^{re.escape(name)}$"


def weights_of(training: Training) -> List[nn.Parameter]:
    """Returns the weights of layers that multiply, from first to last."""
    return [each.weight for each in training.modules(LINEAR)]


class Around(nn.Module):
    """A model with another module before or after it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body


# ---- gradients and sizes -----------------------------------------------------------------


@fault("deep", rules={"VanishingGradient"}, also=STUCK | STILL | {"PoorWeightInitialization"})
def vanishing_gradient(training: Training) -> List[str]:
    """Many layers of sigmoids, through which the gradient vanishes."""
    weights = weights_of(training)
    for weight in weights:
        nn.init.normal_(weight, std=0.3 / weight.shape[1] ** 0.5)
    names = chain.from_iterable(
        (training.name_of(each), training.name_of(each).replace(".weight", ".bias"))
        for each in weights[: len(weights) // 2]
    )
    return [exactly(f"gradient/{name}") for name in names]


UNSTABLE = BROKEN | STUCK | STILL | {
    "DeadRelu", "SaturatedActivation", "TensorVariance", "VanishingGradient",
    "PoorWeightInitialization", "Overfit", "AllZero",
}
EXPLODING = BROKEN | {"WeightUpdateRatio", "LossNotDecreasing", "TensorVariance"}


@fault(rules=EXPLODING, also=UNSTABLE)
def learning_rate_too_high(training: Training) -> List[str]:
    """A learning rate that is a thousand times too high."""
    training.learning_rate *= 1000
    return WEIGHTS + GRADIENTS + LOSSES + [r"_(in|out)put_0$"]


@fault(rules=EXPLODING, also=UNSTABLE, begins=80)
def learning_rate_grows(training: Training) -> List[str]:
    """A schedule that late multiplies the learning rate instead of dividing it."""
    training.factor = lambda step: 1.0 if step < 80 else 1.5 ** (step - 79)
    return WEIGHTS + GRADIENTS + LOSSES + [r"_(in|out)put_0$"]


class WithLog(Around):
    """Adds a logarithm of probabilities, which become 0."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__(body)
        self.log = Log()
        self.least = 0.0

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        p = y.softmax(-1)
        return y + 0.01 * self.log(torch.where(p > self.least, p, torch.zeros_like(p)))


class Log(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.log()


@fault(rules=BROKEN, also=UNSTABLE, begins=40)
def log_of_zero(training: Training) -> List[str]:
    """A logarithm whose argument becomes 0 at some step."""
    training.model = WithLog(training.model)

    def underflow(step: int) -> None:
        training.model.least = 0.0 if step < 40 else 1e9

    training.before_step.append(underflow)
    training.trained = list(training.model.parameters())
    return [r"^log_output_0$"]


class Half(nn.Module):
    scale = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale).half()


class InHalf(Around):
    """Computes its outputs with 16 bits, scaled up."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__(body)
        self.half_precision = Half()

    def forward(self, x: Tensor) -> Tensor:
        y = self.half_precision(self.body(x))
        return y.float() / self.half_precision.scale


@fault(rules=BROKEN, also=UNSTABLE, begins=30)
def overflow_of_half(training: Training) -> List[str]:
    """A growing scale, until outputs exceed 65504 in 16 bits."""
    training.model = InHalf(training.model)

    def grow(step: int) -> None:
        Half.scale = 256.0 if step < 30 else 2.0**24

    training.before_step.append(grow)
    training.trained = list(training.model.parameters())
    return [r"^half_precision_output_0$"]


# ---- activations and initialisation ------------------------------------------------------


@fault(
    "relu", rules={"DeadRelu"},
    also=STUCK | STILL | {"VanishingGradient", "PoorWeightInitialization", "AllZero"},
)
def dead_relu(training: Training) -> List[str]:
    """A layer whose biases let no unit become positive."""
    names = training.module_names(nn.ReLU)
    at = len(names) // 2
    norms = training.modules(nn.BatchNorm2d)
    before = [each for each in training.modules((nn.Linear, nn.Conv2d, nn.BatchNorm2d))]
    relu = training.modules(nn.ReLU)[at]
    layer = _before(training, relu, norms or before)
    nn.init.constant_(layer.bias, -20.0)
    return [f"^{re.escape(name)}_output_0$" for name in names[at:]]


def _before(training: Training, module: nn.Module, candidates: List[nn.Module]) -> nn.Module:
    """Returns the last of the candidates before the module."""
    found = candidates[0]
    for each in training.model.modules():
        if each is module:
            break
        if any(each is candidate for candidate in candidates):
            found = each
    return found


@fault(
    "tanh", rules={"SaturatedActivation"},
    also=STUCK | {
        "VanishingGradient", "PoorWeightInitialization", "TensorVariance", "WeightUpdateRatio",
    },
)
def saturated_tanh(training: Training) -> List[str]:
    """Weights so large that the slope of every unit is near 0."""
    names = training.module_names(nn.Tanh)
    for tanh in training.modules(nn.Tanh):
        layer = _before(training, tanh, training.modules(nn.Linear))
        with torch.no_grad():
            layer.weight *= 60
    return [f"^{re.escape(name)}_input_0$" for name in names]


START = {"PoorWeightInitialization", "TensorVariance", "AllZero"}


@fault(
    "dense", rules={"AllZero", "PoorWeightInitialization"},
    also=STUCK | STILL | START | {"VanishingGradient", "DeadRelu"},
)
def weights_of_zeros(training: Training) -> List[str]:
    """All layers start with weights of zeros."""
    for weight in weights_of(training):
        nn.init.zeros_(weight)
    inputs = [f"^{re.escape(name)}_input_0$" for name in training.module_names((nn.ReLU, nn.Tanh))]
    return WEIGHTS + GRADIENTS + inputs


@fault(
    "dense", rules=START,
    also=STUCK | STILL | {"VanishingGradient", "DeadRelu", "SaturatedActivation"},
)
def weights_all_alike(training: Training) -> List[str]:
    """All weights start with one number, so that all units stay equal."""
    for layer in training.modules(LINEAR):
        nn.init.constant_(layer.weight, 0.05)
        nn.init.zeros_(layer.bias)
    inputs = [f"^{re.escape(name)}_input_0$" for name in training.module_names((nn.ReLU, nn.Tanh))]
    return WEIGHTS + GRADIENTS + inputs


@fault(
    "dense", rules={"PoorWeightInitialization", "SaturatedActivation"},
    also=UNSTABLE,
)
def weights_too_large(training: Training) -> List[str]:
    """All weights start thirty times too large."""
    with torch.no_grad():
        for weight in weights_of(training):
            weight *= 30
    inputs = training.module_names((nn.ReLU, nn.Tanh))
    return [f"^{re.escape(name)}_input_0$" for name in inputs] + LOSSES


# ---- updates -----------------------------------------------------------------------------


@fault(rules={"UpdateNotApplied", "LossNotDecreasing", "WeightUpdateRatio"}, also=STUCK | STILL)
def learning_rate_of_zero(training: Training) -> List[str]:
    """The learning rate is 0."""
    training.learning_rate = 0.0
    return WEIGHTS + LOSSES


@fault("dense", rules={"UpdateNotApplied"}, also=STILL | STUCK)
def optimizer_without_a_layer(training: Training) -> List[str]:
    """The optimiser lacks the parameters of one layer."""
    weights = weights_of(training)
    missing = weights[len(weights) // 2]
    training.trained = [each for each in training.trained if each is not missing]
    return [exactly(training.name_of(missing))]


@fault(rules={"UpdateNotApplied"}, also=STILL | STUCK)
def optimizer_of_another_model(training: Training) -> List[str]:
    """The optimiser updates the model from which this model was copied."""
    training.trained = list(training.architecture.model().parameters())
    for each in training.trained:
        each.grad = torch.zeros_like(each)
    return WEIGHTS + LOSSES


@fault(rules={"UpdateNotApplied"}, also=UNSTABLE)
def gradients_never_reset(training: Training) -> List[str]:
    """zero_grad is never called: every update uses the sum of all gradients."""
    training.resets_gradients = False
    return WEIGHTS + GRADIENTS


@fault("dense", rules={"UpdateNotApplied"}, also=STILL | STUCK)
def layer_frozen_by_mistake(training: Training) -> List[str]:
    """One layer is frozen by mistake."""
    weights = weights_of(training)
    weights[1].requires_grad_(False)
    return [exactly(training.name_of(weights[1]))]


@fault("dense", rules={"UpdateNotApplied"}, also=STILL | STUCK)
def detached_features(training: Training) -> List[str]:
    """The outputs of the first layers are detached, so that these layers never learn."""
    first = training.modules(nn.Linear)[0]
    first.register_forward_hook(lambda module, inputs, output: output.detach().requires_grad_())
    name = training.module_names(nn.Linear)[0]
    return [f"^[A-Z][a-z]+_{re.escape(name)}\\.(weight|bias)$"]


# ---- data --------------------------------------------------------------------------------


@fault(rules={"UnchangedTensor"}, also={"Overfit", "Overtraining", "ClassImbalance", "Confusion"})
def constant_batches(training: Training) -> List[str]:
    """The loader returns the same batch at every step."""
    batch = training.data.batch(training.batch_size)
    training.next_batch = lambda: batch
    return INPUTS + [r"Loss_input_1$"]


@fault(
    rules={"AllZero", "UnchangedTensor", "LossNotDecreasing"},
    also=STUCK | STILL | {
        "VanishingGradient", "DeadRelu", "NLPSequenceRatio", "PoorWeightInitialization",
    },
)
def inputs_of_zeros(training: Training) -> List[str]:
    """The loader returns zeros for unreadable samples."""
    next_batch = training.next_batch

    def zeros() -> tuple[Tensor, Tensor]:
        x, y = next_batch()
        return torch.zeros_like(x), y

    training.next_batch = training.next_evaluation = zeros
    return INPUTS + LOSSES + [r"embedding_input_0$"]


@fault("images", rules={"CheckInputImages"}, also=UNSTABLE)
def images_not_normalised(training: Training) -> List[str]:
    """Pixels from 0 to 255."""
    next_batch = training.next_batch

    def pixels() -> tuple[Tensor, Tensor]:
        x, y = next_batch()
        return (x * 40 + 128).clamp(0, 255).round(), y

    training.next_batch = training.next_evaluation = pixels
    return INPUTS


@fault("tokens", rules={"NLPSequenceRatio"}, also=STUCK | {"Overfit"})
def mostly_padding(training: Training) -> List[str]:
    """Sentences that consist mostly of padding."""
    next_batch = training.next_batch

    def padded() -> tuple[Tensor, Tensor]:
        x, y = next_batch()
        return torch.where(torch.arange(x.shape[1]) < 1, x, PADDING), y

    training.next_batch = training.next_evaluation = padded
    return [r"embedding_input_0$", *INPUTS]


@fault("classes", rules={"ClassImbalance"}, also={"Confusion"})
def class_imbalance(training: Training) -> List[str]:
    """Nearly all samples belong to one class."""
    training.next_batch = training.next_evaluation = lambda: _imbalanced(training)
    return [r"Loss_input_[01]$"]


def _imbalanced(training: Training) -> tuple[Tensor, Tensor]:
    x, y = training.data.batch(training.batch_size * 8)
    rare = torch.rand(len(y), generator=training.data.generator) < 0.02
    chosen = ((y == 0) | rare).nonzero()[: training.batch_size, 0]
    return x[chosen], y[chosen]


@fault("classes", rules={"LossNotDecreasing"}, also=STUCK | {"Overfit", "PoorWeightInitialization"})
def shuffled_labels(training: Training) -> List[str]:
    """The labels belong to other samples."""
    next_batch = training.next_batch

    def shuffled() -> tuple[Tensor, Tensor]:
        x, y = next_batch()
        return x, y[torch.randperm(len(y), generator=training.data.generator)]

    training.next_batch = training.next_evaluation = shuffled
    return LOSSES + [r"Loss_input_[01]$"]


# ---- generalisation ----------------------------------------------------------------------


def _few_samples(training: Training, count: int, noise: float) -> None:
    """Trains with a few samples, some of which have the wrong label."""
    x, y = training.data.batch(count)
    if y.dtype == torch.int64:
        wrong = torch.rand(count, generator=training.data.generator) < noise
        y = torch.where(wrong, training.data.classes(count), y)
    else:
        y = y + noise * training.data.normal(*y.shape)

    def some() -> tuple[Tensor, Tensor]:
        chosen = torch.randperm(count, generator=training.data.generator)[: training.batch_size]
        return x[chosen], y[chosen]

    training.next_batch = some
    training.batches_of_evaluation = 4


LATE = {"Overfit", "Overtraining"}


@fault("dense", rules={"Overfit"}, also=LATE)
def overfit(training: Training) -> List[str]:
    """Trains for many steps with a few samples."""
    _few_samples(training, 48, 0.3)
    training.steps = 300
    return LOSSES


@fault("dense", rules={"Overtraining", "Overfit"}, also=LATE | {"LossNotDecreasing"})
def overtraining(training: Training) -> List[str]:
    """Continues long after the model has learned everything."""
    _few_samples(training, 256, 0.1)
    training.steps = 500
    return LOSSES


# ---- workers -----------------------------------------------------------------------------


@fault(rules={"WorkerDivergence"}, begins=20)
def replica_diverges(training: Training) -> List[str]:
    """From some step on, one of two workers does not average its gradients."""
    training.workers = WORKERS
    training.steps = 60

    def skip_average(step: int) -> None:
        if training.rank == 1 and step >= 20:
            for parameter in training.model.parameters():
                parameter.grad *= 1.5

    training.after_backward.append(skip_average)
    return WEIGHTS
