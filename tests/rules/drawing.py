"""Draws trainings at random: model, data, optimiser, schedule, precision.

A training is drawn from a seed alone.  `Drawn` says what was drawn, for tables.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Callable, Dict, List, Tuple

import torch
from architectures import CLASSES, LENGTH, PADDING, TOKENS, Architecture, Clusters, Data, Images
from architectures import Lines, Patterns, Recurrent, Sentences, Waves
from optimizers import OPTIMIZERS, STRANGERS
from torch import Tensor, nn
from trainer import Training

__all__ = ["Drawn", "draw"]

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "silu": nn.SiLU}
FAMILIES = ("perceptron", "convolution", "transformer", "recurrent", "regression", "autoencoder")
SCHEDULES = ("constant", "constant", "cosine", "warm_up", "warm_up_cosine")


@dataclass
class Drawn:
    """What was drawn for a training."""

    seed: int
    family: str
    depth: int
    width: int
    activation: str
    normalisation: str
    optimizer: str
    schedule: str
    batch: int
    precision: str
    accumulation: int
    clips: bool
    decay: float
    registers: bool

    def model(self) -> nn.Module:
        return _MODELS[self.family](self)

    def data(self, seed: int) -> Data:
        kind = {
            "perceptron": Clusters, "convolution": Images, "transformer": Sentences,
            "recurrent": Waves, "regression": Lines, "autoencoder": Patterns,
        }[self.family]  # fmt: skip
        return kind(seed)

    def parts(self) -> List[str]:
        of_family = {
            "perceptron": ["dense", "classes"], "convolution": ["images", "classes"],
            "transformer": ["tokens", "classes"], "recurrent": ["classes"], "regression": [],
            "autoencoder": [],
        }[self.family]  # fmt: skip
        own = [] if self.family in ("regression", "recurrent") else [self.activation]
        return [*of_family, *own]

    def __str__(self) -> str:
        return (
            f"{self.family} {self.depth}x{self.width} {self.activation}/{self.normalisation} "
            f"{self.optimizer}/{self.schedule} batch {self.batch}x{self.accumulation} "
            f"{self.precision}{' clip' if self.clips else ''}{' registered' * self.registers}"
        )


def _norm(drawn: Drawn, width: int) -> List[nn.Module]:
    kinds = {"none": [], "batch": [nn.BatchNorm1d(width)], "layer": [nn.LayerNorm(width)]}
    return kinds[drawn.normalisation]


def _layers(drawn: Drawn, begin: int, end: int) -> nn.Sequential:
    layers: List[nn.Module] = []
    width = begin
    for _ in range(drawn.depth):
        layers += [nn.Linear(width, drawn.width), *_norm(drawn, drawn.width)]
        layers += [ACTIVATIONS[drawn.activation]()]
        width = drawn.width
    return nn.Sequential(*layers, nn.Linear(width, end))


def _convolution(drawn: Drawn) -> nn.Module:
    layers: List[nn.Module] = []
    channels = 1
    for _ in range(min(drawn.depth, 3)):
        layers += [nn.Conv2d(channels, 8, 3, padding=1)]
        layers += [nn.BatchNorm2d(8)] if drawn.normalisation != "none" else []
        layers += [ACTIVATIONS[drawn.activation]()]
        channels = 8
    return nn.Sequential(*layers, nn.AvgPool2d(3), nn.Flatten(), nn.Linear(8 * 16, CLASSES))


class _Block(nn.Module):
    def __init__(self, drawn: Drawn, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.expand, self.shrink = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.activation = ACTIVATIONS[drawn.activation]()

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.shrink(self.activation(self.expand(self.norm2(x))))


class _Transformer(nn.Module):
    def __init__(self, drawn: Drawn) -> None:
        super().__init__()
        width = 16
        self.embedding = nn.Embedding(TOKENS, width, padding_idx=PADDING)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList([_Block(drawn, width) for _ in range(min(drawn.depth, 2))])
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


_MODELS: Dict[str, Callable[[Drawn], nn.Module]] = {
    "perceptron": lambda drawn: _layers(drawn, 16, CLASSES),
    "convolution": _convolution,
    "transformer": _Transformer,
    "recurrent": lambda drawn: Recurrent(),
    "regression": lambda drawn: nn.Linear(16, 1),
    "autoencoder": lambda drawn: _layers(drawn, 32, 32),
}


def _schedule(name: str, steps: int) -> Callable[[int], float]:
    warm = steps // 5
    grows = {"warm_up", "warm_up_cosine"}
    falls = {"cosine", "warm_up_cosine"}

    def factor(step: int) -> float:
        up = min(1.0, step / warm) if name in grows else 1.0
        return up * (0.5 + 0.5 * math.cos(math.pi * step / steps) if name in falls else 1.0)

    return factor


def draw(seed: int, steps: int = 100, is_strange: bool = False) -> Tuple[Drawn, Training]:
    """Returns a healthy training, and what was drawn for it.

    `is_strange`: its optimizer is one that rules were not tuned on.
    """
    chance = random.Random(seed)
    optimizers = STRANGERS if is_strange else OPTIMIZERS
    drawn = Drawn(
        seed=seed,
        family=chance.choice(FAMILIES),
        depth=chance.randint(1, 4),
        width=chance.choice((8, 16, 32, 64)),
        activation=chance.choice(list(ACTIVATIONS)),
        normalisation=chance.choice(("none", "none", "batch", "layer")),
        optimizer=chance.choice(list(optimizers)),
        schedule=chance.choice(SCHEDULES),
        batch=chance.choice((8, 16, 32, 64)),
        precision=chance.choice(("float32", "float32", "float32", "autocast")),
        accumulation=chance.choice((1, 1, 1, 2)),
        clips=chance.random() < 0.3,
        decay=chance.choice((0.0, 0.0, 1e-4, 1e-2)),
        registers=chance.random() < 0.5,
    )
    kind = optimizers[drawn.optimizer]
    rate = kind.rate * math.exp(chance.uniform(-0.7, 0.7))
    if drawn.family == "recurrent" and drawn.optimizer in ("sgd", "momentum", "nesterov"):
        rate *= 3
    if drawn.family == "regression":
        rate *= 0.5 if drawn.optimizer in ("sgd", "momentum", "nesterov") else 4
    architecture = Architecture(
        drawn.family, drawn.model, drawn.data,
        nn.CrossEntropyLoss if "classes" in drawn.parts() else nn.MSELoss,
        rate, frozenset(drawn.parts()), lambda p, lr: kind.make(p, lr, drawn.decay),
    )  # fmt: skip
    training = Training(architecture, seed)
    training.steps = steps
    training.batch_size = max(2, drawn.batch // drawn.accumulation)
    training.batches_of_step = drawn.accumulation
    if drawn.family == "transformer":
        training.batch_size = min(16, training.batch_size)
    training.factor = _schedule(drawn.schedule, steps)
    training.precision = torch.bfloat16 if drawn.precision == "autocast" else None
    training.registers_optimizer = drawn.registers
    if drawn.clips:
        training.after_backward.append(
            lambda step: nn.utils.clip_grad_norm_(training.model.parameters(), 1.0)
        )
    return drawn, training
