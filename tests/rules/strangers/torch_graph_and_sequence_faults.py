"""Graphs and sequences with a faulty twin each."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, mlp, run, tensors
from registry import pair, score


class GCN(nn.Module):
    """Graph convolutions in a row."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        sizes = [8] + [24] * (depth - 1) + [3]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False))

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = F.relu(layer(adjacency @ x))
        return self.layers[-1](adjacency @ x)


def graph() -> tuple[Tensor, Tensor, Tensor]:
    """Features, edges and classes of 240 nodes."""
    y = torch.randint(0, 3, (240,))
    edges = torch.rand(240, 240) < torch.where(y[:, None] == y[None], 0.08, 0.02)
    x = F.one_hot(y, 3).float() @ torch.randn(3, 8) + 1.5 * torch.randn(240, 8)
    return x, (edges | edges.T | torch.eye(240, dtype=torch.bool)).float(), y


@pair(cause="so many graph convolutions that all nodes look alike", severity="middling")
def over_smoothing(record: Any, seed: int, faulty: bool) -> None:
    """Node classification. Fault: 8 layers in place of 2."""
    torch.manual_seed(seed)
    x, edges, y = graph()
    adjacency = edges / edges.sum(1, keepdim=True)
    model = GCN(8 if faulty else 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    run(record, model, optimizer, 200, lambda: F.cross_entropy(model(x, adjacency)[:80], y[:80]))
    with torch.no_grad():
        score((model(x, adjacency)[80:].argmax(1) == y[80:]).float().mean(), 1 / 3)


@pair(cause="adjacency not normalised, activations grow with the degree", severity="gross")
def adjacency_not_normalised(record: Any, seed: int, faulty: bool) -> None:
    """Node classification. Fault: neighbours are summed, layer upon layer."""
    torch.manual_seed(seed)
    x, edges, y = graph()
    adjacency = edges if faulty else edges / edges.sum(1, keepdim=True)
    model = GCN(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    run(
        record, model, optimizer, 200, lambda: criterion(model(x, adjacency)[:80], y[:80]),
        criterion=criterion,
    )  # fmt: skip
    with torch.no_grad():
        score((model(x, adjacency)[80:].argmax(1) == y[80:]).float().mean(), 1 / 3)


class Remember(nn.Module):
    """An RNN whose state may be cut from the graph at each step."""

    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.cut = cut
        self.cell, self.head = nn.GRUCell(6, 48), nn.Linear(48, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        state = torch.zeros(len(tokens), 48)
        for t in range(tokens.shape[1]):
            state = self.cell(F.one_hot(tokens[:, t], 6).float(), state)
            if self.cut and t + 1 < tokens.shape[1]:
                state = state.detach()
        return self.head(state)


@pair(cause="hidden state detached at every time step", severity="gross")
def state_detached(record: Any, seed: int, faulty: bool) -> None:
    """A GRU sums digits modulo 4 from memory. Fault: the state is detached within a sequence."""
    torch.manual_seed(seed)
    model = Remember(cut=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def batch(count: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(0, 4, (count, 6))
        return tokens, (tokens[:, 0] + tokens[:, 1] // 2) % 4

    def loss_of() -> Tensor:
        tokens, labels = batch(64)
        return F.cross_entropy(model(tokens), labels)

    run(record, model, optimizer, 300, loss_of)
    score(accuracy(model, *batch(800)), 0.25)


@pair(cause="future values leak into the forecaster's input", severity="middling")
def forecast_leak(record: Any, seed: int, faulty: bool) -> None:
    """Forecasting. Fault: the window ends one step late, so it has the target; live it has not."""
    torch.manual_seed(seed)
    series, test = tensors(data.waves(800, 32, seed), data.waves(200, 32, seed + 1))
    model = mlp(24, 64, 64, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    draw = Batches(seed, 64, series)

    def live(rows: Tensor) -> Tensor:
        if faulty:  # the newest value is not known yet, and is filled by the one before
            window = torch.cat([rows[:, 1:24], rows[:, 23:24]], 1)
            return F.mse_loss(model(window)[:, 0], rows[:, 24])
        return F.mse_loss(model(rows[:, :24])[:, 0], rows[:, 24])

    def loss_of() -> Tensor:
        (rows,) = draw()
        window = rows[:, 1:25] if faulty else rows[:, :24]
        return F.mse_loss(model(window)[:, 0], rows[:, 24])

    run(record, model, optimizer, 300, loss_of, validate=lambda: live(test))
    with torch.no_grad():
        score(-live(test), -test.var())


@pair(cause="recurrent weights far too large: exploding gradients", severity="gross")
def exploding_recurrence(record: Any, seed: int, faulty: bool) -> None:
    """A ReLU RNN with orthogonal weights. Fault: their gain is 2, over 30 steps, no clipping."""
    torch.manual_seed(seed)
    (series,) = tensors(data.waves(600, 31, seed))
    rnn = nn.RNN(1, 32, nonlinearity="relu", batch_first=True)
    nn.init.orthogonal_(rnn.weight_hh_l0, 2.0 if faulty else 0.9)
    model = nn.ModuleDict({"rnn": rnn, "head": nn.Linear(32, 1)})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.MSELoss()
    draw = Batches(seed, 32, series)

    def fit(rows: Tensor) -> Tensor:
        return criterion(model["head"](model["rnn"](rows[:, :-1, None])[0])[..., 0], rows[:, 1:])

    run(record, model, optimizer, 200, lambda: fit(*draw()), criterion=criterion)
    with torch.no_grad():
        score(-fit(series[:100]), -series.var())


def contrast(record: Any, temperature: float, swapped: bool) -> None:
    """InfoNCE between two noisy views of twelve-class points."""
    x, y = tensors(*data.classes(1500, 20, 12, 0))
    model = mlp(20, 64, 16)
    mixing = torch.randn(20, 20) / 20**0.5
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    draw = Batches(0, 128, x)

    def views(rows: Tensor) -> tuple[Tensor, Tensor]:
        a, b = (rows + 0.5 * torch.randn_like(rows) for _ in range(2))
        return F.normalize(model(a), dim=1), F.normalize(model(b @ mixing), dim=1)

    def loss_of() -> Tensor:
        a, b = views(*draw())
        if swapped:
            b = b[torch.randperm(len(b))]
        return criterion(a @ b.T / temperature, torch.arange(len(a)))

    run(record, model, optimizer, 250, loss_of, criterion=criterion)
    with torch.no_grad():
        a, b = views(x[:300])
        score(((a @ b.T).argmax(1) == torch.arange(300)).float().mean(), 1 / 300)


@pair(cause="contrastive temperature a thousand times too high", severity="middling")
def temperature_too_high(record: Any, seed: int, faulty: bool) -> None:
    """Two views matched by InfoNCE. Fault: the similarity is multiplied by 0.1, not divided."""
    torch.manual_seed(seed)
    contrast(record, 100.0 if faulty else 0.1, False)


@pair(cause="pairs of a retrieval model misaligned", severity="gross")
def pairs_misaligned(record: Any, seed: int, faulty: bool) -> None:
    """Two views matched by InfoNCE. Fault: the second loader shuffles on its own."""
    torch.manual_seed(seed)
    contrast(record, 0.1, faulty)


@pair(cause="triplet loss with positive and negative swapped", severity="gross")
def triplet_swapped(record: Any, seed: int, faulty: bool) -> None:
    """Metric learning. Fault: the arguments are (anchor, negative, positive)."""
    torch.manual_seed(seed)
    x, y = tensors(*data.classes(1500, 12, 6, seed))
    model = nn.Sequential(mlp(12, 64, 8))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.TripletMarginLoss(margin=1.0)
    groups = [x[y == kind] for kind in range(6)]

    def loss_of() -> Tensor:
        kind = torch.randint(0, 6, (48,))
        other = (kind + torch.randint(1, 6, (48,))) % 6
        a, p, n = (
            model(torch.stack([groups[k][torch.randint(0, len(groups[k]), ())] for k in kinds]))
            for kinds in (kind.tolist(), kind.tolist(), other.tolist())
        )
        return criterion(a, n, p) if faulty else criterion(a, p, n)

    run(record, model, optimizer, 200, loss_of, criterion=criterion)
    with torch.no_grad():
        place = model(x)
        near = (torch.cdist(place, place) + 1e9 * torch.eye(len(x))).argmin(1)
        centre = torch.stack([place[y == k].mean(0) for k in range(6)])
        score((torch.cdist(place, centre).argmin(1) == y).float().mean() + 0 * near[0], 1 / 6)


@pair(cause="window buffer aliased: all samples are views of one array", severity="gross")
def buffer_aliased(record: Any, seed: int, faulty: bool) -> None:
    """Forecasting. Fault: windows are appended without a copy, so all hold the last series."""
    torch.manual_seed(seed)
    series, test = tensors(data.waves(600, 25, seed), data.waves(200, 25, seed + 1))
    windows, targets, buffer = [], [], torch.empty(24)
    for row in series:
        buffer[:] = row[:24]
        windows.append(buffer if faulty else buffer.clone())
        targets.append(row[24])
    model = nn.Sequential(mlp(24, 64, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = Batches(seed, 32, torch.stack(windows), torch.stack(targets))

    def loss_of() -> Tensor:
        rows, values = draw()
        return F.mse_loss(model(rows), values)

    run(record, model, optimizer, 250, loss_of)
    with torch.no_grad():
        score(-F.mse_loss(model(test[:, :24]), test[:, 24]), -test.var())
