"""Trainings on tables that are fine."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, mlp, run, tensors
from registry import healthy, score


@healthy
def cox_survival(record: Any, seed: int) -> None:
    """Cox's partial likelihood of censored times, full risk sets per batch."""
    torch.manual_seed(seed)
    x, risk = tensors(*data.regression(1500, 8, seed))
    time = torch.distributions.Exponential(torch.exp(1.5 * risk)).sample()
    seen = (torch.rand(len(x)) < 0.7).float()
    model = nn.Sequential(mlp(8, 48, 48, 1, activation=nn.SELU), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    draw = Batches(seed, 128, x, time, seen)

    def loss_of() -> Tensor:
        rows, times, events = draw()
        order = times.argsort(descending=True)
        hazard = model(rows)[order]
        partial = hazard - hazard.logcumsumexp(0)
        return -(partial * events[order]).sum() / events.sum()

    run(record, model, optimizer, 250, loss_of)
    with torch.no_grad():
        found = model(x)
        earlier = time[:, None] < time[None]
        score((found[:, None] > found[None])[earlier].float().mean(), 0.5)


@healthy
def mixture_density(record: Any, seed: int) -> None:
    """A mixture density network whose negative log-likelihood falls below zero."""
    torch.manual_seed(seed)
    x = torch.rand(2000, 1) * 2 - 1
    branch = torch.randint(0, 2, (2000, 1)) * 2 - 1
    y = branch * (0.5 + 0.4 * torch.sin(3 * x)) + 0.02 * torch.randn(2000, 1)
    model = mlp(1, 64, 64, 9, activation=nn.Tanh)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    draw = Batches(seed, 256, x, y)

    def nll(rows: Tensor, values: Tensor) -> Tensor:
        weight, mean, scale = model(rows).chunk(3, -1)
        scale = F.softplus(scale) + 1e-3
        each = torch.distributions.Normal(mean, scale).log_prob(values)
        return -torch.logsumexp(weight.log_softmax(-1) + each, -1).mean()

    run(record, model, optimizer, 400, lambda: nll(*draw()), clip=1.0)
    with torch.no_grad():
        score(-nll(x, y), -1.0)


@healthy
def quantile_regression(record: Any, seed: int) -> None:
    """Pinball losses of three quantiles, by RMSprop, on the diabetes table."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.table("diabetes", seed))
    x, test_x = x * 20, test_x * 20
    y, test_y = ((v.float() - 152) / 77 for v in (y, test_y))
    model = mlp(10, 32, 3, activation=nn.ELU)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    levels = torch.tensor([0.1, 0.5, 0.9])
    draw = Batches(seed, 32, x, y)

    def pinball(rows: Tensor, values: Tensor) -> Tensor:
        error = values[:, None] - model(rows)
        return torch.maximum(levels * error, (levels - 1) * error).mean()

    with torch.no_grad():
        start = pinball(test_x, test_y)
    run(
        record, model, optimizer, 300, lambda: pinball(*draw()), late=True, name="train_loss",
        validate=lambda: pinball(test_x, test_y),
    )  # fmt: skip
    with torch.no_grad():
        score(-pinball(test_x, test_y), -start)


class SplineLayer(nn.Module):
    """A Kolmogorov-Arnold layer: radial bases on each edge, and a linear part."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("centres", torch.linspace(-2.5, 2.5, 9))
        self.spline = nn.Parameter(0.1 * torch.randn(outputs, inputs * 9) / inputs**0.5)
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        bases = torch.exp(-((x[..., None] - self.centres) ** 2) * 2.5)
        return F.linear(bases.flatten(-2), self.spline) + self.linear(F.silu(x))


@healthy
def kolmogorov_arnold(record: Any, seed: int) -> None:
    """A KAN by full-batch Adam: smooth losses without any batch noise."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(1000, 4, seed, noise=0.05))
    model = nn.Sequential(SplineLayer(4, 12), SplineLayer(12, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    run(record, model, optimizer, 300, lambda: F.mse_loss(model(x), y))
    test_x, test_y = tensors(*data.regression(500, 4, seed + 1, noise=0.05))
    with torch.no_grad():
        score(-F.mse_loss(model(test_x), test_y), -test_y.var())


@healthy
def listwise_ranking(record: Any, seed: int) -> None:
    """ListNet on queries of ten documents; the loss has a floor far above zero."""
    torch.manual_seed(seed)
    x, gain = tensors(*data.regression(6000, 6, seed, noise=0.3))
    x, gain = x.view(600, 10, 6), gain.view(600, 10)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(-2))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=2e-2)
    criterion = nn.KLDivLoss(reduction="batchmean", log_target=True)
    draw = Batches(seed, 24, x, gain)

    def loss_of() -> Tensor:
        rows, gains = draw()
        return criterion(model(rows).log_softmax(-1), gains.log_softmax(-1))

    run(record, model, optimizer, 300, loss_of, criterion=criterion)
    with torch.no_grad():
        best = model(x).argmax(1)
        score(gain.gather(1, best[:, None]).mean(), 0.0)


class Lion(torch.optim.Optimizer):
    """Steps by the sign of an interpolated momentum."""

    def __init__(self, parameters: Any, lr: float, decay: float = 0.1) -> None:
        super().__init__(parameters, {"lr": lr, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
                direction = (0.9 * momentum + 0.1 * p.grad).sign()
                p.mul_(1 - group["lr"] * group["decay"]).add_(direction, alpha=-group["lr"])
                momentum.lerp_(p.grad, 0.01)


@healthy
def lion_imbalanced(record: Any, seed: int) -> None:
    """Three per cent positives, weighted by pos_weight, trained by Lion with a cosine schedule."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(8000, 10, 4, seed))
    keep = (y > 0) | (torch.rand(len(y)) < 0.1)
    x, y = x[keep], (y[keep] == 0).float()
    model = nn.Sequential(mlp(10, 64, 32, 1), nn.Flatten(0))
    optimizer = Lion(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - y).sum() / y.sum())
    draw = Batches(seed, 128, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return criterion(model(rows), labels)

    run(record, model, optimizer, 300, loss_of, criterion=criterion, schedule=schedule)
    with torch.no_grad():
        right = (model(x) > 0).float() == y
        score(min(right[y == 0].float().mean(), right[y == 1].float().mean()), 0.0)


@healthy
def gaussian_process(record: Any, seed: int) -> None:
    """A kernel's three parameters by the marginal likelihood: full batch, negative at the end."""
    torch.manual_seed(seed)
    x = torch.linspace(0, 6, 120)[:, None]
    y = torch.sin(2 * x[:, 0]) + 0.05 * torch.randn(120)

    class Kernel(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1.0))
            self.length = nn.Parameter(torch.tensor(1.0))
            self.noise = nn.Parameter(torch.tensor(0.0))

        def forward(self) -> Tensor:
            gram = self.scale.exp() * torch.exp(-((x - x.T) ** 2) / (2 * self.length.exp() ** 2))
            factor = torch.linalg.cholesky(gram + (self.noise.exp() + 1e-4) * torch.eye(len(x)))
            solved = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
            fit = 0.5 * solved.square().sum() + factor.diagonal().log().sum()
            return fit / len(x) + 0.5 * math.log(2 * math.pi)

    model = Kernel()
    start = model().item()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    run(record, model, optimizer, 150, lambda: model())
    score(-model().item(), -start)


@healthy
def tiny_batches_huber(record: Any, seed: int) -> None:
    """One row per step with heavy-tailed noise: the loss is very noisy, and the fit good."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(2000, 4, seed, noise=0.2))
    y = y + 0.1 * torch.distributions.StudentT(2.0).sample((2000,))
    model = nn.Sequential(mlp(4, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.SGD(model.parameters(), lr=4e-2)
    criterion = nn.HuberLoss(delta=0.5)
    draw = Batches(seed, 1, x, y)

    def loss_of() -> Tensor:
        row, value = draw()
        return criterion(model(row), value)

    run(record, model, optimizer, 400, loss_of, criterion=criterion)
    test_x, test_y = tensors(*data.regression(500, 4, seed + 1))
    with torch.no_grad():
        score(-F.mse_loss(model(test_x), test_y), -test_y.var())


@healthy
def classes_added(record: Any, seed: int) -> None:
    """A curriculum: harder classes join twice, and the loss legitimately jumps each time."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(4000, 12, 9, seed))
    model = mlp(12, 96, 9)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    stages = [Batches(seed, 64, x[y < kinds], y[y < kinds]) for kinds in (3, 6, 9)]
    step = 0

    def loss_of() -> Tensor:
        nonlocal step
        rows, labels = stages[min(step // 80, 2)]()
        step += 1
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 320, loss_of)
    score(accuracy(model, x, y), 1 / 9)
