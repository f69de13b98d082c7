"""Tabular data, regression, survival, ranking, multi-task, imbalance."""

import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from registry import healthy, pair, score


def mlp(*d, act=nn.ReLU):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def table(n, seed, d=12):
    """Features of very different scales, a nonlinear target around 50 with a spread of 15."""
    g = np.random.default_rng(seed)
    x = g.normal(size=(n, d))
    y = (
        50
        + 8 * x[:, 0]
        + 6 * x[:, 1] * x[:, 2]
        + 7 * np.sin(2 * x[:, 3])
        + 4 * np.abs(x[:, 4])
        + 2 * g.normal(size=n)
    )
    scale = np.exp(np.random.default_rng(1).uniform(-3, 6, d))
    shift = np.random.default_rng(2).normal(size=d) * scale * 3
    return (
        torch.tensor(x * scale + shift, dtype=torch.float32),
        torch.tensor(y, dtype=torch.float32)[:, None],
    )


def r2(p, y):
    p = p.detach()
    if not torch.isfinite(p).all():
        return -1.0
    return max(-1.0, 1 - ((p - y) ** 2).mean().item() / y.var().item())


def train_table(
    record,
    seed,
    norm="good",
    target="std",
    view=None,
    crit=None,
    opt=None,
    epochs=20,
    model=None,
    bs=64,
    drop=0.0,
    misalign=0,
    stats_bug=False,
    n=2000,
    after=None,
    chance=0.0,
    shuffle_cols=False,
    wrap=None,
):
    torch.manual_seed(seed)
    x, y = table(n, seed)
    vx, vy = table(800, seed + 31)
    if norm == "good":
        m, s = x.mean(0), x.std(0)
        x, vx = (x - m) / s, (vx - m) / s
    elif norm == "none":
        pass
    elif norm == "global":
        m, s = x.mean(), x.std()
        x, vx = (x - m) / s, (vx - m) / s
    elif norm == "val_own":
        x = (x - x.mean(0)) / x.std(0)
        vx = (vx - vx[:8].mean(0)) / vx[:8].std(0) * 2
    ym, ysd = (y.mean(), y.std()) if target == "std" else (0.0, 1.0)
    y = (y - ym) / ysd
    if misalign:
        y = torch.roll(y, misalign, 0)
    model = model() if model else mlp(12, 64, 64, 1)
    opt = opt(model) if opt else torch.optim.Adam(model.parameters(), 2e-3)
    crit = crit or nn.MSELoss()
    with record(model, opt, crit) as hook:
        for e in range(epochs):
            model.train()
            for i in torch.randperm(len(x)).split(bs):
                opt.zero_grad()
                out = model(x[i])
                loss = crit(out, view(y[i]) if view else y[i])
                loss.backward()
                opt.step()
            if e % 3 == 2:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    q = r2(model(vx) * ysd + ym, vy)
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            q = r2(model(vx) * ysd + ym, vy)
    score(q, chance)


@healthy
def tabular_standardized(record, seed):
    train_table(record, seed)


@healthy
def tabular_adamax_huber_dropout(record, seed):
    train_table(
        record,
        seed,
        crit=nn.HuberLoss(delta=0.5),
        opt=lambda m: torch.optim.Adamax(m.parameters(), 5e-3),
        epochs=15,
        model=lambda: nn.Sequential(
            nn.Linear(12, 128),
            nn.SiLU(),
            nn.Dropout(0.1),
            nn.Linear(128, 64),
            nn.SiLU(),
            nn.Linear(64, 1),
        ),
    )


@healthy
def tabular_adadelta_big_rate(record, seed):
    """A learning rate of 1 is right for Adadelta."""
    train_table(record, seed, opt=lambda m: torch.optim.Adadelta(m.parameters(), 1.0))


@healthy
def tabular_raw_target_huge_loss(record, seed):
    """The target is left at 50 +- 15, so the loss begins at thousands; the bias is initialized with the mean: fine."""

    def make():
        m = mlp(12, 64, 64, 1)
        nn.init.constant_(m[-1].bias, 50.0)
        return m

    train_table(
        record,
        seed,
        target="raw",
        model=make,
        opt=lambda m: torch.optim.Adam(m.parameters(), 5e-3),
        epochs=15,
    )


@pair("the features are not normalized though their scales differ by thousands", "middling")
def tabular_not_normalized(record, seed, faulty):
    train_table(record, seed, norm="none" if faulty else "good")


@pair(
    "one mean and deviation of the whole table normalizes all columns, the small ones vanish",
    "gross",
)
def tabular_global_statistics(record, seed, faulty):
    train_table(record, seed, norm="global" if faulty else "good")


@pair(
    "the target has shape (n,) while the output is (n, 1): the difference broadcasts to a matrix",
    "gross",
)
def regression_broadcast(record, seed, faulty):
    train_table(record, seed, view=(lambda y: y.squeeze(1)) if faulty else None)


@pair("features and targets are out of step by one row", "gross")
def tabular_off_by_one_row(record, seed, faulty):
    train_table(record, seed, misalign=1 if faulty else 0)


@pair(
    "the output layer is followed by a ReLU although the standardized target is negative half of the time",
    "middling",
)
def regression_relu_output(record, seed, faulty):
    train_table(
        record,
        seed,
        model=lambda: (
            nn.Sequential(mlp(12, 64, 64, 1), nn.ReLU()) if faulty else mlp(12, 64, 64, 1)
        ),
    )


@pair("Adam's L2 weight decay is 0.2 instead of 1e-4", "middling")
def tabular_adam_l2(record, seed, faulty):
    train_table(
        record,
        seed,
        opt=lambda m: torch.optim.Adam(m.parameters(), 2e-3, weight_decay=0.2 if faulty else 1e-4),
    )


@pair(
    "the hidden layers are replaced after the optimizer was made, it holds the old ones", "middling"
)
def optimizer_before_new_layers(record, seed, faulty):
    def make_opt(m):
        o = torch.optim.SGD(m.parameters(), 0.02, momentum=0.9)
        if faulty:  # re-initialized after the optimizer was made
            for k in (0, 2):
                m[k] = nn.Linear(m[k].in_features, m[k].out_features)
        return o

    train_table(record, seed, opt=make_opt)


@pair("dropout with p = 0.8, meant as the keep probability", "middling")
def tabular_dropout_keep(record, seed, faulty):
    p = 0.8 if faulty else 0.2
    train_table(
        record,
        seed,
        model=lambda: nn.Sequential(
            nn.Linear(12, 64),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Dropout(p),
            nn.Linear(64, 1),
        ),
    )


@healthy
def categories_embeddings(record, seed):
    torch.manual_seed(seed)
    effect = torch.randn(3, 30)
    inter = torch.randn(30, 30)

    def data(n):
        c = torch.randint(0, 30, (n, 3))
        num = torch.randn(n, 4)
        u = effect[torch.arange(3), c].sum(1) + 0.7 * inter[c[:, 0], c[:, 1]] + num[:, 0] * 1.0
        return c, num, (u + 0.4 * torch.randn(n) > 0).float()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.ModuleList(nn.Embedding(30, 8) for _ in range(3))
            self.bn = nn.BatchNorm1d(4)
            self.f = mlp(28, 64, 32, 1)

        def forward(self, c, n):
            return self.f(
                torch.cat([e(c[:, k]) for k, e in enumerate(self.e)] + [self.bn(n)], 1)
            ).squeeze(1)

    tr, va = data(6000), data(1000)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    crit = nn.BCEWithLogitsLoss()
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=1)
    dl = DataLoader(TensorDataset(*tr), 128, shuffle=True)
    best, bad = 1e9, 0
    with record(model, opt, crit) as hook:
        for e in range(15):
            model.train()
            for c, n, y in dl:
                loss = crit(model(c, n), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                o = model(va[0], va[1])
                vl = crit(o, va[2]).item()
            plateau.step(vl)
            if vl < best:
                best, bad, acc = vl, 0, ((o > 0).float() == va[2]).float().mean()
            else:
                bad += 1
                if bad > 3:
                    break
    score(acc, 0.5)


def imbalance(n, seed, rate=0.03):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < rate).float()
    x = torch.randn(n, 10, generator=g)
    x[:, 0] += 1.8 * y
    x[:, 1] = x[:, 1] * (1 + y)
    x[:, 2] -= 1.2 * y
    return x, y


def f1(p, y):
    tp = (p * y).sum()
    return (2 * tp / (p.sum() + y.sum()).clamp(min=1)).item()


def train_imbalance(
    record,
    seed,
    pw=None,
    inverse=False,
    prior_bias=False,
    sampler=False,
    thr=0.0,
    lr=2e-3,
    epochs=8,
    flip_w=False,
):
    torch.manual_seed(seed)
    x, y = imbalance(6000, seed)
    vx, vy = imbalance(3000, seed + 1000)
    model = mlp(10, 32, 32, 1)
    if prior_bias:
        nn.init.constant_(model[-1].bias, -3.5)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(pw) if pw else None)
    with record(model, opt, crit) as hook:
        for e in range(epochs):
            if sampler:
                w = torch.where(y > 0, 1.0, 0.1)
                idx = torch.tensor(list(WeightedRandomSampler(w, len(x))))
            else:
                idx = torch.randperm(len(x))
            for i in idx.split(64):
                opt.zero_grad()
                crit(model(x[i]).squeeze(1), y[i]).backward()
                opt.step()
        with record.evaluation(hook), torch.no_grad():
            o = model(vx).squeeze(1)
    score(f1((o > thr).float(), vy), f1(torch.ones_like(vy), vy))


@healthy
def fraud_prior_bias(record, seed):
    """3 % positives, a bias from the prior, loss small from the start."""
    train_imbalance(record, seed, prior_bias=True, pw=4.0)


@healthy
def fraud_weighted_sampler(record, seed):
    train_imbalance(record, seed, sampler=True)


@pair("pos_weight is the inverse of what it should be (0.03 instead of some 4)", "gross")
def pos_weight_inverted(record, seed, faulty):
    train_imbalance(record, seed, pw=0.03 if faulty else 4.0)


def survival(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    risk = 1.2 * x[:, 0] + x[:, 1] * x[:, 2] - 0.8 * x[:, 3].abs()
    t = -torch.rand(n, generator=g).log() / risk.exp()
    c = -torch.rand(n, generator=g).log() * 2
    return x, torch.minimum(t, c), (t <= c).float()


def cindex(r, t, e):
    m = (t[:, None] < t[None]) & (e[:, None] > 0)
    return ((r[:, None] > r[None]).float() + 0.5 * (r[:, None] == r[None]).float())[m].mean().item()


def train_cox(record, seed, order_bug=False, event_bug=False):
    torch.manual_seed(seed)
    x, t, e = survival(2500, seed)
    vx, vt, ve = survival(800, seed + 12)
    model = mlp(8, 48, 48, 1, act=nn.Tanh)
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    with record(model, opt, None) as hook:
        for s in range(600):
            i = torch.randint(0, 2500, (128,))
            i = i[t[i].argsort(descending=not order_bug)]
            h = model(x[i]).squeeze(1)
            ev = 1 - e[i] if event_bug else e[i]
            loss = -((h - torch.logcumsumexp(h, 0)) * ev).sum() / ev.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = cindex(model(vx).squeeze(1), vt, ve)
    score(q, 0.5)


@healthy
def cox_survival(record, seed):
    """A partial likelihood that falls by some tenths only."""
    train_cox(record, seed)


@pair("times are sorted ascending, so the risk set is those who already left", "gross")
def cox_order(record, seed, faulty):
    train_cox(record, seed, order_bug=faulty)


def train_rank(record, seed, sort_bug=False, sign=1, lr=2e-3):
    torch.manual_seed(seed)
    w = torch.randn(6)

    def data(n):
        q, d = torch.randn(n, 1, 6).expand(-1, 10, -1), torch.randn(n, 10, 6)
        rel = (q * d).sum(-1) + (d @ w)
        return torch.cat([q, d, q * d], -1), rel

    model = mlp(18, 48, 1)
    opt = torch.optim.AdamW(model.parameters(), lr)
    with record(model, opt, None) as hook:
        for s in range(500):
            x, rel = data(32)
            o = model(x).squeeze(-1)
            if sort_bug:
                rel = rel.sort(1, descending=True).values
            loss = -(rel.softmax(1) * o.log_softmax(1)).sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, rel = data(600)
            acc = (model(x).squeeze(-1).argmax(1) == rel.argmax(1)).float().mean()
    score(acc, 0.1)


@healthy
def listwise_ranking(record, seed):
    train_rank(record, seed)


@healthy
def quantile_and_variance_heads(record, seed):
    """A Gaussian likelihood with learned variance: the loss goes negative."""
    torch.manual_seed(seed)

    def data(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, torch.sin(2 * x) + 0.02 * (1 + x.abs()) * torch.randn(n, 1)

    model = mlp(1, 64, 64, 2, act=nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.GaussianNLLLoss()
    x, y = data(2000)
    with record(model, opt, crit) as hook:
        for s in range(2000):
            i = torch.randint(0, 2000, (64,))
            m, v = model(x[i]).chunk(2, 1)
            loss = crit(m, y[i], F.softplus(v) + 1e-4)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        vx, vy = data(500)
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(vx)[:, :1], vy)
    score(q, 0.0)


@healthy
def full_batch_lbfgs(record, seed):
    torch.manual_seed(seed)
    x, y = table(400, seed)
    vx, vy = table(500, seed + 31)
    m, s = x.mean(0), x.std(0)
    x, vx = (x - m) / s, (vx - m) / s
    ym, ys = y.mean(), y.std()
    model = mlp(12, 16, 1, act=nn.Tanh)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=4, history_size=10)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for it in range(40):

            def closure():
                opt.zero_grad()
                loss = crit(model(x), (y - ym) / ys) + 2e-3 * sum(
                    p.pow(2).sum() for p in model.parameters()
                )
                loss.backward()
                return loss

            opt.step(closure)
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(vx) * ys + ym, vy)
    score(q, 0.0)
