"""Time series and audio."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau, ExponentialLR, CosineAnnealingWarmRestarts
from registry import healthy, pair, score
import kit


def windows(n, seed, t=36, h=6, **kw):
    s = kit.wave(n, t + h, seed, **kw)
    return s[:, :t], s[:, t:]


class LSTM(nn.Module):
    """The beginner's forecaster"""

    def __init__(self, h=32, out=6, layers=1, first=True):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(1, h, layers, batch_first=first), nn.Linear(h, out)
        self.first = first

    def forward(self, x):
        o, _ = self.lstm(x[..., None])
        return self.linear(o[:, -1])


def forecast(
    record,
    model,
    seed,
    opt,
    loss_fn,
    epochs=20,
    n=600,
    bs=32,
    sched=None,
    clip=None,
    xs=1.0,
    data={},
    per_batch=False,
):
    x, y = windows(n, seed, **data)
    xt, yt = windows(300, seed + 50, **data)
    with record(model, opt, loss_fn) as hook:
        for epoch in range(epochs):
            model.train()
            for i in torch.randperm(n).split(bs):
                opt.zero_grad()
                loss = loss_fn(model(x[i] * xs), y[i] * xs)
                loss.backward()
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                opt.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                vl = loss_fn(model(xt[:100] * xs), yt[:100] * xs)
            if isinstance(sched, ReduceLROnPlateau):
                sched.step(vl)
            elif sched:
                sched.step()
    with torch.no_grad():
        score(kit.r2(model(xt * xs) / xs, yt), 0)


@healthy
def lstm_forecast_plateau(record, seed):
    kit.seed_all(seed)
    model = LSTM()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    forecast(
        record,
        model,
        seed,
        opt,
        nn.MSELoss(),
        14,
        sched=ReduceLROnPlateau(opt, factor=0.5, patience=4),
    )


@pair("batch_first is forgotten: the LSTM runs over the batch instead of over time", "gross")
def lstm_batch_first_forgotten(record, seed, faulty):
    kit.seed_all(seed)
    model = LSTM(24, first=not faulty)
    forecast(
        record,
        model,
        seed,
        torch.optim.Adam(model.parameters(), lr=1e-2),
        nn.MSELoss(),
        10,
        clip=1.0,
    )


class NBeats(nn.Module):
    def __init__(self, t=36, h=6, w=48, blocks=3, minus=True):
        super().__init__()
        self.h, self.minus = h, minus
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Linear(t, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, t + h)
            )
            for _ in range(blocks)
        )

    def forward(self, x):
        out = 0
        for b in self.blocks:
            back, fore = b(x).split([x.shape[1], self.h], 1)
            x = x - back if self.minus else back
            out = out + fore
        return out


@healthy
def nbeats_generic(record, seed):
    kit.seed_all(seed)
    model = NBeats()
    forecast(
        record, model, seed, torch.optim.Adam(model.parameters(), lr=1e-3), nn.L1Loss(), 30, 800
    )


class Causal(nn.Module):
    def __init__(self, i, o, d, k=3):
        super().__init__()
        self.pad = (k - 1) * d
        self.conv1 = nn.utils.parametrizations.weight_norm(nn.Conv1d(i, o, k, dilation=d))
        self.conv2 = nn.utils.parametrizations.weight_norm(nn.Conv1d(o, o, k, dilation=d))
        self.down = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        a = F.dropout(F.relu(self.conv1(F.pad(x, (self.pad, 0)))), 0.05, self.training)
        return F.relu(F.relu(self.conv2(F.pad(a, (self.pad, 0)))) + self.down(x))


@healthy
def tcn_locuslab(record, seed):
    kit.seed_all(seed)

    class TCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(Causal(1, 16, 1), Causal(16, 16, 2), Causal(16, 16, 4))
            self.lin = nn.Linear(16, 6)

        def forward(self, x):
            return self.lin(self.net(x[:, None])[:, :, -1])

    model = TCN()
    forecast(
        record,
        model,
        seed,
        torch.optim.Adam(model.parameters(), lr=4e-3),
        nn.MSELoss(),
        12,
        clip=1.0,
    )


class DeepAR(nn.Module):
    def __init__(self, h=32, scale=True, floor=True):
        super().__init__()
        self.rnn, self.mu, self.sig, self.scale = (
            nn.GRU(1, h, batch_first=True),
            nn.Linear(h, 1),
            nn.Linear(h, 1),
            scale,
        )

    def forward(self, x, state=None):
        o, state = self.rnn(x[..., None], state)
        return self.mu(o)[..., 0], F.softplus(self.sig(o))[..., 0] + 1e-3, state


def deepar(record, seed, scale=True, epochs=14, teacher=True, lr=5e-3):
    kit.seed_all(seed)
    x = kit.wave(400, 42, seed, level=30.0)
    xt = kit.wave(300, 42, seed + 50, level=30.0)
    m, s = (x.mean(), x.std()) if scale else (0.0, 1.0)
    z, zt = (x - m) / s, (xt - m) / s
    model = DeepAR()
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            for i in torch.randperm(400).split(32):
                mu, sd, _ = model(z[i, :-1])
                loss = -torch.distributions.Normal(mu, sd).log_prob(z[i, 1:]).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 10)
                opt.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        mu, _, st = model(zt[:, :36])
        p = [mu[:, -1]]
        for _ in range(5):
            a, _, st = model(p[-1][:, None], st)
            p.append(a[:, 0])
    score(kit.r2(torch.stack(p, 1) * s + m, xt[:, 36:]), 0)


@healthy
def deepar_gaussian(record, seed):
    deepar(record, seed, epochs=13)


@pair("the series around 30 is not scaled before DeepAR", "gross")
def deepar_not_scaled(record, seed, faulty):
    deepar(record, seed, scale=not faulty, epochs=12)


class DLinear(nn.Module):
    def __init__(self, t=36, h=6, k=13):
        super().__init__()
        self.k, self.a, self.b = k, nn.Linear(t, h), nn.Linear(t, h)

    def forward(self, x):
        p = self.k // 2
        tr = F.avg_pool1d(F.pad(x[:, None], (p, p), mode="replicate"), self.k, 1)[:, 0]
        return self.a(x - tr) + self.b(tr)


@healthy
def dlinear(record, seed):
    kit.seed_all(seed)
    model = DLinear()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    forecast(record, model, seed, opt, nn.MSELoss(), 20, sched=ExponentialLR(opt, 0.9))


@pair("ExponentialLR with gamma 0.1 as if it were for a step schedule", "middling")
def exponential_gamma_too_small(record, seed, faulty):
    kit.seed_all(seed)
    model = NBeats(blocks=2)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    forecast(
        record,
        model,
        seed,
        opt,
        nn.MSELoss(),
        20,
        sched=ExponentialLR(opt, 0.1 if faulty else 0.95),
    )


@pair("gradients are clipped to a norm of 0.001 under plain SGD", "gross")
def clip_norm_too_small(record, seed, faulty):
    kit.seed_all(seed)
    model = nn.Sequential(nn.Linear(36, 48), nn.Tanh(), nn.Linear(48, 6))
    forecast(
        record,
        model,
        seed,
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        nn.MSELoss(),
        16,
        clip=0.001 if faulty else 1.0,
    )


@pair(
    "ReduceLROnPlateau watches the loss with mode='max', so the rate falls while it improves",
    "middling",
)
def plateau_mode_max(record, seed, faulty):
    kit.seed_all(seed)
    model = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 6))
    opt = torch.optim.Adam(model.parameters(), lr=3e-4)
    sched = ReduceLROnPlateau(opt, "max" if faulty else "min", factor=0.1, patience=1)
    forecast(record, model, seed, opt, nn.MSELoss(), 25, sched=sched)


class M5(nn.Module):
    """The speech-command tutorial's network"""

    def __init__(self, c=12, k=6, bn=True):
        super().__init__()
        self.c1, self.b1 = nn.Conv1d(1, c, 24, stride=4), nn.BatchNorm1d(c) if bn else nn.Identity()
        self.c2, self.b2 = nn.Conv1d(c, 2 * c, 3), nn.BatchNorm1d(2 * c) if bn else nn.Identity()
        self.fc = nn.Linear(2 * c, k)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.b1(self.c1(x))), 4)
        x = F.max_pool1d(F.relu(self.b2(self.c2(x))), 4)
        return F.log_softmax(self.fc(x.mean(-1)), dim=1)


def speech(
    record, seed, train_data=None, epochs=10, opt=None, model=None, mode="eval", bs=32, gain=1.0
):
    x, y = kit.audio(1000, seed)
    xt, yt = kit.audio(300, seed + 50)
    x = x * gain
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=7, gamma=0.1)
    with record(model, opt, None) as hook:
        for epoch in range(epochs):
            model.train()
            for i in torch.randperm(1000).split(bs):
                loss = F.nll_loss(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            sched.step()
    model.train(mode == "train")
    with torch.no_grad():
        p = model(xt) if mode == "eval" else torch.cat([model(a[None]) for a in xt])
        score((p.argmax(1) == yt).float().mean(), 1 / 6)


@healthy
def speech_commands_m5(record, seed):
    kit.seed_all(seed)
    model = M5()
    speech(
        record,
        seed,
        opt=torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4),
        model=model,
    )


@pair(
    "single recordings are classified in train mode: batch norm uses each one's own statistics",
    "gross",
)
def speech_inference_in_train_mode(record, seed, faulty):
    kit.seed_all(seed)
    model = M5()
    speech(
        record,
        seed,
        opt=torch.optim.Adam(model.parameters(), lr=0.005),
        model=model,
        mode="train" if faulty else "eval",
    )


@pair("training recordings are normalised to a tenth of the loudness heard later", "middling")
def speech_loudness_mismatch(record, seed, faulty):
    kit.seed_all(seed)
    model = M5(bn=False)
    speech(
        record,
        seed,
        opt=torch.optim.Adam(model.parameters(), lr=0.01),
        model=model,
        gain=0.1 if faulty else 1.0,
    )


class CTCNet(nn.Module):
    def __init__(self, k=7, f=8, h=24):
        super().__init__()
        self.conv, self.rnn, self.fc = (
            nn.Conv1d(f, h, 3, padding=1),
            nn.GRU(h, h, batch_first=True, bidirectional=True),
            nn.Linear(2 * h, k),
        )

    def forward(self, x):
        return self.fc(self.rnn(F.gelu(self.conv(x)).transpose(1, 2))[0]).log_softmax(2)


def phones(n, seed, l=5):
    h = torch.Generator().manual_seed(4)
    proto = torch.randn(7, 8, generator=h)
    g = torch.Generator().manual_seed(seed + 12000)
    y = torch.randint(1, 7, (n, l), generator=g)
    d = torch.randint(3, 6, (n, l), generator=g)
    x = torch.zeros(n, 25, 8)
    for i in range(n):
        z = proto[y[i].repeat_interleave(d[i])]
        x[i, : len(z)] = z
    return (x + 0.5 * torch.randn(n, 25, 8, generator=g)).transpose(1, 2), y, d.sum(1)


def ctc(record, seed, blank=0, batch_time=False, lens_ok=True, epochs=10):
    kit.seed_all(seed)
    x, y, L = phones(400, seed)
    xt, yt, Lt = phones(150, seed + 50)
    model = CTCNet()
    opt = torch.optim.AdamW(model.parameters(), lr=8e-3)
    crit = nn.CTCLoss(blank=blank, zero_infinity=True)
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            for i in torch.randperm(400).split(25):
                out = model(x[i]).transpose(0, 1)
                if batch_time:
                    out = out.reshape(25, 25, 7).transpose(0, 1)
                loss = crit(
                    out, y[i], L[i] if lens_ok else torch.full((25,), 25), torch.full((25,), 5)
                )
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
    good = 0
    with torch.no_grad():
        for p, t, n in zip(model(xt).argmax(2), yt, Lt):
            q = [c for c in torch.unique_consecutive(p[:n]).tolist() if c != 0]
            e = list(range(6))
            for a, c in enumerate(q, 1):  # edit distance
                last, e[0] = e[0], a
                for b in range(1, 6):
                    last, e[b] = e[b], min(e[b] + 1, e[b - 1] + 1, last + (c != t[b - 1].item()))
            good += 1 - e[5] / 5
    score(good / 150, 0)


@healthy
def ctc_speech(record, seed):
    ctc(record, seed)


@pair("(batch, time) outputs go to CTC as (time, batch) without transposing", "gross")
def ctc_batch_first(record, seed, faulty):
    ctc(record, seed, batch_time=faulty, epochs=11)
