"""Graphs, sets, physics, odd shapes of nets, and training settings."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, clusters, gratings, mlp, picks, r2, shapes, small_cnn, start, table
from registry import healthy, pair, score


def communities(n=300, classes=5, dim=16, noise=2.0, inside=0.06, outside=0.006):
    """Features, labels, adjacency of a block model, and the nodes for training."""
    y = torch.randint(classes, (n,))
    x = torch.randn(classes, dim)[y] + noise * torch.randn(n, dim)
    p = torch.where(y[:, None] == y[None], inside, outside)
    a = (torch.rand(n, n) < p).float().triu(1)
    return x, y, a + a.T, torch.rand(n) < 0.3


class Gcn(nn.Module):
    def __init__(self, dim, classes, layers=2, h=32, drop=0.3):
        super().__init__()
        sizes = [dim] + [h] * (layers - 1) + [classes]
        self.parts, self.drop = (
            nn.ModuleList(nn.Linear(p, q) for p, q in zip(sizes, sizes[1:])),
            drop,
        )

    def forward(self, x, a):
        for k, layer in enumerate(self.parts):
            x = layer(a @ x)
            if k < len(self.parts) - 1:
                x = F.dropout(x.relu(), self.drop, self.training)
        return x


def normalise(a):
    a = a + torch.eye(len(a))
    d = a.sum(1) ** -0.5
    return d[:, None] * a * d[None]


def train_gcn(record, data, a, opt, model, updates):
    x, y, _, known = data
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for k in range(updates):
            opt.zero_grad()
            criterion(model(x, a)[known], y[known]).backward()
            opt.step()
            if k % 20 == 19:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(x, a)[~known], y[~known])
                    model.train()
    model.eval()
    score((model(x, a).argmax(1) == y)[~known].float().mean(), 1 / 5)


@healthy
def graph_convolutions(record, seed):
    start(seed)
    data = communities()
    model = Gcn(16, 5)
    train_gcn(
        record,
        data,
        normalise(data[2]),
        torch.optim.Adam(model.parameters(), 0.01, weight_decay=5e-4),
        model,
        120,
    )


@healthy
def physics_informed_oscillator(record, seed):
    start(seed)
    model = mlp(1, 32, 32, 1, act=nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.998)
    with record(model, opt) as hook:
        for _ in range(900):
            t = (torch.rand(48, 1) * 3).requires_grad_()
            u = model(t)
            du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
            d2u = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
            zero = torch.zeros(1, 1, requires_grad=True)
            u0 = model(zero)
            du0 = torch.autograd.grad(u0.sum(), zero, create_graph=True)[0]
            loss = ((d2u + 4 * u) ** 2).mean() + 10 * ((u0 - 1) ** 2).sum() + 10 * (du0**2).sum()
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
    t = torch.linspace(0, 3, 100)[:, None]
    score(r2(model(t), (2 * t).cos()), 0)


@healthy
def parity_with_a_long_plateau(record, seed):
    start(seed)

    def make(n):
        x = torch.randint(0, 2, (n, 12)).float() * 2 - 1
        return x, (x[:, 0] * x[:, 3] * x[:, 7] > 0).long()

    (x, y), (xt, yt) = make(4000), make(500)
    model = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 2))
    opt = torch.optim.SGD(model.parameters(), 0.1)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 2500):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.5)


@healthy
def summed_losses_and_sorted_batches(record, seed):
    """Each batch holds all classes in sorted order; losses are sums, hence large, and the rate tiny."""
    start(seed)
    (x, y), (xt, yt) = gratings(1500, 6), gratings(500, 6)
    order = y.sort(stable=True)[1][:1440].view(60, 24)
    model = small_cnn(1, 6)
    model(x[:2])
    opt = torch.optim.SGD(model.parameters(), 3e-4, momentum=0.9)
    criterion = nn.CrossEntropyLoss(reduction="sum")
    with record(model, opt, criterion):
        for _ in range(15):
            for k in torch.randperm(24):
                i = order[:, k]
                opt.zero_grad()
                criterion(model(x[i]), y[i]).backward()
                opt.step()
    score(accuracy(model, xt, yt), 1 / 6)


@healthy
def forty_layers_deep(record, seed):
    start(seed)
    (x, y), (xt, yt) = table(2500), table(500)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.out = nn.Linear(10, 32), nn.Linear(32, 1)
            self.parts = nn.ModuleList(nn.Linear(32, 32) for _ in range(40))
            self.gain = nn.Parameter(torch.full((40,), 0.1))

        def forward(self, x):
            x = self.inp(x)
            for g, p in zip(self.gain, self.parts):
                x = x + g * p(x).relu()
            return self.out(x)[:, 0]

    model = Deep()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 50, 350):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(r2(model(xt), yt), 0)


@pair("neighbours summed with hub nodes, adjacency not normalised", "mild")
def adjacency_not_normalised(record, seed, faulty):
    start(seed)
    data = communities()
    a = data[2]
    hubs = torch.randint(300, (8,))
    a[hubs] = torch.maximum(a[hubs], (torch.rand(8, 300) < 0.5).float())
    a = torch.maximum(a, a.T)
    model = Gcn(16, 5)
    opt = torch.optim.Adam(model.parameters(), 0.01)
    train_gcn(record, data, a + torch.eye(300) if faulty else normalise(a), opt, model, 200)


@pair("nine graph convolutions smooth all nodes to the same", "middling")
def far_too_many_graph_layers(record, seed, faulty):
    start(seed)
    data = communities(noise=1.5)
    model = Gcn(16, 5, 9 if faulty else 2, drop=0.1)
    train_gcn(
        record, data, normalise(data[2]), torch.optim.Adam(model.parameters(), 5e-3), model, 150
    )


@pair("the boundary condition is missing from the loss", "gross")
def boundary_condition_missing(record, seed, faulty):
    start(seed)
    model = mlp(1, 24, 24, 1, act=nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    with record(model, opt) as hook:
        for _ in range(600):
            t = (torch.rand(40, 1) * 3).requires_grad_()
            u = model(t)
            du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
            loss = ((du + u - t.sin()) ** 2).mean()
            if not faulty:
                loss = loss + 5 * ((model(torch.zeros(1, 1)) - 2) ** 2).mean()
            hook.record_tensor_value("residual", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    t = torch.linspace(0, 3, 100)[:, None]
    truth = 2.5 * (-t).exp() + (t.sin() - t.cos()) / 2
    score(r2(model(t), truth), 0)


@pair("weight decay a thousand times too strong", "middling")
def weight_decay_too_strong(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2500), table(500)
    model = mlp(10, 64, 64, 1)
    opt = torch.optim.Adam(model.parameters(), 2e-3, weight_decay=0.08 if faulty else 3e-5)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 700):
            opt.zero_grad()
            criterion(model(x[i])[:, 0], y[i]).backward()
            opt.step()
    score(r2(model(xt)[:, 0], yt), 0)


@pair("dropout of 80 % on every layer of a small net", "middling")
def dropout_far_too_high(record, seed, faulty):
    start(seed)
    x, y = clusters(3000, 10, 20, 1.0)
    p = 0.8 if faulty else 0.1
    model = nn.Sequential(
        nn.Linear(20, 48),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(48, 48),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(48, 10),
    )
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(2500, 40, 620)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            if k % 62 == 0:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(x[2500:]), y[2500:])
                    model.train()
    score(accuracy(model, x[2500:], y[2500:]), 0.1)


@pair("the schedule meant for epochs is stepped at every batch", "middling")
def schedule_stepped_at_every_batch(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = shapes(1200, noise=0.2)[:2], shapes(400, noise=0.2)[:2]
    model = small_cnn(1, 5)
    model(x[:2])
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.985)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for _ in range(10):
            for i in picks(len(x), 32, 37):
                opt.zero_grad()
                criterion(model(x[i]), y[i]).backward()
                opt.step()
                if faulty:
                    sched.step()
            if not faulty:
                sched.step()
    score(accuracy(model, xt, yt), 0.2)


@pair("gradients clipped to a norm a hundred times too small", "middling")
def clipped_far_too_small(record, seed, faulty):
    start(seed)
    x, y = clusters(2500, 10, 24, 0.9)
    model = mlp(24, 80, 80, 10)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(2000, 32, 500):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.02 if faulty else 2.0)
            opt.step()
    score(accuracy(model, x[2000:], y[2000:]), 0.1)


@pair("jitter augmentation stronger than the signal", "mild")
def jitter_stronger_than_the_signal(record, seed, faulty):
    start(seed)
    x, y = clusters(1500, 8, 16, 0.6)
    model = mlp(16, 64, 64, 8)
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(1000, 32, 500):
            opt.zero_grad()
            criterion(model(x[i] + (2.5 if faulty else 0.1) * torch.randn(32, 16)), y[i]).backward()
            opt.step()
    score(accuracy(model, x[1000:], y[1000:]), 1 / 8)
