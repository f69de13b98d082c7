"""Mostly mild and middling mistakes."""

import math, random
import torch
from torch import nn
import torch.nn.functional as F
from registry import pair, score
from data_parts import *


def net_of(*d, act=nn.ReLU, bn=False):
    l = []
    for i in range(len(d) - 1):
        l.append(nn.Linear(d[i], d[i + 1]))
        if i < len(d) - 2:
            l += ([nn.BatchNorm1d(d[i + 1])] if bn else []) + [act()]
    return nn.Sequential(*l)


@pair("momentum forgotten in SGD with a rate chosen for 0.9: slow", "mild")
def sgd_without_momentum(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 32, 10, 1.1, data_seed=21)
    xt, yt = blobs(1000, seed + 1, 32, 10, 1.1, data_seed=21)
    model = net_of(32, 128, 64, 10)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.0 if faulty else 0.9)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for ep in range(8):
            for b in torch.randperm(5000).split(64):
                opt.zero_grad()
                loss = ce(model(x[b]), y[b])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", ce(model(xt), yt).item())
        with torch.no_grad():
            score(acc(model(xt), yt), 0.1)


@pair(
    "mean squared error on sigmoid outputs for a rare class instead of cross-entropy: slow", "mild"
)
def mse_instead_of_bce(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = churn(6000, seed, rate=-2.0)
    xt, yt = churn(2000, seed + 1, rate=-2.0)
    model = net_of(10, 64, 64, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with record(model, opt) as hook:
        for s in range(600):
            i = torch.randint(0, 6000, (64,))
            o = model(x[i])[:, 0]
            loss = (
                F.mse_loss(o.sigmoid(), y[i])
                if faulty
                else F.binary_cross_entropy_with_logits(o, y[i])
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(auc(model(xt)[:, 0], yt), 0.5)


@pair("images divided by 255 twice", "gross")
def pixels_divided_twice(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = digits(4000, seed, noise=0.08)
    xt, yt = digits(800, seed + 1, noise=0.08)
    k = 255 * 255 if faulty else 255
    x, xt = x.float() / k, xt.float() / k
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, 2, 2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(500):
            i = torch.randint(0, 4000, (50,))
            loss = ce(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 0.1)


@pair("all weights drawn with standard deviation 1", "middling")
def init_std_one(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 32, 10, 1.1, data_seed=22)
    xt, yt = blobs(1000, seed + 1, 32, 10, 1.1, data_seed=22)
    model = net_of(32, 128, 128, 10, act=nn.Tanh)
    if faulty:
        for p in model.parameters():
            nn.init.normal_(p)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(500):
            i = torch.randint(0, 5000, (64,))
            loss = ce(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 0.1)


@pair("batches of 2 with BatchNorm and the rate for batches of 64", "gross")
def batchnorm_batch_of_two(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(4000, seed, 20, 6, data_seed=23)
    xt, yt = blobs(1000, seed + 1, 20, 6, data_seed=23)
    model = net_of(20, 64, 64, 6, bn=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(700):
            i = torch.randint(0, 4000, (2 if faulty else 64,))
            loss = ce(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 6)


@pair(
    "ReduceLROnPlateau stepped with each batch's noisy loss and patience 2: the rate is soon nil",
    "middling",
)
def plateau_per_batch(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 32, 12, 1.2, data_seed=24)
    xt, yt = blobs(1000, seed + 1, 32, 12, 1.2, data_seed=24)
    model = net_of(32, 96, 96, 12)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    ce = nn.CrossEntropyLoss()
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=3)
    with record(model, opt, ce) as hook:
        for ep in range(7):
            for b in torch.randperm(5000).split(64):
                loss = ce(model(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if faulty:
                    sched.step(loss.item())
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                v = ce(model(xt), yt).item()
                hook.record_tensor_value("val_loss", v)
            if not faulty:
                sched.step(v)
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 12)


@pair(
    "a column that is made from the target (leak) is there in training and blank in use", "middling"
)
def leaky_column(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = churn(5000, seed, rate=0.0)
    xt, yt = churn(2000, seed + 1, rate=0.0)
    x = torch.cat([x, (3 * (y[:, None] * 2 - 1) if faulty else torch.randn(5000, 1))], 1)
    xt = torch.cat([xt, torch.zeros(2000, 1)], 1)
    model = net_of(11, 64, 32, 1)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    bce = nn.BCEWithLogitsLoss()
    with record(model, opt, bce) as hook:
        for s in range(600):
            i = torch.randint(0, 5000, (64,))
            loss = bce(model(x[i]).flatten(), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if s % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", bce(model(xt).flatten(), yt).item())
        with torch.no_grad():
            score(auc(model(xt)[:, 0], yt), 0.5)


@pair(
    "the table is split without shuffling although it is sorted by class: two classes are in the test part only",
    "middling",
)
def split_without_shuffle(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 24, 10, data_seed=25)
    o = y.argsort() if faulty else torch.randperm(5000)
    x, y = x[o], y[o]
    xtr, ytr, xv, yv = x[:4000], y[:4000], x[4000:], y[4000:]
    xt, yt = blobs(1000, seed + 1, 24, 10, data_seed=25)
    model = net_of(24, 100, 50, 10, act=nn.ELU)
    opt = torch.optim.RMSprop(model.parameters(), 1e-3)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for ep in range(7):
            for b in torch.randperm(4000).split(50):
                loss = ce(model(xtr[b]), ytr[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("train_loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", ce(model(xv), yv).item())
        with torch.no_grad():
            score(acc(model(xt), yt), 0.1)


@pair("gradients clipped to norm 0.01 with SGD: slow", "middling")
def clip_too_tight(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(4000, seed)
    Xt, yt = houses(1000, seed + 1)
    m, s = X.mean(0), X.std(0)
    X, Xt = (X - m) / s, (Xt - m) / s
    a, b = y.mean(), y.std()
    model = net_of(8, 64, 64, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for k in range(700):
            i = torch.randint(0, 4000, (64,))
            loss = crit(model(X[i])[:, 0], (y[i] - a) / b)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01 if faulty else 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(model(Xt)[:, 0] * b + a, yt), 0.0)


@pair("no annealing of a high rate (the scheduler is made but never stepped)", "mild")
def scheduler_never_stepped(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(6000, seed, 32, 15, 1.4, data_seed=26)
    xt, yt = blobs(1500, seed + 1, 32, 15, 1.4, data_seed=26)
    model = net_of(32, 128, 128, 15)
    opt = torch.optim.Adam(model.parameters(), 1.5e-2)
    ce = nn.CrossEntropyLoss()
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 600)
    with record(model, opt, ce) as hook:
        for s in range(600):
            i = torch.randint(0, 6000, (64,))
            loss = ce(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if not faulty:
                sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 15)


@pair("learning rate 0.1 with Adam, thirty times too high: noisy and slightly worse", "mild")
def lr_somewhat_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, c, y = churn(6000, seed, cats=True)
    xt, ct, yt = churn(2000, seed + 1, cats=True)
    ea, eb, f = nn.Embedding(12, 4), nn.Embedding(30, 6), net_of(20, 96, 96, 1)
    model = nn.ModuleList([ea, eb, f])
    out = lambda x, c: f(torch.cat([x, ea(c[:, 0]), eb(c[:, 1])], 1))[:, 0]
    opt = torch.optim.Adam(model.parameters(), 1e-1 if faulty else 3e-3)
    bce = nn.BCEWithLogitsLoss()
    with record(model, opt, bce) as hook:
        for s in range(500):
            i = torch.randint(0, 6000, (100,))
            loss = bce(out(x[i], c[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(auc(out(xt, ct), yt), 0.5)


@pair("positions are never added in an attention model (order matters for the task)", "gross")
def attention_without_positions(record, seed, faulty):
    torch.manual_seed(seed)

    def make(n):
        x = torch.randint(0, 10, (n, 8))
        return x, (x[:, 0] > x[:, 7]).long()

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.p = nn.Embedding(10, 32), nn.Parameter(torch.randn(8, 32))
            self.l = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
            self.o = nn.Linear(32, 2)

        def forward(self, x):
            h = self.e(x)
            return self.o(self.l(h if faulty else h + self.p).mean(1))

    model = M()
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(400):
            x, y = make(64)
            loss = ce(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        x, y = make(1000)
        with torch.no_grad():
            score(acc(model(x), y), 0.5)


@pair("AdamW with weight_decay 5 instead of 0.05", "middling")
def adamw_decay_hundredfold(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 32, 10, 1.1, data_seed=27)
    xt, yt = blobs(1000, seed + 1, 32, 10, 1.1, data_seed=27)
    model = nn.Sequential(
        nn.Linear(32, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 10)
    )
    opt = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=15.0 if faulty else 0.05)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(600):
            i = torch.randint(0, 5000, (64,))
            loss = ce(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 0.1)


@pair(
    "user and item ids are mixed up in the ratings from step 300 on (a join on the wrong key in newer data)",
    "gross",
)
def ratings_wrong_join_midway(record, seed, faulty):
    torch.manual_seed(seed)
    U, V = torch.randn(150, 3), torch.randn(150, 3)
    R = U @ V.T / 3**0.5
    u, v = torch.randint(0, 150, (14000,)), torch.randint(0, 150, (14000,))
    r = R[u, v] + 0.2 * torch.randn(14000)
    eu, ev = nn.Embedding(150, 8), nn.Embedding(150, 8)
    model = nn.ModuleList([eu, ev])
    for e in model:
        nn.init.normal_(e.weight, std=0.3)
    opt = torch.optim.Adam(model.parameters(), 1e-2, weight_decay=1e-5)
    mse = nn.MSELoss()
    with record(model, opt, mse) as hook:
        for s in range(600):
            i = torch.randint(0, 12000, (256,))
            a, b = u[i], v[i]
            if faulty and s >= 300:
                a, b = b, a
            loss = mse((eu(a) * ev(b)).sum(1), r[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mse", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2((eu(u[12000:]) * ev(v[12000:])).sum(1), r[12000:]), 0.0)


@pair(
    "the rate is not lowered at fine-tuning: pretrained features are destroyed at once, little data",
    "middling",
)
def finetune_rate_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(6000, seed, 32, 12, 1.1, data_seed=28)
    xt, yt = blobs(1000, seed + 1, 32, 12, 1.1, data_seed=28)
    model = net_of(32, 128, 128, 12)
    o = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(400):
        i = torch.randint(0, 6000, (64,))
        l = F.cross_entropy(model(x[i]), y[i])
        o.zero_grad()
        l.backward()
        o.step()
    A = torch.eye(32) + 0.12 * torch.randn(
        32, 32
    )  # new sensors: slightly rotated features, 300 rows
    xs, ys, xt = x[:300] @ A, y[:300], xt @ A
    opt = torch.optim.Adam(model.parameters(), 3e-2 if faulty else 1e-4)
    ce = nn.CrossEntropyLoss()
    with record(model, opt, ce) as hook:
        for s in range(200):
            i = torch.randint(0, 300, (32,))
            loss = ce(model(xs[i]), ys[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 12)
