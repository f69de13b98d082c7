"""Tables and plain MLPs."""

import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score


def housing(seed, n=3000, d=12, noise=0.3):
    g = torch.Generator().manual_seed(1000 + seed)
    x = torch.randn(n, d, generator=g)
    y = (
        1.5 * x[:, 0] * x[:, 1]
        + torch.sin(2 * x[:, 2])
        + x[:, 3].abs()
        + 0.5 * x[:, 4]
        - x[:, 5] * (x[:, 6] > 0)
    )
    y = y + noise * torch.randn(n, generator=g)
    return x, y


def blobs(seed, n=3000, d=20, k=6, spread=1.3):
    g = torch.Generator().manual_seed(2000 + seed)
    centres = torch.randn(k * 3, d, generator=g)
    which = torch.randint(0, k * 3, (n,), generator=g)
    x = centres[which] + spread * torch.randn(n, d, generator=g) * 0.6
    return x, which % k


def r2(pred, y):
    return (1 - ((pred - y) ** 2).mean() / y.var()).item()


@healthy
def tabular_regression_adam(record, seed):
    torch.manual_seed(seed)
    x, y = housing(seed)
    train = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for epoch in range(15):
            model.train()
            for xb, yb in train:
                opt.zero_grad()
                loss = crit(model(xb).squeeze(-1), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[2400:]).squeeze(-1), y[2400:]))
    with torch.no_grad():
        score(r2(model(x[2400:]).squeeze(-1), y[2400:]), 0.0)


class TabNet(nn.Module):
    """Embeddings for categorical columns and numbers beside them."""

    def __init__(self, cards=(7, 12, 30)):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(c, 8) for c in cards])
        self.bn = nn.BatchNorm1d(5)
        self.net = nn.Sequential(
            nn.Linear(8 * 3 + 5, 64),
            nn.ReLU(),
            nn.BatchNorm1d(64),
            nn.Dropout(0.1),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, c, x):
        e = [m(c[:, i]) for i, m in enumerate(self.embeddings)]
        return self.net(torch.cat(e + [self.bn(x)], 1)).squeeze(1)


@healthy
def churn_with_categories_onecycle(record, seed):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n = 4000
    c = np.stack([rng.integers(0, k, n) for k in (7, 12, 30)], 1)
    x = rng.normal(size=(n, 5)) * np.array([1, 10, 0.1, 3, 200.0]) + np.array([0, 50, 1, 0, 1000.0])
    eff = rng.normal(size=30)
    logit = (
        1.5 * eff[c[:, 2]]
        + (c[:, 0] == 3) * 2
        - 2 * (c[:, 1] > 8) * np.tanh((x[:, 4] - 1000) / 200)
        + 0.1 * (x[:, 1] - 50)
    )
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * logit))).astype(np.float32)
    c, x, y = torch.tensor(c), torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    model = TabNet()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    steps = 400
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=steps)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for step in range(steps):
            model.train()
            i = torch.randint(0, 3200, (128,))
            opt.zero_grad(set_to_none=True)
            loss = crit(model(c[i], x[i]), y[i])
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("train/bce", loss.item())
            if step % 50 == 49:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value(
                        "valid/bce", crit(model(c[3200:], x[3200:]), y[3200:]).item()
                    )
            hook.end_step()
    model.eval()
    with torch.no_grad():
        acc = ((model(c[3200:], x[3200:]) > 0).float() == y[3200:]).float().mean()
    score(acc, max(y[3200:].mean(), 1 - y[3200:].mean()))


@healthy
def logistic_regression_noisy_clicks(record, seed):
    """Click prediction: 3 per cent of the variance can be explained at most."""
    torch.manual_seed(seed)
    x = torch.randn(20000, 30)
    w = torch.randn(30) * 0.12
    y = (torch.rand(20000) < torch.sigmoid(x @ w - 1.5)).float()
    model = nn.Linear(30, 1)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for step in range(500):
            i = torch.randint(0, 16000, (256,))
            loss = crit(model(x[i])[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    with torch.no_grad():
        s = model(x[16000:])[:, 0]
    pos, neg = s[y[16000:] == 1], s[y[16000:] == 0]
    score((pos[:, None] > neg[None]).float().mean(), 0.5)


@pair("learning rate 1000 times too low (1e-6 with Adam)", "gross")
def tabular_lr_far_too_low(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed)
    model = nn.Sequential(
        nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-6 if faulty else 2e-3)
    crit = nn.MSELoss()
    loader = DataLoader(TensorDataset(x[:2400], y[:2400, None]), 48, shuffle=True)
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            for xb, yb in loader:
                opt.zero_grad()
                loss = crit(model(xb), yb)
                loss.backward()
                opt.step()
                hook.record_tensor_value("mse", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_mse", crit(model(x[2400:]), y[2400:, None]).item())
    with torch.no_grad():
        score(r2(model(x[2400:])[:, 0], y[2400:]), 0.0)


@pair("target of shape (B,) against output (B, 1): MSELoss broadcasts to (B, B)", "gross")
def regression_broadcast_target(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed)
    model = nn.Sequential(
        nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1)
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    crit = nn.MSELoss()
    loader = DataLoader(TensorDataset(x[:2400], y[:2400]), 64, shuffle=True, drop_last=True)
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            for xb, yb in loader:
                out = model(xb)
                loss = crit(out, yb if faulty else yb.unsqueeze(1))
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
    with torch.no_grad():
        score(r2(model(x[2400:])[:, 0], y[2400:]), 0.0)


@pair("one raw column in the hundred thousands, inputs not standardised", "gross")
def features_not_normalised(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed)
    scales = torch.logspace(-2, 5, 20)
    raw = x * scales + 3 * scales
    if not faulty:
        raw = (raw - raw[:2400].mean(0)) / raw[:2400].std(0)
    model = nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(400):
            i = torch.randperm(2400)[:64]
            opt.zero_grad()
            loss = crit(model(raw[i]), y[i])
            hook.record_tensor_value("loss", loss)
            loss.backward()
            opt.step()
            hook.end_step()
    with torch.no_grad():
        score((model(raw[2400:]).argmax(1) == y[2400:]).float().mean(), 1 / 6)


@pair("optimizer.zero_grad() forgotten", "gross")
def forgotten_zero_grad(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed)
    model = nn.Sequential(
        nn.Linear(20, 96),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(96, 96),
        nn.ReLU(),
        nn.Linear(96, 6),
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    crit = nn.CrossEntropyLoss()
    loader = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=50, shuffle=True)
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            model.train()
            for xb, yb in loader:
                loss = crit(model(xb), yb)
                loss.backward()
                opt.step()
                if not faulty:
                    opt.zero_grad()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[2400:]), y[2400:]))
    model.eval()
    with torch.no_grad():
        score((model(x[2400:]).argmax(1) == y[2400:]).float().mean(), 1 / 6)
