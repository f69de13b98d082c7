"""Fine-tuning, precision, accumulation, averaging, resuming, quantisation, experts."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from kit import accuracy, clusters, gratings, mlp, picks, r2, shapes, small_cnn, start, table
from registry import healthy, pair, score


def pretrained(classes=8, updates=200):
    """A CNN taught on stripes of many orientations (outside of what is watched)."""
    x, y = gratings(1200, classes, noise=0.5)
    net = small_cnn(1, classes)
    net(x[:2])
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for i in picks(1200, 40, updates):
        opt.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        opt.step()
    return net


def few_stripes(n, noise=1.0):
    x, y = gratings(n, 8, noise=noise)
    return x, y // 2


class Lora(nn.Module):
    def __init__(self, layer, rank=4, zero=False):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.a = nn.Parameter(
            torch.zeros(rank, layer.in_features)
            if zero
            else torch.randn(rank, layer.in_features) / 8
        )
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.a.T @ self.b.T


@healthy
def head_of_a_frozen_backbone(record, seed):
    start(seed)
    net = pretrained()
    net.requires_grad_(False)
    net[-1] = nn.Linear(48, 4)
    (x, y), (xt, yt) = few_stripes(300), few_stripes(500)
    opt = torch.optim.Adam(net[-1].parameters(), 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(net, opt, criterion):
        for i in picks(len(x), 20, 200):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(net, xt, yt), 0.25)


@healthy
def low_rank_adapters(record, seed):
    start(seed)
    net = mlp(20, 96, 96, 6)
    x, y = clusters(3000, 6, 20, 0.8)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for i in picks(2000, 40, 200):
        opt.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        opt.step()
    turn = torch.linalg.qr(torch.eye(20) + 0.25 * torch.randn(20, 20))[0]
    x = x @ turn
    for k in (0, 2, 4):
        net[k] = Lora(net[k])
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(net, opt, criterion):
        for i in picks(2000, 40, 300):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(net, x[2000:], y[2000:]), 1 / 6)


@healthy
def checkpointed_and_accumulated(record, seed):
    start(seed)
    x, y = clusters(3000, 8, 24, 0.9)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.inp, self.out = nn.Linear(24, 48), nn.Linear(48, 8)
            self.parts = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 48))
                for _ in range(4)
            )

        def forward(self, x):
            x = self.inp(x)
            for p in self.parts:
                x = x + (checkpoint(p, x, use_reentrant=False) if self.training else p(x))
            return self.out(x)

    model = Deep()
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for k, i in enumerate(picks(2500, 16, 600)):
            (criterion(model(x[i]), y[i]) / 4).backward()
            if k % 4 == 3:
                opt.step()
                opt.zero_grad()
    score(accuracy(model, x[2500:], y[2500:]), 1 / 8)


@healthy
def quantisation_aware(record, seed):
    start(seed)
    (x, y), (xt, yt) = shapes(1200, noise=0.2)[:2], shapes(400, noise=0.2)[:2]

    class Fake(nn.Module):
        def forward(self, w):
            s = w.detach().abs().max() / 7
            return w + ((w / s).round().clamp(-7, 7) * s - w).detach()

    model = small_cnn(1, 5)
    model(x[:2])
    for m in model:
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.utils.parametrize.register_parametrization(m, "weight", Fake())
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 450):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model, xt, yt), 0.2)


class Experts(nn.Module):
    def __init__(self, n=4, d=10, h=24):
        super().__init__()
        self.gate, self.experts = nn.Linear(d, n), nn.ModuleList(mlp(d, h, 1) for _ in range(n))

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        w, at = p.topk(2)
        out = torch.stack([e(x)[:, 0] for e in self.experts], 1)
        self.balance = (
            len(self.experts)
            * (p.mean(0) * F.one_hot(at[:, 0], len(self.experts)).float().mean(0)).sum()
        )
        return (w / w.sum(1, keepdim=True) * out.gather(1, at)).sum(1)


@healthy
def mixture_of_experts_balanced(record, seed):
    start(seed)
    (x, y), (xt, yt) = table(3000), table(500)
    model = Experts()
    opt = torch.optim.AdamW(model.parameters(), 4e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 64, 800):
            opt.zero_grad()
            loss = criterion(model(x[i]), y[i])
            (loss + 0.01 * model.balance).backward()
            opt.step()
    score(r2(model(xt), yt), 0)


@healthy
def resumed_from_a_checkpoint(record, seed):
    start(seed)
    (x, y), (xt, yt) = gratings(1200, 6), gratings(400, 6)

    def build():
        net = small_cnn(1, 6)
        net(x[:2])
        opt = torch.optim.SGD(net.parameters(), 0.03, momentum=0.9)
        return net, opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)

    criterion = nn.CrossEntropyLoss()

    def steps(net, opt, sched, n):
        for i in picks(len(x), 32, n):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
            sched.step()

    first = build()
    steps(*first, 150)
    saved = copy.deepcopy([part.state_dict() for part in first])
    again = build()
    for part, state in zip(again, saved):
        part.load_state_dict(state)
    with record(again[0], again[1], criterion):
        steps(*again, 250)
    score(accuracy(again[0], xt, yt), 1 / 6)


@pair("fine-tuning rate far too high destroys what was learned", "mild")
def fine_tuning_rate_too_high(record, seed, faulty):
    start(seed)
    net = pretrained(updates=150)
    net[-1] = nn.Linear(48, 4)
    (x, y), (xt, yt) = few_stripes(150), few_stripes(500)
    opt = torch.optim.AdamW(net.parameters(), 0.013 if faulty else 5e-4)
    criterion = nn.CrossEntropyLoss()
    with record(net, opt, criterion):
        for i in picks(len(x), 15, 150):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(net, xt, yt), 0.25)


@pair("the optimizer was made before the head was replaced", "mild")
def optimizer_holds_the_old_head(record, seed, faulty):
    start(seed)
    net = pretrained(updates=150)
    (x, y), (xt, yt) = few_stripes(400), few_stripes(500)
    net[:4].requires_grad_(False)
    old = list(net.parameters())
    net[-1] = nn.Linear(48, 4)
    params = old if faulty else net.parameters()
    opt = torch.optim.SGD([p for p in params if p.requires_grad], 2e-3, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(net, opt, criterion):
        for i in picks(len(x), 20, 100):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(net, xt, yt), 0.25)


@pair("both factors of the adapter start at zero", "gross")
def adapters_all_zero(record, seed, faulty):
    start(seed)
    net = mlp(16, 64, 64, 5)
    x, y = clusters(2500, 5, 16, 0.7)
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for i in picks(2000, 40, 150):
        opt.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        opt.step()
    y = (y + 1) % 5
    for k in (0, 2, 4):
        net[k] = Lora(net[k], zero=faulty)
    opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(net, opt, criterion):
        for i in picks(2000, 40, 250):
            opt.zero_grad()
            criterion(net(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(net, x[2000:], y[2000:]), 0.2)


@pair("weight average so slow that it still holds the first weights", "gross")
def average_far_too_slow(record, seed, faulty):
    start(seed)
    x, y = clusters(2500, 8, 20, 0.8)
    model = mlp(20, 64, 64, 8)
    ema = copy.deepcopy(model)
    keep = 0.9999 if faulty else 0.97
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion) as hook:
        for k, i in enumerate(picks(2000, 32, 400)):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), model.parameters()):
                    p.mul_(keep).add_(q, alpha=1 - keep)
            if k % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    criterion(ema(x[2000:]), y[2000:])
    score(accuracy(ema, x[2000:], y[2000:]), 1 / 8)


@pair("weights held in bfloat16, so that small updates are rounded away", "middling")
def pure_bfloat16_weights(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2500, 10), table(500, 10)
    model = mlp(10, 64, 64, 1)
    if faulty:
        model, x, y, xt = model.bfloat16(), x.bfloat16(), y.bfloat16(), xt.bfloat16()
    opt = torch.optim.Adam(model.parameters(), 3e-4)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 32, 1200):
            opt.zero_grad()
            criterion(model(x[i])[:, 0], y[i]).backward()
            opt.step()
    score(r2(model(xt)[:, 0], yt), 0)


@pair("hidden layers in a Python list are not registered", "middling")
def layers_in_a_plain_list(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = table(2500, 10), table(500, 10)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [nn.Linear(64, 64) for _ in range(2)]
            self.inp, self.out = nn.Linear(10, 64), nn.Linear(64, 1)
            self.hidden = layers if faulty else nn.ModuleList(layers)

        def forward(self, x):
            x = self.inp(x).relu()
            for m in self.hidden:
                x = m(x).relu()
            return self.out(x)[:, 0]

    model = Net()
    opt = torch.optim.Adam(model.parameters(), 1.5e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 40, 600):
            opt.zero_grad()
            criterion(model(x[i]), y[i]).backward()
            opt.step()
    score(r2(model(xt), yt), 0)
