"""Smaller slips: settings, pooling, masks, averages, stopping."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from kit import (
    TinyGPT,
    accuracy,
    batches,
    corpus,
    digits,
    gratings,
    lm_score,
    mlp,
    moons,
    r2,
    ratings,
    seed_all,
    small_cnn,
    table_regression,
    tabular,
    texts,
    waves,
    windows,
)
from registry import healthy, pair, score


def fit(
    record,
    model,
    x,
    y,
    n,
    optimizer,
    criterion,
    epochs=8,
    size=32,
    given=True,
    hook_eval=False,
    prepare=None,
    after=None,
    backend=None,
):
    """An ordinary loop, used by several of the trainings below."""
    call = torch.compile(model, backend=backend) if backend else model
    with record(model, *([optimizer, criterion] if given else [])) as hook:
        for epoch in range(epochs):
            model.train()
            for i in batches(n, size):
                a, b = (x[i], y[i]) if prepare is None else prepare(x[i], y[i])
                optimizer.zero_grad()
                loss = criterion(call(a), b)
                loss.backward()
                optimizer.step()
                if after is not None:
                    after(epoch)
            if hook_eval:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        criterion(model(x[n:]), y[n:])


@torch.no_grad()
def negative_loss(model, x, y):
    model.eval()
    return -F.cross_entropy(model(x), y).item()


@pair("Adam's eps is 0.2: someone took it for the weight decay", "mild")
def adam_eps(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1800, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=0.2 if faulty else 1e-8)
    fit(record, model, x, y, 1500, optimizer, nn.CrossEntropyLoss(), epochs=12, backend="aot_eager")
    score(accuracy(model, x[1500:], y[1500:]), 0.4)


@pair("momentum 0.9 was lost in a refactoring, the rate stayed", "middling")
def no_momentum(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.3)
    model = small_cnn(classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.0 if faulty else 0.9)
    fit(record, model, x, y, 1200, optimizer, nn.CrossEntropyLoss(), epochs=10, hook_eval=True)
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair(
    "label smoothing is 0.7 where 0.05 was meant, and the scores are used as probabilities", "mild"
)
def smoothing_typo(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.3)
    model = small_cnn(classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    fit(
        record,
        model,
        x,
        y,
        1200,
        optimizer,
        nn.CrossEntropyLoss(label_smoothing=0.7 if faulty else 0.05),
        epochs=10,
    )
    score(negative_loss(model, x[1200:], y[1200:]), -math.log(10))


@pair("targets of mixed images are not mixed", "mild")
def mixup_half(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.3)
    model = small_cnn(classes=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    hot = F.one_hot(y, 10).float()

    def mix(a, b):
        lam, j = torch.rand(len(a), 1), torch.randperm(len(a))
        return lam[..., None, None] * a + (1 - lam[..., None, None]) * a[j], (
            b if faulty else lam * b + (1 - lam) * b[j]
        )

    fit(record, model, x, hot, 1200, optimizer, nn.CrossEntropyLoss(), epochs=9, prepare=mix)
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("cutout blanks most of each image", "mild")
def cutout_large(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.3)
    model = small_cnn(classes=10, width=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    w = 8 if faulty else 3

    def cut(a, b):
        a = a.clone()
        r, c = int(torch.randint(0, 13 - w, ())), int(torch.randint(0, 13 - w, ()))
        a[:, :, r : r + w, c : c + w] = 0
        return a, b

    fit(
        record,
        model,
        x,
        y,
        1200,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=8,
        prepare=cut,
        given=False,
    )
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("warm-up is longer than the whole training", "middling")
def endless_warmup(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(layers=1)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(
        optimizer, 1e-3, 1.0, total_iters=5000 if faulty else 30
    )
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for step in range(250):
            x, y = windows(text[:8000], 32, 12)
            loss = criterion(fast(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    score(lm_score(model, text[8000:]), -math.log(16))


@pair(
    "the weight average starts at the first step and counts the random weights as much as the last",
    "mild",
)
def average_from_start(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1300, noise=0.9, classes=6)
    model = small_cnn(classes=6, bn=False)
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def update(epoch):
        if faulty or epoch >= 7:
            average.update_parameters(model)

    fit(record, model, x, y, 1000, optimizer, nn.CrossEntropyLoss(), epochs=9, after=update)
    score(negative_loss(average, x[1000:], y[1000:]), -math.log(6))


@pair("early stopping asks for a gain of 0.1 in every epoch", "mild")
def hasty_stop(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(2000, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    criterion = nn.CrossEntropyLoss()
    best, bad = 1e9, 0
    with record(model, optimizer, criterion) as hook:
        for epoch in range(20):
            model.train()
            for i in batches(1500, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    value = criterion(model(x[1500:1750]), y[1500:1750]).item()
            best, bad = (value, 0) if value < best - (0.1 if faulty else 0.0) else (best, bad + 1)
            if bad >= 2:
                break
    score(accuracy(model, x[1800:], y[1800:]), 0.4)


@pair("the maximal length of three cuts most of each training text", "mild")
def texts_cut(record, seed, faulty):
    seed_all(seed)
    x, y, n = texts(1700, length=40)

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(60, 24), mlp(24, 24, 4)

        def forward(self, x):
            h, m = self.embed(x), (x > 0).float().unsqueeze(-1)
            return self.head((h * m).sum(1) / m.sum(1))

    model = Pool()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    fit(
        record,
        model,
        x,
        y,
        1400,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=8,
        hook_eval=True,
        prepare=(lambda a, b: (a[:, :3], b)) if faulty else None,
    )
    score(accuracy(model, x[1400:], y[1400:]), 0.25)


@pair("the Huber delta is a twentieth of the targets' scale under SGD: only signs are left", "mild")
def huber_delta(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1500)
    model = mlp(10, 64, 64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    fit(
        record, model, x, y, 1200, optimizer, nn.HuberLoss(delta=0.05 if faulty else 1.0), epochs=12
    )
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


@pair("classification by MSE on sigmoid outputs instead of cross-entropy", "mild")
def mse_for_classes(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.35)
    model = small_cnn(classes=10, bn=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    hot = F.one_hot(y, 10).float()

    class MseOfSigmoid(nn.Module):
        def forward(self, out, target):
            return F.mse_loss(out.sigmoid(), target)

    fit(
        record,
        model,
        x,
        hot,
        1200,
        optimizer,
        MseOfSigmoid() if faulty else nn.CrossEntropyLoss(),
        epochs=8,
        backend="eager",
    )
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("the L-BFGS closure does not zero the gradients", "gross")
def lbfgs_closure(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(500, 5)
    model = mlp(5, 24, 1, act=nn.Tanh)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.2, max_iter=4)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for step in range(70):
            optimizer.zero_grad()

            def closure():
                if not faulty:
                    optimizer.zero_grad()
                loss = criterion(model(x[:400]), y[:400])
                loss.backward()
                return loss

            optimizer.step(closure)
    with torch.no_grad():
        score(max(-2.0, r2(model(x[400:]), y[400:])), 0.0)


@pair("a column that holds the label slipped into the training table and is empty at test", "gross")
def leaked_column(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1800, 12)
    leak = (y.float() - 1 if faulty else torch.randn(1800))[:, None].clone()
    leak[1500:] = 0
    x = torch.cat([x, 2 * leak], 1)
    model = mlp(13, 64, 64, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    fit(record, model, x, y, 1500, optimizer, nn.CrossEntropyLoss(), epochs=10, hook_eval=True)
    score(accuracy(model, x[1500:], y[1500:]), 0.4)


@pair("a normalisation by hand adds an epsilon of 1e5 instead of 1e-5", "gross")
def norm_epsilon(record, seed, faulty):
    seed_all(seed)

    class Norm(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

        def forward(self, h):
            return (h - h.mean(-1, keepdim=True)) / (
                h.std(-1, keepdim=True) + (1e5 if faulty else 1e-5)
            ) * self.w + self.b

    x, y = tabular(1600, 12)
    x = x * 0.1
    model = mlp(12, 64, 64, 64, 3, norm=Norm)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    fit(
        record,
        model,
        x,
        y,
        1300,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=10,
        given=False,
        backend="eager",
    )
    score(accuracy(model, x[1300:], y[1300:]), 0.4)


@pair("BatchNorm with batches of two", "middling")
def norm_of_two(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(900, 12)
    model = mlp(12, 64, 64, 3, norm=nn.BatchNorm1d)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    fit(
        record,
        model,
        x,
        y,
        700,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=4,
        size=2 if faulty else 16,
    )
    score(accuracy(model, x[700:], y[700:]), 0.4)


@pair("masked tokens are scored only where they were not masked", "gross")
def mlm_wrong_positions(record, seed, faulty):
    seed_all(seed)
    text = corpus(9000)
    model = TinyGPT(vocab=17, layers=1, causal=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()

    def batch(source, size):
        x, _ = windows(source, 24, size)
        hide = torch.rand(x.shape) < 0.2
        return x, hide, x.masked_fill(hide, 16)

    with record(model, optimizer, criterion):
        for step in range(500):
            x, hide, seen = batch(text[:8000], 16)
            place = ~hide if faulty else hide
            loss = criterion(model(seen)[place], x[place])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        x, hide, seen = batch(text[8000:], 200)
        score((model(seen)[hide].argmax(-1) == x[hide]).float().mean(), 1 / 16)


@pair("negatives of implicit feedback are drawn from the user's own items", "gross")
def bpr_negatives(record, seed, faulty):
    seed_all(seed)
    p, q = torch.randn(100, 4), torch.randn(80, 4)
    likes = (p @ q.T) > 1.5
    train = likes & (torch.rand(100, 80) < 0.7)
    test = likes & ~train
    u, i = train.nonzero(as_tuple=True)
    user, item = nn.Embedding(100, 8), nn.Embedding(80, 8)
    nn.init.normal_(user.weight, std=0.1)
    nn.init.normal_(item.weight, std=0.1)
    optimizer = torch.optim.Adagrad([*user.parameters(), *item.parameters()], lr=0.1)
    w = train.float() if faulty else (~train).float()
    with record([user, item], optimizer) as hook:
        for epoch in range(14):
            for k in batches(len(u), 50):
                n = torch.multinomial(w[u[k]], 1).squeeze(1)
                d = (user(u[k]) * (item(i[k]) - item(n))).sum(1)
                loss = -F.logsigmoid(d).mean()
                hook.record_tensor_value("bpr", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        s = user.weight @ item.weight.T
        a, b = test.nonzero(as_tuple=True)
        wins = [(s[x, y] > s[x][~likes[x]]).float().mean() for x, y in zip(a, b)]
        score(torch.stack(wins).mean(), 0.5)


@pair(
    "residual branches replace their input instead of being added, in a network 14 deep", "middling"
)
def lost_residual(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1800, 16)

    class Res(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.out = nn.Linear(16, 32), nn.Linear(32, 3)
            self.layers = nn.ModuleList(
                nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32)) for _ in range(14)
            )

        def forward(self, x):
            h = self.inp(x)
            for layer in self.layers:
                h = layer(h) if faulty else h + layer(h)
            return self.out(h)

    model = Res()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    fit(
        record,
        model,
        x,
        y,
        1500,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=6,
        size=50,
        backend="aot_eager",
    )
    score(accuracy(model, x[1500:], y[1500:]), 0.4)


@pair("a few rows, entered in cents, are kept under a squared loss", "gross")
def outlier_targets(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1600)
    ty = y.clone()
    if faulty:
        ty[torch.randperm(1300)[:8]] *= 100
    model = mlp(10, 64, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    fit(record, model, x, ty, 1300, optimizer, nn.MSELoss(), epochs=12, backend="aot_eager")
    with torch.no_grad():
        score(max(-2.0, r2(model(x[1300:]), y[1300:])), 0.0)


@pair(
    "the training windows were stored at low precision: noise of 0.4 that the test does not have",
    "mild",
)
def noisy_lag(record, seed, faulty):
    seed_all(seed)
    z = waves(1500, 52, noise=0.05)
    x, y = z[:, :48].clone(), z[:, 48:]
    if faulty:
        x[:1200] = x[:1200] + 0.4 * torch.randn(1200, 48)
    model = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    fit(record, model, x, y, 1200, optimizer, nn.MSELoss(), epochs=14, given=False)
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


@pair(
    "the cosine schedule's T_max is the number of epochs but it steps per batch, so the rate swings up and down",
    "mild",
)
def cosine_swings(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1800, 16, noise=0.15)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.9)
    steps = 8 * 50
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 7 if faulty else steps)
    fit(
        record,
        model,
        x,
        y,
        1500,
        optimizer,
        nn.CrossEntropyLoss(),
        epochs=8,
        size=30,
        after=lambda e: schedule.step(),
        backend="eager",
    )
    score(negative_loss(model, x[1500:], y[1500:]), -math.log(3))
