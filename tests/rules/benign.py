"""Healthy ways to train, drawn at random, that rules could take for faults."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Dict

import torch
from architectures import CLASSES
from drawing import Drawn
from torch import nn
from trainer import Training

__all__ = ["BENIGN", "Benign"]

Vary = Callable[[Training, Drawn, random.Random], None]
Fits = Callable[[Training], bool]


@dataclass(frozen=True)
class Benign:
    """A healthy way to train, and for which trainings it changes anything."""

    vary: Vary
    fits: Fits


BENIGN: Dict[str, Benign] = {}


def benign(fits: Fits = lambda training: True) -> Callable[[Vary], Vary]:
    def add(vary: Vary) -> Vary:
        BENIGN[vary.__name__] = Benign(vary, fits)
        return vary

    return add


def has_classes(training: Training) -> bool:
    return "classes" in training.architecture.has


def has_head(training: Training) -> bool:
    return isinstance(training.model, nn.Sequential) and len(training.model) > 2


def layers_of(training: Training) -> Any:
    return training.modules((nn.Linear, nn.Conv2d))


@benign()
def plain(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Nothing special."""


@benign()
def plain_too(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Nothing special; half of all healthy runs vary only by what is drawn."""


@benign()
def skipped_steps(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Loss scaling: now and then gradients overflow, and the step is skipped."""
    skipped = set(range(chance.randint(1, 5))) | {chance.randint(10, 90) for _ in range(3)}

    def overflow(step: int) -> None:
        # As the hook sees it: scaled gradients that are not finite, weights unchanged.
        training.scale = float("inf") if step in skipped else 1.0

    def skip(step: int) -> None:
        if step in skipped:
            for parameter in training.model.parameters():
                parameter.grad = None

    training.before_step.append(overflow)
    training.after_backward.append(skip)


@benign()
def resumed(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """A trained model goes on with a small learning rate, where little is left to learn."""
    training.steps_before = 300
    training.factor = lambda step: 0.1


@benign()
def only_weights(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Only the gradients of weights are recorded, not those of biases."""
    training.hides = r"gradient/.*bias"


@benign(lambda training: len(layers_of(training)) >= 3)
def adapters(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """All but the last layers are frozen, and the hook is not told."""
    kept = {id(each) for layer in layers_of(training)[-2:] for each in layer.parameters()}
    for parameter in training.model.parameters():
        parameter.requires_grad_(id(parameter) in kept)
    training.trained = [each for each in training.model.parameters() if each.requires_grad]


@benign()
def rounded_weights(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Weights are kept in eight bits, with stochastic rounding."""
    generator = torch.Generator().manual_seed(drawn.seed)

    def rounds(step: int) -> None:
        with torch.no_grad():
            for parameter in training.model.parameters():
                bits = parameter.view(torch.int32)
                noise = torch.randint(1 << 16, bits.shape, generator=generator, dtype=torch.int32)
                parameter.copy_(((bits + noise) & ~0xFFFF).view(torch.float32))

    training.before_step.append(rounds)


@benign()
def flat_auxiliary_loss(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """A second loss is recorded, which stays where it is."""
    generator = random.Random(drawn.seed)
    training.scalars["router_aux_loss"] = lambda step: 1.0 + 0.01 * generator.random()


@benign()
def moving_average(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """A moving average of the weights is recorded, which has no gradients."""
    averages: Dict[str, Any] = {}

    def average(step: int) -> None:
        for name, parameter in training.model.named_parameters():
            last = averages.get(name, parameter.detach().clone())
            averages[name] = 0.99 * last + 0.01 * parameter.detach()
            training.tensors[f"ema/{name}"] = averages[name]

    training.before_step.append(average)


@benign()
def second_moments(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """The state of the optimiser is recorded under names of weights, and the loss scale."""
    training.scalars["loss_scale"] = lambda step: 1024.0 * 2 ** (step // 25)
    squares: Dict[str, Any] = {}

    def note(step: int) -> None:
        for name, parameter in training.model.named_parameters():
            if parameter.grad is not None:
                last = squares.get(name, torch.zeros_like(parameter))
                squares[name] = 0.99 * last + 0.01 * parameter.grad**2
                training.tensors[f"exp_avg_sq/{name}"] = squares[name]

    training.after_backward.append(note)


@benign(has_head)
def dropout(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Dropout before the last layer."""
    training.model.insert(len(training.model) - 1, nn.Dropout(0.3))


@benign(has_classes)
def uneven_classes(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Some classes are up to five times as frequent as others."""
    training.data.shares = [chance.uniform(1, 5) for _ in range(CLASSES)]


@benign()
def decayed(training: Training, drawn: Drawn, chance: random.Random) -> None:
    """Strong weight decay."""
    rate = training.learning_rate

    def decay(step: int) -> None:
        with torch.no_grad():
            for parameter in training.model.parameters():
                parameter *= 1 - 0.1 * rate

    training.before_step.append(decay)
