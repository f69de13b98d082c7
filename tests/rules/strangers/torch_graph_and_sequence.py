"""Graphs, sequences, equations and other structures: trainings that are fine."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, accuracy, mlp, run, tensors
from registry import healthy, score


class GraphAttention(nn.Module):
    """One dense graph attention layer of four heads."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Linear(inputs, 4 * outputs, bias=False)
        self.left = nn.Parameter(0.1 * torch.randn(4, outputs))
        self.right = nn.Parameter(0.1 * torch.randn(4, outputs))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.project(x).unflatten(-1, (4, -1))
        pairs = (h * self.left).sum(-1)[:, None] + (h * self.right).sum(-1)[None]
        weight = F.leaky_relu(pairs, 0.2)
        weight = weight.masked_fill(~edges[..., None], -1e9).softmax(1)
        return torch.einsum("ijh,jhd->ihd", weight, h).flatten(1)


class GAT(nn.Module):
    """Two attention layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GraphAttention(16, 8), GraphAttention(32, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = F.elu(self.first(F.dropout(x, 0.3, self.training), edges))
        h = F.dropout(h, 0.3, self.training)
        return self.second(h, edges).unflatten(-1, (4, -1)).mean(1)


@healthy
def graph_attention_nodes(record: Any, seed: int) -> None:
    """Twenty labelled nodes of 300, full batch, strong decay: train and validation differ."""
    torch.manual_seed(seed)
    y = torch.randint(0, 4, (300,))
    chance = torch.where(y[:, None] == y[None], 0.06, 0.008)
    edges = torch.rand(300, 300) < chance
    edges = edges | edges.T | torch.eye(300, dtype=torch.bool)
    x = 0.7 * F.one_hot(y, 4).float() @ torch.randn(4, 16) + torch.randn(300, 16)
    model = GAT()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
    run(
        record, model, optimizer, 120, lambda: F.cross_entropy(model(x, edges)[:40], y[:40]),
        validate=lambda: F.cross_entropy(model(x, edges)[40:], y[40:]),
    )  # fmt: skip
    model.eval()
    with torch.no_grad():
        score((model(x, edges)[40:].argmax(1) == y[40:]).float().mean(), 0.25)


class SelectiveScan(nn.Module):
    """A Mamba-like layer: input-dependent decay of a hidden state."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.gate, self.write, self.read = (nn.Linear(width, width) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        keep, written = torch.sigmoid(self.gate(x) + 1), self.write(x)
        state, states = torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            state = keep[:, t] * state + (1 - keep[:, t]) * written[:, t]
            states.append(state)
        return self.head(self.norm(x + torch.stack(states, 1) * F.silu(self.read(x))))


@healthy
def mamba_scan(record: Any, seed: int) -> None:
    """A selective state space recalls the first token at the end; only the last counts."""
    torch.manual_seed(seed)
    model = SelectiveScan(10, 32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()

    def batch(count: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(4, 10, (count, 12))
        tokens[:, 0] = torch.randint(0, 4, (count,))
        return tokens, tokens[:, 0]

    def loss_of() -> Tensor:
        tokens, first = batch(64)
        return criterion(model(tokens)[:, -1], first)

    run(record, model, optimizer, 250, loss_of, criterion=criterion, clip=1.0)
    tokens, first = batch(500)
    with torch.no_grad():
        score((model(tokens)[:, -1].argmax(-1) == first).float().mean(), 0.25)


@healthy
def neural_ode(record: Any, seed: int) -> None:
    """A spiral's vector field, fitted through eight Runge-Kutta steps."""
    torch.manual_seed(seed)
    field = mlp(2, 48, 2, activation=nn.Tanh)
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])

    def roll(start: Tensor, f: Any) -> Tensor:
        x, path = start, []
        for _ in range(8):
            k1 = f(x)
            k2 = f(x + 0.05 * k1)
            k3 = f(x + 0.05 * k2)
            k4 = f(x + 0.1 * k3)
            x = x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(x)
        return torch.stack(path)

    def loss_of() -> Tensor:
        start = torch.randn(64, 2)
        return F.l1_loss(roll(start, field), roll(start, lambda x: x @ matrix))

    optimizer = torch.optim.AdamW(field.parameters(), lr=1e-2, amsgrad=True)
    with torch.no_grad():
        before = loss_of()
    run(record, field, optimizer, 250, loss_of)
    with torch.no_grad():
        score(-loss_of(), -before)


class Equilibrium(nn.Module):
    """A fixed point, found without a graph, and one step with it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(48, 48), nn.Linear(64, 48)
        self.head = nn.Linear(48, 10)
        nn.init.orthogonal_(self.inner.weight, 0.5)

    def forward(self, x: Tensor) -> Tensor:
        given, state = self.outer(x.flatten(1)), torch.zeros(len(x), 48)
        with torch.no_grad():
            for _ in range(15):
                state = torch.tanh(self.inner(state) + given)
        return self.head(torch.tanh(self.inner(state) + given))


@healthy
def deep_equilibrium(record: Any, seed: int) -> None:
    """A deep equilibrium model with one-step gradients on digits."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    model = Equilibrium()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        images, labels = draw()
        return F.cross_entropy(model(images), labels)

    run(record, model, optimizer, 200, loss_of, late=True)
    score(accuracy(model, test_x, test_y), 0.1)


@healthy
def physics_informed(record: Any, seed: int) -> None:
    """A PINN of u'' = -sin(x) * 4: boundary and residual terms of very different sizes."""
    torch.manual_seed(seed)
    model = mlp(1, 48, 48, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    edge = torch.tensor([[0.0], [torch.pi]])

    def loss_of() -> Tensor:
        x = (torch.rand(128, 1) * torch.pi).requires_grad_()
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        return (bend + 4 * torch.sin(x)).square().mean() + 100 * model(edge).square().mean()

    run(record, model, optimizer, 400, loss_of)
    x = torch.linspace(0, torch.pi, 100)[:, None]
    with torch.no_grad():
        score(-F.mse_loss(model(x), 4 * torch.sin(x)), -8.0)


@healthy
def maml_sines(record: Any, seed: int) -> None:
    """MAML on sine waves: the loss after one inner step, very different from task to task."""
    torch.manual_seed(seed)
    model = mlp(1, 40, 40, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def task_loss() -> Tensor:
        height, phase = 0.5 + 2 * torch.rand(1), torch.pi * torch.rand(1)
        x = torch.rand(20, 1) * 10 - 5
        y = height * torch.sin(x + phase)
        weights = dict(model.named_parameters())
        inner = F.mse_loss(torch.func.functional_call(model, weights, (x[:10],)), y[:10])
        slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        moved = {n: w - 0.02 * g for (n, w), g in zip(weights.items(), slopes, strict=True)}
        return F.mse_loss(torch.func.functional_call(model, moved, (x[10:],)), y[10:])

    def meta() -> Tensor:
        return torch.stack([task_loss() for _ in range(6)]).mean()

    before = sum(meta().item() for _ in range(20)) / 20
    run(record, model, optimizer, 300, meta, name="meta_loss")
    score(-sum(meta().item() for _ in range(20)) / 20, -before)


class Hyper(nn.Module):
    """A network that writes another one's weights."""

    def __init__(self) -> None:
        super().__init__()
        self.write = mlp(2, 64, 49)

    def forward(self, task: Tensor, x: Tensor) -> Tensor:
        w = self.write(task)
        h = torch.tanh(x[..., None] * w[:, None, :16] + w[:, None, 16:32])
        return (h * w[:, None, 32:48]).sum(-1) + w[:, None, 48]


@healthy
def hypernetwork(record: Any, seed: int) -> None:
    """A hypernetwork of small regressors, by Adam with a cyclic learning rate."""
    torch.manual_seed(seed)
    model = Hyper()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 5e-4, 8e-3, 40, cycle_momentum=False)

    def loss_of() -> Tensor:
        task, x = torch.rand(32, 2), torch.rand(32, 24) * 4 - 2
        return F.mse_loss(model(task, x), torch.sin(2 * task[:, :1] * x) + task[:, 1:])

    run(record, model, optimizer, 300, loss_of, schedule=schedule)
    with torch.no_grad():
        score(-loss_of(), -0.5)


@healthy
def two_tower_retrieval(record: Any, seed: int) -> None:
    """In-batch softmax between users and items with a learnt temperature."""
    torch.manual_seed(seed)
    taste = torch.randint(0, 40, (3000,))
    model = nn.ModuleDict({"user": nn.Embedding(3000, 16), "item": nn.Embedding(800, 16)})
    model["user"].weight.data.mul_(0.3)
    model.register_parameter("temperature", nn.Parameter(torch.tensor(2.0)))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.3)
    criterion = nn.CrossEntropyLoss()

    def similarity(count: int) -> Tensor:
        user = torch.randperm(3000)[:count]
        item = taste[user] + 40 * torch.randint(0, 20, (count,))
        u, v = F.normalize(model["user"](user), dim=1), F.normalize(model["item"](item), dim=1)
        return u @ v.T * model.temperature.exp()

    def loss_of() -> Tensor:
        return criterion(similarity(256), torch.arange(256))

    run(record, model, optimizer, 300, loss_of, criterion=criterion)
    with torch.no_grad():
        score(-loss_of(), -5.5)


@healthy
def forecaster_likelihood(record: Any, seed: int) -> None:
    """A GRU forecaster with a Gaussian likelihood: the loss is negative later."""
    torch.manual_seed(seed)
    (series,) = tensors(data.waves(800, 40, seed, noise=0.03))
    model = nn.ModuleDict({"gru": nn.GRU(1, 40, batch_first=True), "head": nn.Linear(40, 2)})
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    draw = Batches(seed, 32, series)

    def nll(rows: Tensor) -> Tensor:
        mean, scale = model["head"](model["gru"](rows[:, :-1, None])[0]).unbind(-1)
        return F.gaussian_nll_loss(mean, rows[:, 1:], scale.exp() + 1e-4)

    run(record, model, optimizer, 250, lambda: nll(*draw()), clip=1.0, name="nll_loss")
    with torch.no_grad():
        score(-nll(series[:100]), -0.5)


@healthy
def multi_task_uncertainty(record: Any, seed: int) -> None:
    """Two tasks weighted by learnt log-variances, so the total becomes negative."""
    torch.manual_seed(seed)
    x, y = tensors(*data.regression(2000, 6, seed, noise=0.02))
    label = (x[:, 0] + x[:, 1] > 0).float()
    model = nn.ModuleDict({"trunk": mlp(6, 64, 64), "heads": nn.Linear(64, 2)})
    model.register_parameter("log_var", nn.Parameter(torch.zeros(2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    draw = Batches(seed, 64, x, y, label)

    def loss_of() -> Tensor:
        rows, values, labels = draw()
        out = model["heads"](F.relu(model["trunk"](rows)))
        terms = F.mse_loss(out[:, 0], values), F.binary_cross_entropy_with_logits(out[:, 1], labels)
        return (torch.stack(terms) * torch.exp(-model.log_var) + model.log_var).sum()

    run(record, model, optimizer, 350, loss_of)
    with torch.no_grad():
        out = model["heads"](F.relu(model["trunk"](x)))[:, 0]
        score(-F.mse_loss(out, y), -1.0)
