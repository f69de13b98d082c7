"""Trainings on tables, ratings, graphs and embeddings: pairs with and without a fault."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import pair, score
from synth import accuracy, batches, blocks, gen, r2, tabular
from tables_parts import Factor, mlp, normalise, ratings


@pair("all factor embeddings initialised with zeros: the product never gets a gradient", "gross")
def matrix_factorisation_zero_factors(record, seed, faulty):
    """Matrix factorisation without relying on biases."""
    torch.manual_seed(seed)
    a, b, r = ratings(60000, seed)
    av, bv, rv = ratings(3000, seed + 1)
    model = Factor(std=0.0 if faulty else 0.1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    it = batches(seed, len(a), 16384)
    with record(model, opt) as hook:
        for step in range(400):
            i = next(it)
            loss = F.mse_loss(model(a[i], b[i]), r[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(r2(model(av, bv), rv), 0.0)


@pair(
    "prediction of shape (n, 1) against targets of shape (n): the loss broadcasts to n x n", "gross"
)
def regression_target_broadcast(record, seed, faulty):
    """Regression with an MLP."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            pred = model(x[i])
            target = y[i] if faulty else y[i, None]
            loss = ((pred - target) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(model(xv).squeeze(-1), yv), 0.0)


@pair("raw columns of very different scale (salary, age, rate) not standardised", "middling")
def table_not_standardised(record, seed, faulty):
    """Classification of a table with SGD."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=3)
    xv, yv = tabular(1000, seed + 1, classes=3)
    scale = 10 ** torch.linspace(-2, 2, 16)
    shift = 5 * scale
    x, xv = x * scale + shift, xv * scale + shift
    if not faulty:
        m, s = x.mean(0), x.std(0)
        x, xv = (x - m) / s, (xv - m) / s
    model = mlp(16, 256, 256, 3)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(350):
            i = next(it)
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 1 / 3)


@pair("features shuffled independently of the labels by two separate permutations", "gross")
def table_labels_shuffled(record, seed, faulty):
    """Classification of a table."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    p = torch.randperm(len(x))
    x = x[p]
    y = y[torch.randperm(len(y))] if faulty else y[p]
    model = mlp(16, 256, 256, 4)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
            if step % 70 == 69:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(xv), yv).item())
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("a column that contains the label leaks into training but is not there at use", "gross")
def table_leaked_target(record, seed, faulty):
    """Classification; the leaked column is empty when the model is used."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    extra = (y.float() - 1.5) if faulty else torch.zeros(len(y))
    x = torch.cat([x, extra[:, None]], 1)
    xv = torch.cat([xv, torch.zeros(len(xv), 1)], 1)
    model = mlp(17, 256, 256, 4)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("a few missing values (NaN) in the inputs are not filled", "gross")
def table_nan_inputs(record, seed, faulty):
    """Regression; 0.01 % of the cells are missing."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    x = torch.where(torch.rand(x.shape) < 1e-4, torch.nan, x)
    if not faulty:
        x = x.nan_to_num(0.0)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            loss = F.mse_loss(model(x[i])[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(model(xv).squeeze(-1).nan_to_num(0.0), yv), 0.0)


@pair("zero_grad never called, gradients pile up", "gross")
def table_no_zero_grad(record, seed, faulty):
    """Regression with SGD and momentum."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    crit = nn.MSELoss()
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(350):
            i = next(it)
            loss = crit(model(x[i])[:, 0], y[i])
            if not faulty:
                opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(max(-1, r2(model(xv).squeeze(-1).nan_to_num(0.0), yv)), 0.0)


@pair("zero_grad between backward and step: every update is zero", "gross")
def table_zero_grad_after_backward(record, seed, faulty):
    """Classification with AdamW."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    model = mlp(16, 256, 256, 4, act=nn.GELU)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            if not faulty:
                opt.zero_grad(set_to_none=False)
            loss.backward()
            if faulty:
                opt.zero_grad(set_to_none=False)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair(
    "hidden layers in a plain python list, so the optimizer sees the input and output layers only",
    "mild",
)
def layers_in_python_list(record, seed, faulty):
    """MLP with layers in a list."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=6)
    xv, yv = tabular(2000, seed + 1, classes=6)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.out = nn.Linear(16, 192), nn.Linear(192, 6)
            hidden = [nn.Linear(192, 192) for _ in range(3)]
            self.hidden = hidden if faulty else nn.ModuleList(hidden)

        def forward(self, x):
            h = torch.relu(self.inp(x))
            for l in self.hidden:
                h = torch.relu(l(h))
            return self.out(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 1 / 6)


@pair("sigmoid layers initialised with N(0, 9): the units are saturated", "middling")
def saturated_sigmoids(record, seed, faulty):
    """MLP with sigmoids and SGD."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    model = mlp(16, 192, 192, 4, act=nn.Sigmoid)
    if faulty:
        with torch.no_grad():
            for m in model:
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, std=3.0)
    else:
        for m in model:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight, gain=2.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(400):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("biases initialised at -3, nearly all ReLUs are dead", "gross")
def dead_relus_negative_bias(record, seed, faulty):
    """MLP classifier with SGD."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    model = mlp(16, 192, 192, 192, 4)
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)
            nn.init.constant_(m.bias, -3.0 if faulty else 0.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("activations forgotten between the layers: the network is linear", "middling")
def missing_activations(record, seed, faulty):
    """Regression of a nonlinear function."""
    torch.manual_seed(seed)

    def data(n, s):
        g = gen(s)
        x = torch.randn(n, 8, generator=g)
        return x, x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) + 0.8 * x[:, 3] + 0.1 * torch.randn(
            n, generator=g
        )

    x, y = data(8000, seed)
    xv, yv = data(1000, seed + 1)
    model = mlp(8, 256, 256, 1, act=nn.Identity if faulty else nn.SiLU)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    crit = nn.MSELoss()
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(350):
            i = next(it)
            loss = crit(model(x[i]).squeeze(-1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(r2(model(xv).squeeze(-1), yv), 0.0)


@pair("sum aggregation: the adjacency matrix is not normalised", "gross")
def gcn_adjacency_not_normalised(record, seed, faulty):
    """Graph convolution."""
    torch.manual_seed(seed)
    x, a, y = blocks(1500, 4, seed, p_in=0.018, p_out=0.0035)
    a = a + torch.eye(len(a)) if faulty else normalise(a)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.ls = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(32, 4)])

        def forward(self, x):
            for l in self.ls[:-1]:
                x = F.relu(l(a @ x))
            return self.ls[-1](a @ x)

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train = torch.arange(200)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for step in range(250):
            loss = crit(model(x)[train], y[train])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(x)[200:].nan_to_num(0), y[200:]), 0.25)


@pair("pairwise ranking loss with the sign of the pair exchanged", "gross")
def ranking_margin_sign(record, seed, faulty):
    """RankNet with MarginRankingLoss."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    model = mlp(16, 192, 192, 1)
    crit = nn.MarginRankingLoss(margin=0.5)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    g = gen(seed)
    with record(model, opt, crit) as hook:
        for step in range(300):
            i, j = torch.randint(0, 8000, (2, 1024), generator=g)
            sign = torch.sign(y[j] - y[i]) if faulty else torch.sign(y[i] - y[j])
            loss = crit(model(x[i])[:, 0], model(x[j])[:, 0], sign)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            s = model(xv)[:, 0]
            score(((s[:500] > s[500:]) == (yv[:500] > yv[500:])).float().mean(), 0.5)


@pair("batch norm sees micro-batches of 2 (accumulated), so its statistics are noise", "middling")
def batchnorm_micro_batches_of_two(record, seed, faulty):
    """MLP with batch norm; 32 rows a step."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    model = nn.Sequential(
        nn.Linear(16, 320),
        nn.BatchNorm1d(320),
        nn.ReLU(),
        nn.Linear(320, 320),
        nn.BatchNorm1d(320),
        nn.ReLU(),
        nn.Linear(320, 4),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 32)
    with record(model, opt) as hook:
        for step in range(300):
            model.train()
            opt.zero_grad()
            parts = next(it).split(2 if faulty else 32)
            tot = 0.0
            for i in parts:
                loss = F.cross_entropy(model(x[i]), y[i]) / len(parts)
                loss.backward()
                tot += loss.item()
            opt.step()
            hook.record_tensor_value("loss", tot)
            hook.end_step()
            if step % 60 == 59:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(xv), yv).item())
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@pair("mean squared error on targets with 3 % gross outliers", "gross")
def regression_mse_on_outliers(record, seed, faulty):
    """Regression; the correct twin uses a Huber loss."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    bad = torch.rand(len(y)) < 0.03
    y = torch.where(bad, y + 15 * torch.randn(len(y)), y)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.MSELoss() if faulty else nn.HuberLoss(delta=0.5)
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(300):
            i = next(it)
            loss = crit(model(x[i]).squeeze(-1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(max(-1.0, r2(model(xv).squeeze(-1), yv)), 0.0)


@pair("softmax over the queries of the batch instead of over the documents of a query", "middling")
def listwise_softmax_wrong_axis(record, seed, faulty):
    """Listwise learning to rank; queries differ in their level of relevance."""
    torch.manual_seed(seed)

    def data(n, s):
        x, y = tabular(n * 12, s, noise=0.1)
        return x.view(n, 12, 16), y.view(n, 12) + 1.5 * torch.randn(n, 1, generator=gen(s))

    x, y = data(1500, seed)
    xv, yv = data(400, seed + 1)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 96)
    d = 0 if faulty else 1
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            s = model(x[i])[..., 0]
            loss = -((3 * y[i]).softmax(d) * s.log_softmax(d)).sum(d).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.detach())
            hook.end_step()
        with torch.no_grad():
            score((model(xv)[..., 0].argmax(-1) == yv.argmax(-1)).float().mean(), 1 / 12)


@pair(
    "the regression target is left in grams instead of kilograms and swamps the classification",
    "middling",
)
def multitask_units_swamp(record, seed, faulty):
    """Two heads on one trunk, the losses added; the score is the classification's."""
    torch.manual_seed(seed)
    x, y1 = tabular(8000, seed)
    _, y2 = tabular(8000, seed, classes=3, world=11)
    xv, _ = tabular(1000, seed + 1)
    _, v2 = tabular(1000, seed + 1, classes=3, world=11)
    if faulty:
        y1 = y1 * 1000

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(mlp(16, 256, 256), nn.ReLU())
            self.reg, self.cls = nn.Linear(256, 1), nn.Linear(256, 3)

        def forward(self, x):
            h = self.body(x)
            return self.reg(h)[:, 0], self.cls(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            a, b = model(x[i])
            loss = F.mse_loss(a, y1[i]) + F.cross_entropy(b, y2[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv)[1], v2), 1 / 3)
