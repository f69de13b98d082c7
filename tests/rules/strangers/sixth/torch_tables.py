"""Tables: classification and regression. Fine trainings."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *
from tables_parts import *


@healthy
def table_mlp_sgd(record, seed):
    torch.manual_seed(seed)
    xtr, ytr = blobs(3000, seed, features=20, classes=5)
    xte, yte = blobs(800, seed + 500, features=20, classes=5)
    net = nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(xtr, ytr), batch_size=64, shuffle=True)
    with record(net, opt, crit) as hook:
        for epoch in range(8):
            net.train()
            for xb, yb in loader:
                opt.zero_grad()
                loss = crit(net(xb), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xte), yte))
        with torch.no_grad():
            score(acc(net(xte), yte), 0.2)


@healthy
def houses_adamw_cosine(record, seed):
    torch.manual_seed(seed)
    X, y = houses(4000, seed)
    Xt, yt = houses(1000, seed + 1)
    X, Xt = standardise(X, Xt)
    ym, ys = y.mean(), y.std()
    model = nn.Sequential(
        nn.Linear(8, 128),
        nn.GELU(),
        nn.LayerNorm(128),
        nn.Linear(128, 128),
        nn.GELU(),
        nn.Linear(128, 1),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=600)
    loss_fn = nn.SmoothL1Loss()
    with record(model, opt, loss_fn) as hook:
        for step in range(600):
            idx = torch.randint(0, len(X), (128,))
            pred = model(X[idx]).squeeze(-1)
            loss = loss_fn(pred, (y[idx] - ym) / ys)
            hook.record_tensor_value("loss", loss)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            hook.end_step()
        with torch.no_grad():
            score(r2(model(Xt).squeeze(-1) * ys + ym, yt), 0.0)


@healthy
def churn_embeddings_onecycle(record, seed):
    torch.manual_seed(seed)
    x, c, y = churn(6000, seed, cats=True)
    xt, ct, yt = churn(2000, seed + 9, cats=True)
    model = Churner()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    epochs, bs = 10, 128
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=epochs * (6000 // bs))
    crit = nn.BCEWithLogitsLoss(pos_weight=(1 - y.mean()) / y.mean())
    with record(model, opt, crit) as hook:
        for e in range(epochs):
            perm = torch.randperm(6000)
            for i in range(6000 // bs):
                b = perm[i * bs : (i + 1) * bs]
                loss = crit(model(x[b], c[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                out = model(xt, ct)
                hook.record_tensor_value("val_loss", crit(out, yt).item())
                hook.record_tensor_value("val_auc", auc(out, yt))
            model.train()
        model.eval()
        with torch.no_grad():
            score(auc(model(xt, ct), yt), 0.5)


@healthy
def noisy_returns_little_signal(record, seed):
    """Almost nothing can be learnt: R2 of 3 percent is the best."""
    torch.manual_seed(seed)
    w = torch.randn(15, generator=torch.Generator().manual_seed(3)) / 15**0.5
    X = torch.randn(8000, 15)
    y = 0.2 * (X @ w) + torch.randn(8000)
    Xt = torch.randn(4000, 15)
    yt = 0.2 * (Xt @ w) + torch.randn(4000)
    model = nn.Sequential(nn.Linear(15, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
    mse = nn.MSELoss()
    with record(model, opt, mse) as hook:
        for ep in range(3):
            for xb, yb in DataLoader(TensorDataset(X, y), 64, shuffle=True):
                opt.zero_grad()
                l = mse(model(xb)[:, 0], yb)
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", mse(model(Xt)[:, 0], yt).item())
        with torch.no_grad():
            score(r2(model(Xt)[:, 0], yt), 0.0)


@healthy
def separable_to_zero_loss(record, seed):
    """Easy data: the loss is practically zero after a third of the run."""
    torch.manual_seed(seed)
    mu = torch.randn(4, 12) * 6
    y = torch.randint(0, 4, (1500,))
    X = mu[y] + torch.randn(1500, 12)
    yt = torch.randint(0, 4, (400,))
    Xt = mu[yt] + torch.randn(400, 12)
    X, Xt = X / X.std(), Xt / X.std()
    model = nn.Sequential(nn.Linear(12, 50), nn.ReLU(), nn.Linear(50, 4))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(500):
            i = torch.randint(0, 1500, (50,))
            loss = crit(model(X[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.detach())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(Xt), yt), 0.25)


@healthy
def heteroscedastic_nll(record, seed):
    """Gaussian likelihood whose value goes below zero."""
    torch.manual_seed(seed)

    def make(n, g):
        x = torch.rand(n, 1, generator=g) * 6 - 3
        return x, 0.3 * torch.sin(2 * x) + torch.randn(n, 1, generator=g) * 0.05 * (1 + x.abs())

    x, y = make(3000, torch.Generator().manual_seed(seed))
    xt, yt = make(1000, torch.Generator().manual_seed(seed + 1))
    body = nn.Sequential(
        nn.Linear(1, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)
    )
    opt = torch.optim.RMSprop(body.parameters(), lr=1e-3)
    nll = nn.GaussianNLLLoss()
    with record(body, opt, nll) as hook:
        for step in range(900):
            i = torch.randint(0, 3000, (128,))
            mu, logv = body(x[i]).chunk(2, 1)
            loss = nll(mu, y[i], F.softplus(logv) + 1e-4)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(body.parameters(), 5.0)
            opt.step()
            hook.record_tensor_value("nll", loss.item())
            hook.end_step()
        with torch.no_grad():
            mu, logv = body(xt).chunk(2, 1)
            score(
                -nll(mu, yt, F.softplus(logv) + 1e-4).item(),
                -nll(yt.mean().expand_as(yt), yt, yt.var().expand_as(yt)).item(),
            )


@healthy
def resmlp_adagrad_restarts(record, seed):
    torch.manual_seed(seed)
    x, y = churn(5000, seed)
    xt, yt = churn(2000, seed + 3)

    class Block(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.n = nn.LayerNorm(d)
            self.a = nn.Linear(d, 2 * d)
            self.b = nn.Linear(2 * d, d)

        def forward(self, h):
            return h + self.b(F.relu(self.a(self.n(h))))

    net = nn.Sequential(
        nn.Linear(10, 48), Block(48), Block(48), Block(48), nn.LayerNorm(48), nn.Linear(48, 1)
    )
    opt = torch.optim.Adagrad(net.parameters(), lr=0.02)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=150, T_mult=2)
    bce = nn.BCEWithLogitsLoss()
    with record(net, opt, bce) as hook:
        for it in range(450):
            i = torch.randint(0, 5000, (100,))
            loss = bce(net(x[i]).squeeze(), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(auc(net(xt).squeeze(), yt), 0.5)


@healthy
def movie_factorisation(record, seed):
    torch.manual_seed(seed)
    U, V = torch.randn(300, 4), torch.randn(200, 4)
    R = (3.5 + 0.5 * (U @ V.T) + 0.4 * torch.randn(300, 1) + 0.4 * torch.randn(1, 200)).clamp(1, 5)
    u, v = torch.randint(0, 300, (16000,)), torch.randint(0, 200, (16000,))
    r = R[u, v] + 0.2 * torch.randn(16000)
    tr, te = slice(0, 14000), slice(14000, None)

    class MF(nn.Module):
        def __init__(self):
            super().__init__()
            self.u, self.v = nn.Embedding(300, 8), nn.Embedding(200, 8)
            self.bu, self.bv = nn.Embedding(300, 1), nn.Embedding(200, 1)
            self.mean = nn.Parameter(torch.tensor(3.5))
            for e in (self.u, self.v):
                nn.init.normal_(e.weight, std=0.1)
            for e in (self.bu, self.bv):
                nn.init.zeros_(e.weight)

        def forward(self, a, b):
            return (self.u(a) * self.v(b)).sum(1) + self.bu(a)[:, 0] + self.bv(b)[:, 0] + self.mean

    m = MF()
    opt = torch.optim.Adam(m.parameters(), lr=1e-2, weight_decay=1e-4)
    crit = nn.MSELoss()
    with record(m, opt, crit) as hook:
        for ep in range(10):
            perm = torch.randperm(14000)
            for b in perm.split(256):
                loss = crit(m(u[tr][b], v[tr][b]), r[tr][b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("train_mse", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_mse", crit(m(u[te], v[te]), r[te]))
        with torch.no_grad():
            score(r2(m(u[te], v[te]), r[te]), 0.0)
