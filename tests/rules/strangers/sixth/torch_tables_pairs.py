"""Tables: classification and regression. Pairs."""

import copy, math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from data_parts import *
from tables_parts import *


@pair("learning rate 1.0 with Adam where 1e-3 is right", "gross")
def table_lr_way_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    xtr, ytr = blobs(4000, seed, features=30, classes=8, data_seed=1)
    xte, yte = blobs(1000, seed + 500, features=30, classes=8, data_seed=1)
    model = nn.Sequential(
        nn.Linear(30, 100), nn.ReLU(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 8)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0 if faulty else 1e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            for xb, yb in DataLoader(TensorDataset(xtr, ytr), batch_size=64, shuffle=True):
                optimizer.zero_grad()
                loss = criterion(model(xb), yb)
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", criterion(model(xte), yte).item())
        with torch.no_grad():
            score(acc(model(xte), yte), 0.125)


@pair("raw features of very different scale (year, income) are not standardised", "gross")
def houses_not_normalised(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(4000, seed)
    Xt, yt = houses(1000, seed + 1)
    if not faulty:
        X, Xt = standardise(X, Xt)
    ym, ys = y.mean(), y.std()
    model = nn.Sequential(
        nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for step in range(700):
            i = torch.randint(0, 4000, (64,))
            loss = crit(model(X[i])[:, 0], (y[i] - ym) / ys)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(model(Xt)[:, 0] * ys + ym, yt), 0.0)


@pair("predictions (N,1) against targets (N,) broadcast to (N,N) in the MSE", "gross")
def houses_broadcast_mse(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(3000, seed)
    Xt, yt = houses(800, seed + 1)
    X, Xt = standardise(X, Xt)
    ym, ys = y.mean(), y.std()
    y = (y - ym) / ys
    model = nn.Sequential(
        nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for epoch in range(10):
            for b in torch.randperm(3000).split(64):
                pred = model(X[b])
                target = y[b] if faulty else y[b].unsqueeze(1)
                loss = ((pred - target) ** 2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
        with torch.no_grad():
            score(r2(model(Xt)[:, 0] * ys + ym, yt), 0.0)


@pair(
    "the target (price in currency units, hundred thousands) is not scaled, with a usual learning rate",
    "gross",
)
def houses_target_not_scaled(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(3000, seed)
    Xt, yt = houses(800, seed + 1)
    X, Xt = standardise(X, Xt)
    y, yt = y * 1000, yt * 1000
    ym, ys = (0.0, 1.0) if faulty else (y.mean(), y.std())
    model = nn.Sequential(
        nn.Linear(8, 80), nn.ReLU(), nn.Linear(80, 80), nn.ReLU(), nn.Linear(80, 1)
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    with record(model, opt, loss_fn) as hook:
        for step in range(600):
            i = torch.randint(0, 3000, (64,))
            loss = loss_fn(model(X[i]).squeeze(1), (y[i] - ym) / ys)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value(
                        "val_loss", loss_fn(model(Xt).squeeze(1), (yt - ym) / ys)
                    )
        with torch.no_grad():
            score(r2(model(Xt)[:, 0] * ys + ym, yt), 0.0)


@pair("sigmoid on the output before BCEWithLogitsLoss", "gross")
def churn_double_sigmoid(record, seed, faulty):
    torch.manual_seed(seed)
    x, c, y = churn(5000, seed, cats=True)
    xt, ct, yt = churn(2000, seed + 3, cats=True)
    model = Churner(0.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    crit = nn.BCEWithLogitsLoss()

    def run(x, c):
        out = model(x, c)
        return torch.sigmoid(out) if faulty else out

    with record(model, opt, crit) as hook:
        for ep in range(7):
            model.train()
            for b in torch.randperm(5000).split(100):
                opt.zero_grad()
                loss = crit(run(x[b], c[b]), y[b])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(run(xt, ct), yt).item())
        with torch.no_grad():
            score(auc(model(xt, ct), yt), 0.5)


@pair("zero_grad forgotten: gradients pile up over the whole run", "gross")
def churn_no_zero_grad(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = churn(5000, seed)
    xt, yt = churn(2000, seed + 3)
    model = nn.Sequential(
        nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for step in range(700):
            i = torch.randint(0, 5000, (64,))
            if not faulty:
                opt.zero_grad()
            loss = crit(model(x[i]).squeeze(1), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(auc(model(xt).squeeze(1), yt), 0.5)


@pair("features are shuffled without the labels", "gross")
def blobs_labels_misaligned(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(3000, seed, features=16, classes=4, data_seed=2)
    xt, yt = blobs(900, seed + 77, features=16, classes=4, data_seed=2)
    model = nn.Sequential(
        nn.Linear(16, 96), nn.LeakyReLU(), nn.Linear(96, 96), nn.LeakyReLU(), nn.Linear(96, 4)
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    p = torch.randperm(3000)
    x = x[p]
    if not faulty:
        y = y[p]
    with record(model, opt, crit) as hook:
        for ep in range(10):
            for j in range(0, 3000, 60):
                loss = crit(model(x[j : j + 60]), y[j : j + 60])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(xt), yt))
        with torch.no_grad():
            score(acc(model(xt), yt), 0.25)


@pair(
    "loss.backward() and step on an optimizer made before the head was replaced: the new head is never trained",
    "middling",
)
def blobs_head_not_in_optimizer(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(3000, seed, features=24, classes=20, data_seed=4, modes=3, spread=1.3)
    xt, yt = blobs(900, seed + 77, features=24, classes=20, data_seed=4, modes=3, spread=1.3)
    model = nn.Sequential(
        nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1000)
    )
    if faulty:
        opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    model[4] = nn.Linear(40, 20)
    if not faulty:
        opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(600):
            i = torch.randint(0, 3000, (64,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 0.05)


@pair(
    "rare positives (3 percent), no weighting and the score is balanced accuracy at 0.5", "middling"
)
def fraud_imbalance(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = churn(9000, seed, rate=-4.3)
    xt, yt = churn(5000, seed + 3, rate=-4.3)
    model = nn.Sequential(
        nn.Linear(10, 64),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    w = None if faulty else (1 - y.mean()) / y.mean()
    crit = nn.BCEWithLogitsLoss(pos_weight=w)

    def balanced():
        with torch.no_grad():
            p = model(xt).squeeze(1) > 0
            return 0.5 * (p[yt > 0].float().mean() + (~p[yt == 0]).float().mean()).item()

    with record(model, opt, crit) as hook:
        for ep in range(6):
            model.train()
            for b in torch.randperm(9000).split(128):
                opt.zero_grad()
                loss = crit(model(x[b]).squeeze(1), y[b])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook):
                hook.record_tensor_value("val_balanced_accuracy", balanced())
        score(balanced(), 0.5)


@pair(
    "a tiny training set (120 rows), large net, no regularisation, trained far too long: overfitting",
    "middling",
)
def small_table_overfit(record, seed, faulty):
    torch.manual_seed(seed)
    n = 120 if faulty else 5000
    w = torch.randn(40, generator=torch.Generator().manual_seed(8))

    def make(n):
        x = torch.randn(n, 40)
        return x, ((x @ w) / 3 + torch.randn(n) > 0).long()

    x, y = make(n)
    xt, yt = make(2000)
    model = nn.Sequential(
        nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
    )
    opt = torch.optim.Adam(model.parameters(), lr=5e-4)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(500):
            i = torch.randint(0, n, (40,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 25 == 24:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(model(xt), yt).item())
        with torch.no_grad():
            score(acc(model(xt), yt), 0.5)


@pair("weight_decay 0.5 in Adam (L2 into the gradient) where 1e-4 was meant", "gross")
def blobs_weight_decay_huge(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(3000, seed, features=24, classes=6, data_seed=6)
    xt, yt = blobs(900, seed + 7, features=24, classes=6, data_seed=6)
    model = nn.Sequential(
        nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.5 if faulty else 1e-4)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(500):
            i = torch.randint(0, 3000, (64,))
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 6)


@pair(
    "torch.log of a raw count column with zeros gives -inf inputs, then NaN, from the first batch with a zero on",
    "gross",
)
def log_feature_nan(record, seed, faulty):
    torch.manual_seed(seed)

    def make(n, s):
        g = torch.Generator().manual_seed(s)
        counts = torch.poisson(torch.rand(n, 6, generator=g) * 30 + 8, generator=g)
        counts[torch.rand(n, 6, generator=g) < 0.0005] = 0
        y = (torch.log1p(counts) @ torch.tensor([1.0, -1, 0.5, 0.5, -1, 1])) + 0.1 * torch.randn(
            n, generator=g
        )
        return counts, y

    c, y = make(6000, seed)
    ct, yt = make(1000, seed + 1)
    x, xt = (torch.log(c), torch.log(ct)) if faulty else (torch.log1p(c), torch.log1p(ct))
    x, xt, ym = x - 3, xt - 3, y.mean()
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for step in range(500):
            i = torch.randint(0, 6000, (32,))
            loss = crit(model(x[i])[:, 0], y[i] - ym)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            p = torch.nan_to_num(model(xt)[:, 0]) + ym
            score(r2(p, yt), 0.0)


@pair("ReLU after the last layer of a regression whose target is also negative", "middling")
def regression_relu_output(record, seed, faulty):
    torch.manual_seed(seed)
    X, y = houses(4000, seed)
    Xt, yt = houses(1000, seed + 2)
    X, Xt = standardise(X, Xt)
    m, s = y.mean(), y.std()
    layers = [nn.Linear(8, 50), nn.ReLU(), nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 1)]
    if faulty:
        layers.append(nn.ReLU())
    net = nn.Sequential(*layers)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    crit = nn.MSELoss()
    with record(net, opt, crit) as hook:
        for step in range(600):
            i = torch.randint(0, 4000, (64,))
            loss = crit(net(X[i]).view(-1), (y[i] - m) / s)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(net(Xt).view(-1) * s + m, yt), 0.0)


@pair("learning rate 1e-6 (meant 1e-3): hardly moves", "gross")
def churn_lr_too_low(record, seed, faulty):
    torch.manual_seed(seed)
    x, c, y = churn(5000, seed, cats=True)
    xt, ct, yt = churn(2000, seed + 3, cats=True)
    model = Churner()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-6 if faulty else 2e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for ep in range(6):
            model.train()
            for b in torch.randperm(5000).split(64):
                loss = crit(model(x[b], c[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(xt, ct), yt).item())
        with torch.no_grad():
            score(auc(model(xt, ct), yt), 0.5)


@pair(
    "StepLR(step_size=12) stepped per batch where per epoch was meant: rate is nil after a few dozen batches",
    "gross",
)
def blobs_scheduler_per_batch(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(4000, seed, features=30, classes=12, data_seed=9, modes=3, spread=1.3)
    xt, yt = blobs(900, seed + 7, features=30, classes=12, data_seed=9, modes=3, spread=1.3)
    model = nn.Sequential(
        nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 12)
    )
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=12, gamma=0.1)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(15):
            for b in torch.randperm(4000).split(64):
                loss = crit(model(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if faulty:
                    sched.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            if not faulty:
                sched.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(xt), yt).item())
        with torch.no_grad():
            score(acc(model(xt), yt), 1 / 12)
