"""What most of the PyTorch trainings share: batches, the usual loop, small networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


def tensors(*arrays: np.ndarray) -> tuple[Tensor, ...]:
    """Arrays as tensors."""
    return tuple(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays)


class Batches:
    """Draws batches of aligned tensors, epoch by epoch."""

    def __init__(self, seed: int, size: int, *columns: Tensor, shuffle: bool = True) -> None:
        self.columns, self.size, self.shuffle = columns, size, shuffle
        self.generator = torch.Generator().manual_seed(seed)
        self.order = torch.empty(0, dtype=torch.long)

    def __call__(self) -> tuple[Tensor, ...]:
        count = len(self.columns[0])
        if len(self.order) < self.size:
            shuffled = torch.randperm(count, generator=self.generator)
            self.order = shuffled if self.shuffle else torch.arange(count)
        picked, self.order = self.order[: self.size], self.order[self.size :]
        return tuple(column[picked] for column in self.columns)


def run(
    record: Any,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: int,
    loss_of: Callable[[], Tensor],
    *,
    criterion: nn.Module | None = None,
    schedule: Any = None,
    clip: float | None = None,
    name: str = "loss",
    late: bool = False,
    validate: Callable[[], Tensor] | None = None,
    after: Callable[[], None] | None = None,
) -> None:
    """The usual loop; late logs loss.item() after the step."""
    watched = (model, optimizer) if criterion is None else (model, optimizer, criterion)
    with record(*watched) as hook:
        for step in range(1, steps + 1):
            loss = loss_of()
            if not late:
                hook.record_tensor_value(name, loss)
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if schedule is not None:
                schedule.step()
            if after is not None:
                after()
            if late:
                hook.record_tensor_value(name, loss.item())
            hook.end_step()
            if validate is not None and step % 40 == 0:
                evaluate(record, hook, model, validate)


def evaluate(record: Any, hook: Any, model: nn.Module, validate: Callable[[], Tensor]) -> None:
    """Log the validation loss, in eval mode."""
    training = model.training
    model.eval()
    with record.evaluation(hook), torch.no_grad():
        hook.record_tensor_value("val_loss", validate())
    model.train(training)


def mlp(*sizes: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers with activations between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


def small_cnn(channels: int, kinds: int, norm: bool = True) -> nn.Sequential:
    """Three convolutions, pooled."""
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.BatchNorm2d(16) if norm else nn.Identity(),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.BatchNorm2d(32) if norm else nn.Identity(),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, kinds),
    )


class Attention(nn.Module):
    """Self-attention of several heads."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        parts = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, attn_mask=mask, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """A transformer's block, normalised before its parts."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.mlp = mlp(width, 4 * width, width, activation=nn.GELU)

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = True) -> Tensor:
        x = x + self.attention(self.norm1(x), mask, causal)
        return x + self.mlp(self.norm2(x))


class TinyGPT(nn.Module):
    """A small language model with tied embeddings."""

    def __init__(self, vocabulary: int, width: int = 48, depth: int = 2, length: int = 64) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor, causal: bool = True) -> Tensor:
        x = self.tokens(tokens) + self.places[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, None, causal)
        return self.head(self.norm(x))


def next_token(model: nn.Module, tokens: Tensor) -> Tensor:
    """The cross-entropy of the next tokens."""
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The share of right answers, in eval mode."""
    model.eval()
    right = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return right
