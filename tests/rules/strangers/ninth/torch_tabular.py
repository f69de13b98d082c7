"""Tables, rankings and recommendations."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, clusters, mlp, picks, r2, start, table
from registry import healthy, pair, score


def auc(s, y):
    order = s.argsort()
    rank = torch.empty(len(s))
    rank[order] = torch.arange(1.0, len(s) + 1)
    p = (y > 0).sum()
    return ((rank[y > 0].sum() - p * (p + 1) / 2) / (p * (len(s) - p))).item()


def tastes(users=150, items=120, rank=3):
    u, v = torch.randn(users, rank), torch.randn(items, rank)
    return u @ v.T / rank**0.5


class Factors(nn.Module):
    def __init__(self, users, items, d=8, sparse=False):
        super().__init__()
        self.u, self.v = nn.Embedding(users, d, sparse=sparse), nn.Embedding(
            items, d, sparse=sparse
        )
        for e in (self.u, self.v):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, v):
        return (self.u(u) * self.v(v)).sum(-1)


@healthy
def heavy_tails_with_huber(record, seed):
    start(seed)
    x, y = table(2500)
    xt, yt = table(500)
    y = y + 0.3 * torch.distributions.StudentT(1.5).sample(y.shape)
    model = mlp(10, 64, 64, 1)
    opt = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.01)
    criterion = nn.HuberLoss(delta=1.0)
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 700):
            opt.zero_grad()
            criterion(model(x[i])[:, 0], y[i]).backward()
            opt.step()
    score(r2(model(xt)[:, 0], yt), 0)


@healthy
def fraud_weighted_by_rarity(record, seed):
    start(seed)

    def make(n):
        x = torch.randn(n, 12)
        y = (x[:, 0] * x[:, 1] + x[:, 2] + 0.3 * torch.randn(n) > 2.7).float()
        return x, y

    (x, y), (xt, yt) = make(6000), make(3000)
    model = mlp(12, 48, 24, 1)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - y.mean()) / y.mean())
    with record(model, opt, criterion):
        for i in picks(len(x), 128, 400):
            opt.zero_grad()
            criterion(model(x[i])[:, 0], y[i]).backward()
            opt.step()
    with torch.no_grad():
        score(auc(model(xt)[:, 0], yt), 0.5)


@healthy
def matrix_factors_with_adagrad(record, seed):
    start(seed)
    t = tastes()
    u, v = torch.randint(150, (9000,)), torch.randint(120, (9000,))
    y = t[u, v] + 0.2 * torch.randn(9000)
    model = Factors(150, 120, 6, sparse=True)
    opt = torch.optim.Adagrad(model.parameters(), 0.2)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(8000, 100, 800):
            opt.zero_grad()
            criterion(model(u[i], v[i]), y[i]).backward()
            opt.step()
    score(r2(model(u[8000:], v[8000:]), y[8000:]), 0)


@healthy
def counts_with_poisson_loss(record, seed):
    start(seed)

    def make(n):
        x, f = table(n, 8, 0)
        return x, torch.poisson((1.8 + 0.8 * f).exp())

    (x, y), (xt, yt) = make(3000), make(600)
    model = mlp(8, 48, 48, 1)
    opt = torch.optim.Adam(model.parameters(), 1.5e-3)
    criterion = nn.PoissonNLLLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 64, 600):
            opt.zero_grad()
            criterion(model(x[i])[:, 0], y[i]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
    null = criterion(y.mean().log().expand(600), yt).item()
    best = criterion((yt + 0.1).log(), yt).item()
    score((null - criterion(model(xt)[:, 0], yt).item()) / (null - best), 0)


@healthy
def two_tasks_with_learned_weights(record, seed):
    start(seed)
    (x, y), (xt, yt) = table(2500), table(500)
    kind, kind_t = ((a[:, 5] * a[:, 6] > 0).long() for a in (x, xt))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.a, self.b = mlp(10, 64, 64), nn.Linear(64, 1), nn.Linear(64, 2)
            self.logvar = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            h = self.trunk(x).relu()
            return self.a(h)[:, 0], self.b(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 50, 600):
            a, b = model(x[i])
            s = model.logvar
            loss = (
                (-s[0]).exp() * F.mse_loss(a, y[i])
                + (-s[1]).exp() * F.cross_entropy(b, kind[i])
                + s.sum() / 2
            )
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    a, b = model(xt)
    score((r2(a, yt) + 2 * (b.argmax(1) == kind_t).float().mean() - 1) / 2, 0)


@pair("the recommender never sees negatives", "middling")
def recommender_without_negatives(record, seed, faulty):
    start(seed)
    t = tastes(120, 100)
    liked = t + 0.2 * torch.randn_like(t) > 0.6
    seen = torch.rand(t.shape) < 0.5
    u, v = (liked & seen).nonzero().T
    model = Factors(120, 100)
    opt = torch.optim.Adam(model.parameters(), 0.01, weight_decay=1e-4)
    criterion = nn.BCEWithLogitsLoss()
    with record(model, opt, criterion):
        for i in picks(len(u), 64, 500):
            a, b, y = u[i], v[i], torch.ones(64)
            if not faulty:
                w = torch.randint(100, (64,))
                a, b = torch.cat([a, a]), torch.cat([b, w])
                y = torch.cat([y, (liked & seen)[u[i], w].float()])
            opt.zero_grad()
            criterion(model(a, b), y).backward()
            opt.step()
    a, b = (~seen).nonzero().T
    with torch.no_grad():
        score(auc(model(a, b), liked[a, b]), 0.5)


@pair("one task's loss is hundreds of times larger than the other's", "middling")
def one_task_drowns_the_other(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2500), table(500)
    z, zt = (20 * (a[:, 7] * a[:, 8]) + 2 * a[:, 9] for a in (x, xt))
    unit = 1 if faulty else 20
    trunk = mlp(10, 48, 48)
    model = nn.ModuleDict({"trunk": trunk, "head": nn.Linear(48, 2)})
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 32, 800):
            p = model["head"](model["trunk"](x[i]).relu())
            loss = F.mse_loss(p[:, 0], y[i]) + F.mse_loss(p[:, 1], z[i] / unit)
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    p = model["head"](model["trunk"](xt).relu())
    score((max(r2(p[:, 0], yt), -1) + max(r2(p[:, 1] * unit, zt), -1)) / 2, 0)


@pair("one column has values in the hundreds and is not scaled", "middling")
def unscaled_income_column(record, seed, faulty):
    start(seed)
    x, y = clusters(2000, 6, 14, 0.9)
    x = torch.cat([x, torch.exp(torch.randn(2000, 1) * 0.5 + 6)], 1)
    if not faulty:
        x[:, -1] = (x[:, -1].log() - 6) / 0.5
    model = mlp(15, 64, 32, 6)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(1500, 32, 400):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, x[1500:], y[1500:]), 1 / 6)


@pair("the list-wise ranking loss sorts its targets in the wrong direction", "gross")
def ranking_sign_reversed(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2000), table(500)
    model = mlp(10, 48, 1)
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 20, 600):
            s = model(x[i])[:, 0]
            order = y[i].argsort(descending=not faulty)
            s = s[order]
            loss = (s.flip(0).logcumsumexp(0).flip(0) - s).mean()
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        s = model(xt)[:, 0]
    d, e = s[:, None] - s[None], yt[:, None] - yt[None]
    score(((d * e) > 0).float().sum() / (e != 0).sum(), 0.5)


@pair("half of the labels were mixed up by the annotators' export", "mild")
def labels_half_mixed_up(record, seed, faulty):
    start(seed)
    x, y = clusters(2500, 10, 20, 0.7)
    if faulty:
        bad = torch.randperm(2000)[:1000]
        y[bad] = y[bad[torch.randperm(1000)]]
    model = mlp(20, 96, 96, 10)
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(2000, 32, 620)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            if k % 62 == 61:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(x[2000:]), y[2000:])
                    model.train()
    score(accuracy(model, x[2000:], y[2000:]), 0.1)


@pair("the plateau schedule watches accuracy but is set to 'min'", "mild")
def plateau_schedule_upside_down(record, seed, faulty):
    start(seed)
    x, y = clusters(2600, 12, 24, 1.0)
    model = mlp(24, 64, 64, 12)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(
        opt, "min" if faulty else "max", factor=0.2, patience=0
    )
    criterion = nn.CrossEntropyLoss()
    xt, yt = x[2000:], y[2000:]
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(2000, 20, 600)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            if k % 20 == 19:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    out = model(xt)
                    criterion(out, yt)
                    model.train()
                sched.step((out.argmax(1) == yt).float().mean())
    score(accuracy(model, xt, yt), 1 / 12)


@pair("gradients are never reset", "gross")
def gradients_never_reset(record, seed, faulty):
    start(seed)
    x, y = clusters(2000, 8, 20, 0.8)
    model = mlp(20, 64, 64, 8)
    opt = torch.optim.SGD(model.parameters(), 0.05)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(1500, 32, 300):
            if not faulty:
                opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, x[1500:], y[1500:]), 1 / 8)
