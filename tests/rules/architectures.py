"""Small models, and data that they learn within a few hundred steps.

An architecture describes how to build a model, what it learns and which parts it has.  A
fault fits only architectures with certain parts.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, FrozenSet, Tuple

import torch
from torch import Tensor, nn

CLASSES = 4
FEATURES = 16
SIDE = 12  # of an image, in pixels
TOKENS, LENGTH, PADDING = 40, 12, 0

Batch = Tuple[Tensor, Tensor]


class Data:
    """An endless stream of samples that depends only on the seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.shares = [1.0] * CLASSES  # how frequent each class is

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator)

    def classes(self, size: int) -> Tensor:
        if len(set(self.shares)) == 1:
            return torch.randint(CLASSES, (size,), generator=self.generator)
        return torch.multinomial(torch.tensor(self.shares), size, True, generator=self.generator)

    def batch(self, size: int) -> Batch:
        raise NotImplementedError


class Clusters(Data):
    """Points around a centre for each class."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.centres = self.normal(CLASSES, FEATURES)

    def batch(self, size: int) -> Batch:
        y = self.classes(size)
        return self.centres[y] + 0.8 * self.normal(size, FEATURES), y


class Images(Data):
    """A template for each class under noise, normalised."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.templates = self.normal(CLASSES, 1, SIDE, SIDE)

    def batch(self, size: int) -> Batch:
        y = self.classes(size)
        return (self.templates[y] + self.normal(size, 1, SIDE, SIDE)) / 2**0.5, y


class Sentences(Data):
    """Sentences of common tokens and tokens of one class, padded to one length."""

    def batch(self, size: int) -> Batch:
        y = self.classes(size)
        own = 1 + 5 * y[:, None] + self._whole(5, size)
        common = 1 + 5 * CLASSES + self._whole(TOKENS - 5 * CLASSES - 1, size)
        x = torch.where(self.normal(size, LENGTH) < -0.4, own, common)
        lengths = torch.randint(LENGTH // 2, LENGTH + 1, (size, 1), generator=self.generator)
        return torch.where(torch.arange(LENGTH) < lengths, x, PADDING), y

    def _whole(self, end: int, size: int) -> Tensor:
        return torch.randint(end, (size, LENGTH), generator=self.generator)


class Waves(Data):
    """Noisy waves whose frequency is the class."""

    def batch(self, size: int) -> Batch:
        y = self.classes(size)
        phase = 6.28 * torch.rand(size, 1, generator=self.generator)
        wave = torch.sin(phase + 0.35 * (1 + y[:, None]) * torch.arange(20.0))
        return (wave + 0.1 * self.normal(size, 20))[:, :, None], y


class Lines(Data):
    """A linear function under noise."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.slopes = self.normal(FEATURES, 1)

    def batch(self, size: int) -> Batch:
        x = self.normal(size, FEATURES)
        return x, x @ self.slopes + 0.1 * self.normal(size, 1)


class Patterns(Data):
    """Mixtures of a few patterns, for an autoencoder."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.patterns = self.normal(4, 32) / 2

    def batch(self, size: int) -> Batch:
        x = self.normal(size, 4) @ self.patterns + 0.05 * self.normal(size, 32)
        return x, x


def perceptron(activation: Callable[[], nn.Module], widths: Tuple[int, ...]) -> nn.Module:
    """Layers `linear<i>`, each but the last followed by its activation."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    name = activation.__name__.lower()
    for i, (fan_in, fan_out) in enumerate(zip(widths, widths[1:])):
        layers[f"linear{i}"] = nn.Linear(fan_in, fan_out)
        if i + 2 < len(widths):
            layers[f"{name}{i}"] = activation()
    return nn.Sequential(layers)


class ConvNet(nn.Module):
    """Convolutions with batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1, self.relu1 = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.conv2, self.norm2, self.relu2 = nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        self.head = nn.Linear(8 * 3 * 3, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu1(self.norm1(self.conv1(x))))
        return self.head(self.relu2(self.norm2(self.conv2(x))).flatten(1))


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2, self.relu2 = nn.BatchNorm2d(channels), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu1(self.norm1(self.conv1(x)))
        return self.relu2(x + self.norm2(self.conv2(y)))


class ResidualNet(nn.Module):
    """Convolutions with residual connections."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.relu = nn.Conv2d(1, 6, 3, stride=2), nn.ReLU()
        self.block1, self.block2 = ResidualBlock(6), ResidualBlock(6)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.head = nn.Linear(6 * 4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.block2(self.block1(self.relu(self.stem(x))))
        return self.head(self.pool(x).flatten(1))


class BagOfWords(nn.Module):
    """A classifier of the mean embedding of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, 16, padding_idx=PADDING)
        self.linear, self.relu = nn.Linear(16, 32), nn.ReLU()
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.relu(self.linear(self.embedding(x).mean(1))))


class Transformer(nn.Module):
    """One layer of attention over tokens and their positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, 16, padding_idx=PADDING)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, 16))
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.query, self.key, self.value = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.expand, self.relu, self.shrink = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.places
        y = self.norm1(x)
        scores = self.query(y) @ self.key(y).transpose(1, 2) / 4
        scores = scores.masked_fill((tokens == PADDING)[:, None], -1e4)
        x = x + scores.softmax(-1) @ self.value(y)
        x = x + self.shrink(self.relu(self.expand(self.norm2(x))))
        return self.head(x.mean(1))


class Recurrent(nn.Module):
    """A recurrent net over time, with a classifier of its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.GRU(1, 24, batch_first=True)
        self.linear, self.tanh = nn.Linear(24, 24), nn.Tanh()
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.recurrent(x)
        return self.head(self.tanh(self.linear(states[:, -1])))


class Autoencoder(nn.Module):
    """An encoder and a decoder with a bottleneck between them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = perceptron(nn.ReLU, (32, 32, 6))
        self.decoder = perceptron(nn.ReLU, (6, 32, 32))

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


@dataclass(frozen=True)
class Architecture:
    """A kind of model.

    Attributes
    ----------
    model, data, loss : callable
        Create the model, its data and its loss.
    learning_rate : float
        A learning rate with which it learns well, for `optimizer`.
    has : set of str
        Its parts and data, from "relu", "tanh", "dense", "linear", "images", "tokens" and
        "classes"; also "deep" if it has too many layers to learn.
    """

    name: str
    model: Callable[[], nn.Module]
    data: Callable[[int], Data]
    loss: Callable[[], nn.Module]
    learning_rate: float
    has: FrozenSet[str]
    optimizer: Any = torch.optim.SGD


def _architecture(
    name: str, model: Any, data: Any, rate: float, has: str, **more: Any
) -> Architecture:
    parts = frozenset(has.split())
    loss = nn.CrossEntropyLoss if "classes" in parts else nn.MSELoss
    return Architecture(name, model, data, loss, rate, parts, **more)


ADAM = {"optimizer": torch.optim.Adam}
DEEP = (FEATURES, *[24] * 9, CLASSES)

TUNING = [
    _architecture(
        "tanh_mlp", lambda: perceptron(nn.Tanh, (FEATURES, 32, 32, 32, CLASSES)), Clusters, 0.05,
        "tanh dense classes",
    ),
    _architecture("conv_net", ConvNet, Images, 0.05, "relu images classes"),
    _architecture("bag_of_words", BagOfWords, Sentences, 0.02, "relu tokens classes", **ADAM),
    _architecture("regression", lambda: nn.Linear(FEATURES, 1), Lines, 0.02, "linear"),
    _architecture(
        "deep_relu", lambda: perceptron(nn.ReLU, (FEATURES, *[32] * 5, CLASSES)), Clusters, 0.003,
        "relu dense classes", **ADAM,
    ),
    _architecture("deep_sigmoid", lambda: perceptron(nn.Sigmoid, DEEP), Clusters, 0.05,
                  "deep classes"),
]
HELD_OUT = [
    _architecture(
        "relu_mlp", lambda: perceptron(nn.ReLU, (FEATURES, 40, 40, 40, CLASSES)), Clusters, 0.05,
        "relu dense classes",
    ),
    _architecture(
        "wide_tanh", lambda: perceptron(nn.Tanh, (FEATURES, 64, 64, 64, CLASSES)), Clusters, 0.003,
        "tanh dense classes", **ADAM,
    ),
    _architecture("residual_net", ResidualNet, Images, 0.05, "relu images classes"),
    _architecture("transformer", Transformer, Sentences, 0.005, "relu tokens classes", **ADAM),
    _architecture("recurrent", Recurrent, Waves, 0.01, "tanh classes", **ADAM),
    _architecture("autoencoder", Autoencoder, Patterns, 0.01, "relu", **ADAM),
    _architecture(
        "logistic_regression", lambda: nn.Linear(FEATURES, CLASSES), Clusters, 0.05,
        "linear classes",
    ),
    _architecture(
        "deep_sigmoid_encoder", lambda: perceptron(nn.Sigmoid, (32, *[20] * 7, 32)), Patterns, 0.05,
        "deep",
    ),
]
