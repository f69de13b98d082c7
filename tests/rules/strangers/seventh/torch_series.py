"""Time series, sound, physics and graphs."""

import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score


def series(seed, n=4000):
    rng = np.random.default_rng(seed + 31)
    t = np.arange(n)
    s = np.sin(2 * np.pi * t / 24 + 1) + 0.5 * np.sin(2 * np.pi * t / 168) * np.sin(
        2 * np.pi * t / 24
    )
    ar = np.zeros(n)
    for i in range(2, n):
        ar[i] = 1.2 * ar[i - 1] - 0.5 * ar[i - 2] + 0.2 * rng.normal()
    return (20 + 5 * (s + ar)).astype(np.float32)


def windows(z, length=48, ahead=1):
    w = torch.tensor(z).unfold(0, length + ahead, 1)
    return w[:, :length], w[:, length:]


class Forecaster(nn.Module):
    def __init__(self, hidden=40, ahead=6):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, ahead)

    def forward(self, x):
        h, _ = self.lstm(x.unsqueeze(-1))
        return self.fc(h[:, -1])


def skill(model, x, y):
    with torch.no_grad():
        return (1 - ((model(x) - y) ** 2).mean() / y.var()).item()


@healthy
def lstm_forecast_huber_plateau_schedule(record, seed):
    torch.manual_seed(seed)
    z = series(seed)
    z = (z - z[:3000].mean()) / z[:3000].std()
    x, y = windows(z, 36, 6)
    n = 2900
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    crit = nn.HuberLoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            for i in torch.randperm(n).split(64):
                loss = crit(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                val = crit(model(x[3000:]), y[3000:]).item()
                hook.record_tensor_value("val_loss", val)
            sched.step(val)
    score(skill(model, x[3000:], y[3000:]), 0.0)


@healthy
def pinn_damped_oscillator(record, seed):
    """u'' + 0.4 u' + 4 u = 0, u(0)=1, u'(0)=0 by collocation; no data."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9988)
    with record(model, opt) as hook:
        for s in range(1600):
            t = (torch.rand(64, 1) * 4).requires_grad_()
            u = model(t)
            (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
            (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
            res = (ddu + 0.4 * du + 4 * u).square().mean()
            t0 = torch.zeros(1, 1, requires_grad=True)
            u0 = model(t0)
            (du0,) = torch.autograd.grad(u0.sum(), t0, create_graph=True)
            bc = (u0 - 1).square().mean() + du0.square().mean()
            loss = 0.1 * res + 5 * bc
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("residual", res.item())
            hook.record_tensor_value("boundary", bc.item())
            hook.end_step()
    t = torch.linspace(0, 4, 200)[:, None]
    w = math.sqrt(4 - 0.04)
    true = torch.exp(-0.2 * t) * (torch.cos(w * t) + 0.2 / w * torch.sin(w * t))
    score(skill(model, t, true), 0.0)


def community_graph(seed, n=300, k=5):
    g = torch.Generator().manual_seed(seed + 3)
    y = torch.randint(0, k, (n,), generator=g)
    p = torch.where(y[:, None] == y[None], 0.06, 0.008)
    a = (torch.rand(n, n, generator=g) < p).float().triu(1)
    a = a + a.T + torch.eye(n)
    d = a.sum(1).rsqrt()
    x = torch.randn(n, 16, generator=g) * 1.2
    x[:, :k] += F.one_hot(y, k) * 1.0
    return d[:, None] * a * d[None], x, y


class GCN(nn.Module):
    def __init__(self, d=16, h=32, k=5, p=0.5):
        super().__init__()
        self.a, self.b, self.p = nn.Linear(d, h), nn.Linear(h, k), p

    def forward(self, adj, x):
        h = F.dropout(F.relu(adj @ self.a(x)), self.p, self.training)
        return adj @ self.b(h)


@healthy
def gcn_semi_supervised(record, seed):
    """60 labelled nodes of 300; the usual full batch with strong weight decay."""
    torch.manual_seed(seed)
    adj, x, y = community_graph(seed)
    train = torch.arange(60)
    model = GCN()
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    with record(model, opt) as hook:
        for ep in range(200):
            model.train()
            opt.zero_grad()
            loss = F.cross_entropy(model(adj, x)[train], y[train])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
            if ep % 10 == 0:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    out = model(adj, x)
                    hook.record_tensor_value("val_loss", F.cross_entropy(out[60:120], y[60:120]))
                    hook.record_tensor_value(
                        "val_acc", (out[60:120].argmax(1) == y[60:120]).float().mean()
                    )
    model.eval()
    score((model(adj, x)[120:].argmax(1) == y[120:]).float().mean(), 0.25)


def tones(seed, n=1200, length=512):
    """Eight classes: four sweeps or chords, each steady or trembling; raw waves."""
    rng = np.random.default_rng(seed + 8)
    t = np.arange(length) / length
    y = rng.integers(0, 8, n)
    f = rng.uniform(20, 60, n)[:, None]
    kind, trem = y % 4, (y // 4)[:, None]
    phase = np.where(
        (kind == 0)[:, None],
        f * t,
        np.where((kind == 1)[:, None], f * t * (1 + 0.8 * t), f * t * (1.6 - 0.6 * t)),
    )
    w = np.sin(2 * np.pi * phase + rng.uniform(0, 6, (n, 1)))
    w = np.where(
        (kind == 3)[:, None], 0.5 * (np.sin(2 * np.pi * f * t) + np.sin(2 * np.pi * 2.5 * f * t)), w
    )
    w *= 1 + 0.7 * trem * np.sin(2 * np.pi * 6 * t)
    w += 0.3 * rng.normal(size=w.shape)
    return torch.tensor(w, dtype=torch.float32), torch.tensor(y)


class SpecNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("win", torch.hann_window(64))
        self.net = nn.Sequential(
            nn.Conv1d(33, 48, 3, padding=1),
            nn.BatchNorm1d(48),
            nn.ReLU(),
            nn.Conv1d(48, 48, 3, padding=1),
            nn.BatchNorm1d(48),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(48, 64, 3, padding=1),
            nn.BatchNorm1d(64),
            nn.ReLU(),
        )
        self.fc = nn.Linear(64, 8)

    def forward(self, w):
        s = torch.stft(w, 64, 16, window=self.win, return_complex=True).abs().add(1e-3).log()
        h = self.net(s)
        return self.fc(h.mean(-1))


@healthy
def audio_spectrogram_cnn_adamw(record, seed):
    torch.manual_seed(seed)
    x, y = tones(seed)
    model = SpecNet()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(300):
            i = torch.randint(0, 1000, (32,))
            lam = float(np.random.beta(0.3, 0.3))  # mixup: the loss stays high
            j = i[torch.randperm(32)]
            out = model(lam * x[i] + (1 - lam) * x[j])
            loss = lam * crit(out, y[i]) + (1 - lam) * crit(out, y[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    model.eval()
    with torch.no_grad():
        score((model(x[1000:]).argmax(1) == y[1000:]).float().mean(), 1 / 8)


@pair(
    "targets misaligned with inputs: windows and targets are shuffled with different permutations",
    "gross",
)
def forecast_targets_misaligned(record, seed, faulty):
    torch.manual_seed(seed)
    z = series(seed)
    z = (z - z[:3000].mean()) / z[:3000].std()
    x, y = windows(z, 30, 3)
    xt, yt = x[:2900], y[:2900]
    p = torch.randperm(2900)
    xt, yt = xt[p], yt[torch.randperm(2900) if faulty else p]
    model = Forecaster(32, 3)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            for b in range(0, 2900, 64):
                loss = crit(model(xt[b : b + 64]), yt[b : b + 64])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[3000:]), y[3000:]).item())
    score(skill(model, x[3000:], y[3000:]), 0.0)


@pair(
    "raw series around 20 and targets not standardised, small learning rate: learns little but the mean",
    "gross",
)
def forecast_not_standardised(record, seed, faulty):
    torch.manual_seed(seed)
    z = series(seed) * 50
    if not faulty:
        z = (z - z[:3000].mean()) / z[:3000].std()
    x, y = windows(z, 30, 3)
    model = Forecaster(32, 3)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(350):
            i = torch.randint(0, 2900, (64,))
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    score(skill(model, x[3000:], y[3000:]), 0.0)


@pair(
    "net kept in eval mode when training goes on after the first validation: batch norm statistics frozen, no dropout",
    "middling",
)
def audio_stays_in_eval_mode(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = tones(seed)
    model = SpecNet()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    model.train()
    with record(model, opt, crit) as hook:
        for ep in range(10):
            if not faulty:
                model.train()
            for i in torch.randperm(1000).split(40):
                loss = crit(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[1000:]), y[1000:]).item())
    model.eval()
    with torch.no_grad():
        score((model(x[1000:]).argmax(1) == y[1000:]).float().mean(), 1 / 8)


@pair("adjacency without normalisation and five layers deep: activations grow by hundreds", "gross")
def gcn_adjacency_not_normalised(record, seed, faulty):
    torch.manual_seed(seed)
    adj, x, y = community_graph(seed)
    if faulty:
        adj = (adj > 0).float()
    layers = nn.ModuleList(
        [nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 5)]
    )
    opt = torch.optim.SGD(layers.parameters(), lr=0.2, momentum=0.9)
    crit = nn.CrossEntropyLoss()

    def net(h):
        for k, l in enumerate(layers):
            h = adj @ l(h)
            if k < 3:
                h = h.relu()
        return h

    with record(layers, opt, crit) as hook:
        for ep in range(200):
            opt.zero_grad()
            loss = crit(net(x)[:100], y[:100])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        score((net(x)[100:].argmax(1) == y[100:]).float().mean(), 0.25)
