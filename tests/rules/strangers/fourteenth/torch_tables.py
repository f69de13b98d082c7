"""Tables: classification, regression of several kinds, imbalance, survival."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from kit import accuracy, balanced, batches, mlp, moons, r2, seed_all, table_regression, tabular
from registry import healthy, pair, score


@healthy
def table_constant_columns(record, seed):
    """Half of the columns are constant or all zero, as in one-hot tables of rare levels."""
    seed_all(seed)
    x, y = tabular(2000, 10)
    x = torch.cat([x, torch.zeros(2000, 6), torch.ones(2000, 4)], 1)
    model = mlp(20, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(12):
            for i in batches(1600, 32):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1600:], y[1600:]), 0.4)


@healthy
def lbfgs_full_batch(record, seed):
    seed_all(seed)
    x, y = table_regression(600, 6)
    model = mlp(6, 24, 1, act=nn.Tanh)
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.5, max_iter=5, history_size=10, line_search_fn="strong_wolfe"
    )
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for step in range(60):

            def closure():
                optimizer.zero_grad()
                loss = criterion(model(x[:500]), y[:500])
                loss.backward()
                return loss

            optimizer.step(closure)
    with torch.no_grad():
        score(r2(model(x[500:]), y[500:]), 0.0)


@healthy
def poisson_counts(record, seed):
    """Poisson loss goes below zero for large counts."""
    seed_all(seed)
    x = torch.randn(2000, 8)
    rate = torch.exp(2.0 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3])
    y = torch.poisson(rate)
    model = mlp(8, 48, 48, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.PoissonNLLLoss(log_input=True)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(14):
            model.train()
            for i in batches(1600, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]).squeeze(1), y[i])
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1600:]).squeeze(1), y[1600:])
    with torch.no_grad():
        score(r2(model(x[1600:]).squeeze(1), rate[1600:].log()), 0.0)


@healthy
def gaussian_nll_two_heads(record, seed):
    seed_all(seed)
    x = torch.rand(2000, 1) * 6 - 3
    sigma = 0.05 + 0.1 * (x + 3) / 6
    y = torch.sin(2 * x) + sigma * torch.randn_like(x)
    model = mlp(1, 64, 64, 2, act=nn.SiLU)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, optimizer) as hook:
        for step in range(700):
            i = torch.randint(1600, (64,))
            mean, log_var = model(x[i]).chunk(2, 1)
            log_var = log_var.clamp(-8, 4)
            loss = 0.5 * (log_var + (y[i] - mean) ** 2 / log_var.exp()).mean()
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1600:])[:, :1], y[1600:]), 0.0)


@healthy
def early_stopping_best_weights(record, seed):
    seed_all(seed)
    x, y = tabular(900, 12, noise=0.1)
    model = mlp(12, 96, 96, 3, drop=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    best, state, patience = math.inf, None, 0
    with record(model, optimizer, criterion) as hook:
        for epoch in range(30):
            model.train()
            for i in batches(600, 30):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    value = criterion(model(x[600:750]), y[600:750]).item()
            if value < best:
                best, state, patience = value, copy.deepcopy(model.state_dict()), 0
            else:
                patience += 1
                if patience == 4:
                    break
    model.load_state_dict(state)
    score(accuracy(model, x[750:], y[750:]), 0.4)


@healthy
def weighted_sampler_rare(record, seed):
    seed_all(seed)
    x = torch.randn(3000, 10)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 2.0).long()
    tx, ty = x[:2400], y[:2400]
    w = torch.where(ty == 1, 1 / ty.float().mean(), 1 / (1 - ty.float().mean()))
    loader = DataLoader(
        TensorDataset(tx, ty), batch_size=40, sampler=WeightedRandomSampler(w, 2400)
    )
    model = mlp(10, 48, 48, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for a, b in loader:
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(balanced(model(x[2400:]).argmax(1), y[2400:], 2), 0.5)


@pair("targets of shape (n,) meet predictions of shape (n, 1) and broadcast", "gross")
def broadcast_mse(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1500)
    model = mlp(10, 64, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for i in batches(1200, 30):
                target = y[i, 0] if faulty else y[i]
                loss = ((model(x[i]) - target) ** 2).mean()
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


@pair("the target is in cents rather than in thousands, for an SGD-like rate", "gross")
def price_units(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1500)
    y = (y + 3) * (1e5 if faulty else 1.0)
    model = mlp(10, 64, 64, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for i in batches(1200, 30):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


@pair("one feature is left in raw milliseconds since 1970", "gross")
def timestamp_feature(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1600, 10)
    stamp = 1.6e12 + torch.rand(1600, 1) * 1e10
    x = torch.cat([x, stamp if faulty else (stamp - stamp.mean()) / stamp.std()], 1)
    model = mlp(11, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1280, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1280:], y[1280:]), 0.4)


@pair("weight decay of 0.3 couples into Adam's gradients", "gross")
def heavy_decay(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(2000, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=0.3 if faulty else 1e-5)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            model.train()
            for i in batches(1600, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, x[1600:], y[1600:])
    score(accuracy(model, x[1600:], y[1600:]), 0.4)


@pair("quantile loss has its sign the wrong way round for the two sides", "gross")
def pinball_sign(record, seed, faulty):
    seed_all(seed)
    x = torch.rand(2000, 3) * 2 - 1
    y = (3 * x[:, 0] + torch.exp(x[:, 1]) * torch.randn(2000))[:, None]
    model = mlp(3, 48, 48, 3)
    q = torch.tensor([0.1, 0.5, 0.9])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def pinball(p, t):
        e = t - p
        if faulty:
            e = -e
        return torch.maximum(q * e, (q - 1) * e).mean()

    with record(model, optimizer) as hook:
        for epoch in range(12):
            for i in batches(1600, 40):
                loss = pinball(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        cover = (y[1600:] < model(x[1600:])).float().mean(0)
    score(1 - (cover - q).abs().max(), 0.1)


@pair("the dead network: biases of ReLU layers were initialised at -20", "gross")
def dead_biases(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1600, 12)
    model = mlp(12, 64, 64, 3)
    if faulty:
        for m in model[:-1]:
            if isinstance(m, nn.Linear):
                nn.init.constant_(m.bias, -20.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1280, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1280:], y[1280:]), 0.4)


@pair("all weights start at the same constant", "middling")
def symmetric_start(record, seed, faulty):
    seed_all(seed)
    x, y = moons(1500)
    model = mlp(2, 32, 32, 2, act=nn.Tanh)
    if faulty:
        for p in model[:-1].parameters():
            nn.init.constant_(p, 0.1)
        nn.init.constant_(model[-1].weight, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for i in batches(1200, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.5)


@pair("four fields in a hundred are missing and were filled with -999", "gross")
def sentinel_values(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1600, 14)
    gone = torch.rand_like(x) < 0.04
    x = torch.where(gone, torch.tensor(-999.0 if faulty else 0.0), x)
    model = mlp(14, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1280, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1280:], y[1280:]), 0.4)


@pair("trained for very long on 60 rows with no regularisation", "middling")
def tiny_train_set(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(2400, 16)
    n = 60 if faulty else 2000
    model = mlp(16, 128, 128, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for step in range(700):
            model.train()
            i = torch.randint(n, (30,))
            optimizer.zero_grad()
            loss = criterion(model(x[i]), y[i])
            loss.backward()
            optimizer.step()
            if step % 50 == 49:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        criterion(model(x[2000:]), y[2000:])
    score(accuracy(model, x[2000:], y[2000:]), 0.4)


@pair("class weights are proportional to frequency instead of its inverse", "gross")
def weights_inverted(record, seed, faulty):
    seed_all(seed)
    x = torch.randn(3000, 10)
    s = x[:, 0] + x[:, 1] * x[:, 2] + 0.4 * torch.randn(3000)
    y = (s > 1.2).long() + (s > 2.2).long()
    f = torch.bincount(y, minlength=3).float() / 3000
    w = f if faulty else 1 / f
    model = mlp(10, 64, 64, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(weight=w / w.mean())
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(2400, 60):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(balanced(model(x[2400:]).argmax(1), y[2400:], 3), 1 / 3)


@pair("Cox partial likelihood sums the risk set over those already gone", "gross")
def cox_risk_set(record, seed, faulty):
    seed_all(seed)
    x = torch.randn(1500, 8)
    risk = x[:, 0] - 0.8 * x[:, 1] + 0.6 * x[:, 2] * x[:, 3]
    time = -torch.log(torch.rand(1500)) * torch.exp(-risk)
    censor = 2 * torch.rand(1500) * time.median() * 3
    event, time = (time <= censor).float(), torch.minimum(time, censor)
    model = mlp(8, 32, 32, 1, act=nn.ELU)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def cox(h, t, e):
        order = torch.argsort(t, descending=not faulty)
        h, e = h[order], e[order]
        return -((h - torch.logcumsumexp(h, 0)) * e).sum() / e.sum().clamp(min=1)

    with record(model, optimizer) as hook:
        for epoch in range(12):
            for i in batches(1200, 60):
                loss = cox(model(x[i]).squeeze(1), time[i], event[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        h = model(x[1200:]).squeeze(1)
    t, e = time[1200:], event[1200:]
    valid = (t[:, None] < t[None]) & (e[:, None] == 1)
    score((h[:, None] > h[None])[valid].float().mean(), 0.5)


@pair("the learning rate is a tenth of what the short budget needs", "mild")
def table_timid(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(2000, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-4 if faulty else 1.5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1600, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1600:], y[1600:]), 0.4)


@pair("a quarter of the labels point to the next class through an off-by-one join", "mild")
def misjoined_labels(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(2000, 16)
    ty = y[:1600].clone()
    if faulty:
        bad = torch.rand(1600) < 0.25
        ty[bad] = (ty[bad] + 1) % 3
    model = mlp(16, 96, 96, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for i in batches(1600, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), ty[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1600:], y[1600:]), 0.4)


@pair("eight hidden layers end in sigmoids instead of ReLU", "middling")
def deep_sigmoid(record, seed, faulty):
    seed_all(seed)
    x, y = moons(1500)
    model = mlp(2, *[24] * 8, 2, act=nn.Sigmoid if faulty else nn.ReLU)
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1200, 30):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.5)
