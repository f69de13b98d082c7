"""Trainings that look unusual and are right."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from kit import (
    TinyGPT,
    accuracy,
    balanced,
    batches,
    corpus,
    digits,
    discs,
    gratings,
    lm_score,
    mlp,
    moons,
    r2,
    seed_all,
    small_cnn,
    table_regression,
    tabular,
    windows,
)
from registry import healthy, pair, score


@healthy
def finetune_tiny_rate(record, seed):
    """A good model goes on at a rate of 2e-5 on slightly noisier images: nothing moves much."""
    seed_all(seed)
    x, y = digits(1500, noise=0.2)
    model = small_cnn(classes=10, width=16)
    first = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(6):
        for i in batches(1200, 40):
            first.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            first.step()
    x = x + 0.3 * torch.randn_like(x)
    optimizer = torch.optim.AdamW(
        [
            {"params": model[:-1].parameters(), "lr": 2e-5},
            {"params": model[-1].parameters(), "lr": 2e-4},
        ]
    )
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(4):
            model.train()
            for i in batches(1200, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1200:]), y[1200:])
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@healthy
def one_class_stretches(record, seed):
    """Recordings come in stretches of four batches of one class each; a small rate averages over them."""
    seed_all(seed)
    x, y = tabular(2000, 12)
    pools = [torch.nonzero(y[:1600] == c).squeeze(1) for c in range(3)]
    model = mlp(12, 64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for stretch in range(300):
            pool = pools[stretch % 3]
            for _ in range(4):
                i = pool[torch.randint(len(pool), (16,))]
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1600:], y[1600:]), 0.4)


@healthy
def wide_targets(record, seed):
    """House prices: the squared loss is of the order of 1e9; the output layer is scaled to match."""
    seed_all(seed)
    x, y = table_regression(1600)
    y = 2e5 + 5e4 * y

    class Priced(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(10, 64, 64, 1)

        def forward(self, x):
            return 2e5 + 5e4 * self.net(x)

    model = Priced()
    fast = torch.compile(model, backend="eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for i in batches(1300, 26):
                loss = criterion(fast(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1300:]), y[1300:]), 0.0)


@healthy
def batches_of_two(record, seed):
    seed_all(seed)
    x, y = moons(1200, noise=0.15)
    model = mlp(2, 32, 32, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    with record(model) as hook:
        for step in range(1500):
            i = torch.randint(1000, (2,))
            loss = F.cross_entropy(model(x[i]), y[i])
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(accuracy(model, x[1000:], y[1000:]), 0.5)


@healthy
def parity_plateau(record, seed):
    """Parity of three of eight bits: a long plateau, then a fall."""
    seed_all(seed)
    x = torch.randint(2, (3000, 8)).float() * 2 - 1
    y = (x[:, 0] * x[:, 1] * x[:, 2] > 0).long()
    model = mlp(8, 128, 2)
    fast = torch.compile(model, backend="eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for step in range(800):
            i = torch.randint(2500, (64,))
            loss = criterion(fast(x[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(accuracy(model, x[2500:], y[2500:]), 0.5)


@healthy
def adversarial_training(record, seed):
    seed_all(seed)
    x, y = digits(1300, noise=0.1)
    model = small_cnn(classes=10, bn=False, width=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()

    def attack(a, b, eps):
        a = a.clone().requires_grad_()
        (g,) = torch.autograd.grad(F.cross_entropy(model(a), b), a)
        return (a + eps * g.sign()).detach()

    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1000, 40):
                loss = criterion(model(attack(x[i], y[i], 0.08)), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, attack(x[1000:], y[1000:], 0.08), y[1000:]), 0.1)


@healthy
def mutual_information(record, seed):
    """Donsker-Varadhan bound, maximised: the loss is negative and falls, noisily."""
    seed_all(seed)
    rho = 0.9
    net = mlp(2, 64, 64, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

    def bound(n):
        a = torch.randn(n, 1)
        b = rho * a + math.sqrt(1 - rho**2) * torch.randn(n, 1)
        joint, product = net(torch.cat([a, b], 1)), net(torch.cat([a, b[torch.randperm(n)]], 1))
        return joint.mean() - (torch.logsumexp(product, 0) - math.log(n)).squeeze()

    with record(net, optimizer) as hook:
        for step in range(700):
            loss = -bound(128)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    with torch.no_grad():
        score(bound(5000), 0.0)


class Runner:
    """A trainer class as many teams write for themselves."""

    def __init__(self, models, rate):
        self.models = models
        self.optimizers = [torch.optim.Adam(m.parameters(), lr=rate) for m in models]
        self.criterion = nn.CrossEntropyLoss()

    def batch(self, x, y):
        total = 0.0
        for model, optimizer in zip(self.models, self.optimizers):
            optimizer.zero_grad()
            loss = self.criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(self.models)

    def run(self, record, x, y, epochs):
        with record(self.models, self.optimizers, self.criterion):
            for epoch in range(epochs):
                for i in batches(len(x), 32):
                    self.batch(x[i], y[i])

    @torch.no_grad()
    def predict(self, x):
        return torch.stack([m(x).softmax(1) for m in self.models]).mean(0).argmax(1)


@healthy
def ensemble_noisy_labels(record, seed):
    """Four members; three labels in ten are wrong, so the loss cannot come down far."""
    seed_all(seed)
    x, y = tabular(1800, 12)
    ty = torch.where(torch.rand(1800) < 0.3, torch.randint(3, (1800,)), y)
    runner = Runner([mlp(12, 32, 3) for _ in range(4)], 2e-3)
    runner.run(record, x[:1500], ty[:1500], 8)
    score((runner.predict(x[1500:]) == y[1500:]).float().mean(), 0.4)
