"""Draws small trainings at random: model, batch, loader, length of steps and of the run."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Callable, Tuple

import torch
from torch import Tensor, nn

__all__ = ["Drawn", "draw"]

CLASSES = 10


@dataclass
class Drawn:
    """A training without a fault.

    Attributes
    ----------
    workers : int
        Processes of the data loader; 0: the training loads.
    seconds : float
        How long the training lasts, after the warm-up.
    """

    seed: int
    family: str
    width: int
    depth: int
    batch: int
    workers: int
    optimizer: str
    seconds: float
    chance: random.Random = field(repr=False, compare=False)

    def __str__(self) -> str:
        size = f"{self.family} {self.width}x{self.depth} batch {self.batch} {self.optimizer}"
        return f"{size} workers {self.workers} {self.seconds:.1f} s"

    def model(self) -> nn.Module:
        torch.manual_seed(self.seed)
        return MODELS[self.family](self.width, self.depth)

    def sample_shape(self) -> Tuple[int, ...]:
        return {"perceptron": (self.width,), "convolution": (3, 24, 24)}.get(
            self.family, (16, self.width)
        )

    def make_optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        return torch.optim.AdamW(model.parameters(), lr=1e-4)


def perceptron(width: int, depth: int) -> nn.Module:
    layers = [each for _ in range(depth) for each in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


def convolution(width: int, depth: int) -> nn.Module:
    sizes = [3] + [width] * depth
    layers = [
        each
        for inner, outer in zip(sizes, sizes[1:])
        for each in (nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())
    ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, CLASSES))


class Transformer(nn.Module):
    """An encoder whose mean output is classified."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(tokens).mean(1))


MODELS: "dict[str, Callable[[int, int], nn.Module]]" = {
    "perceptron": perceptron,
    "convolution": convolution,
    "transformer": Transformer,
}
# Widths, depths and batches with which a step takes about 5 to 60 ms on one core.
SIZES = {
    "perceptron": ((256, 384, 512), (3, 4, 5), (64, 96, 128)),
    "convolution": ((12, 16, 24), (2, 3), (16, 32)),
    "transformer": ((64, 96, 128), (1, 2), (8, 16, 32)),
}


def draw(seed: int) -> Drawn:
    """Returns the training of a seed."""
    chance = random.Random(f"training {seed}")
    family = chance.choice(sorted(SIZES))
    width, depth, batch = (chance.choice(each) for each in SIZES[family])
    return Drawn(
        seed, family, width, depth, batch,
        workers=chance.choice((0, 0, 1, 2)),
        optimizer=chance.choice(("sgd", "adamw")),
        seconds=chance.uniform(2.5, 4.5),
        chance=chance,
    )  # fmt: skip
