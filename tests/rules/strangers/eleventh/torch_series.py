"""Time series, sequences, physics-informed and implicit models, neural ODEs."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


def mlp(*d, act=nn.Tanh):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def r2(p, y):
    p = p.detach()
    if not torch.isfinite(p).all():
        return -1.0
    return max(-1.0, 1 - ((p - y) ** 2).mean().item() / y.var().item())


def series(n, length, seed, trend=0.0):
    """Sums of two sines of random phase with an AR(1) noise."""
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(length).float()
    ph = 6.28 * torch.rand(n, 2, 1, generator=g)
    am = 0.5 + torch.rand(n, 2, 1, generator=g)
    x = (am * torch.sin(2 * math.pi * t / torch.tensor([[12.0], [30.0]]) + ph)).sum(1)
    e = torch.randn(n, length, generator=g)
    for k in range(1, length):
        e[:, k] = 0.5 * e[:, k - 1] + 0.87 * e[:, k]
    return x + 0.2 * e + trend * t


def train_lstm(
    record,
    seed,
    horizon=6,
    layers=1,
    batch_first=True,
    opt=None,
    window_bug=False,
    scale=1.0,
    shift=0.0,
    revert=True,
    clip=1.0,
    steps=500,
    cell="lstm",
):
    torch.manual_seed(seed)
    tr, va = series(60, 300, seed) * scale + shift, series(40, 60, seed + 3) * scale + shift
    m, s = (tr.mean(), tr.std()) if revert else (0.0, 1.0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.r = (nn.LSTM if cell == "lstm" else nn.GRU)(1, 32, layers, batch_first=batch_first)
            self.o = nn.Linear(32, horizon)

        def forward(self, x):
            y = self.r(((x - m) / s).unsqueeze(-1))[0]
            return self.o(y[:, -1]) * s + m

    model = Net()
    opt = opt(model) if opt else torch.optim.Adam(model.parameters(), 5e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for k in range(steps):
            i, o = torch.randint(0, 60, (48,)), torch.randint(0, 300 - 40 - horizon, (48,))
            w = torch.stack([tr[a, b : b + 40 + horizon] for a, b in zip(i, o)])
            y = w[torch.randperm(48), 40:] if window_bug else w[:, 40:]
            opt.zero_grad()
            loss = crit(model(w[:, :40]) / scale, y / scale)
            loss.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            q = r2(model(va[:, :40]), va[:, 40 : 40 + horizon])
    score(q, 0.0)


@healthy
def lstm_forecast(record, seed):
    train_lstm(record, seed)


@healthy
def gru_forecast_asgd_like_momentum(record, seed):
    train_lstm(
        record,
        seed,
        cell="gru",
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9),
        steps=700,
    )


@pair("batch_first is missing: the LSTM runs over the batch", "gross")
def lstm_batch_first(record, seed, faulty):
    train_lstm(record, seed, batch_first=not faulty)


@pair("the series around 500 is not standardized, the LSTM's gates saturate", "gross")
def forecast_not_standardized(record, seed, faulty):
    train_lstm(record, seed, shift=500.0, scale=30.0, revert=not faulty, steps=400)


@healthy
def tcn_causal_forecast(record, seed):
    torch.manual_seed(seed)
    tr, va = series(60, 300, seed), series(60, 120, seed + 3)

    class Causal(nn.Module):
        def __init__(self, i, o, d):
            super().__init__()
            self.c, self.d = (
                nn.utils.parametrizations.weight_norm(nn.Conv1d(i, o, 3, dilation=d)),
                d,
            )

        def forward(self, x):
            y = F.relu(self.c(F.pad(x, (2 * self.d, 0))))
            return x + y if x.shape == y.shape else y

    model = nn.Sequential(
        Causal(1, 16, 1),
        Causal(16, 16, 2),
        Causal(16, 16, 4),
        Causal(16, 16, 8),
        nn.Conv1d(16, 1, 1),
    )
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.L1Loss()
    with record(model, opt, crit) as hook:
        for s in range(500):
            i, o = torch.randint(0, 60, (16,)), int(torch.randint(0, 200, (1,)))
            w = tr[i, o : o + 91].unsqueeze(1)
            opt.zero_grad()
            crit(model(w[:, :, :-1]), w[:, :, 1:]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            p = model(va[:, None, :-1])
            q = r2(p[:, :, 40:], va[:, None, 41:])
    score(q, 0.0)


@pair(
    "the convolutions of the forecaster are padded on both sides, so it sees the future in training; it is rolled out alone",
    "middling",
)
def tcn_not_causal(record, seed, faulty):
    torch.manual_seed(seed)
    tr, va = series(60, 300, seed), series(60, 60, seed + 3)

    class C(nn.Module):
        def __init__(self, i, o, d):
            super().__init__()
            self.c, self.d = nn.Conv1d(i, o, 3, dilation=d), d

        def forward(self, x):
            pad = (self.d, self.d) if faulty else (2 * self.d, 0)
            return F.relu(self.c(F.pad(x, pad)))

    model = nn.Sequential(
        C(1, 16, 1), C(16, 16, 2), C(16, 16, 4), C(16, 16, 8), nn.Conv1d(16, 1, 1)
    )
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(500):
            i, o = torch.randint(0, 60, (16,)), int(torch.randint(0, 200, (1,)))
            w = tr[i, o : o + 91].unsqueeze(1)
            opt.zero_grad()
            crit(model(w[:, :, :-1]), w[:, :, 1:]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            w = va[:, None, :50]
            for _ in range(4):
                w = torch.cat([w, model(w)[:, :, -1:]], 2)
            q = r2(w[:, 0, 50:54], va[:, 50:54])
    score(q, 0.0)


def train_rnn_parity(
    record, seed, act="tanh", init=1.0, clip=1.0, ortho=True, lr=2e-3, steps=900, T=20, sgd=0.0
):
    """Remember the first of 20 symbols (a copy over a distance)."""
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.r, self.o = nn.RNN(8, 48, batch_first=True, nonlinearity=act), nn.Linear(48, 6)
            if ortho:
                nn.init.orthogonal_(self.r.weight_hh_l0, gain=init)
            else:
                nn.init.normal_(self.r.weight_hh_l0, std=init)

        def forward(self, x):
            return self.o(self.r(x)[0][:, -1])

    model = Net()
    opt = (
        torch.optim.SGD(model.parameters(), sgd, momentum=0.9)
        if sgd
        else torch.optim.Adam(model.parameters(), lr)
    )
    crit = nn.CrossEntropyLoss()

    def data(n):
        y = torch.randint(0, 6, (n,))
        x = torch.zeros(n, T, 8)
        x[torch.arange(n), 0, y] = 1
        x[:, 1:, 6:] = torch.rand(n, T - 1, 2)
        return x, y

    with record(model, opt, crit) as hook:
        for s in range(steps):
            x, y = data(32)
            opt.zero_grad()
            crit(model(x), y).backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, y = data(500)
            q = (model(x).argmax(1) == y).float().mean()
    score(q, 1 / 6)


@healthy
def rnn_orthogonal_memory(record, seed):
    train_rnn_parity(record, seed)


@pair(
    "the recurrent matrix starts with a standard deviation of 0.01: the gradient vanishes over 36 steps",
    "gross",
)
def rnn_vanishing(record, seed, faulty):
    train_rnn_parity(record, seed, ortho=not faulty, init=0.01 if faulty else 1.0, T=36, steps=700)


class Sine(nn.Module):
    def __init__(self, i, o, first=False, w=30.0, plain=False):
        super().__init__()
        self.l, self.w = nn.Linear(i, o), w
        if not plain:
            b = 1 / i if first else math.sqrt(6 / i) / w
            nn.init.uniform_(self.l.weight, -b, b)

    def forward(self, x):
        return torch.sin(self.w * self.l(x))


def picture(n=48):
    a = torch.linspace(-1, 1, n)
    yy, xx = torch.meshgrid(a, a, indexing="ij")
    z = (
        torch.sin(14 * xx * yy)
        + ((xx**2 + yy**2) < 0.3).float()
        + 0.5 * torch.sign(torch.sin(9 * xx + 4 * yy))
    )
    return torch.stack([xx.flatten(), yy.flatten()], 1), (z.flatten()[:, None] - z.mean()) / z.std()


def train_implicit(record, seed, model, lr=1e-3, steps=800):
    c, z = picture()
    hold = torch.rand(len(c)) < 0.2
    tr = (~hold).nonzero().squeeze(1)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            i = tr[torch.randint(0, len(tr), (256,))]
            opt.zero_grad()
            crit(model(c[i]), z[i]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(c[hold]), z[hold])
    score(q, 0.0)


@healthy
def siren_image(record, seed):
    torch.manual_seed(seed)
    train_implicit(
        record,
        seed,
        nn.Sequential(Sine(2, 64, True, 15.0), Sine(64, 64), Sine(64, 64), nn.Linear(64, 1)),
    )


@pair("the Fourier features are five times too slow: only low frequencies are learned", "mild")
def implicit_slow_fourier(record, seed, faulty):
    torch.manual_seed(seed)

    class FF(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.randn(2, 32) * (1.0 if faulty else 5.0))

        def forward(self, x):
            return torch.cat([(x @ self.b).sin(), (x @ self.b).cos()], 1)

    train_implicit(
        record,
        seed,
        nn.Sequential(
            FF(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        ),
    )


@pair("a SIREN with the default initialization of nn.Linear and a frequency of 100", "gross")
def siren_bad_frequency(record, seed, faulty):
    torch.manual_seed(seed)
    w = 100.0 if faulty else 15.0
    train_implicit(
        record,
        seed,
        nn.Sequential(
            Sine(2, 64, True, w),
            Sine(64, 64, w=w if faulty else 30.0, plain=faulty),
            nn.Linear(64, 1),
        ),
        steps=700,
    )


def train_pinn(record, seed, wbc=10.0, sign=1.0, steps=1200, detach=False):
    """u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0, plus an offset at the ends: u = sin(pi x) + 0.5."""
    torch.manual_seed(seed)
    model = mlp(1, 32, 32, 1)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.998)
    with record(model, opt, None) as hook:
        for s in range(steps):
            x = (torch.rand(64, 1) * 2 - 1).requires_grad_(True)
            u = model(x)
            du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            d2 = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
            if detach:
                d2 = d2.detach()
            res = d2 + sign * math.pi**2 * torch.sin(math.pi * x)
            bc = model(torch.tensor([[-1.0], [1.0]])) - 0.5
            loss = res.pow(2).mean() + wbc * bc.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        xs = torch.linspace(-1, 1, 200)[:, None]
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(xs), torch.sin(math.pi * xs) + 0.5)
    score(q, 0.0)


@healthy
def pinn_poisson(record, seed):
    train_pinn(record, seed)


@pair(
    "the second derivative is detached (create_graph forgotten), only the boundary is learned",
    "gross",
)
def pinn_detached_residual(record, seed, faulty):
    train_pinn(record, seed, detach=faulty)


@healthy
def neural_ode_spiral(record, seed):
    torch.manual_seed(seed)
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])

    def traj(n, T=12):
        x = [torch.randn(n, 2) * 1.2]
        for _ in range(T):
            y = x[-1]
            for _ in range(10):
                y = y + 0.01 * ((y**3) @ A)
            x.append(y.clamp(-3, 3))
        return torch.stack(x, 1)

    tr, va = traj(300), traj(100)
    f = mlp(2, 48, 48, 2)
    opt = torch.optim.RMSprop(f.parameters(), 2e-3)

    def roll(x, T):
        out = []
        for _ in range(T):
            for _ in range(2):  # midpoint rule
                x = x + 0.05 * f(x + 0.025 * f(x))
            out.append(x)
        return torch.stack(out, 1)

    with record(f, opt, None) as hook:
        for s in range(1100):
            i, o = torch.randint(0, 300, (32,)), int(torch.randint(0, 8, (1,)))
            loss = F.smooth_l1_loss(roll(tr[i, o], 5), tr[i, o + 1 : o + 6])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = r2(roll(va[:, 0], 12) - va[:, :1], va[:, 1:] - va[:, :1])
    score(q, 0.0)


@healthy
def kan_like_splines(record, seed):
    torch.manual_seed(seed)

    class Kan(nn.Module):
        def __init__(self, i, o, k=8):
            super().__init__()
            self.register_buffer("c", torch.linspace(-2, 2, k))
            self.w = nn.Parameter(torch.randn(o, i, k) * 0.1)
            self.lin = nn.Linear(i, o)

        def forward(self, x):
            b = torch.exp(-(((x.unsqueeze(-1) - self.c) * 2) ** 2))
            return self.lin(F.silu(x)) + torch.einsum("bik,oik->bo", b, self.w)

    def data(n):
        x = torch.rand(n, 4) * 2 - 1
        return x, torch.exp(torch.sin(3 * x[:, :1]) + x[:, 1:2] ** 2) * torch.cos(
            2 * x[:, 2:3] * x[:, 3:]
        )

    model = nn.Sequential(Kan(4, 8), Kan(8, 1))
    opt = torch.optim.Adam(model.parameters(), 5e-3, betas=(0.9, 0.99))
    crit = nn.MSELoss()
    x, y = data(2000)
    with record(model, opt, crit) as hook:
        for s in range(1000):
            i = torch.randint(0, 2000, (64,))
            opt.zero_grad()
            crit(model(x[i]), y[i]).backward()
            opt.step()
        v, w = data(500)
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(v), w)
    score(q, 0.0)


@healthy
def transformer_adding_long_plateau(record, seed):
    """The adding problem with a GRU: flat at the variance for hundreds of steps, then it falls."""
    torch.manual_seed(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.r, self.o = nn.GRU(2, 32, batch_first=True), nn.Linear(32, 1)

        def forward(self, x):
            return self.o(self.r(x)[1][-1])

    def data(n, T=24):
        v, m = torch.rand(n, T), torch.zeros(n, T)
        a, b = torch.randint(0, T // 2, (n,)), torch.randint(T // 2, T, (n,))
        m[torch.arange(n), a] = 1
        m[torch.arange(n), b] = 1
        return torch.stack([v, m], -1), (v * m).sum(1, keepdim=True)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            x, y = data(32)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, y = data(500)
            q = r2(model(x), y)
    score(q, 0.0)
