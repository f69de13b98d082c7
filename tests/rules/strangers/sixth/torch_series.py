"""Time series, audio, graphs, physics."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *


def windows(s, h, f=1):
    w = s.unfold(0, h + f, 1)
    return w[:, :h], w[:, h:]


@healthy
def load_forecast_gru(record, seed):
    torch.manual_seed(seed)
    s = load(3000, seed)
    m, d = s[:2400].mean(), s[:2400].std()
    z = (s - m) / d
    X, Y = windows(z[:2400], 48, 12)
    Xt, Yt = windows(z[2400:], 48, 12)

    class G(nn.Module):
        def __init__(self):
            super().__init__()
            self.g, self.o = nn.GRU(1, 40, batch_first=True), nn.Linear(40, 12)

        def forward(self, x):
            return self.o(self.g(x[..., None])[1][0])

    net = G()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    mae = nn.L1Loss()
    with record(net, opt, mae) as hook:
        for it in range(400):
            i = torch.randint(0, len(X), (48,))
            loss = mae(net(X[i]), Y[i])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            hook.record_tensor_value("mae", loss.item())
            hook.end_step()
            if it % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_mae", mae(net(Xt), Yt).item())
        with torch.no_grad():
            score(-mae(net(Xt), Yt), -mae(Yt.mean().expand_as(Yt), Yt))


@healthy
def load_tcn_quantiles_new_regime(record, seed):
    """Quantile loss; half way through the plant is enlarged (level and swing change) and the training goes on with the new data."""
    torch.manual_seed(seed)
    s = load(4000, seed)
    s[2000:] = s[2000:] * 1.3 - 40
    z = (s - 400) / 90
    X1, Y1 = windows(z[:2000], 64)
    X2, Y2 = windows(z[2000:3500], 64)
    Xt, Yt = windows(z[3500:], 64)
    net = nn.Sequential(
        nn.Conv1d(1, 24, 3),
        nn.ReLU(),
        nn.Conv1d(24, 24, 3, dilation=4),
        nn.ReLU(),
        nn.Conv1d(24, 24, 3, dilation=8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 38, 3),
    )
    q = torch.tensor([0.1, 0.5, 0.9])

    def pinball(p, y):
        e = y - p
        return torch.maximum(q * e, (q - 1) * e).mean()

    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    with record(net, opt) as hook:
        for it in range(700):
            X, Y = (X1, Y1) if it < 350 else (X2, Y2)
            i = torch.randint(0, len(X), (64,))
            loss = pinball(net(X[i][:, None]), Y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("pinball", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(-pinball(net(Xt[:, None]), Yt), -pinball(Yt.quantile(q)[None], Yt))


@healthy
def audio_conv1d_fp16_scaler(record, seed):
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
        nn.Conv1d(32, 32, 9, 2, 4),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(128, 6),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for it in range(200):
            i = torch.randint(0, 2000, (24,))
            with torch.autocast("cpu", dtype=torch.float16):
                out = net(x[i][:, None])
            loss = crit(out.float(), y[i])
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        with torch.no_grad():
            score(acc(net(xt[:, None]), yt), 1 / 6)


@healthy
def audio_spectrogram_adafactor(record, seed):
    torch.manual_seed(seed)

    def spec(w):
        return (
            torch.stft(w, 64, 16, window=torch.hann_window(64), return_complex=True)
            .abs()
            .add(1e-3)
            .log()
        )

    x, y = waves(2400, seed, noise=0.8)
    xt, yt = waves(500, seed + 1, noise=0.8)
    x, xt = spec(x), spec(xt)
    mu, sd = x.mean((0, 2), keepdim=True), x.std((0, 2), keepdim=True)
    x, xt = (x - mu) / sd, (xt - mu) / sd
    net = nn.Sequential(
        nn.Unflatten(1, (1, 33)),
        nn.Conv2d(1, 12, 3, padding=1),
        nn.InstanceNorm2d(12, affine=True),
        nn.ELU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1),
        nn.ELU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(384, 6),
    )
    opt = torch.optim.Adafactor(net.parameters(), lr=0.02)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(4):
            net.train()
            for b in torch.randperm(2400).split(40):
                loss = crit(net(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xt), yt).item())
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 6)


class GCN(nn.Module):
    def __init__(self, i, h, o, drop=0.5):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(i, h), nn.Linear(h, o), drop

    def forward(self, x, A):
        h = F.relu(A @ self.a(F.dropout(x, self.drop, self.training)))
        return A @ self.b(F.dropout(h, self.drop, self.training))


@healthy
def sbm_gcn_full_batch(record, seed):
    torch.manual_seed(seed)
    x, A, y = sbm(600, seed)
    N = norm_adj(A)
    tr = torch.zeros(600, dtype=torch.bool)
    tr[:120] = True
    va = torch.zeros_like(tr)
    va[120:240] = True
    net = GCN(16, 32, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    with record(net, opt) as hook:
        for ep in range(200):
            net.train()
            loss = F.cross_entropy(net(x, N)[tr], y[tr])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if ep % 10 == 0:
                net.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value(
                        "val_loss", F.cross_entropy(net(x, N)[va], y[va]).item()
                    )
        net.eval()
        with torch.no_grad():
            score(acc(net(x, N)[240:], y[240:]), 0.25)


@healthy
def small_graphs_gin(record, seed):
    """Graph classification: rings with or without a chord, batched as dense adjacency."""
    torch.manual_seed(seed)

    def make(n, g):
        A = torch.zeros(n, 12, 12)
        r = torch.arange(12)
        A[:, r, (r + 1) % 12] = 1
        A[:, (r + 1) % 12, r] = 1
        y = torch.randint(0, 3, (n,), generator=g)
        for k in range(n):
            for _ in range(int(y[k])):
                i = int(torch.randint(0, 12, (1,), generator=g))
                A[k, i, (i + 5) % 12] = A[k, (i + 5) % 12, i] = 1
            p = torch.randperm(12, generator=g)
            A[k] = A[k][p][:, p]
        return A, y

    A, y = make(1500, torch.Generator().manual_seed(seed))
    At, yt = make(400, torch.Generator().manual_seed(seed + 1))

    class Gin(nn.Module):
        def __init__(self, d=32):
            super().__init__()
            self.m = nn.ModuleList(
                [
                    nn.Sequential(nn.Linear(i, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
                    for i in (1, d, d)
                ]
            )
            self.o = nn.Linear(d, 3)

        def forward(self, A):
            h = A.sum(-1, keepdim=True) - 2
            for m in self.m:
                h = m(h + A @ h)
            return self.o(h.mean(1))

    net = Gin()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(300):
            i = torch.randint(0, 1500, (50,))
            loss = crit(net(A[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(acc(net(At), yt), 1 / 3)


@healthy
def pinn_oscillator(record, seed):
    """Physics-informed: u'' + 4u = 0, u(0)=1, u'(0)=0."""
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.998)
    d = lambda u, t: torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    with record(net, opt) as hook:
        for s in range(1000):
            t = (torch.rand(64, 1) * 3).requires_grad_()
            u = net(t)
            res = (d(d(u, t), t) + 4 * u).pow(2).mean()
            t0 = torch.zeros(1, 1, requires_grad=True)
            u0 = net(t0)
            bc = (u0 - 1).pow(2).mean() + d(u0, t0).pow(2).mean()
            loss = res + 10 * bc
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("residual", res.item())
            hook.record_tensor_value("boundary", bc.item())
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            t = torch.linspace(0, 3, 100)[:, None]
            score(r2(net(t), torch.cos(2 * t)), 0.0)


@healthy
def pendulum_ode_lbfgs(record, seed):
    """Fit the field of a pendulum from one-step pairs with L-BFGS on the full batch."""
    torch.manual_seed(seed)
    f = lambda z: torch.stack([z[:, 1], -2 * torch.sin(z[:, 0]) - 0.1 * z[:, 1]], 1)
    z, zt = torch.rand(500, 2) * 4 - 2, torch.rand(300, 2) * 4 - 2
    y = f(z) + 0.02 * torch.randn(500, 2)
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3, history_size=10)
    mse = nn.MSELoss()
    with record(net, opt, mse) as hook:
        for s in range(120):

            def closure():
                opt.zero_grad()
                l = mse(net(z), y)
                l.backward()
                return l

            loss = opt.step(closure)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(net(zt), f(zt)), 0.0)


@healthy
def siren_image_fit(record, seed):
    """Coordinates to pixels with sine activations, through torch.compile."""
    torch.manual_seed(seed)
    g = torch.linspace(-1, 1, 32)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    img = (
        torch.sin(9 * xx * yy) * 0.5 + torch.exp(-8 * ((xx - 0.2) ** 2 + yy**2)) - 0.3 * (xx > 0.5)
    )
    c = torch.stack([xx, yy], -1).view(-1, 2)
    t = img.view(-1, 1)

    class Sine(nn.Module):
        def __init__(self, i, o, w=15.0, first=False):
            super().__init__()
            self.l, self.w = nn.Linear(i, o), w
            b = 1 / i if first else (6 / i) ** 0.5 / w
            nn.init.uniform_(self.l.weight, -b, b)

        def forward(self, x):
            return torch.sin(self.w * self.l(x))

    net = nn.Sequential(Sine(2, 48, first=True), Sine(48, 48), Sine(48, 48), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    fast = torch.compile(net, backend="aot_eager")
    with record(net, opt) as hook:
        for s in range(400):
            loss = F.mse_loss(fast(c), t)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mse", loss.item())
            if s % 100 == 99:
                hook.record_tensor_value("psnr", -10 * math.log10(loss.item()))
            hook.end_step()
        with torch.no_grad():
            score(r2(net(c), t), 0.0)


# ------------------------------------------------------------------ pairs
