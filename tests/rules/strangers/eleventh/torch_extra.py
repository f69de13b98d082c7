"""Deep residual nets, margins, random features, semi-supervision, odds and ends."""

import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn.utils import prune
from registry import healthy, pair, score


def mlp(*d, act=nn.ReLU):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def teacher_task(seed, k=6, d=16):
    g = torch.Generator().manual_seed(900 + seed)
    w1, w2 = torch.randn(d, 24, generator=g) / 2, torch.randn(24, k, generator=g)

    def data(n):
        x = torch.randn(n, d)
        return x, (torch.tanh(x @ w1) @ w2).argmax(1)

    return data, (w1, w2)


def acc(model, data, n=1500):
    with torch.no_grad():
        x, y = data(n)
        return (model(x).argmax(1) == y).float().mean().item()


def deep_net(depth, skip, norm, w=32, gain=1.0):
    class Blk(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.f = nn.LayerNorm(w) if norm else nn.Identity(), nn.Sequential(
                nn.Linear(w, w), nn.Tanh(), nn.Linear(w, w)
            )
            for m in self.f:
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, std=gain / math.sqrt(w))

        def forward(self, x):
            y = self.f(self.n(x))
            return x + y if skip else torch.tanh(y)

    return nn.Sequential(
        nn.Linear(16, w),
        *[Blk() for _ in range(depth)],
        nn.LayerNorm(w) if norm else nn.Identity(),
        nn.Linear(w, 6),
    )


def train_deep(
    record, seed, depth=10, skip=True, norm=True, gain=0.7, lr=1e-3, steps=500, spectral=False
):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = deep_net(depth, skip, norm, gain=gain)
    opt = torch.optim.AdamW(model.parameters(), lr)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@healthy
def preln_residual_mlp(record, seed):
    train_deep(record, seed)


@pair("the skip connections were lost in a refactoring of a 20-block network", "gross")
def skips_lost(record, seed, faulty):
    train_deep(record, seed, skip=not faulty, depth=20, norm=False, gain=0.5, steps=350)


@healthy
def frozen_random_features_head(record, seed):
    """Random features on purpose, only a linear readout learns."""
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = nn.Sequential(nn.Linear(16, 1000), nn.Tanh(), nn.Linear(1000, 6))
    model[0].requires_grad_(False)
    opt = torch.optim.Adam(model[2].parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@healthy
def one_vs_all_hinge_svm(record, seed):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(16, 64)), nn.ReLU(), nn.Linear(64, 6)
    )
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    crit = nn.MultiMarginLoss()
    with record(model, opt, crit) as hook:
        for s in range(1000):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        model.eval()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@healthy
def arcface_margin_easy_to_hard(record, seed):
    """A margin that is raised in steps (curriculum): the loss rises, the accuracy too."""
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = nn.Module()
    model.f, model.w = mlp(16, 64, 16), nn.Parameter(torch.randn(6, 16))
    opt = torch.optim.Adam([*model.f.parameters(), model.w], 2e-3)

    def cos(x):
        return F.normalize(model.f(x), dim=1) @ F.normalize(model.w, dim=1).T

    with record(model, opt, None) as hook:
        for s in range(1200):
            x, y = data(64)
            m = 0.1 * (s // 300)
            loss = F.cross_entropy(12 * (cos(x) - m * F.one_hot(y, 6)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(cos, data)
    score(q, 0.25)


def train_semi(record, seed, thr=0.95, wu=1.0, ema=0.98):
    """Mean teacher: 40 labels, many unlabelled."""
    torch.manual_seed(seed)
    c = torch.randn(6, 2, 10) * 1.6

    def data(n):
        y, m = torch.randint(0, 6, (n,)), torch.randint(0, 2, (n,))
        return c[y, m] + 0.7 * torch.randn(n, 10), y

    lx, ly = data(60)
    ux, _ = data(2000)
    model = mlp(10, 64, 64, 6)
    tea = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    with record(model, opt, None) as hook:
        for s in range(900):
            i = torch.randint(0, 2000, (96,))
            with torch.no_grad():
                p, t = tea(ux[i]).softmax(1).max(1)
            u = F.cross_entropy(model(ux[i] + 0.3 * torch.randn(96, 10)), t, reduction="none")
            loss = (
                F.cross_entropy(model(lx + 0.2 * torch.randn_like(lx)), ly)
                + wu * (u * (p > thr)).mean()
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for a, b in zip(tea.parameters(), model.parameters()):
                    a.lerp_(b, 1 - ema)
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 1 / 6)


@healthy
def mean_teacher_semisupervised(record, seed):
    train_semi(record, seed)


@pair(
    "the residual branches are initialized 30 times too large and there is no normalization: activations explode",
    "gross",
)
def residual_gain_large(record, seed, faulty):
    train_deep(record, seed, depth=8, norm=False, gain=20.0 if faulty else 0.6)


@pair("EMA weights with a decay of 0.999 are evaluated after 500 steps", "mild")
def ema_slightly_slow(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = mlp(16, 64, 64, 6)
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(500):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
            with torch.no_grad():
                for a, b in zip(ema.parameters(), model.parameters()):
                    a.lerp_(b, 0.001 if faulty else 0.05)
        with record.evaluation(hook):
            q = acc(ema, data)
    score(q, 0.25)


@pair("label smoothing of 0.9 instead of 0.1", "mild")
def label_smoothing_huge(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = mlp(16, 64, 64, 6)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss(label_smoothing=0.9 if faulty else 0.1)
    with record(model, opt, crit) as hook:
        for s in range(800):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@pair(
    "the class weights are those of the alphabetical order, applied to another order of classes",
    "mild",
)
def class_weights_permuted(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    keep = torch.tensor([1.0, 1.0, 0.5, 0.3, 0.2, 0.1])

    def train(n):
        x, y = data(4 * n)
        j = (torch.rand(4 * n) < keep[y]).nonzero().squeeze(1)[:n]
        return x[j], y[j]

    w = 1 / keep
    model = mlp(16, 64, 64, 6)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss(weight=(w.flip(0) if faulty else w) / w.mean())
    with record(model, opt, crit) as hook:
        for s in range(800):
            x, y = train(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@pair(
    "x.detach() between trunk and last block, left from debugging: the trunk never learns",
    "middling",
)
def trunk_detached(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = mlp(16, 64, 12), mlp(12, 32, 6)

        def forward(self, x):
            h = torch.relu(self.a(x))
            return self.b(h.detach() if faulty else h)

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(800):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@pair(
    "momentum buffers are lost as the optimizer is made anew at every step, Adam steps by the sign",
    "mild",
)
def optimizer_recreated(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = mlp(16, 64, 64, 6)
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(800):
            if faulty:
                opt.state.clear()
            x, y = data(32)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@pair("hinge targets are 0/1 instead of -1/+1 in a soft-margin loss", "gross")
def soft_margin_zero_one(record, seed, faulty):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = mlp(16, 64, 64, 6)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.SoftMarginLoss()
    with record(model, opt, crit) as hook:
        for s in range(700):
            x, y = data(64)
            t = F.one_hot(y, 6).float()
            opt.zero_grad()
            crit(model(x), t if faulty else 2 * t - 1).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)
