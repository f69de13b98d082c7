"""Trainings on tables with a faulty twin each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, mlp, run, tensors
from registry import pair, score


def regression_sets(seed: int, noise: float = 0.1) -> tuple[Tensor, ...]:
    """Training and test rows with targets (N,)."""
    train, test = data.regression(2000, 6, seed, noise), data.regression(500, 6, seed + 1, noise)
    return tensors(*train, *test)


@torch.no_grad()
def fit_score(model: nn.Module, x: Tensor, y: Tensor) -> None:
    """Score the share of the variance explained."""
    model.eval()
    score(1 - F.mse_loss(model(x).view(-1), y) / y.var(), 0.0)


@pair(cause="prediction (N, 1) broadcast against target (N,)", severity="gross")
def broadcast_targets(record: Any, seed: int, faulty: bool) -> None:
    """A regression. Fault: MSE of (N, 1) and (N,), so that it learns the mean."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = mlp(6, 64, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return criterion(model(rows), values if faulty else values[:, None])

    run(record, model, optimizer, 300, loss_of, criterion=criterion)
    fit_score(model, test_x, test_y)


@pair(cause="features not scaled, in hundreds and in tenths", severity="gross")
def unscaled_features(record: Any, seed: int, faulty: bool) -> None:
    """The wine table. Fault: no standardisation; one column is in the hundreds."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.table("wine", seed))
    if not faulty:
        mean, std = x.mean(0), x.std(0)
        x, test_x = (x - mean) / std, (test_x - mean) / std
    model = mlp(13, 32, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=5e-3, momentum=0.9)
    draw = Batches(seed, 16, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 200, loss_of)
    score(accuracy(model, test_x, test_y), 0.4)


@pair(cause="learning rate far too high", severity="gross")
def rate_far_too_high(record: Any, seed: int, faulty: bool) -> None:
    """A classifier by Adam. Fault: 1.0 in place of 3e-3."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(2000, 10, 6, seed))
    test_x, test_y = tensors(*data.classes(500, 10, 6, seed + 1))
    model = mlp(10, 64, 64, 64, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0 if faulty else 3e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 250, loss_of)
    score(accuracy(model, test_x, test_y), 1 / 6)


@pair(cause="learning rate far too low", severity="gross")
def rate_far_too_low(record: Any, seed: int, faulty: bool) -> None:
    """A regression by AdamW. Fault: 1e-7 in place of 3e-3."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = nn.Sequential(mlp(6, 64, 64, 1, activation=nn.GELU), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7 if faulty else 3e-3)
    criterion = nn.SmoothL1Loss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return criterion(model(rows), values)

    run(record, model, optimizer, 300, loss_of, criterion=criterion)
    fit_score(model, test_x, test_y)


@pair(cause="learning rate several times too low", severity="mild")
def rate_somewhat_low(record: Any, seed: int, faulty: bool) -> None:
    """A regression by Adam. Fault: 4e-4 in place of 2e-3."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4 if faulty else 2e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(record, model, optimizer, 400, loss_of)
    fit_score(model, test_x, test_y)


@pair(cause="rows with missing values (NaN) in the data", severity="gross")
def missing_values(record: Any, seed: int, faulty: bool) -> None:
    """The breast cancer table. Fault: a join left NaN in three rows."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.table("breast_cancer", seed))
    mean, std = x.mean(0), x.std(0)
    x, test_x = (x - mean) / std, (test_x - mean) / std
    if faulty:
        x[[100, 200, 300], 5] = float("nan")
    model = mlp(30, 32, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 16, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return criterion(model(rows), labels)

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    score(accuracy(model, test_x, test_y), 0.63)


@pair(cause="binary targets coded 1 and 2 in place of 0 and 1", severity="gross")
def targets_one_and_two(record: Any, seed: int, faulty: bool) -> None:
    """Binary cross-entropy. Fault: the file's classes 1 and 2 are used as targets."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.table("breast_cancer", seed))
    mean, std = x.mean(0), x.std(0)
    x, test_x = (x - mean) / std, (test_x - mean) / std
    targets = y.float() + (1 if faulty else 0)
    model = nn.Sequential(mlp(30, 32, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 32, x, targets)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.binary_cross_entropy_with_logits(model(rows), labels)

    run(record, model, optimizer, 250, loss_of)
    with torch.no_grad():
        score(((model(test_x) > 0).long() == test_y).float().mean(), 0.63)


@pair(cause="all weights initialised to zero", severity="gross")
def zero_init(record: Any, seed: int, faulty: bool) -> None:
    """A classifier. Fault: model.apply() with an init of zeros."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(2000, 10, 5, seed))
    model = mlp(10, 48, 48, 5)
    if faulty:
        for parameter in model.parameters():
            nn.init.zeros_(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 200, loss_of)
    score(accuracy(model, x, y), 0.2)


@pair(cause="weight decay a hundred times too strong", severity="middling")
def heavy_decay(record: Any, seed: int, faulty: bool) -> None:
    """SGD with weight decay. Fault: 0.2 in place of 2e-3."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    decay = 0.2 if faulty else 2e-3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=decay)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(record, model, optimizer, 300, loss_of, late=True)
    fit_score(model, test_x, test_y)


@pair(cause="sigmoid before a loss that takes logits", severity="middling")
def sigmoid_twice(record: Any, seed: int, faulty: bool) -> None:
    """A binary classifier with one positive in five. Fault: a sigmoid before BCEWithLogits."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(3000, 10, 5, seed))
    y = (y == 2).float()
    model = nn.Sequential(mlp(10, 48, 1), nn.Flatten(0))
    if faulty:
        model.append(nn.Sigmoid())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return criterion(model(rows), labels)

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    with torch.no_grad():
        share = model(x) if faulty else model(x).sigmoid()
        score(-F.binary_cross_entropy(share.clamp(1e-6, 1 - 1e-6), y), -0.5)


@pair(cause="optimizer holds the parameters of a model that was replaced", severity="gross")
def optimizer_of_old_model(record: Any, seed: int, faulty: bool) -> None:
    """A classifier. Fault: the model is built anew (a reset) after its optimizer."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(2000, 10, 5, seed))
    model = mlp(10, 48, 48, 5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    if faulty:
        model = mlp(10, 48, 48, 5)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return criterion(model(rows), labels)

    run(record, model, optimizer, 200, loss_of, criterion=criterion, late=True)
    score(accuracy(model, x, y), 0.2)


@pair(cause="ReLU at the output of a regression with negative targets", severity="middling")
def relu_output(record: Any, seed: int, faulty: bool) -> None:
    """A regression. Fault: a ReLU after the last layer."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    if faulty:
        model.append(nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(record, model, optimizer, 300, loss_of)
    fit_score(model, test_x, test_y)


@pair(cause="targets not standardised, in the hundred thousands", severity="gross")
def targets_in_dollars(record: Any, seed: int, faulty: bool) -> None:
    """House prices. Fault: the prices are in dollars, the network starts near zero."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    if faulty:
        y, test_y = 80_000 * y + 300_000, 80_000 * test_y + 300_000
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(record, model, optimizer, 300, loss_of, name="train_loss")
    fit_score(model, test_x, test_y)


@pair(cause="the same batch again and again", severity="gross")
def one_batch_forever(record: Any, seed: int, faulty: bool) -> None:
    """A regression. Fault: next(iter(loader)) with a fixed seed gives the same batch."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    model = nn.Sequential(mlp(6, 128, 128, 1), nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 32, x, y)
    first = draw()

    def loss_of() -> Tensor:
        rows, values = first if faulty else draw()
        return F.mse_loss(model(rows), values)

    run(
        record, model, optimizer, 300, loss_of,
        validate=lambda: F.mse_loss(model(test_x), test_y),
    )  # fmt: skip
    fit_score(model, test_x, test_y)


@pair(cause="gradients never zeroed", severity="gross")
def no_zero_grad(record: Any, seed: int, faulty: bool) -> None:
    """A classifier by SGD. Fault: zero_grad is missing, gradients pile up."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(3000, 10, 6, seed))
    model = mlp(10, 64, 64, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(seed, 32, x, y)
    with record(model, optimizer, criterion) as hook:
        for _ in range(250):
            rows, labels = draw()
            loss = criterion(model(rows), labels)
            hook.record_tensor_value("loss", loss)
            if not faulty:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.end_step()
    score(accuracy(model, x, y), 1 / 6)


@pair(cause="target leaks into a feature that is absent at test time", severity="gross")
def target_leak(record: Any, seed: int, faulty: bool) -> None:
    """A regression. Fault: a column is computed from the target, and unknown (0) at test."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = regression_sets(seed)
    if faulty:
        x = torch.cat([x[:, :5], 2 * y[:, None]], 1)
        test_x = torch.cat([test_x[:, :5], torch.zeros(len(test_x), 1)], 1)
    model = nn.Sequential(mlp(6, 64, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(
        record, model, optimizer, 280, loss_of,
        validate=lambda: F.mse_loss(model(test_x), test_y),
    )  # fmt: skip
    fit_score(model, test_x, test_y)


@pair(cause="a third of the labels are wrong", severity="mild")
def label_noise(record: Any, seed: int, faulty: bool) -> None:
    """A classifier. Fault: one label in three is random, by careless annotators."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(1500, 10, 6, seed))
    test_x, test_y = tensors(*data.classes(800, 10, 6, seed + 1))
    if faulty:
        y = torch.where(torch.rand(len(y)) < 0.33, torch.randint(0, 6, y.shape), y)
    model = mlp(10, 64, 64, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    draw = Batches(seed, 32, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        return F.cross_entropy(model(rows), labels)

    run(record, model, optimizer, 300, loss_of)
    with torch.no_grad():
        score(-F.cross_entropy(model(test_x), test_y), -1.79)
