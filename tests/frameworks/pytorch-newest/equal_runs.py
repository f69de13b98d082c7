"""Trains a small transformer drawn from a seed, in ways that are equal but for rounding, or with a fault.

usage: python equal_runs.py FOLDER SEED [WAY...]

Records FOLDER/<way>; without ways, all of them.  Ways that need two processes fork them, and run first:
a process that has trained cannot be forked.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import smdebug.pytorch as smd
import torch
from ranks import run_ranks
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

HEALTHY = ("again", "noise", "accumulated", "reordered", "data_parallel", "tensor_parallel", "bfloat16")
FAULTS = (
    "transposed", "initialised", "scale", "not_averaged", "dropout", "bit_flip", "epsilon",
    "loss_scale", "left_out",
)  # fmt: skip
TWO_PROCESSES = ("data_parallel", "tensor_parallel", "not_averaged")


@dataclass
class Shape:
    """A model and its training, drawn from a seed."""

    width: int
    heads: int
    layers: int
    words: int
    length: int
    batch: int
    steps: int
    rate: float
    optimizer: str
    layer: int  # of the fault
    fault_step: int

    @classmethod
    def drawn(cls, seed: int) -> Shape:
        random = Random(seed)
        heads = random.choice([2, 4])
        layers = random.randint(2, 4)
        return cls(
            width=heads * random.choice([8, 16]), heads=heads, layers=layers,
            words=random.randint(30, 90), length=random.randint(6, 16), batch=8,
            steps=4, rate=random.choice([3e-4, 1e-3, 3e-3]),
            optimizer=random.choice(["SGD", "Adam", "AdamW"]),
            layer=random.randrange(layers), fault_step=random.randint(1, 3),
        )  # fmt: skip


class Attention(nn.Module):
    """Causal attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.size = shape.width // shape.heads
        self.q, self.k, self.v, self.out = (nn.Linear(shape.width, shape.width) for _ in range(4))
        self.scale = self.size**-0.5

    def forward(self, x: Any) -> Any:
        q, k, v = (each(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for each in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) * self.scale
        mask = torch.ones(x.shape[1], x.shape[1]).tril() == 0
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and two linear layers, each after a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.up, self.down = nn.Linear(shape.width, 4 * shape.width), nn.Linear(4 * shape.width, shape.width)
        self.drop = nn.Dropout(0.0)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Model(nn.Module):
    """A language model."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(shape.words, shape.width), nn.Embedding(shape.length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.words)

    def forward(self, words: Any) -> Any:
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def expected(way: str, shape: Shape) -> tuple[int, str]:
    """Returns the step and the module that the comparison should name for a fault."""
    block = f"blocks.{shape.layer}"
    return {
        "transposed": (0, f"{block}.attention.out"),
        "initialised": (0, f"{block}.up"),
        "scale": (0, f"{block}.attention"),
        "not_averaged": (0, f"{block}.down"),
        "dropout": (0, f"{block}.drop"),
        "bit_flip": (shape.fault_step, f"{block}.attention.v"),
        "epsilon": (0, f"{block}.norm2"),
        "loss_scale": (0, "the loss"),
        "left_out": (1, f"{block}.attention.out"),
    }[way]


def plant(way: str, shape: Shape, model: Model) -> None:
    block = model.blocks[shape.layer]
    with torch.no_grad():
        if way == "transposed":
            block.attention.out.weight.copy_(block.attention.out.weight.t().clone())
        elif way == "initialised":
            nn.init.normal_(block.up.weight, std=0.02)
        elif way == "noise":
            for parameter in model.parameters():
                parameter.mul_(1 + (torch.rand_like(parameter) * 2 - 1) * 2**-23)
        elif way == "noise_bfloat16":
            for parameter in model.parameters():
                parameter.mul_(1 + (torch.rand_like(parameter) * 2 - 1) * 2**-8)
    if way == "scale":
        block.attention.scale = block.attention.size**-1.0
    elif way == "dropout":
        block.drop.p = 0.1
    elif way == "epsilon":
        block.norm2.eps = 1e-3


def split(way: str, shape: Shape, rank: int, batch: Any) -> list[Any]:
    """Returns this process's micro-batches."""
    if way == "accumulated":
        return list(batch.split(2))
    if way == "reordered":
        return [batch[torch.randperm(len(batch))]]
    if way in ("data_parallel", "not_averaged"):
        return [batch.chunk(2)[rank]]
    return [batch]


def parallel(way: str, model: Model) -> Any:
    if way == "tensor_parallel":
        mesh = init_device_mesh("cpu", (2,))
        for block in model.blocks:
            plan = {"q": ColwiseParallel(), "k": ColwiseParallel(), "v": ColwiseParallel(), "out": RowwiseParallel()}
            parallelize_module(block.attention, mesh, plan)
            parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        return model
    if way == "data_parallel":
        return DistributedDataParallel(model)
    return model


def average(shape: Shape, model: Model) -> None:
    """Averages the gradients over the processes, except those of one layer."""
    left_out = {id(each) for each in model.blocks[shape.layer].down.parameters()}
    for parameter in model.parameters():
        if id(parameter) not in left_out:
            distributed.all_reduce(parameter.grad)
            parameter.grad.div_(2)


def optimizer_of(way: str, shape: Shape, model: Model) -> Any:
    skipped = model.blocks[shape.layer].attention.out.weight if way == "left_out" else None
    parameters = [each for each in model.parameters() if each is not skipped]
    return getattr(torch.optim, shape.optimizer)(parameters, lr=shape.rate)


def train(folder: Path, seed: int, way: str, rank: int = 0) -> None:
    shape = Shape.drawn(seed)
    torch.manual_seed(seed)
    model = Model(shape)
    batches = torch.randint(shape.words, (shape.steps, shape.batch, shape.length + 1))
    plant(way, shape, model)
    trained = parallel(way, model)
    optimizer = optimizer_of(way, shape, model)
    collections = ["weights", "biases", "gradients"]
    hook = smd.Hook(
        str(folder / way), include_collections=collections, include_workers="all",
        save_config=smd.SaveConfig(save_interval=1), include_regex=r"^(?!loss/).*_(in|out)put_\d+$",
    )  # fmt: skip
    hook.register_module(trained)
    hook.register_optimizer(optimizer)
    for step, batch in enumerate(batches):
        if way == "bit_flip" and step == shape.fault_step:
            weight = model.blocks[shape.layer].attention.v.weight.data
            weight.view(torch.int32)[0, 0] ^= 1 << 30
        optimizer.zero_grad()
        parts = split(way, shape, rank, batch)
        for part in parts:
            with torch.autocast("cpu", torch.bfloat16, enabled=way == "bfloat16"):
                logits = trained(part[:, :-1])
            loss = cross_entropy(logits.float().flatten(0, 1), part[:, 1:].flatten())
            loss = loss / (2 if way == "loss_scale" else 1)
            hook.record_tensor_value("loss", loss)
            (loss / len(parts)).backward()
        if way == "not_averaged":
            average(shape, model)
        optimizer.step()
    hook.close()


def train_rank(folder: Path, seed: int, way: str, rank: int) -> None:
    torch.set_num_threads(1)
    meeting = f"file://{folder.resolve()}/meeting_{way}"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=2)
    train(folder, seed, way, rank)
    distributed.destroy_process_group()


def run(folder: Path, seed: int, way: str) -> None:
    """Records one training."""
    if way not in TWO_PROCESSES:
        train(folder, seed, way)
        return
    run_ranks(2, train_rank, folder, seed, way)


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    ways = sys.argv[3:] or ["trusted", "noise_bfloat16", *HEALTHY, *FAULTS]
    for way in sorted(ways, key=lambda way: way not in TWO_PROCESSES):
        run(folder, seed, way)
