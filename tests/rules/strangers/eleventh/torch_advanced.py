"""Adapters, mixtures, meta-learning, multi-task, quantization, pruning, continual learning."""

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


class LoRA(nn.Module):
    def __init__(self, base, r=4, alpha=8, both_zero=False):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, r))
        if both_zero:
            nn.init.zeros_(self.a)
        self.s = alpha / r

    def forward(self, x):
        return self.base(x) + self.s * (x @ self.a.T) @ self.b.T


def train_lora(record, seed, both_zero=False, wrong_params=False, lr=5e-3, steps=700):
    torch.manual_seed(seed)
    data, (w1, w2) = teacher_task(seed)
    g = torch.Generator().manual_seed(3)
    w1b = w1 + torch.randn(16, 2, generator=g) @ torch.randn(2, 24, generator=g) * 0.6
    w2b = w2[:, torch.randperm(6, generator=g)]

    def new(n):
        x = torch.randn(n, 16)
        return x, (torch.tanh(x @ w1b) @ w2b).argmax(1)

    base = mlp(16, 64, 64, 6, act=nn.GELU)
    o = torch.optim.Adam(base.parameters(), 3e-3)
    for _ in range(500):
        x, y = data(128)
        o.zero_grad()
        F.cross_entropy(base(x), y).backward()
        o.step()
    for k in (0, 2, 4):
        base[k] = LoRA(base[k], both_zero=both_zero)
    c0 = acc(base, new)
    ps = [p for p in base.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(ps, lr, weight_decay=0.0)
    crit = nn.CrossEntropyLoss()
    with record(base, opt, crit) as hook:
        for s in range(steps):
            x, y = new(64)
            opt.zero_grad()
            crit(base(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(base, new)
    score(q, c0)


@healthy
def lora_adapter(record, seed):
    """Most parameters are frozen and B starts at zero: right."""
    train_lora(record, seed)


@pair("both factors of LoRA start at zero, no gradient ever flows", "gross")
def lora_both_zero(record, seed, faulty):
    train_lora(record, seed, both_zero=faulty)


class MoE(nn.Module):
    def __init__(self, d=2, e=6, k=2):
        super().__init__()
        self.gate = nn.Linear(d, e)
        self.ex = nn.ModuleList(mlp(d, 24, 1) for _ in range(e))
        self.k = k

    def forward(self, x):
        p = self.gate(x).softmax(1)
        v, i = p.topk(self.k, 1)
        w = torch.zeros_like(p).scatter(1, i, v / v.sum(1, keepdim=True))
        out = (torch.cat([f(x) for f in self.ex], 1) * w).sum(1, keepdim=True)
        aux = p.shape[1] * (p.mean(0) * (w > 0).float().mean(0)).sum()
        return out, aux


@healthy
def mixture_of_experts_balanced(record, seed):
    torch.manual_seed(seed)

    def data(n):
        x = torch.rand(n, 2) * 4 - 2
        return x, torch.where(
            x[:, :1] > 0, torch.sin(3 * x[:, 1:]), x[:, 1:] ** 2 - 1
        ) + torch.where(x[:, 1:] > 0.5, x[:, :1], -x[:, :1] * 0.5)

    model = MoE()
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            x, y = data(96)
            o, aux = model(x)
            loss = crit(o, y) + 0.02 * aux
            opt.zero_grad()
            loss.backward()
            opt.step()
        x, y = data(1000)
        with record.evaluation(hook), torch.no_grad():
            q = 1 - ((model(x)[0] - y) ** 2).mean() / y.var()
    score(q, 0.0)


@healthy
def maml_sines(record, seed):
    """Meta-learning with an inner step; the outer loss is very noisy."""
    torch.manual_seed(seed)
    model = mlp(1, 40, 40, 1, act=nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    names = [n for n, _ in model.named_parameters()]

    def task():
        a, p = 1 + 2 * torch.rand(1), 3.1 * torch.rand(1)
        x = torch.rand(20, 1) * 6 - 3
        y = a * torch.sin(x + p)
        return x[:10], y[:10], x[10:], y[10:]

    def inner(x, y, steps=1, create=True, lr=0.05):
        w = dict(model.named_parameters())
        for _ in range(steps):
            l = F.mse_loss(torch.func.functional_call(model, w, (x,)), y)
            gs = torch.autograd.grad(l, list(w.values()), create_graph=create)
            w = {n: v - lr * g for (n, v), g in zip(w.items(), gs)}
        return w

    with record(model, opt, None) as hook:
        for s in range(800):
            loss = 0
            for _ in range(3):
                a, b, c, d = task()
                loss = (
                    loss + F.mse_loss(torch.func.functional_call(model, inner(a, b), (c,)), d) / 3
                )
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            e = v = 0.0
            for _ in range(100):
                a, b, c, d = task()
                w = inner(a, b, 5, create=False)
                e += ((torch.func.functional_call(model, w, (c,)) - d) ** 2).mean().item()
                v += (d**2).mean().item()
    score(1 - e / v, 0.0)


class Hyper(nn.Module):
    """Weights of a small net are made from a task code."""

    def __init__(self, std=0.02):
        super().__init__()
        self.h = mlp(2, 48, 1 * 24 + 24 + 24 + 1)
        if std:
            nn.init.normal_(self.h[-1].weight, std=std)
            nn.init.normal_(self.h[-1].bias, std=0.5)

    def forward(self, z, x):
        w = self.h(z)
        a, b, c, d = w.split([24, 24, 24, 1], 1)
        return (torch.tanh(x * a * 3 + b * 3) * c).sum(1, keepdim=True) + d


def train_hyper(record, seed, std=0.02, lr=3e-3, detach=False):
    torch.manual_seed(seed)

    def data(n):
        z, x = torch.rand(n, 2) * 2 - 1, torch.rand(n, 1) * 4 - 2
        return z, x, torch.sin(x * (1.2 + z[:, :1])) + z[:, 1:] * x

    model = Hyper(std)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            z, x, y = data(64)
            opt.zero_grad()
            crit(model(z, x), y).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            z, x, y = data(1000)
            q = max(-1.0, (1 - ((model(z, x) - y) ** 2).mean() / y.var()).item())
    score(q, 0.0)


@healthy
def hypernetwork_regression(record, seed):
    train_hyper(record, seed)


@pair(
    "the hypernetwork's last layer starts with a deviation of 2, the generated tanh units saturate",
    "gross",
)
def hypernetwork_saturated(record, seed, faulty):
    train_hyper(record, seed, std=2.0 if faulty else 0.02)


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bad):
        ctx.bad = bad
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        return (g * 0 if ctx.bad else g), None


class BinLinear(nn.Linear):
    bad = False

    def forward(self, x):
        a = self.weight.abs().mean(1, keepdim=True).detach()
        return F.linear(x, STE.apply(self.weight, self.bad) * a, self.bias)


def train_binary(record, seed, bad=False):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = nn.Sequential(
        BinLinear(16, 96),
        nn.BatchNorm1d(96),
        nn.Hardtanh(),
        BinLinear(96, 96),
        nn.BatchNorm1d(96),
        nn.Hardtanh(),
        BinLinear(96, 6),
    )
    for m in model:
        if isinstance(m, BinLinear):
            m.bad = bad
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 700)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(700):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
            sched.step()
        model.eval()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@healthy
def binary_weights_straight_through(record, seed):
    train_binary(record, seed)


@pair(
    "the straight-through estimator returns a zero gradient, only biases and norms learn", "gross"
)
def ste_zero_gradient(record, seed, faulty):
    train_binary(record, seed, bad=faulty)


@healthy
def fake_quantization_int8(record, seed):
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)

    def fq(t, bits=6):
        s = t.detach().abs().max() / (2 ** (bits - 1) - 1) + 1e-8
        return t + ((t / s).round() * s - t).detach()

    class Q(nn.Linear):
        def forward(self, x):
            return F.linear(fq(x), fq(self.weight), self.bias)

    model = nn.Sequential(Q(16, 64), nn.ReLU(), Q(64, 64), nn.ReLU(), Q(64, 6))
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(900):
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


@healthy
def gradual_pruning(record, seed):
    """The loss jumps at each pruning and recovers."""
    torch.manual_seed(seed)
    data, _ = teacher_task(seed)
    model = mlp(16, 96, 96, 6)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(1000):
            if s in (400, 550, 700):
                for m in model:
                    if isinstance(m, nn.Linear):
                        w = m.weight.detach().abs()
                        cut = (
                            w.flatten()
                            .kthvalue(int(w.numel() * {400: 0.4, 550: 0.6, 700: 0.75}[s]))
                            .values
                        )
                        m.mask = (w > cut).float()
            x, y = data(64)
            opt.zero_grad()
            crit(model(x), y).backward()
            opt.step()
            with torch.no_grad():
                for m in model:
                    if hasattr(m, "mask"):
                        m.weight.mul_(m.mask)
        with record.evaluation(hook):
            q = acc(model, data)
    score(q, 0.25)


def train_continual(record, seed, replay=True):
    torch.manual_seed(seed)
    c = torch.randn(8, 12) * 1.6

    def data(n, lo, hi):
        y = torch.randint(lo, hi, (n,))
        return c[y] + torch.randn(n, 12), y

    model = mlp(12, 64, 8)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    mem = []
    with record(model, opt, crit) as hook:
        for t in range(4):
            for s in range(150):
                x, y = data(32, 2 * t, 2 * t + 2)
                if replay and mem:
                    mx, my = torch.cat([m[0] for m in mem]), torch.cat([m[1] for m in mem])
                    j = torch.randint(0, len(mx), (64,))
                    x, y = torch.cat([x, mx[j]]), torch.cat([y, my[j]])
                opt.zero_grad()
                crit(model(x), y).backward()
                opt.step()
            mem.append(data(60, 2 * t, 2 * t + 2))
            with record.evaluation(hook):
                q = acc(model, lambda n: data(n, 0, 8))
    score(q, 1 / 8)


@healthy
def continual_with_replay(record, seed):
    """The loss jumps at each new task: normal."""
    train_continual(record, seed)


@pair("tasks come one after another without replay: earlier classes are forgotten", "gross")
def continual_forgetting(record, seed, faulty):
    train_continual(record, seed, replay=not faulty)


def train_multi(record, seed, w=1.0, detach=False, scale=1.0, steps=900):
    """A classification and a regression share a trunk; the score is the mean of both."""
    torch.manual_seed(seed)
    data, (w1, w2) = teacher_task(seed)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.t, self.c, self.r = mlp(16, 64, 64), nn.Linear(64, 6), nn.Linear(64, 1)

        def forward(self, x):
            h = F.relu(self.t(x))
            return self.c(h.detach() if detach else h), self.r(h).squeeze(1)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt, None) as hook:
        for s in range(steps):
            x, y = data(64)
            z = (torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2]) * scale
            a, b = model(x)
            loss = F.cross_entropy(a, y) + w * F.mse_loss(b, z)
            opt.zero_grad()
            loss.backward()
            opt.step()
        x, y = data(1500)
        z = (torch.sin(x[:, 0] * 2) + x[:, 1] * x[:, 2]) * scale
        with record.evaluation(hook), torch.no_grad():
            a, b = model(x)
            q = 0.5 * (a.argmax(1) == y).float().mean() + 0.5 * max(
                0, 1 - (b - z).pow(2).mean() / z.var()
            )
    score(q, 0.125)


@healthy
def two_tasks_shared_trunk(record, seed):
    train_multi(record, seed)


@pair("the classification head gets detached features", "mild")
def multitask_detached_head(record, seed, faulty):
    train_multi(record, seed, detach=faulty)


@pair("the regression target is in raw units (x 300), its loss drowns the other task", "middling")
def multitask_raw_units(record, seed, faulty):
    train_multi(record, seed, scale=300.0 if faulty else 1.0)
