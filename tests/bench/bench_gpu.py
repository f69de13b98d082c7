"""Measures what the PyTorch hook costs on a GPU: statistics of all weights and gradients each step.

The model has the shape of GPT-2 with 124 million parameters, in bfloat16, on random tokens.  Steps
with the hook and without take turns: steps in a row, of which the host launches one while the GPU
computes another, and steps whose loss the script reads, as most do.  A first pass runs with
`torch.cuda.set_sync_debug_mode("error")`, which raises where anything waits for the GPU.  Without
a GPU, a tiny model is recorded on the CPU by the same path, and nothing is measured.
"""

from __future__ import annotations

import importlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Tuple

import smdebug.pytorch as smd
import torch
from bench_rules import rule_set_of
from smdebug.pytorch.device_statistics import reduce_tensors
from torch import nn
from torch.nn import functional

WARM_UP = 10
ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "15"))
STEPS = 10  # in a turn
LEAD = 4  # steps before a turn, until the host is ahead
GOAL = 0.01


class Shape(NamedTuple):
    words: int
    length: int
    width: int
    layers: int
    heads: int
    batch: int


GPT2 = Shape(50257, 1024, 768, 12, 12, 8)
TINY = Shape(64, 16, 32, 2, 2, 2)


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.attention(self.norm_1(x)).chunk(3, dim=-1)
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.norm_2(x))))


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.words, shape.width)
        self.places = nn.Embedding(shape.length, shape.width)
        self.layers = nn.Sequential(*(Layer(shape) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width)
        self.register_buffer("numbers", torch.arange(shape.length))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.layers(self.words(words) + self.places(self.numbers))
        return functional.linear(self.norm(x), self.words.weight)


class Training:
    """A model that learns random words."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        torch.manual_seed(1)
        self.model = Model(shape).to(device, torch.bfloat16)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **fused(device))
        words = torch.randint(shape.words, (shape.batch, shape.length + 1), device=device)
        self.words, self.next_words = words[:, :-1], words[:, 1:]

    def step(self) -> torch.Tensor:
        """Returns the loss."""
        self.optimizer.zero_grad()
        logits = self.model(self.words).flatten(0, 1)
        loss = functional.cross_entropy(logits, self.next_words.flatten())
        loss.backward()
        self.optimizer.step()
        return loss

    def parameters(self) -> int:
        return sum(each.numel() for each in self.model.parameters())


def fused(device: torch.device) -> Any:
    return {"fused": True} if device.type == "cuda" else {}


def hook_for(folder: Path) -> smd.Hook:
    return smd.Hook(
        str(folder),
        include_collections=["weights", "biases", "gradients"],
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=smd.ReductionConfig(["min", "max", "mean", "std"], norms=["l1", "l2"]),
        raise_errors=True,
    )


def in_a_row(training: Training, steps: int) -> float:
    """Returns the time of a step, if the host need not wait."""
    for _ in range(LEAD):
        training.step()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(steps):
        training.step()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3 / steps


def one_by_one(training: Training, steps: int) -> float:
    """Returns the time of a step, if the script reads the loss of each."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        training.step().item()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps


def check_that_nothing_waits(training: Training) -> None:
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(STEPS):
            training.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")


class Times(NamedTuple):
    """Times of steps without and with the hook."""

    without: List[float]
    with_hook: List[float]

    @property
    def share(self) -> float:
        """The hook's share of a step."""
        return statistics.median(b / a - 1 for a, b in zip(self.without, self.with_hook))

    def __str__(self) -> str:
        return f"{statistics.median(self.without) * 1e3:.2f} ms, the hook's share {self.share:.2%}"


class Measured(NamedTuple):
    """Times of steps, and the share of additional memory."""

    in_a_row: Times
    one_by_one: Times
    memory: float


def measure(folder: Path, rules: bool) -> Measured:
    device = torch.device("cuda")
    alone, recorded = Training(GPT2, device), Training(GPT2, device)
    with hook_for(folder) as hook:
        if rules:
            hook.attach(rule_set_of("calibrated"))
        hook.register_module(recorded.model)
        hook.register_optimizer(recorded.optimizer)
        peaks = []
        # Both have their gradients and states before the peak of one is measured.
        for training in (alone, recorded):
            in_a_row(training, WARM_UP)
        for training in (alone, recorded):
            torch.cuda.reset_peak_memory_stats()
            in_a_row(training, WARM_UP)
            peaks.append(torch.cuda.max_memory_allocated())
        check_that_nothing_waits(recorded)
        found = []
        for way in (in_a_row, one_by_one):
            turns = [(way(alone, STEPS), way(recorded, STEPS)) for _ in range(ROUNDS)]
            found.append(Times([each for each, _ in turns], [each for _, each in turns]))
        assert hook.failures == 0
    return Measured(*found, peaks[1] / peaks[0] - 1)


def bandwidths() -> Tuple[float, float]:
    """Returns bytes a second that the kernel reads, and that a copy in memory reads and writes."""
    given = [torch.randn(1 << 24, device="cuda", dtype=torch.bfloat16) for _ in range(64)]
    size = sum(each.nbytes for each in given)
    target = torch.empty_like(given[0])
    kernel = importlib.import_module("smdebug.pytorch.device_kernel")

    def reduce() -> None:
        reduce_tensors(given, [0] * len(given), False, kernel)

    def copy() -> None:
        for each in given:
            target.copy_(each)

    return size / median_seconds(reduce), 2 * size / median_seconds(copy)


def median_seconds(operation: Callable[[], None]) -> float:
    times = []
    for number in range(23):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        operation()
        end.record()
        torch.cuda.synchronize()
        if number >= 3:
            times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def report(folder: Path) -> bool:
    """Prints the figures.  Returns True if the goal is reached."""
    count = Training(GPT2, torch.device("cpu")).parameters() / 1e6
    name = torch.cuda.get_device_name()
    print(f"{name}, PyTorch {torch.__version__}, {count:.0f} M parameters in bfloat16")
    read, copied = bandwidths()
    print(f"the kernel reads {read / 1e9:.0f} GB/s, {read / copied:.0%} of what a copy moves")
    print("statistics of all weights and gradients, each step; nothing waited for the GPU")
    found = measure(folder / "figures", rules=False)
    print(f"steps in a row: {found.in_a_row}; to reach: <= {GOAL:.0%}")
    print(f"steps whose loss is read: {found.one_by_one}; memory at the peak: {found.memory:+.2%}")
    judged = measure(folder / "rules", rules=True)
    print("with all rules, each step")
    print(f"steps in a row: {judged.in_a_row}")
    print(f"steps whose loss is read: {judged.one_by_one}; memory: {judged.memory:+.2%}")
    return found.in_a_row.share <= GOAL


def try_on_the_host(folder: Path) -> None:
    """Records a tiny model by the path of devices."""
    os.environ["SMDEBUG_TEST_DEVICE_PATH"] = "1"
    training = Training(TINY, torch.device("cpu"))
    with hook_for(folder) as hook:
        hook.attach(rule_set_of("calibrated"))
        hook.register_module(training.model)
        hook.register_optimizer(training.optimizer)
        for _ in range(3):
            training.step()
        assert hook.failures == 0
    trial = smd.create_trial(str(folder))
    names = trial.tensor_names(collection="gradients")
    assert len(names) == len(list(training.model.parameters())), names
    assert all(trial.tensor(name).steps() == [0, 1, 2] for name in names)
    print("no GPU: nothing was measured; the path of devices has recorded a tiny model on the CPU")


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-"))
    try:
        if torch.cuda.is_available():
            return 0 if report(folder / "trial") else 1
        try_on_the_host(folder / "trial")
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
