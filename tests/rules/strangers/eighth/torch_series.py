"""Time series: forecasts, anomalies, sensors."""

import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import batches, r2, acc, auc


def signal(seed, n=2400):
    """Daily and weekly waves, an AR part and noise; one column, and a driver one."""
    rng = np.random.default_rng(seed + 9)
    t = np.arange(n)
    drv = np.zeros(n)
    ar = np.zeros(n)
    for i in range(1, n):
        drv[i] = 0.9 * drv[i - 1] + rng.normal() * 0.4
        ar[i] = 0.7 * ar[i - 1] + 0.5 * math.tanh(2 * drv[i - 1]) + rng.normal() * 0.1
    y = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 60) + ar
    return torch.tensor(np.stack([y, drv], 1), dtype=torch.float32)


def windows(s, w=24, h=1):
    x = s.unfold(0, w, 1).transpose(1, 2)[: len(s) - w - h + 1]
    return x, s[w + h - 1 :, 0]


class RNN(nn.Module):
    def __init__(self, kind=nn.LSTM, d=2, h=32, k=1):
        super().__init__()
        self.r, self.o = kind(d, h, batch_first=True), nn.Linear(h, k)

    def forward(self, x):
        return self.o(self.r(x)[0][:, -1])


class TCN(nn.Module):
    def __init__(self, c=16, causal=True):
        super().__init__()
        self.l = nn.ModuleList(
            [nn.Conv1d(2 if i == 0 else c, c, 3, dilation=2**i) for i in range(3)]
        )
        self.o = nn.Linear(c, 1)

    def forward(self, x):
        z = x.transpose(1, 2)
        for i, l in enumerate(self.l):
            z = F.relu(l(F.pad(z, (2 * 2**i, 0))))
        return self.o(z[..., -1])


def forecast(
    record,
    seed,
    net,
    *,
    opt=None,
    lr=4e-3,
    epochs=5,
    bs=32,
    h=1,
    crit=None,
    edit=None,
    valedit=None,
    clip=None,
    sched=None,
    out=None,
    unscale=None,
    s=None,
    squeeze=True,
):
    s = signal(seed) if s is None else s
    cut = 1900
    m, sd = s[:cut].mean(0), s[:cut].std(0)
    z = (s - m) / sd
    xt, yt = windows(z[:cut], h=h)
    xv, yv = windows(z[cut:], h=h)
    if edit:
        xt, yt = edit(xt, yt)
    if valedit:
        xv = valedit(xv)
    opt = opt or torch.optim.Adam(net.parameters(), lr)
    crit = crit or nn.MSELoss()
    with record(net, opt, crit if isinstance(crit, nn.Module) else None) as hook:
        for ep in range(epochs):
            net.train()
            for a, b in batches(xt, yt, bs=bs):
                opt.zero_grad()
                loss = crit(net(a)[:, 0] if squeeze else net(a), b)
                loss.backward()
                if clip:
                    nn.utils.clip_grad_norm_(net.parameters(), clip)
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value(
                    "val_loss", crit(net(xv)[:, 0] if squeeze else net(xv), yv)
                )
    with torch.no_grad():
        score(max(-1.0, r2(net(xv)[:, 0], yv)), 0)


@healthy
def series_lstm_forecast(record, seed):
    torch.manual_seed(seed)
    forecast(record, seed, RNN(), clip=1.0)


@healthy
def series_tcn_huber(record, seed):
    torch.manual_seed(seed)
    net = TCN()
    forecast(record, seed, net, crit=nn.HuberLoss(), opt=torch.optim.RAdam(net.parameters(), 4e-3))


@healthy
def series_linear_dlinear(record, seed):
    """A linear forecaster on the flat window."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 1))
    forecast(record, seed, net, crit=nn.L1Loss(), lr=2e-3, epochs=6)


@healthy
def series_quantiles(record, seed):
    torch.manual_seed(seed)
    q = torch.tensor([0.5, 0.1, 0.9])

    def pinball(o, y):
        e = y[:, None] - o
        return torch.maximum(q * e, (q - 1) * e).mean()

    forecast(record, seed, RNN(nn.GRU, k=3), crit=pinball, squeeze=False)


@healthy
def series_truncated_bptt(record, seed):
    """One long stream in eight lanes; the state is carried and detached."""
    torch.manual_seed(seed)
    s = signal(seed, 8 * 420)
    s = (s - s.mean(0)) / s.std(0)
    lanes = s.view(8, 420, 2)
    cell, out = nn.LSTM(2, 32, batch_first=True), nn.Linear(32, 1)
    net = nn.ModuleList([cell, out])
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    with record(net, opt) as hook:
        for ep in range(16):
            h = None
            for i in range(0, 360 - 24, 24):
                z, h = cell(lanes[:, i : i + 24], h)
                loss = F.mse_loss(out(z)[..., 0], lanes[:, i + 1 : i + 25, 0])
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                h = tuple(t.detach() for t in h)
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        z, _ = cell(lanes[:, 340:-1])
        score(r2(out(z)[:, 20:, 0], lanes[:, 361:, 0]), 0)


@pair(
    "the target is the value at the end of the window itself, not the one three steps ahead",
    "middling",
)
def series_target_offset(record, seed, faulty):
    torch.manual_seed(seed)
    forecast(
        record, seed, RNN(), h=3, edit=lambda x, y: (x, x[:, -1, 0]) if faulty else (x, y), epochs=7
    )


@pair("at validation the driver column is in another unit (km/h for m/s)", "mild")
def series_val_unit(record, seed, faulty):
    torch.manual_seed(seed)
    forecast(
        record, seed, RNN(), valedit=(lambda v: v * torch.tensor([1.0, 3.6])) if faulty else None
    )


@pair(
    "trained on the level of a rising series, so that validation lies out of range (no differencing)",
    "mild",
)
def series_trend(record, seed, faulty):
    torch.manual_seed(seed)
    s = signal(seed)
    lvl = torch.linspace(0, 12, len(s))
    if faulty:
        s = s.clone()
        s[:, 0] += lvl
    forecast(record, seed, RNN(), s=s)


@pair("tanh at the output though targets reach past one", "mild")
def series_tanh_output(record, seed, faulty):
    torch.manual_seed(seed)
    forecast(record, seed, nn.Sequential(RNN(), nn.Tanh()) if faulty else RNN())


@pair("plain RNN of unclipped gradients at a large rate blows up", "gross")
def series_unclipped_rnn(record, seed, faulty):
    torch.manual_seed(seed)
    net = RNN(nn.RNN, h=64)
    with torch.no_grad():
        net.r.weight_hh_l0.copy_(torch.randn(64, 64) / 8 * 1.5)
    forecast(
        record,
        seed,
        net,
        opt=torch.optim.SGD(net.parameters(), 0.05, momentum=0.9),
        clip=None if faulty else 0.5,
        epochs=6,
    )


@pair(
    "the inputs are standardised with statistics that include the sentinel -999 of missing values",
    "gross",
)
def series_sentinel(record, seed, faulty):
    torch.manual_seed(seed)

    def fill(x, y=None):
        hole = torch.rand(x.shape) < 0.02
        x = torch.where(hole, torch.zeros_like(x), (x + 20) / 140 if faulty else x)
        return (x, y) if y is not None else x

    forecast(record, seed, RNN(), edit=fill, valedit=fill)


@healthy
def series_anomaly_autoencoder(record, seed):
    """Trained on normal windows; scored by the error on broken ones."""
    torch.manual_seed(seed)
    s = signal(seed)
    z = (s - s.mean(0)) / s.std(0)
    x = z.unfold(0, 24, 1)[:, 0]
    tr, va = x[:1800], x[1800:].clone()
    bad = torch.rand(len(va)) < 0.3
    va[bad] = va[bad] + 0.6 * torch.randn(int(bad.sum()), 24)
    net = nn.Sequential(
        nn.Linear(24, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
        nn.Linear(4, 16),
        nn.ReLU(),
        nn.Linear(16, 24),
    )
    opt = torch.optim.Adam(net.parameters(), 3e-3)
    with record(net, opt, nn.MSELoss()) as hook:
        for ep in range(12):
            for (a,) in batches(tr, bs=50):
                loss = F.mse_loss(net(a), a)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
    with torch.no_grad():
        score(auc(((net(va) - va) ** 2).mean(1), bad.long()), 0.5)


@pair("dropout of 0.6 on the inputs of a forecaster", "mild")
def series_input_dropout(record, seed, faulty):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Dropout(0.6 if faulty else 0.0), RNN(nn.GRU))
    forecast(record, seed, net, epochs=6)
