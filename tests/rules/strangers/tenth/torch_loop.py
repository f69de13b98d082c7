"""Loops with tricks: autocast, EMA, SWA, SAM, accumulation, resuming, meta, federated and continual learning, quantisation, pruning ..."""

import copy, io, math, torch, torch.nn as nn, torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint
from registry import healthy, pair, score
import kit


def data(seed, n=1200, **kw):
    x, y = kit.digits(n, seed, **kw)
    xt, yt = kit.digits(400, seed + 50, **kw)
    return x.float() / 255 - 0.3, y, xt.float() / 255 - 0.3, yt


def cnn(w=12, k=10, drop=0.0):
    return nn.Sequential(
        nn.Conv2d(1, w, 3, 2, 1, bias=False),
        nn.BatchNorm2d(w),
        nn.ReLU(),
        nn.Conv2d(w, 2 * w, 3, 2, 1, bias=False),
        nn.BatchNorm2d(2 * w),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(drop),
        nn.Linear(18 * w, k),
    )


def mlp(h=64, k=10, act=nn.ReLU):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(144, h), act(), nn.Linear(h, h), act(), nn.Linear(h, k)
    )


@torch.no_grad()
def acc(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean()


def batches(n, bs):
    return torch.randperm(n).split(bs)


@healthy
def bf16_autocast(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed, 800)
    model = mlp()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=False)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            model.train()
            for i in batches(800, 32):
                opt.zero_grad(set_to_none=True)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = crit(model(x[i]), y[i])
                loss.backward()
                opt.step()
    score(acc(model, xt, yt), 0.1)


@pair(
    "the weights themselves are kept in bfloat16 and updated by SGD with a small rate, so updates round to nothing",
    "mild",
)
def pure_bf16_weights(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed, 800)
    d = torch.bfloat16 if faulty else torch.float32
    model = mlp().to(d)
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.0)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(50):
            for i in batches(800, 16):
                opt.zero_grad()
                crit(model(x[i].to(d)).float(), y[i]).backward()
                opt.step()
    score(acc(model, xt.to(d), yt), 0.1)


@healthy
def ema_of_weights(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = cnn()
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98), use_buffers=True)
    opt = torch.optim.RMSprop(
        model.parameters(), lr=2e-3, alpha=0.9, momentum=0.9, weight_decay=1e-5
    )
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, opt, crit) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1200, 40):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
                ema.update_parameters(model)
            with record.evaluation(hook):
                acc(ema, xt, yt)
    score(acc(ema, xt, yt), 0.1)


@pair(
    "the decay of the moving average is 0.9999 in a run of a few hundred steps, so the evaluated weights are the initial ones",
    "gross",
)
def ema_decay_too_slow(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = mlp()
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    d = 0.9999 if faulty else 0.98
    with record(model, opt, crit) as hook:
        for epoch in range(8):
            for i in batches(1200, 32):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
                with torch.no_grad():
                    for a, b in zip(ema.parameters(), model.parameters()):
                        a.mul_(d).add_(b, alpha=1 - d)
            with record.evaluation(hook), torch.no_grad():
                crit(ema(xt), yt)
    score(acc(ema, xt, yt), 0.1)


def swa(record, seed, bn=True):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = cnn()
    avg = AveragedModel(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sched, swas = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12), SWALR(opt, swa_lr=0.02)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            model.train()
            for i in batches(1200, 60):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
            if epoch >= 6:
                avg.update_parameters(model)
                swas.step()
            else:
                sched.step()
    if bn:
        with torch.no_grad():
            update_bn([(x[i],) for i in batches(1200, 200)], avg)
    score(acc(avg, xt, yt), 0.1)


@healthy
def swa_with_update_bn(record, seed):
    swa(record, seed)


@healthy
def sam_two_steps(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = cnn(8)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ps = list(model.parameters())
    with record(model, opt, None) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1200, 50):
                F.cross_entropy(model(x[i]), y[i]).backward()
                n = torch.stack([p.grad.norm() for p in ps]).norm()
                with torch.no_grad():
                    e = [p.grad * (0.05 / (n + 1e-12)) for p in ps]
                    for p, d in zip(ps, e):
                        p.add_(d)
                opt.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                with torch.no_grad():
                    for p, d in zip(ps, e):
                        p.sub_(d)
                opt.step()
                opt.zero_grad()
    score(acc(model, xt, yt), 0.1)


@pair("the accumulated loss is not divided by the number of accumulation steps, with SGD", "gross")
def accumulation_not_divided(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(16):
            for k, i in enumerate(batches(1200, 10)):
                loss = crit(model(x[i]), y[i])
                (loss if faulty else loss / 8).backward()
                if (k + 1) % 8 == 0:
                    opt.step()
                    opt.zero_grad()
    score(acc(model, xt, yt), 0.1)


@healthy
def gradient_checkpointing(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed, 1000)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(144, 64)
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
                for _ in range(3)
            )
            self.out = nn.Linear(64, 10)

        def forward(self, x):
            x = self.a(x.flatten(1))
            for b in self.blocks:
                x = x + (checkpoint(b, x, use_reentrant=False) if self.training else b(x))
            return self.out(x)

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with record(model, opt, None) as hook:
        for epoch in range(10):
            model.train()
            for i in batches(1000, 40):
                loss = F.cross_entropy(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                opt.zero_grad()
                loss.backward()
                opt.step()
    score(acc(model, xt, yt), 0.1)


def resume(record, seed, load=True, opt_state=True):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)

    def make():
        m = cnn(8)
        o = torch.optim.Adam(m.parameters(), lr=2e-3)
        return m, o, torch.optim.lr_scheduler.MultiStepLR(o, [4, 7], 0.1)

    m, o, s = make()

    def run(m, o, s, n):
        for e in range(n):
            m.train()
            for i in batches(1200, 60):
                o.zero_grad()
                F.cross_entropy(m(x[i]), y[i]).backward()
                o.step()
            s.step()

    run(m, o, s, 5)
    buf = io.BytesIO()
    torch.save({"model": m.state_dict(), "optimizer": o.state_dict(), "sched": s.state_dict()}, buf)
    buf.seek(0)
    m, o, s = make()
    c = torch.load(buf)
    if load:
        m.load_state_dict(c["model"])
    o.load_state_dict(c["optimizer"])
    s.load_state_dict(c["sched"])
    with record(m, o, None) as hook:
        run(m, o, s, 4)
    score(acc(m, xt, yt), 0.1)


@healthy
def resume_from_checkpoint(record, seed):
    resume(record, seed)


@pair(
    "on resuming the optimizer and the schedule are restored, the model's weights are not", "gross"
)
def resume_without_weights(record, seed, faulty):
    resume(record, seed, load=not faulty)


def sine_tasks(n):
    a, p = 0.5 + 2 * torch.rand(n, 1, 1), 3.14 * torch.rand(n, 1, 1)
    x = torch.rand(n, 20, 1) * 6 - 3
    return x, a * torch.sin(x + p)


def maml(record, seed, create=True, query=True, steps=350):
    kit.seed_all(seed)
    model = nn.Sequential(
        nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)
    )
    names = [n for n, _ in model.named_parameters()]
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)

    def adapt(x, y, k, graph):
        w = dict(model.named_parameters())
        for _ in range(k):
            g = torch.autograd.grad(
                F.mse_loss(torch.func.functional_call(model, w, (x,)), y),
                w.values(),
                create_graph=graph,
            )
            w = {n: p - 0.05 * d for (n, p), d in zip(w.items(), g)}
        return w

    with record(model, opt, None) as hook:
        for step in range(steps):
            X, Y = sine_tasks(4)
            loss = 0
            for x, y in zip(X, Y):
                w = adapt(x[:10], y[:10], 1, create)
                loss = (
                    loss + F.mse_loss(torch.func.functional_call(model, w, (x[10:],)), y[10:]) / 4
                    if query
                    else loss + F.mse_loss(model(x), y) / 4
                )
            opt.zero_grad()
            loss.backward()
            opt.step()
    X, Y = sine_tasks(100)
    p = []
    for x, y in zip(X, Y):
        p.append(
            torch.func.functional_call(model, adapt(x[:10], y[:10], 3, False), (x[10:],)).detach()
        )
    score(kit.r2(torch.stack(p), Y[:, 10:]), 0)


@healthy
def maml_sine(record, seed):
    maml(record, seed)


@pair("the meta-loss uses the unadapted weights, so it only learns the mean task", "middling")
def maml_meta_loss_unadapted(record, seed, faulty):
    maml(record, seed, query=not faulty)


@healthy
def federated_averaging(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    server = mlp()
    parts = torch.arange(1200).chunk(4)
    opt = torch.optim.SGD(server.parameters(), lr=1.0)
    with record(server, opt, None) as hook:
        for rnd in range(150):
            opt.zero_grad()
            delta = None
            for p in parts:
                c = copy.deepcopy(server)
                o = torch.optim.SGD(c.parameters(), lr=0.1)
                for i in batches(300, 75)[:3]:
                    o.zero_grad()
                    F.cross_entropy(c(x[p][i]), y[p][i]).backward()
                    o.step()
                d = [a.detach() - b.detach() for a, b in zip(server.parameters(), c.parameters())]
                delta = d if delta is None else [u + v for u, v in zip(delta, d)]
            for w, d in zip(server.parameters(), delta):
                w.grad = d / 4
            opt.step()
    score(acc(server, xt, yt), 0.1)


@pair("classes are learnt one after another (sorted data, no shuffling)", "gross")
def sorted_no_shuffle(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    o = y.argsort()
    x, y = x[o], y[o]
    model = mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            order = torch.arange(1200) if faulty else torch.randperm(1200)
            for i in order.split(30):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
    score(acc(model, xt, yt), 0.1)


@healthy
def continual_with_rehearsal(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = mlp()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        mem = torch.zeros(0, dtype=torch.long)
        for task in range(2):
            own = torch.where(y // 5 == task)[0]
            for epoch in range(12):
                for i in own[torch.randperm(len(own))].split(24):
                    i = torch.cat([i, mem[torch.randint(0, len(mem), (24,))]]) if task else i
                    opt.zero_grad()
                    crit(model(x[i]), y[i]).backward()
                    opt.step()
            mem = own[:300]
    score(acc(model, xt, yt), 0.1)


class Quant(nn.Module):
    """Fake quantisation with a straight-through estimator"""

    def __init__(self, ste=True):
        super().__init__()
        self.ls, self.ste = (
            nn.ModuleList([nn.Linear(144, 48), nn.Linear(48, 48), nn.Linear(48, 10)]),
            ste,
        )

    def q(self, w):
        s = w.detach().abs().max() / 3
        r = (w / s).round().clamp(-3, 3) * s
        return w + (r - w).detach() if self.ste else r

    def forward(self, x):
        x = x.flatten(1)
        for k, l in enumerate(self.ls):
            x = F.linear(x, self.q(l.weight), l.bias)
            x = F.relu(x) if k < 2 else x
        return x


def qat(record, seed, ste=True):
    kit.seed_all(seed)
    x, y, xt, yt = data(seed)
    model = Quant(ste)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(12):
            for i in batches(1200, 40):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
    score(acc(model, xt, yt), 0.1)


@healthy
def quantisation_aware(record, seed):
    qat(record, seed)


@pair("rounding without a straight-through estimator gives the weights no gradient", "gross")
def qat_no_straight_through(record, seed, faulty):
    qat(record, seed, ste=not faulty)
