"""Forecasting, speech-like sequences, graphs, recommenders."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from kit import accuracy, batches, blocks, mlp, r2, ratings, seed_all, waves
from registry import healthy, pair, score


class Forecaster(nn.Module):
    def __init__(self, h=32, out=12, cell="LSTM"):
        super().__init__()
        self.rnn = getattr(nn, cell)(1, h, batch_first=True)
        self.head = nn.Linear(h, out)

    def forward(self, x):
        return self.head(self.rnn(x.unsqueeze(-1))[0][:, -1])


@healthy
def lstm_forecast_plateau(record, seed):
    seed_all(seed)
    z = waves(700, 60)
    x, y = z[:, :48], z[:, 48:]
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
    criterion = nn.SmoothL1Loss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in batches(600, 30):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    schedule.step(criterion(model(x[600:]), y[600:]).item())
    with torch.no_grad():
        score(r2(model(x[600:]), y[600:]), 0.0)


class Dilated(nn.Module):
    def __init__(self, c=16, out=8):
        super().__init__()
        self.inp = nn.utils.parametrizations.weight_norm(nn.Conv1d(1, c, 1))
        self.convs = nn.ModuleList(nn.Conv1d(c, 2 * c, 2, dilation=2**k) for k in range(5))
        self.head = nn.Linear(c, out)

    def forward(self, x):
        h = self.inp(x.unsqueeze(1))
        for k, conv in enumerate(self.convs):
            a, b = conv(F.pad(h, (2**k, 0))).chunk(2, 1)
            h = h + torch.tanh(a) * torch.sigmoid(b)
        return self.head(h[:, :, -1])


@healthy
def wavenet_weight_norm(record, seed):
    seed_all(seed)
    z = waves(1500, 56)
    x, y = z[:, :48], z[:, 48:]
    model = Dilated()
    optimizer = torch.optim.NAdam(model.parameters(), lr=3e-3)
    with record(model) as hook:
        for epoch in range(12):
            for i in batches(1200, 40):
                loss = (model(x[i]) - y[i]).abs().mean()
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


def tones(n, symbols=5, length=48):
    """Tone sequences: each symbol is a frequency lasting some frames, with silence between; for CTC."""
    x = 0.2 * torch.randn(n, length, 8)
    y = torch.randint(1, symbols + 1, (n, 4))
    for i in range(n):
        t = int(torch.randint(0, 4, ()))
        for k in range(4):
            d = int(torch.randint(4, 9, ()))
            x[i, t : t + d, int(y[i, k])] += 1.0
            x[i, t : t + d, 0] += 0.5
            t += d + int(torch.randint(1, 4, ()))
    return x, y


def ctc_decode(logits):
    path = logits.argmax(-1)
    out = []
    for row in path.tolist():
        seq, last = [], 0
        for s in row:
            if s != last and s != 0:
                seq.append(s)
            last = s
        out.append(seq)
    return out


def edit_score(decoded, y):
    total = 0.0
    for a, b in zip(decoded, y.tolist()):
        row = list(range(len(b) + 1))
        for i, ca in enumerate(a, 1):
            prev, row[0] = row[0], i
            for j, cb in enumerate(b, 1):
                prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (ca != cb))
        total += max(0.0, 1 - row[-1] / len(b))
    return total / len(decoded)


def ctc(record, seed, blank=0, time_mistake=False):
    seed_all(seed)
    x, y = tones(700)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv1d(8, 32, 5, stride=2, padding=2),
                nn.ReLU(),
                nn.Conv1d(32, 32, 5, padding=2),
                nn.ReLU(),
            )
            self.head = nn.Linear(32, 6)

        def forward(self, x):
            return self.head(self.conv(x.transpose(1, 2)).transpose(1, 2))

    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    criterion = nn.CTCLoss(blank=blank, zero_infinity=True)
    with record(model, optimizer, criterion):
        for epoch in range(20):
            for i in batches(600, 30):
                logp = model(x[i]).log_softmax(-1).transpose(0, 1)
                if time_mistake:
                    logp = model(x[i]).log_softmax(1).transpose(0, 1)
                loss = criterion(logp, y[i], torch.full((30,), 24), torch.full((30,), 4))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
    with torch.no_grad():
        score(edit_score(ctc_decode(model(x[600:])), y[600:]), 0.25)


@pair("log_softmax runs over time instead of over symbols", "middling")
def ctc_time_softmax(record, seed, faulty):
    ctc(record, seed, time_mistake=faulty)


class Gcn(nn.Module):
    def __init__(self, d=12, h=32, classes=4, layers=2, drop=0.3):
        super().__init__()
        sizes = [d] + [h] * (layers - 1) + [classes]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.drop = nn.Dropout(drop)

    def forward(self, x, a):
        for k, layer in enumerate(self.layers):
            x = layer(a @ self.drop(x))
            if k < len(self.layers) - 1:
                x = x.relu()
        return x


def gcn(record, seed, layers=2, raw=False, lr=1e-2, steps=120, permute=False):
    seed_all(seed)
    x, a, b, y = blocks(240)
    if raw:
        a = b * 30
    if permute:
        order = torch.randperm(240)
        a = a[order][:, order]
    mask = torch.rand(240) < 0.4
    model = Gcn(layers=layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=5e-4)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for step in range(steps):
            model.train()
            optimizer.zero_grad()
            loss = criterion(model(x, a)[mask], y[mask])
            loss.backward()
            optimizer.step()
            if step % 10 == 9:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        criterion(model(x, a)[~mask], y[~mask])
    model.eval()
    with torch.no_grad():
        score((model(x, a)[~mask].argmax(1) == y[~mask]).float().mean(), 0.25)


@healthy
def gcn_full_batch(record, seed):
    gcn(record, seed)


@pair("twelve graph layers without residuals smooth all nodes to one", "gross")
def gcn_oversmoothed(record, seed, faulty):
    gcn(record, seed, layers=12 if faulty else 2)


@pair("nodes of the adjacency were reindexed and the features were not", "middling")
def gcn_reindexed(record, seed, faulty):
    gcn(record, seed, permute=faulty)


class Factors(nn.Module):
    def __init__(self, users=150, items=120, d=6, std=0.1):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d), nn.Embedding(items, d)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mu = nn.Parameter(torch.tensor(3.5))
        nn.init.normal_(self.u.weight, std=std)
        nn.init.normal_(self.i.weight, std=std)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bi.weight)

    def forward(self, u, i):
        return self.mu + (self.u(u) * self.i(i)).sum(1) + self.bu(u)[:, 0] + self.bi(i)[:, 0]


def factor(record, seed, lr=2e-2, decay=1e-5, mix=False, std=0.1, epochs=12):
    seed_all(seed)
    u, i, r = ratings()
    model = Factors(std=std)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(epochs):
            for k in batches(7500, 100):
                a, b = u[k], i[k]
                if mix:
                    a, b = b % 150, a % 120
                loss = criterion(model(a, b), r[k])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                criterion(model(u[7500:], i[7500:]), r[7500:])
    with torch.no_grad():
        score(r2(model(u[7500:], i[7500:]), r[7500:]), 0.0)


@healthy
def matrix_factorization(record, seed):
    factor(record, seed, lr=1e-2, epochs=8)


@pair("L2 regularisation ten thousand times too strong leaves only the mean", "gross")
def factor_decay(record, seed, faulty):
    factor(record, seed, decay=0.1 if faulty else 1e-5, epochs=6)


@pair("embeddings start with a standard deviation of 1.2", "middling")
def factor_wide_start(record, seed, faulty):
    factor(record, seed, std=1.2 if faulty else 0.1, epochs=8)


def towers(record, seed, temperature=0.1, normalise=True, wrong_dim=False, diagonal=True):
    """Two towers with in-batch negatives."""
    seed_all(seed)
    n, d = 2400, 12
    latent = torch.randn(n, 6)
    a = torch.tanh(latent @ torch.randn(6, d)) + 0.1 * torch.randn(n, d)
    b = torch.tanh(latent @ torch.randn(6, d)) + 0.1 * torch.randn(n, d)
    left, right = mlp(d, 48, 16), mlp(d, 48, 16)
    optimizer = torch.optim.AdamW([*left.parameters(), *right.parameters()], lr=2e-3)
    norm = (lambda v: F.normalize(v, dim=0 if wrong_dim else 1)) if normalise else (lambda v: v)
    with record([left, right], optimizer) as hook:
        for epoch in range(8):
            for k in batches(2000, 40):
                s = norm(left(a[k])) @ norm(right(b[k])).T / temperature
                target = torch.arange(40) if diagonal else torch.zeros(40, dtype=torch.long)
                loss = (F.cross_entropy(s, target) + F.cross_entropy(s.T, target)) / 2
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        s = F.normalize(left(a[2000:]), dim=1) @ F.normalize(right(b[2000:]), dim=1).T
    score((s.argmax(1) == torch.arange(400)).float().mean(), 1 / 400)


@pair("the similarity is divided by a temperature of 20", "middling")
def towers_lukewarm(record, seed, faulty):
    towers(record, seed, temperature=20.0 if faulty else 0.1)


@pair("every row's positive is item zero of the batch", "gross")
def towers_zero_labels(record, seed, faulty):
    towers(record, seed, diagonal=not faulty)


@pair("the model forecasts from a window that is reversed in time only while training", "gross")
def reversed_window(record, seed, faulty):
    seed_all(seed)
    z = waves(1500, 52)
    x, y = z[:, :48], z[:, 48:]
    model = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(15):
            model.train()
            for i in batches(1200, 40):
                xb = x[i].flip(1) if faulty else x[i]
                loss = criterion(model(xb), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1200:]), y[1200:])
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


@pair("an Elman network's recurrent matrix starts three times too large", "gross")
def elman_gain(record, seed, faulty):
    seed_all(seed)
    z = waves(900, 40, noise=0.05)
    x, y = z[:, :36], z[:, 36:]
    model = Forecaster(h=40, out=4, cell="RNN")
    nn.init.orthogonal_(model.rnn.weight_hh_l0, gain=3.0 if faulty else 0.9)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for i in batches(750, 30):
                loss = F.mse_loss(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[750:]), y[750:]), 0.0)


@pair("the forget gate's bias is -2, so the memory is wiped each step", "gross")
def lstm_forgets(record, seed, faulty):
    seed_all(seed)
    x = torch.randn(1000, 24)
    y = x[:, :8].mean(1, keepdim=True) * 8**0.5
    model = Forecaster(h=24, out=1)
    with torch.no_grad():
        model.rnn.bias_hh_l0[24:48] = -2.0 if faulty else 2.0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(25):
            for i in batches(800, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[800:]), y[800:]), 0.0)


@pair("the inputs are not scaled: fifty times too wide for a tanh layer", "mild")
def forecaster_scale(record, seed, faulty):
    seed_all(seed)
    z = waves(1500, 44)
    x, y = z[:, :40], z[:, 40:]
    if faulty:
        x = x * 50
    model = nn.Sequential(nn.Linear(40, 48), nn.Tanh(), nn.Linear(48, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for i in batches(1200, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)
