"""The causes that a diagnosis names, and the planted faults that have them.

Faults without a cause here, and healthy runs, belong to no cause: they teach a diagnosis to
doubt.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

import torch
from benign import BENIGN
from drawing import Drawn
from faults import FAULTS, Around, Fault
from severities import GRADED, Graded, Planted, has_layers, learns_classes
from torch import nn
from trainer import Training

__all__ = ["CAUSES", "NONE", "Chosen", "cause_of", "choose"]

NONE = "none"  # of the causes below
HEALTHY_SHARE = 0.25  # of the runs

# The causes, in the order of the table, and the names of faults in faults.py and severities.py.
CAUSES: Dict[str, Tuple[str, ...]] = {
    "rate_too_high": ("rate_too_high", "rate_grows", "learning_rate_too_high", "loss_summed"),
    "rate_too_low": ("rate_too_low",),
    "initialisation": (
        "weights_too_large", "weights_too_small", "weights_of_zeros", "weights_all_alike",
    ),
    "dead_units": ("dead_units", "dead_relu"),
    "gradients_vanish": ("many_sigmoids", "vanishing_gradient"),
    "inputs_not_normalised": ("images_not_normalised", "inputs_too_large", "targets_too_large"),
    "inputs_empty": ("inputs_of_zeros",),
    "labels_wrong": ("shuffled_labels",),
    "classes_imbalanced": ("imbalanced_classes", "class_imbalance"),
    "batches_repeated": ("repeated_batches", "constant_batches", "odd_batch_repeated"),
    "batch_corrupt": ("not_a_number", "huge_sample", "infinite_sample", "infinite_target"),
    "loss_of_wrong_output": (
        "softmax_twice", "relu_before_loss", "targets_broadcast", "targets_beyond_binary",
    ),
    "nothing_updated": (
        "learning_rate_of_zero", "optimizer_of_another_model", "gradients_zeroed",
    ),
    "optimizer_incomplete": (
        "without_a_layer", "optimizer_without_a_layer", "optimizer_of_one_layer",
    ),
    "gradients_not_reset": ("never_reset", "gradients_never_reset"),
    "gradient_cut": ("detached", "detached_features", "layer_frozen_by_mistake"),
    "precision": ("lost_updates", "half_weights"),
    "undefined_operation": (
        "log_of_zero", "overflow_of_half", "root_of_zero", "log_in_loss",
    ),
    "memory_corrupt": ("bit_flip",),
    "replicas_apart": ("replica_diverges",),
    "overfit": ("overfit", "overtraining"),
    "left_in_evaluation": ("left_in_evaluation",),
    "samples_sorted": ("samples_sorted",),
    "loss_sign": ("loss_negated",),
    "targets_given": ("target_in_inputs",),
    # Not planted.
    "outputs_collapsed": (),
    "decay_too_strong": (),
    "activation_missing": (),
    "axes_swapped": (),
    "dropout_too_strong": (),
    "not_in_evaluation": (),
}  # fmt: skip
# These fit few of the drawn models, and are drawn more often where they do.
RARELY_FIT = (
    "initialisation", "dead_units", "gradients_vanish", "optimizer_incomplete", "overfit",
)  # fmt: skip
RARE = 4
# Planted only where they are asked for: seeds keep the faults that they had before.
ASKED = (
    "root_of_zero", "left_in_evaluation", "infinite_sample", "log_in_loss", "targets_broadcast",
    "loss_summed", "targets_too_large", "odd_batch_repeated", "infinite_target", "full_batch",
    "half_weights", "samples_sorted", "loss_negated", "targets_beyond_binary",
    "gradients_zeroed", "optimizer_of_one_layer", "target_in_inputs",
)
# Faults that are planted too, and that no cause explains.
UNKNOWN = ("mostly_padding", "noisy_gradients", "wrong_axis")


@dataclass
class Chosen:
    """What is wrong with a training.  `cause` is NONE if nothing is, or nothing that is known."""

    kind: str
    cause: str
    severity: Optional[float]  # None: healthy
    begins: int


Inject = Callable[[Planted], None]
MORE: Dict[str, Tuple[Inject, Callable[[Drawn], bool]]] = {}


def more(fits: Callable[[Drawn], bool]) -> Callable[[Inject], Inject]:
    def add(inject: Inject) -> Inject:
        MORE[inject.__name__] = inject, fits
        return inject

    return add


@more(lambda drawn: drawn.family in ("perceptron", "autoencoder", "regression", "convolution"))
def inputs_too_large(planted: Planted) -> None:
    """Inputs from 0 to 255, or in units that make them as large."""
    training = planted.training
    next_batch, factor = training.next_batch, planted.log(8, 100)

    def large() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        return x * factor + 2 * factor, y

    training.next_batch = training.next_evaluation = large


@more(lambda drawn: drawn.family == "regression")
def targets_too_large(planted: Planted) -> None:
    """Prices or distances as targets, in units that make them large."""
    training = planted.training
    next_batch, factor = training.next_batch, planted.log(200, 1e6)

    def large() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        return x, (y + 2) * factor

    training.next_batch = training.next_evaluation = large


@more(lambda drawn: drawn.family in ("perceptron", "regression"))
def target_in_inputs(planted: Planted) -> None:
    """A column of the inputs is computed from the target."""
    training = planted.training
    next_batch, column = training.next_batch, planted.chance.randrange(4)
    factor, offset = planted.log(0.3, 3), planted.chance.uniform(-1, 1)

    def leaking() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        columns = x.reshape(len(x), -1).clone()
        columns[:, column] = factor * y.reshape(len(x), -1)[:, 0].to(x.dtype) + offset
        return columns.reshape(x.shape), y

    training.next_batch = leaking


@more(lambda drawn: True)
def gradients_zeroed(planted: Planted) -> None:
    """Gradients are reset between the backward pass and the step."""
    training = planted.training
    training.after_backward.append(lambda step: training.model.zero_grad(set_to_none=False))


@more(has_layers)
def optimizer_of_one_layer(planted: Planted) -> None:
    """Of all layers, the optimizer has only the last or another one."""
    training = planted.training
    layers = training.modules((nn.Linear, nn.Conv2d))
    layer = layers[-1] if planted.chance.random() < 0.5 else planted.chance.choice(layers)
    training.trained = list(layer.parameters())


def _can_be_halved(drawn: Drawn) -> bool:
    is_simple = drawn.family in ("perceptron", "regression") and drawn.normalisation == "none"
    return is_simple and drawn.precision == "float32" and "adam" in drawn.optimizer


@more(_can_be_halved)
def half_weights(planted: Planted) -> None:
    """All of the model in half precision, in which Adam's small constant is 0."""
    training = planted.training
    next_batch = training.next_batch
    training.model.half()

    def halved() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        return x.half(), y.half() if y.is_floating_point() else y

    training.next_batch = training.next_evaluation = halved


@more(lambda drawn: drawn.optimizer in ("sgd", "momentum", "nesterov"))
def loss_summed(planted: Planted) -> None:
    """The loss is the sum over a batch, with a rate for the mean."""
    planted.training.loss_module.reduction = "sum"
    planted.training.learning_rate *= planted.log(1, 10)


def _repeat(training: Training) -> None:
    batch = training.data.batch(training.batch_size)
    training.next_batch = lambda: batch


@more(lambda drawn: drawn.accumulation == 1)
def odd_batch_repeated(planted: Planted) -> None:
    """The same few samples at each step, as many as loaders seldom get."""
    planted.training.batch_size = planted.chance.choice((10, 12, 20, 24, 40, 48, 50, 100))
    _repeat(planted.training)


@more(lambda drawn: drawn.accumulation == 1)
def full_batch(planted: Planted) -> None:
    """Each step takes all samples, which are more than usual."""
    planted.training.batch_size = planted.chance.choice((50, 100, 120, 150, 200, 256, 500, 512))
    _repeat(planted.training)


def _spoil(planted: Planted, begins: int, value: float, is_target: bool = False) -> None:
    """From that step on, one element of each batch is `value`."""
    training, count, next_batch = planted.training, [0], planted.training.next_batch

    def spoiled() -> Tuple[torch.Tensor, torch.Tensor]:
        batch = list(next_batch())
        count[0] += 1
        if count[0] > begins * training.batches_of_step:
            chosen = batch[is_target] = batch[is_target].clone()
            chosen.view(-1)[planted.chance.randrange(chosen.numel())] = value
        return batch[0], batch[1]

    training.next_batch = spoiled


@more(lambda drawn: drawn.family in ("perceptron", "autoencoder", "regression", "convolution"))
def huge_sample(planted: Planted) -> None:
    """From some step on, one value of each batch is not readable and becomes huge."""
    _spoil(planted, planted.chance.randint(20, 60), planted.log(1e3, 1e12))


class Before(Around):
    """Applies a function to a model's outputs before the loss."""

    def __init__(self, body: nn.Module, last: nn.Module) -> None:
        super().__init__(body)
        self.last = last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(x))


class After(Around):
    """Applies a function to a model's inputs."""

    def __init__(self, body: nn.Module, first: nn.Module) -> None:
        super().__init__(body)
        self.first = first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(self.first(x))


def _end_with(training: Training, last: nn.Module) -> None:
    training.model = Before(training.model, last)
    training.trained = list(training.model.parameters())


@more(lambda drawn: drawn.family in ("perceptron", "autoencoder"))
def many_sigmoids(planted: Planted) -> None:
    """Four to nine layers of sigmoids, none of which is normalised."""
    training, width = planted.training, planted.drawn.width
    linear = training.modules(nn.Linear)
    begin, end = linear[0].in_features, linear[-1].out_features
    layers: List[nn.Module] = []
    for _ in range(4 + round(5 * planted.severity)):
        layers += [nn.Linear(begin, width), nn.Sigmoid()]
        begin = width
    training.model = nn.Sequential(*layers, nn.Linear(width, end))
    training.trained = list(training.model.parameters())


@more(learns_classes)
def softmax_twice(planted: Planted) -> None:
    """Cross entropy of outputs that passed a softmax already."""
    _end_with(planted.training, nn.Softmax(-1))


@more(lambda drawn: drawn.family != "transformer")
def relu_before_loss(planted: Planted) -> None:
    """An activation after the last layer, which no output should have."""
    _end_with(planted.training, nn.ReLU())


class RootOfZero(nn.Module):
    """Adds a distance, which from some step on is 0: the slope of its root is infinite there."""

    def __init__(self, share: float, begins: int) -> None:
        super().__init__()
        self.share, self.left = share, begins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.left -= self.training
        squares = (x - x.detach()).square().sum(-1, keepdim=True)
        return x + self.share * (squares + (0.0 if self.left < 0 else 0.1)).sqrt()


@more(lambda drawn: True)
def root_of_zero(planted: Planted) -> None:
    """An operation whose result is finite, and whose gradient is not."""
    begins = planted.chance.choice((0, planted.chance.randint(10, 60)))
    _end_with(planted.training, RootOfZero(planted.log(1e-4, 1e-2), begins))


@more(lambda drawn: drawn.family != "transformer")
def infinite_sample(planted: Planted) -> None:
    """A value of some batch is infinite, or not a number, before anything is computed."""
    begins = planted.chance.randint(0, 60)
    _spoil(planted, begins, planted.chance.choice((math.inf, -math.inf, math.nan)))


@more(lambda drawn: drawn.family in ("regression", "autoencoder"))
def infinite_target(planted: Planted) -> None:
    """A target of some batch is infinite, or not a number."""
    begins = planted.chance.randint(0, 60)
    value = planted.chance.choice((math.inf, -math.inf, math.nan))
    _spoil(planted, begins, value, is_target=True)


class LossByHand(nn.Module):
    """A loss with a logarithm, which from some step on is one of 0."""

    def __init__(self, loss: nn.Module, begins: int, is_nan: bool) -> None:
        super().__init__()
        self.loss, self.left, self.is_nan = loss, begins, is_nan

    def forward(self, y: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        self.left -= y.requires_grad
        share = y.flatten()[0].sigmoid()
        share = share if self.left >= 0 else share * 0
        log = share * share.log() if self.is_nan else share.log()
        return self.loss(y, target) - 0.01 * log


@more(lambda drawn: True)
def log_in_loss(planted: Planted) -> None:
    """The loss has no finite result, though all that it gets is finite."""
    training = planted.training
    is_nan = planted.chance.random() < 0.5
    training.loss_module = LossByHand(training.loss_module, planted.chance.randint(0, 60), is_nan)


@more(lambda drawn: drawn.family == "regression")
def targets_broadcast(planted: Planted) -> None:
    """Outputs of the shape (n, 1) are compared with targets of the shape (n)."""
    training, next_batch = planted.training, planted.training.next_batch

    def flat() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        return x, y.flatten()

    training.next_batch = flat


class Negated(nn.Module):
    """Falls where the loss rises."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, y: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return -self.loss(y, target)


@more(lambda drawn: True)
def loss_negated(planted: Planted) -> None:
    """The loss has the wrong sign: the model becomes as wrong as it can."""
    planted.training.loss_module = Negated(planted.training.loss_module)


@more(learns_classes)
def targets_beyond_binary(planted: Planted) -> None:
    """A loss for targets of 0 and 1 gets -1 and 1, or 1 and 2, or counts."""
    training, next_batch = planted.training, planted.training.next_batch
    factor, offset = planted.chance.choice(((2, -1), (1, 1), (3, 0), (255, 0)))
    classes = training.modules(nn.Linear)[-1].out_features
    training.loss_module = nn.BCEWithLogitsLoss()

    def numbered() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        return x, factor * nn.functional.one_hot(y, classes).float() + offset

    training.next_batch = training.next_evaluation = numbered


@more(learns_classes)
def samples_sorted(planted: Planted) -> None:
    """Samples are stored class by class, and not shuffled, or among their neighbours only."""
    training, next_batch = planted.training, planted.training.next_batch
    lasts, others = planted.chance.randint(2, 40), 0.3 * (1 - planted.severity)
    count, classes = [0], sorted(set(next_batch()[1].tolist()))

    def batch_of_class() -> Tuple[torch.Tensor, torch.Tensor]:
        wanted = classes[count[0] // (lasts * training.batches_of_step) % len(classes)]
        count[0] += 1
        batches, found = [next_batch()], 0
        size = len(batches[0][1])
        while found < size and len(batches) < 100:
            batches.append(next_batch())
            found += int((batches[-1][1] == wanted).sum())
        y = torch.cat([each for _, each in batches[1:]])
        chosen = (y == wanted).nonzero()[: size - round(others * size), 0]
        x = torch.cat([batches[0][0], *(each for each, _ in batches[1:])])
        y = torch.cat([batches[0][1], y])
        keep = torch.cat([chosen + size, torch.arange(size - len(chosen))])
        return x[keep], y[keep]

    training.next_batch = batch_of_class


@more(lambda drawn: True)
def left_in_evaluation(planted: Planted) -> None:
    """No train() after an evaluation."""
    training = planted.training
    if not training.modules(nn.BatchNorm2d) and not training.modules(nn.BatchNorm1d):
        add_dropout(training, nn.Dropout(planted.chance.uniform(0.05, 0.4)))
    evaluations = planted.chance.randint(1, 5)

    def leave(step: int) -> None:
        if step >= evaluations * training.evaluates_every:
            training.model.eval()

    training.before_step.append(leave)


def add_dropout(training: Training, dropout: nn.Dropout) -> None:
    """Drops some of a model's inputs, or of its embeddings."""
    model = training.model
    if hasattr(model, "embedding"):
        model.embedding = nn.Sequential(model.embedding, dropout)
    else:
        training.model = After(model, dropout)


@more(lambda drawn: True)
def noisy_gradients(planted: Planted) -> None:
    """Gradients with noise that hides them."""
    training, size = planted.training, planted.log(1, 100)

    def disturb(step: int) -> None:
        for each in training.model.parameters():
            if each.grad is not None:
                each.grad += size * each.grad.std(unbiased=False) * torch.randn_like(each.grad)

    training.after_backward.append(disturb)


@more(lambda drawn: drawn.family in ("perceptron", "autoencoder"))
def wrong_axis(planted: Planted) -> None:
    """Inputs of different samples are mixed up, feature by feature."""
    training, next_batch = planted.training, planted.training.next_batch

    def mixed() -> Tuple[torch.Tensor, torch.Tensor]:
        x, y = next_batch()
        shifts = range(round(planted.severity * x.shape[1]))
        x = x.clone()
        for i in shifts:
            x[:, i] = x[:, i].roll(i + 1)
        return x, y

    training.next_batch = mixed


def cause_of(kind: str) -> str:
    """Returns the cause of a fault, or NONE."""
    return next((cause for cause, kinds in CAUSES.items() if kind in kinds), NONE)


def choose(training: Training, drawn: Drawn, only: str = "") -> Chosen:
    """Makes the training faulty or varies it, as its seed decides.  `only` plants that fault."""
    chance = random.Random(f"cause {drawn.seed}")
    if only:
        return _plant(training, drawn, chance, cause_of(only), only)
    if chance.random() < HEALTHY_SHARE:
        way = chance.choice([name for name, way in BENIGN.items() if way.fits(training)])
        BENIGN[way].vary(training, drawn, chance)
        return Chosen(way, NONE, None, 0)
    of_cause = {cause: _fitting(names, drawn) for cause, names in CAUSES.items()}
    of_cause[NONE] = _fitting(UNKNOWN, drawn)
    fitting = [each for each, names in of_cause.items() if names]
    weights = [RARE if each in RARELY_FIT else 1 for each in fitting]
    [cause] = chance.choices(fitting, weights)
    return _plant(training, drawn, chance, cause, chance.choice(of_cause[cause]))


def _plant(
    training: Training, drawn: Drawn, chance: random.Random, cause: str, kind: str
) -> Chosen:
    severity = chance.random()
    begins = chance.randint(20, 60)
    planted = Planted(training, drawn, severity, begins, chance)
    if kind in MORE:
        MORE[kind][0](planted)
    elif isinstance(kind_of(kind), Graded):
        graded = kind_of(kind)
        planted.begins = begins if graded.begins_late else 0
        graded.inject(planted)
        return Chosen(kind, cause, severity, planted.begins)
    else:
        kind_of(kind).inject(training)
        return Chosen(kind, cause, 1.0, kind_of(kind).begins)
    return Chosen(kind, cause, severity, 0)


def kind_of(name: str) -> "Graded | Fault":
    return {**{each.name: each for each in FAULTS}, **{each.name: each for each in GRADED}}[name]


def _fitting(names: Tuple[str, ...], drawn: Drawn) -> List[str]:
    return [name for name in names if name not in ASKED and _fits(name, drawn)]


def _fits(name: str, drawn: Drawn) -> bool:
    if name in MORE:
        return MORE[name][1](drawn)
    fault = kind_of(name)
    if isinstance(fault, Graded):
        return fault.fits(drawn)
    # Suite faults name parts of fixed architectures; "dense" stands for two layers or more.
    return fault.needs in ("", *drawn.parts()) and (fault.needs != "dense" or has_layers(drawn))
