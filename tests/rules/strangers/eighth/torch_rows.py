"""Classifiers on rows, in several hands."""

import copy
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import teacher, batches, acc, bal_acc, auc, r2


class Classifier(nn.Module):
    def __init__(self, d, k, h=48, depth=2, norm=None, p=0.0):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d if i == 0 else h, h) for i in range(depth)])
        self.norms = nn.ModuleList([norm(h) if norm else nn.Identity() for _ in range(depth)])
        self.drop = nn.Dropout(p)
        self.head = nn.Linear(h, k)

    def forward(self, x):
        for l, n in zip(self.layers, self.norms):
            x = self.drop(F.relu(n(l(x))))
        return self.head(x)


def data(seed, n=2600, d=12, k=5, m=2000):
    x, z = teacher(n, d, k, seed)
    y = z.argmax(1)
    return x[:m], y[:m], x[m:], y[m:]


@healthy
def rows_layernorm_warmup_cosine(record, seed):
    torch.manual_seed(seed)
    xt, yt, xv, yv = data(seed)
    net = Classifier(12, 5, norm=nn.LayerNorm)
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
    total = 400
    lam = lambda s: min(1, (s + 1) / 40) * 0.5 * (1 + np.cos(np.pi * s / total))
    sch = torch.optim.lr_scheduler.LambdaLR(opt, lam)
    ce = nn.CrossEntropyLoss(label_smoothing=0.05)
    step = 0
    with record(net, opt, ce) as hook:
        while step < total:
            for a, b in batches(xt, yt, bs=50):
                opt.zero_grad()
                loss = ce(net(a), b)
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
                sch.step()
                step += 1
                hook.record_tensor_value("loss", loss)
                hook.record_tensor_value("lr", opt.param_groups[0]["lr"])
                hook.end_step()
                if step >= total:
                    break
    with torch.no_grad():
        score(acc(net(xv), yv), 0.2)


@healthy
def rows_warm_restarts(record, seed):
    torch.manual_seed(seed)
    xt, yt, xv, yv = data(seed)
    net = Classifier(12, 5)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    sch = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=5)
    with record(net, opt) as hook:
        for ep in range(15):
            for a, b in batches(xt, yt, bs=64):
                logp = F.log_softmax(net(a), 1)
                loss = F.nll_loss(logp, b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            sch.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_acc", acc(net(xv), yv))
    with torch.no_grad():
        score(acc(net(xv), yv), 0.2)


@healthy
def rows_very_deep_residual(record, seed):
    torch.manual_seed(seed)
    xt, yt, xv, yv = data(seed, d=8, k=3)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.a, self.b = nn.LayerNorm(32), nn.Linear(32, 32), nn.Linear(32, 32)
            nn.init.zeros_(self.b.weight)

        def forward(self, x):
            return x + self.b(F.gelu(self.a(self.n(x))))

    net = nn.Sequential(
        nn.Linear(8, 32), *[Block() for _ in range(14)], nn.LayerNorm(32), nn.Linear(32, 3)
    )
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(8):
            for a, b in batches(xt, yt, bs=80):
                opt.zero_grad()
                l = crit(net(a), b)
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l)
                hook.end_step()
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 3)


@healthy
def rows_self_normalising_tiny_batch(record, seed):
    """SELU with alpha dropout; batches of four."""
    torch.manual_seed(seed)
    xt, yt, xv, yv = data(seed, k=3)
    net = nn.Sequential(
        nn.Linear(12, 40),
        nn.SELU(),
        nn.AlphaDropout(0.05),
        nn.Linear(40, 40),
        nn.SELU(),
        nn.Linear(40, 3),
    )
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight, nonlinearity="linear")
            nn.init.zeros_(m.bias)
    opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.5)
    crit = nn.CrossEntropyLoss()
    i = 0
    with record(net, opt, crit) as hook:
        for ep in range(2):
            net.train()
            for a, b in batches(xt, yt, bs=4):
                opt.zero_grad()
                l = crit(net(a), b)
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l)
                hook.end_step()
                i += 1
                if i >= 800:
                    break
    net.eval()
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 3)


@healthy
def rows_curriculum(record, seed):
    """Easy rows first; the distribution changes twice, as meant."""
    torch.manual_seed(seed)
    x, z = teacher(3000, 10, 1, seed)
    y = (z[:, 0] > 0).float()
    order = z[:2400, 0].abs().argsort(descending=True)
    net = Classifier(10, 1)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(net, opt, crit) as hook:
        for part in (800, 1600, 2400):
            sub = order[:part]
            for _ in range(5):
                for a, b in batches(x[sub], y[sub], bs=60):
                    opt.zero_grad()
                    l = crit(net(a).squeeze(1), b)
                    l.backward()
                    opt.step()
                    hook.record_tensor_value("loss", l)
                    hook.end_step()
    with torch.no_grad():
        score(auc(net(x[2400:])[:, 0], y[2400:]), 0.5)


@healthy
def rows_multilabel(record, seed):
    torch.manual_seed(seed)
    x, z = teacher(2600, 10, 8, seed)
    y = (z > 0.5).float()
    net = Classifier(10, 8, norm=nn.BatchNorm1d, p=0.1)
    opt = torch.optim.Adamax(net.parameters(), 4e-3)
    crit = nn.BCEWithLogitsLoss()
    with record(net, opt, crit) as hook:
        for ep in range(10):
            net.train()
            for a, b in batches(x[:2000], y[:2000], bs=50):
                opt.zero_grad()
                l = crit(net(a), b)
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(x[2000:]), y[2000:]))
    with torch.no_grad():
        p = net(x[2000:])
        score(np.mean([auc(p[:, j], y[2000:, j]) for j in range(8)]), 0.5)


def clf(
    record,
    seed,
    *,
    net=None,
    opt=None,
    crit=None,
    epochs=10,
    bs=50,
    edit=None,
    sched=None,
    per_batch=False,
    shuffle=True,
    after_backward=None,
    zero=True,
    at_epoch=None,
    metric=acc,
    chance=0.2,
    d=None,
    evalmode=True,
    valx=None,
):
    torch.manual_seed(seed)
    xt, yt, xv, yv = d or data(seed)
    if edit:
        xt, yt = edit(xt, yt)
    net = net() if net else Classifier(12, 5)
    opt = opt(net) if opt else torch.optim.Adam(net.parameters(), 2e-3)
    crit = crit or nn.CrossEntropyLoss()
    sch = sched(opt) if sched else None
    with record(net, opt, crit if isinstance(crit, nn.Module) else None) as hook:
        for ep in range(epochs):
            if at_epoch:
                xt, yt = at_epoch(ep, net, opt, xt, yt) or (xt, yt)
            if evalmode:
                net.train()
            for a, b in batches(xt, yt, bs=bs, shuffle=shuffle):
                if zero:
                    opt.zero_grad()
                loss = crit(net(a), b)
                loss.backward()
                if after_backward:
                    after_backward(net)
                opt.step()
                if sch and per_batch:
                    sch.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            if sch and not per_batch:
                sch.step()
            if evalmode:
                net.eval()
            with record.evaluation(hook), torch.no_grad():
                out = net(xv)
                hook.record_tensor_value("val_loss", crit(out, yv))
                hook.record_tensor_value("val_acc", acc(out, yv))
    with torch.no_grad():
        out = net(xv)
        score(metric(out, yv), chance)


@pair("zero_grad forgotten: gradients pile up", "gross")
def rows_no_zero_grad(record, seed, faulty):
    clf(
        record,
        seed,
        zero=not faulty,
        opt=lambda n: torch.optim.SGD(n.parameters(), 0.1, momentum=0.9),
    )


@pair("softmax in the model before CrossEntropyLoss", "middling")
def rows_double_softmax(record, seed, faulty):
    clf(
        record,
        seed,
        net=lambda: (
            nn.Sequential(Classifier(12, 5), nn.Softmax(1)) if faulty else Classifier(12, 5)
        ),
        opt=lambda n: torch.optim.SGD(n.parameters(), 0.02, momentum=0.9),
        epochs=7,
    )


@pair(
    "scheduler meant for epochs is stepped every batch: the rate is gone after one epoch", "gross"
)
def rows_scheduler_per_batch(record, seed, faulty):
    clf(
        record,
        seed,
        opt=lambda n: torch.optim.SGD(n.parameters(), 0.05, momentum=0.9),
        sched=lambda o: torch.optim.lr_scheduler.StepLR(o, 5, 0.3),
        per_batch=faulty,
        epochs=14,
    )


@pair("rows sorted by class and not shuffled", "gross")
def rows_sorted_unshuffled(record, seed, faulty):
    def srt(x, y):
        o = y.argsort()
        return x[o], y[o]

    clf(
        record,
        seed,
        shuffle=not faulty,
        edit=srt,
        opt=lambda n: torch.optim.SGD(n.parameters(), 0.05, momentum=0.9),
    )


@pair(
    "45 % of labels are wrong through a bad merge (a class goes mostly to its neighbour)",
    "middling",
)
def rows_label_noise(record, seed, faulty):
    def edit(x, y):
        if faulty:
            y = torch.where(torch.rand(len(y)) < 0.45, (y + 1) % 5, y)
        return x, y

    clf(record, seed, edit=edit, epochs=14)


@pair("learning rate 0.5 with Adam", "gross")
def rows_adam_lr_huge(record, seed, faulty):
    clf(record, seed, opt=lambda n: torch.optim.Adam(n.parameters(), 0.5 if faulty else 2e-3))


@pair("BatchNorm with batches of two", "middling")
def rows_batchnorm_pairs(record, seed, faulty):
    clf(
        record,
        seed,
        net=lambda: Classifier(12, 5, norm=nn.BatchNorm1d),
        bs=2 if faulty else 40,
        epochs=1 if faulty else 12,
        d=tuple(t for t in _small(seed, 1500)),
        opt=lambda n: torch.optim.Adam(n.parameters(), 2e-3),
    )


def _small(seed, m):
    xt, yt, xv, yv = data(seed)
    return xt[:m], yt[:m], xv, yv


@pair("sigmoid hidden layers, eight deep: vanishing gradients", "gross")
def rows_deep_sigmoid(record, seed, faulty):
    class N(nn.Module):
        def __init__(self):
            super().__init__()
            self.ls = nn.ModuleList([nn.Linear(12 if i == 0 else 32, 32) for i in range(6)])
            self.o = nn.Linear(32, 5)
            if not faulty:
                for l in self.ls:
                    nn.init.kaiming_normal_(l.weight)

        def forward(self, x):
            for l in self.ls:
                x = torch.sigmoid(l(x)) if faulty else torch.relu(l(x))
            return self.o(x)

    clf(
        record,
        seed,
        net=N,
        opt=lambda n: torch.optim.SGD(n.parameters(), 0.02, momentum=0.9),
        epochs=12,
    )


@pair("weights drawn from a unit normal instead of scaled", "middling")
def rows_unit_normal_init(record, seed, faulty):
    def net():
        n = Classifier(12, 5, h=96, depth=4)
        for p in n.parameters():
            if faulty and p.dim() > 1:
                nn.init.normal_(p)
        return n

    clf(record, seed, net=net, opt=lambda n: torch.optim.Adam(n.parameters(), 1e-3))


@pair("from the fourth epoch on, the loader's seed reshuffles features and not labels", "gross")
def rows_misaligned_midway(record, seed, faulty):
    def at(ep, net, opt, x, y):
        if ep == 4 and faulty:
            return x[torch.randperm(len(x))], y

    clf(record, seed, at_epoch=at, epochs=14)


@pair("a row with infinite value enters at mid-run", "gross")
def rows_inf_row(record, seed, faulty):
    def at(ep, net, opt, x, y):
        if ep == 6 and faulty:
            x = x.clone()
            x[17, 3] = float("inf")
            return x, y

    clf(record, seed, at_epoch=at)


@pair("rare class (4 %) without weights: never predicted (balanced accuracy)", "gross")
def rows_imbalance_ignored(record, seed, faulty):
    torch.manual_seed(seed)
    x, z = teacher(6000, 16, 1, seed, hidden=30)
    y = (z[:, 0] + 0.4 * torch.randn(6000) > 1.8).long()
    d = x[:4000], y[:4000], x[4000:], y[4000:]
    w = None if faulty else len(d[1]) / (2 * torch.bincount(d[1]).float())
    clf(
        record,
        seed,
        d=d,
        net=lambda: Classifier(16, 2, h=24),
        crit=nn.CrossEntropyLoss(w),
        epochs=6,
        bs=100,
        metric=lambda o, t: bal_acc(o.argmax(1), t),
        chance=0.5,
        opt=lambda n: torch.optim.Adam(n.parameters(), 2e-3),
    )


@pair("only 60 of the rows are used (a debugging subset left in)", "middling")
def rows_debug_subset(record, seed, faulty):
    clf(
        record,
        seed,
        edit=lambda x, y: (x[:60].repeat(30, 1), y[:60].repeat(30)) if faulty else (x, y),
    )


@pair("dropout still on at validation and in use (no eval())", "mild")
def rows_no_eval(record, seed, faulty):
    clf(record, seed, net=lambda: Classifier(12, 5, p=0.35), evalmode=not faulty, epochs=12)
