"""Scenarios of healthy trainings that rules could mistake for faults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, List

import torch
from architectures import Architecture
from torch import nn
from trainer import WORKERS, Training

__all__ = ["HEALTHY", "Healthy"]

Vary = Callable[[Training], None]


@dataclass(frozen=True)
class Healthy:
    """A scenario of a healthy training.  `needs` is the part that an architecture must have."""

    name: str
    vary: Vary
    needs: str

    def fits(self, architecture: Architecture) -> bool:
        if "deep" in architecture.has:
            return False
        return not self.needs or self.needs in architecture.has


HEALTHY: List[Healthy] = []


def healthy(needs: str = "") -> Callable[[Vary], Vary]:
    def add(vary: Vary) -> Vary:
        HEALTHY.append(Healthy(vary.__name__, vary, needs))
        return vary

    return add


@healthy()
def plain(training: Training) -> None:
    """The training without changes."""


@healthy("dense")
def dropout(training: Training) -> None:
    """Dropout of a third of the units."""
    training.model = nn.Sequential(
        *[each for layer in training.model for each in _with_dropout(layer)]
    )
    training.trained = list(training.model.parameters())


def _with_dropout(layer: nn.Module) -> List[nn.Module]:
    return [layer] if isinstance(layer, nn.Linear) else [layer, nn.Dropout(0.3)]


@healthy()
def warm_up(training: Training) -> None:
    """The learning rate grows from 0 over the first steps."""
    training.factor = lambda step: min(1.0, step / 20)


@healthy()
def cosine_schedule(training: Training) -> None:
    """The learning rate falls to 0."""
    training.factor = lambda step: 0.5 + 0.5 * math.cos(math.pi * step / training.steps)


@healthy("dense")
def fine_tuning(training: Training) -> None:
    """The first layers are frozen and declared as frozen."""
    for path, parameter in training.model.named_parameters():
        if path.startswith(("linear0", "linear1")):
            parameter.requires_grad_(False)
            training.frozen.append(f"^{training.name_of(parameter)}$")


@healthy()
def bfloat16(training: Training) -> None:
    """Mixed precision with bfloat16."""
    training.precision = torch.bfloat16


@healthy("tokens")
def sparse_gradients(training: Training) -> None:
    """Embeddings with sparse gradients."""
    for embedding in training.modules(nn.Embedding):
        embedding.sparse = True
    training.make_optimizer = torch.optim.Adagrad
    training.learning_rate = 0.05


@healthy()
def near_the_end(training: Training) -> None:
    """A trained model continues with a small learning rate."""
    training.steps = 200
    training.factor = lambda step: 1.0 if step < 100 else 0.03


@healthy()
def gradient_accumulation(training: Training) -> None:
    """The optimiser makes one step per two batches."""
    training.batches_of_step = 2
    training.batch_size //= 2
    training.steps = 100


@healthy()
def clipped_gradients(training: Training) -> None:
    """Gradients are clipped to a norm of 1."""
    training.after_backward.append(
        lambda step: nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)
    )


@healthy()
def adam(training: Training) -> None:
    """The optimiser is Adam."""
    training.make_optimizer = torch.optim.AdamW
    training.learning_rate = 0.01


@healthy()
def two_workers(training: Training) -> None:
    """Two processes that share their gradients."""
    training.workers = WORKERS
    training.steps = 60


@healthy("classes")
def rare_classes(training: Training) -> None:
    """Some classes are three times as frequent as others."""
    training.next_batch = training.next_evaluation = lambda: _some_rare(training)


def _some_rare(training: Training) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = training.data.batch(training.batch_size * 4)
    kept = (y < 2) | (torch.rand(len(y), generator=training.data.generator) < 0.35)
    chosen = kept.nonzero()[: training.batch_size, 0]
    return x[chosen], y[chosen]
