"""Time series, sound, graphs and physics: pairs with and without a fault."""

import torch
from torch import nn
import torch.nn.functional as F
from registry import pair, score
from data_parts import *
from torch_series import GCN, windows


@pair(
    "loss is computed from .detach()ed / numpy converted predictions of one of two branches: that branch never learns",
    "middling",
)
def forecast_branch_detached(record, seed, faulty):
    torch.manual_seed(seed)
    s = load(3000, seed)
    z = (s - 400) / 80
    X, Y = windows(z[:2400], 72, 6)
    Xt, Yt = windows(z[2400:], 72, 6)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv1d(1, 16, 5, 2),
                nn.ReLU(),
                nn.Conv1d(16, 16, 5, 2),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(16 * 15, 32),
                nn.ReLU(),
            )
            self.last = nn.Sequential(nn.Linear(3, 16), nn.ReLU())
            self.o = nn.Linear(48, 6)

        def forward(self, x):
            h = self.conv(x[:, None])
            if faulty:
                h = torch.from_numpy(h.detach().numpy())
            return self.o(torch.cat([h, self.last(x[:, -3:])], 1))

    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.MSELoss()
    with record(net, opt, crit) as hook:
        for it in range(500):
            i = torch.randint(0, len(X), (32,))
            loss = crit(net(X[i]), Y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(net(Xt), Yt), 0.0)


@pair(
    "batch_first forgotten: an LSTM reads (batch, time, 1) as (time, batch, 1) and carries state across samples",
    "gross",
)
def forecast_batch_first(record, seed, faulty):
    torch.manual_seed(seed)
    s = load(3000, seed)
    z = (s - 400) / 80
    X, Y = windows(z[:2400], 30, 6)
    Xt, Yt = windows(z[2400:], 30, 6)

    class L(nn.Module):
        def __init__(self):
            super().__init__()
            self.l, self.o = nn.LSTM(1, 32, batch_first=not faulty), nn.Linear(32, 6)

        def forward(self, x):
            return self.o(self.l(x[..., None])[0][:, -1])

    net = L()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    crit = nn.MSELoss()
    with record(net, opt, crit) as hook:
        for ep in range(5):
            for b in torch.randperm(len(X)).split(32):
                loss = crit(net(X[b]), Y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(Xt), Yt))
        with torch.no_grad():
            score(r2(net(Xt), Yt), 0.0)


@pair(
    "the scaler is fitted anew on the test part, whose level differs, so inputs are shifted there",
    "gross",
)
def forecast_scaler_refit(record, seed, faulty):
    torch.manual_seed(seed)
    s = load(3000, seed)
    s[2400:] = s[2400:] * 1.1 + 60
    m, d = s[:2400].mean(), s[:2400].std()
    z = (s - m) / d
    zt = (s[2400:] - s[2400:].mean()) / s[2400:].std() if faulty else z[2400:]
    X, Y = windows(z[:2400], 24, 3)
    Xt, Yt = windows(zt, 24, 3)
    Yt = windows(s[2400:], 24, 3)[1]
    net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    crit = nn.MSELoss()
    with record(net, opt, crit) as hook:
        for it in range(500):
            i = torch.randint(0, len(X), (64,))
            loss = crit(net(X[i]), Y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if it % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value(
                        "val_loss", crit(net(Xt) if not faulty else net(Xt), (Yt - m) / d).item()
                    )
        with torch.no_grad():
            score(r2(net(Xt) * d + m, Yt), 0.0)


@pair(
    "a dead microphone: from step 150 the input pipeline returns zeros for most clips", "middling"
)
def audio_zeros_midway(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = waves(2000, seed)
    xt, yt = waves(500, seed + 1)
    net = nn.Sequential(
        nn.Conv1d(1, 16, 17, 4, 8),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Conv1d(16, 32, 9, 2, 4),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(8),
        nn.Flatten(),
        nn.Linear(256, 6),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for it in range(400):
            i = torch.randint(0, 2000, (32,))
            xb = x[i]
            if faulty and it >= 150:
                xb = xb * (torch.rand(32, 1) < 0.1)
            loss = crit(net(xb[:, None]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if it % 80 == 79:
                net.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(net(xt[:, None]), yt).item())
                net.train()
        net.eval()
        with torch.no_grad():
            score(acc(net(xt[:, None]), yt), 1 / 6)


@pair("sixteen graph convolutions in a row without residuals: over-smoothing", "gross")
def gcn_oversmoothing(record, seed, faulty):
    torch.manual_seed(seed)
    x, A, y = sbm(500, seed)
    N = norm_adj(A)

    class Deep(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.i = nn.Linear(16, 32)
            self.l = nn.ModuleList([nn.Linear(32, 32) for _ in range(n)])
            self.o = nn.Linear(32, 4)

        def forward(self, x):
            h = F.relu(self.i(x))
            for l in self.l:
                h = F.relu(N @ l(h))
            return self.o(h)

    net = Deep(16 if faulty else 2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=1e-3)
    with record(net, opt) as hook:
        for ep in range(150):
            loss = F.cross_entropy(net(x)[:250], y[:250])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(x)[250:], y[250:]), 0.25)


@pair(
    "adjacency used unnormalised without self loops (sums of many neighbours), deep net: activations explode",
    "middling",
)
def gcn_adjacency_not_normalised(record, seed, faulty):
    torch.manual_seed(seed)
    x, A, y = sbm(500, seed, p_in=0.1, p_out=0.01, signal=0.6)
    N = A if faulty else norm_adj(A)
    net = nn.ModuleList([nn.Linear(16, 48), nn.Linear(48, 48), nn.Linear(48, 4)])
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def f():
        h = x
        for k, l in enumerate(net):
            h = N @ l(h)
            if k < 2:
                h = F.relu(h)
        return h

    with record(net, opt) as hook:
        for ep in range(200):
            loss = F.cross_entropy(f()[:250], y[:250])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(torch.nan_to_num(f()[250:]), y[250:]), 0.25)


@pair("sign of the residual term: u'' - 4u = 0 is solved instead of u'' + 4u = 0", "gross")
def pinn_wrong_sign(record, seed, faulty):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 800)
    sign = -1 if faulty else 1
    d = lambda u, t: torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    with record(net, opt) as hook:
        for s in range(800):
            t = (torch.rand(64, 1) * 2).requires_grad_()
            u = net(t)
            res = (d(d(u, t), t) + sign * 4 * u).pow(2).mean()
            t0 = torch.zeros(1, 1, requires_grad=True)
            u0 = net(t0)
            loss = res + 20 * ((u0 - 1) ** 2 + d(u0, t0) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            t = torch.linspace(0, 2, 100)[:, None]
            score(r2(net(t), torch.cos(2 * t)), 0.0)


@pair("the whole model is float16 with Adam: eps 1e-8 rounds to zero, 0/0 gives NaN", "gross")
def audio_half_model_adam(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = waves(2000, seed, length=128)
    xt, yt = waves(500, seed + 1, length=128)
    x, xt = torch.fft.rfft(x).abs() / 8, torch.fft.rfft(xt).abs() / 8
    dt = torch.float16 if faulty else torch.float32
    net = nn.Sequential(
        nn.Linear(65, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 6)
    ).to(dt)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with record(net, opt) as hook:
        for it in range(400):
            i = torch.randint(0, 2000, (64,))
            loss = F.cross_entropy(net(x[i].to(dt)), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(torch.nan_to_num(net(xt.to(dt)).float()), yt), 1 / 6)
