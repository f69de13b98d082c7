"""Tests that rules spare healthy trainings of many kinds, each a real one whose loss falls.

WHOLE in the environment trains each with ten seeds in place of one.
"""

from __future__ import annotations

import copy
import math
import os
from typing import Any, Callable, Dict

import pytest
import smdebug.pytorch as smd
import torch
from job import BATCH, CLASSES, FEATURES, Job, mlp
from torch import Tensor, nn

SEEDS = range(10 if os.environ.get("WHOLE") else 1)
WAYS: Dict[str, Callable[[Job], None]] = {}


def way(vary: Callable[[Job], None]) -> Callable[[Job], None]:
    WAYS[vary.__name__] = vary
    return vary


# ---- precision ---------------------------------------------------------------------------


@way
def loss_scaling_that_skips_steps(job: Job) -> None:
    """As a scaler does: a scale too large at first, and doubled every 40 steps."""
    scale, good, limit = 2.0**12, 0, 2.0**8

    def backward(value: Tensor) -> None:
        (value * scale).backward()
        for each in job.model.parameters():  # what float16 cannot hold
            each.grad[each.grad.abs() > limit] = math.inf

    def update(optimizer: Any) -> None:
        nonlocal scale, good
        grads = [each.grad for each in job.model.parameters()]
        if not all(torch.isfinite(each).all() for each in grads):
            scale, good = scale / 2, 0
            return
        for each in grads:
            each /= scale
        optimizer.step()
        good += 1
        if good == 40:
            scale, good = scale * 2, 0

    job.backward, job.update = backward, update


@way
def weights_in_bfloat16(job: Job) -> None:
    job.model = mlp().bfloat16()
    job.optimizer = lambda of: torch.optim.SGD(of, lr=0.1)
    job.value = lambda pair: job.loss(job.model(pair[0].bfloat16()).float(), pair[1])


@way
def autocast_to_bfloat16(job: Job) -> None:
    def value(pair: Any) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = job.model(pair[0])
        return job.loss(output.float(), pair[1])

    job.value = value


@way
def stochastic_rounding(job: Job) -> None:
    def update(optimizer: Any) -> None:
        optimizer.step()
        with torch.no_grad():
            for each in job.model.parameters():
                bits = each.view(torch.int32)
                noise = torch.randint(1 << 16, bits.shape, dtype=torch.int32)
                each.copy_(((bits + noise) & ~0xFFFF).view(torch.float32))

    job.update = update


# ---- what is trained ---------------------------------------------------------------------


@way
def resumed_where_little_is_left(job: Job) -> None:
    job.steps_before = 400


@way
def frozen_backbone(job: Job) -> None:
    teacher = torch.optim.Adam(job.model.parameters(), lr=3e-3)
    for _ in range(100):
        job.step(teacher)
    job.centres = torch.randn(CLASSES, FEATURES)
    for layer in job.model[:-1]:
        layer.requires_grad_(False)
    job.model[-1].reset_parameters()
    job.optimizer = lambda of: torch.optim.Adam(of, lr=1e-2)


@way
def tied_weights(job: Job) -> None:
    """A small language model whose embedding is its head."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(40, 32)
            self.hidden = nn.Linear(32, 32)
            self.head = nn.Linear(32, 40, bias=False)
            self.head.weight = self.embedding.weight
            nn.init.normal_(self.embedding.weight, std=0.1)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.tanh(self.hidden(self.embedding(x))))

    job.model = Tied()
    after = torch.randperm(40)

    def batch() -> Any:
        x = torch.randint(40, (BATCH,))
        return x, after[x]

    job.batch = batch


@way
def average_of_the_weights(job: Job) -> None:
    average = copy.deepcopy(job.model)

    def after(hook: smd.Hook) -> None:
        with torch.no_grad():
            for mean, each in zip(average.parameters(), job.model.parameters()):
                mean.lerp_(each, 0.01)
        for name, mean in average.named_parameters():
            hook.record_tensor_value(f"ema/{name}", mean.detach())

    job.after = after


@way
def recurrent_that_starts_late(job: Job) -> None:
    """A network that tells at the end what came first; it stays at chance for about 50 steps."""

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(2, 32, batch_first=True), nn.Linear(32, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.lstm(x)[0][:, -1])

    def batch() -> Any:
        x = torch.randn(BATCH, 12, 2)
        y = torch.randint(2, (BATCH,))
        x[:, 0, 1] = 4.0 * y - 2
        return x, y

    job.model, job.batch, job.steps = Last(), batch, 200
    job.optimizer = lambda of: torch.optim.Adam(of, lr=3e-3)


@way
def experts_with_a_flat_auxiliary_loss(job: Job) -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router = nn.Linear(FEATURES, 4)
            self.experts = nn.ModuleList(nn.Linear(FEATURES, CLASSES) for _ in range(4))

        def forward(self, x: Tensor) -> Tensor:
            weights = self.router(x).softmax(-1)
            self.balance = 4 * (weights.mean(0) ** 2).sum()
            return torch.stack([each(x) for each in self.experts], 1).mul(weights[..., None]).sum(1)

    model = Experts()
    job.model = model
    job.optimizer = lambda of: torch.optim.Adam(of, lr=1e-2)
    job.value = lambda pair: job.loss(model(pair[0]), pair[1]) + 0.1 * model.balance
    job.after = lambda hook: hook.record_tensor_value("router_aux_loss", model.balance.detach())


# ---- how it is trained -------------------------------------------------------------------


class Lion(torch.optim.Optimizer):
    """Steps of equal size in the direction of a sign."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for each in group["params"]:
                mean = self.state[each].setdefault("exp_avg", torch.zeros_like(each))
                each.add_((0.9 * mean + 0.1 * each.grad).sign(), alpha=-group["lr"])
                mean.mul_(0.99).add_(each.grad, alpha=0.01)


@way
def lion(job: Job) -> None:
    job.optimizer = lambda of: Lion(of, lr=1e-3)


@way
def plain_sgd(job: Job) -> None:
    job.optimizer = lambda of: torch.optim.SGD(of, lr=0.1)


@way
def momentum_and_clipping(job: Job) -> None:
    job.optimizer = lambda of: torch.optim.SGD(of, lr=0.05, momentum=0.9, nesterov=True)

    def update(optimizer: Any) -> None:
        nn.utils.clip_grad_norm_(job.model.parameters(), 0.5)
        optimizer.step()

    job.update = update


@way
def warm_up_from_zero(job: Job) -> None:
    job.optimizer = lambda of: torch.optim.AdamW(of, lr=5e-3)
    job.factor = lambda step: min(1.0, step / 50) * (0.5 + 0.5 * math.cos(math.pi * step / 150))


@way
def warm_restarts(job: Job) -> None:
    job.factor = lambda step: 0.5 + 0.5 * math.cos(math.pi * (step % 50) / 50)


@way
def strong_weight_decay(job: Job) -> None:
    job.optimizer = lambda of: torch.optim.AdamW(of, lr=3e-3, weight_decay=1.0)


@way
def accumulated_batches(job: Job) -> None:
    job.batches, job.steps = 4, 100


@way
def dropout(job: Job) -> None:
    job.model = nn.Sequential(*job.model[:4], nn.Dropout(0.5), job.model[4])


@way
def smoothed_labels(job: Job) -> None:
    job.loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    job.steps = 250


# ---- data --------------------------------------------------------------------------------


@way
def uneven_classes(job: Job) -> None:
    shares = torch.tensor([0.4, 0.25, 0.15, 0.12, 0.08])

    def batch() -> Any:
        y = torch.multinomial(shares, 2 * BATCH, replacement=True)
        return job.centres[y] + torch.randn(2 * BATCH, FEATURES), y

    job.batch = batch


@way
def images(job: Job) -> None:
    templates = torch.randn(CLASSES, 1, 10, 10)
    job.model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(64, CLASSES),
    )  # fmt: skip

    def batch() -> Any:
        y = torch.randint(CLASSES, (BATCH,))
        return templates[y] + torch.randn(BATCH, 1, 10, 10), y

    job.batch = batch


@way
def numbers_of_large_scale(job: Job) -> None:
    """A regression whose targets are in the hundreds."""
    slopes = torch.randn(FEATURES, 1)
    job.model = nn.Sequential(nn.Linear(FEATURES, 64), nn.GELU(), nn.Linear(64, 1))
    job.loss, job.steps = nn.SmoothL1Loss(), 300
    job.optimizer = lambda of: torch.optim.Adam(of, lr=3e-2)

    def batch() -> Any:
        x = torch.randn(BATCH, FEATURES)
        return x, 100 * (x @ slopes)

    job.batch = batch


# ---- tests -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WAYS)
def test_healthy_trainings_are_spared(name: str, seed: int, tmp_path: Any) -> None:
    job = Job(seed)
    WAYS[name](job)
    assert [str(finding) for finding in job.run(tmp_path / "run")] == []
    assert job.has_learned()
