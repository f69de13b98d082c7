"""Time series and audio."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, picks, r2, small_cnn, start
from registry import healthy, pair, score


def seasons(n, length=48, noise=0.1):
    """Windows of two mixed seasons with a random level."""
    t = torch.arange(length) + 200 * torch.rand(n, 1)
    a, b = torch.rand(2, n, 1) + 0.3
    s = a * (t * 2 * math.pi / 12).sin() + b * (t * 2 * math.pi / 7 + 6.3 * torch.rand(n, 1)).sin()
    return s + torch.randn(n, 1) * 0.5 + noise * torch.randn(n, length)


def tones(n, length=512, classes=5):
    """Chirps in noise; the class is the pair of start and end pitch."""
    y = torch.randint(classes, (n,))
    t = torch.linspace(0, 1, length)
    start_pitch = torch.tensor([30.0, 30, 90, 90, 60])[y] + 6 * torch.rand(n)
    slope = torch.tensor([0.0, 60, 0, -60, 0])[y]
    wave = (
        2 * math.pi * (start_pitch[:, None] * t + slope[:, None] * t**2 / 2)
        + 6.3 * torch.rand(n, 1)
    ).sin()
    return wave * (0.3 + torch.rand(n, 1)) + 0.4 * torch.randn(n, length), y


def spectrogram(wave, log=True):
    s = torch.stft(wave, 64, 32, window=torch.hann_window(64), return_complex=True).abs() ** 2
    return (s + 1e-3).log()[:, None, :32] if log else s[:, None, :32]


class Recurrent(nn.Module):
    def __init__(self, cell=nn.LSTM, hidden=32, inp=1, out=1):
        super().__init__()
        self.rnn, self.out = cell(inp, hidden, batch_first=True), nn.Linear(hidden, out)

    def forward(self, x):
        return self.out(self.rnn(x if x.dim() == 3 else x[..., None])[0][:, -1])


@healthy
def tcn_forecasts_six_steps(record, seed):
    start(seed)
    s, st = seasons(1500), seasons(300)

    class Causal(nn.Conv1d):
        def forward(self, x):
            return super().forward(F.pad(x, (2 * self.dilation[0], 0)))

    model = nn.Sequential(
        nn.Unflatten(1, (1, 42)),
        Causal(1, 16, 3),
        nn.ReLU(),
        Causal(16, 16, 3, dilation=2),
        nn.ReLU(),
        Causal(16, 16, 3, dilation=4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 42, 6),
    )
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 200, 0.4)
    criterion = nn.MSELoss()
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(len(s), 32, 600)):
            opt.zero_grad()
            criterion(model(s[i, :42]), s[i, 42:]).backward()
            opt.step()
            sched.step()
            if k % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    model.eval()
                    criterion(model(st[:, :42]), st[:, 42:])
                    model.train()
    score(r2(model(st[:, :42]), st[:, 42:]), 0)


@healthy
def clipped_lstm_forecast(record, seed):
    start(seed)
    s, st = seasons(1200, 31), seasons(300, 31)
    model = Recurrent()
    opt = torch.optim.SGD(model.parameters(), 0.2, momentum=0.9)
    criterion = nn.SmoothL1Loss()
    with record(model, opt, criterion):
        for i in picks(len(s), 40, 450):
            opt.zero_grad()
            criterion(model(s[i, :30]), s[i, 30:]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            opt.step()
    score(r2(model(st[:, :30]), st[:, 30:]), 0)


@healthy
def keyword_spotting_on_spectrograms(record, seed):
    start(seed)
    (x, y), (xt, yt) = tones(1000), tones(300)
    x, xt = spectrogram(x), spectrogram(xt)
    mean, std = x.mean((0, 3), keepdim=True), x.std((0, 3), keepdim=True)
    x, xt = (x - mean) / std, (xt - mean) / std
    model = small_cnn(1, 5, 8, drop=0.3)
    model(x[:2])
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 25, 300):
            a, m = x[i].clone(), int(torch.randint(28, (1,)))
            a[:, :, m : m + 4] = 0
            opt.zero_grad()
            criterion(model(a), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.2)


def spelled(n):
    """Signals that spell three letters of five, for a CTC loss."""
    y = torch.randint(1, 6, (n, 3))
    g = torch.Generator().manual_seed(4)
    look = torch.randn(6, 8, generator=g)
    look[0] = 0
    x = torch.zeros(n, 24, 8)
    for k in range(n):
        at = torch.randint(0, 4, (1,)).item()
        for c in y[k]:
            w = int(torch.randint(2, 5, (1,)))
            x[k, at : at + w] = look[c]
            at += w + int(torch.randint(1, 3, (1,)))
    return x + 0.4 * torch.randn_like(x), y


def spelling_rate(model, x, y, blank):
    with torch.no_grad():
        best = model(x).argmax(-1)
    right = 0
    for p, t in zip(best.tolist(), y.tolist()):
        q = [c for k, c in enumerate(p) if c != blank and (k == 0 or c != p[k - 1])]
        right += sum(a == b for a, b in zip(q, t)) / max(len(q), 3)
    return right / len(x)


@healthy
def ctc_reads_letters(record, seed):
    start(seed)
    (x, y), (xt, yt) = spelled(800), spelled(200)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.GRU(8, 24, batch_first=True, bidirectional=True), nn.Linear(
                48, 6
            )

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 250):
            opt.zero_grad()
            logp = model(x[i]).log_softmax(-1).transpose(0, 1)
            criterion(logp, y[i], torch.full((32,), 24), torch.full((32,), 3)).backward()
            opt.step()
    score(spelling_rate(model, xt, yt, 0), 0.1)


@pair("targets (n,) against predictions (n, 1): the loss broadcasts", "gross")
def forecast_loss_broadcasts(record, seed, faulty):
    start(seed)
    s, st = seasons(1200, 25), seasons(300, 25)
    model = Recurrent(nn.GRU)
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    with record(model, opt) as hook:
        for i in picks(len(s), 32, 300):
            opt.zero_grad()
            p = model(s[i, :24])
            loss = ((p - s[i, 24]) ** 2).mean() if faulty else ((p[:, 0] - s[i, 24]) ** 2).mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
            opt.step()
    score(r2(model(st[:, :24])[:, 0], st[:, 24]), 0)


@pair("plain RNN on long sequences at a high rate without gradient clipping", "gross")
def rnn_without_clipping(record, seed, faulty):
    start(seed)

    def make(n):
        x = torch.randn(n, 40, 2)
        return x, (x[:, -8:, 0].sum(1, keepdim=True) + x[:, -4:, 1].sum(1, keepdim=True)) / 3

    (x, y), (xt, yt) = make(1500), make(300)
    model = Recurrent(nn.RNN, 48, 2)
    opt = torch.optim.SGD(model.parameters(), 0.06, momentum=0.9)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 500):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            if not faulty:
                nn.utils.clip_grad_norm_(model.parameters(), 0.2)
            opt.step()
    score(max(r2(model(xt), yt), -1), 0)


@pair("each window is standardised by itself, which removes the level that decides", "middling")
def level_normalised_away(record, seed, faulty):
    start(seed)

    def make(n):
        y, t = torch.randint(4, (n,)), torch.arange(32) + 50 * torch.rand(n, 1)
        s = (
            (t * 6.28 / torch.tensor([4.0, 6, 9])[y % 3][:, None]).sin()
            + 2.5 * (y == 3)[:, None]
            + 0.5 * torch.randn(n, 32)
        )
        s = (s - s.mean(1, keepdim=True)) / s.std(1, keepdim=True) if faulty else (s - 1.2) / 1.5
        return s[:, None], y

    (x, y), (xt, yt) = make(2000), make(500)
    model = nn.Sequential(
        nn.Conv1d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.Conv1d(16, 16, 5, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(224, 32),
        nn.ReLU(),
        nn.Linear(32, 4),
    )
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 40, 400):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 1 / 4)


@pair("CTC blank index is that of a letter", "middling")
def ctc_blank_is_a_letter(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = spelled(800), spelled(200)
    rnn, out = nn.LSTM(8, 32, batch_first=True), nn.Linear(32, 6)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = rnn, out

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), 8e-3)
    criterion = nn.CTCLoss(blank=5 if faulty else 0, zero_infinity=True)
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 250):
            opt.zero_grad()
            logp = model(x[i]).log_softmax(-1).transpose(0, 1)
            criterion(logp, y[i], torch.full((32,), 24), torch.full((32,), 3)).backward()
            opt.step()
    score(spelling_rate(model, xt, yt, 5 if faulty else 0), 0.1)


@pair("spectrogram powers are fed without a logarithm", "mild")
def spectrogram_without_log(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = tones(800), tones(300)
    loud = lambda n: 10 ** (4 * torch.rand(n, 1) - 2)
    x, xt = spectrogram(x * loud(800), not faulty), spectrogram(xt * loud(300), not faulty)
    model = small_cnn(1, 5, 8)
    model(x[:2])
    opt = torch.optim.SGD(model.parameters(), 0.003, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 25, 300):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    score(accuracy(model, xt, yt), 0.2)


@pair("the window holds the value to forecast in training, but not in the test", "middling")
def target_inside_the_window(record, seed, faulty):
    start(seed)
    s, st = seasons(1500, 33), seasons(300, 33)
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    criterion = nn.MSELoss()
    take = lambda a, end: a[:, end - 24 : end]
    with record(model, opt, criterion):
        for i in picks(len(s), 32, 500):
            opt.zero_grad()
            criterion(model(take(s[i], 29 if faulty else 28)), s[i, 28:29]).backward()
            opt.step()
    score(max(r2(model(take(st, 28)), st[:, 28:29]), -1), 0)


@pair("forget gates of the LSTM start closed", "middling")
def forget_gates_closed(record, seed, faulty):
    start(seed)

    def make(n):
        x = torch.randn(n, 20, 2)
        x[:, :, 1] = 0
        at = torch.randint(6, 14, (n,))
        x[torch.arange(n), at, 1] = 1
        return x, x[torch.arange(n), at, :1]

    (x, y), (xt, yt) = make(2500), make(400)
    model = Recurrent(nn.LSTM, 32, 2)
    for name, b in model.rnn.named_parameters():
        if "bias" in name:
            b.data[32:64] = -0.75 if faulty else 0.5
    opt = torch.optim.Adam(model.parameters(), 8e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 40, 600):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(r2(model(xt), yt), 0)
