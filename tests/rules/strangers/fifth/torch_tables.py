"""Trainings on tables, ratings, graphs and embeddings: those that are fine."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import healthy, score
from synth import accuracy, batches, blocks, gen, glyphs, r2, tabular
from tables_parts import (
    Factor,
    GCN,
    average_precision,
    embed_net,
    mlp,
    normalise,
    rare,
    ratings,
    retrieval,
)


@healthy
def regression_outliers_huber(record, seed):
    """Regression with 3 % gross outliers in the targets and a Huber loss: the loss is spiky."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed)
    xv, yv = tabular(1000, seed + 1)
    bad = torch.rand(len(y)) < 0.03
    y = torch.where(bad, y + 50 * torch.randn(len(y)), y)
    model = mlp(16, 256, 256, 1)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.HuberLoss(delta=0.5)
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(400):
            i = next(it)
            loss = crit(model(x[i]).squeeze(-1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(r2(model(xv).squeeze(-1), yv), 0.0)


@healthy
def mdn_negative_log_likelihood(record, seed):
    """Heteroscedastic Gaussian regression; the negative log likelihood goes below 0."""
    torch.manual_seed(seed)

    def data(n, s):
        g = gen(s)
        x = 2 * torch.rand(n, 2, generator=g) - 1
        mu = torch.sin(3 * x[:, 0]) * x[:, 1]
        return x, mu + (0.02 + 0.1 * x[:, 0].abs()) * torch.randn(n, generator=g)

    x, y = data(8000, seed)
    xv, yv = data(1000, seed + 1)
    model = mlp(2, 256, 256, 2, act=nn.SiLU)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
    crit = nn.GaussianNLLLoss(eps=1e-4)
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(400):
            i = next(it)
            o = model(x[i])
            loss = crit(o[:, 0], y[i], F.softplus(o[:, 1]))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("nll", loss.item())
            hook.end_step()
        with torch.no_grad():
            o = model(xv)
            score(
                -crit(o[:, 0], yv, F.softplus(o[:, 1])),
                -crit(yv.mean().expand_as(yv), yv, yv.var().expand_as(yv)),
            )


@healthy
def imbalanced_pos_weight(record, seed):
    """3 % positives handled by pos_weight."""
    torch.manual_seed(seed)
    x, y = rare(16000, seed)
    xv, yv = rare(4000, seed + 1)
    model = mlp(16, 256, 256, 1)
    crit = nn.BCEWithLogitsLoss(pos_weight=(len(y) - y.sum()) / y.sum())
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt, crit) as hook:
        for step in range(350):
            i = next(it)
            loss = crit(model(x[i]).squeeze(1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(average_precision(model(xv).squeeze(1), yv), yv.mean())


@healthy
def lbfgs_full_batch(record, seed):
    """Full batch L-BFGS with strong Wolfe line search, each step one closure call."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    model = mlp(16, 32, 4, act=nn.Tanh)
    opt = torch.optim.LBFGS(
        model.parameters(), lr=1.0, max_iter=4, history_size=10, line_search_fn="strong_wolfe"
    )
    with record(model, opt) as hook:
        for step in range(100):

            def closure():
                opt.zero_grad()
                l = F.cross_entropy(model(x), y) + 1e-3 * sum(
                    (p**2).sum() for p in model.parameters()
                )
                l.backward()
                return l

            loss = opt.step(closure)
            hook.record_tensor_value("loss", loss)
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@healthy
def sam_two_passes(record, seed):
    """Sharpness-aware minimisation: two forward and backward passes a step."""
    torch.manual_seed(seed)
    x, y = tabular(6000, seed, classes=5)
    xv, yv = tabular(1000, seed + 1, classes=5)
    model = mlp(16, 256, 256, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            with torch.no_grad():
                n = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters())) + 1e-12
                e = [0.05 * p.grad / n for p in model.parameters()]
                for p, d in zip(model.parameters(), e):
                    p.add_(d)
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            with torch.no_grad():
                for p, d in zip(model.parameters(), e):
                    p.sub_(d)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.2)


@healthy
def matrix_factorisation(record, seed):
    """Recommendation by matrix factorisation; starts at a saddle, so it is flat and then falls."""
    torch.manual_seed(seed)
    a, b, r = ratings(60000, seed)
    av, bv, rv = ratings(3000, seed + 1)
    model = Factor()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    it = batches(seed, len(a), 16384)
    with record(model, opt) as hook:
        for step in range(400):
            i = next(it)
            loss = F.mse_loss(model(a[i], b[i]), r[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("mse", loss.item())
            hook.end_step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_mse", F.mse_loss(model(av, bv), rv).item())
        with torch.no_grad():
            score(r2(model(av, bv), rv), 0.0)


@healthy
def gcn_few_labels(record, seed):
    """Graph convolution, semi-supervised with few labels."""
    torch.manual_seed(seed)
    x, a, y = blocks(1500, 4, seed, p_in=0.018, p_out=0.0035)
    a = normalise(a)
    model = GCN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    train = torch.arange(300)
    with record(model, opt) as hook:
        for step in range(300):
            model.train()
            out = model(x, a)
            loss = F.nll_loss(out.log_softmax(-1)[train], y[train])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        model.eval()
        with torch.no_grad():
            score(accuracy(model(x, a)[300:], y[300:]), 0.25)


@healthy
def survival_cox(record, seed):
    """Cox partial likelihood with censoring on large batches."""
    torch.manual_seed(seed)

    def data(n, s):
        x, r = tabular(n, s)
        g = gen(s + 1)
        t = -torch.rand(n, generator=g).log() * torch.exp(-2 * r)
        c = -torch.rand(n, generator=g).log() * 3
        return x, torch.minimum(t, c), (t <= c).float()

    x, t, e = data(6000, seed)
    xv, tv, ev = data(800, seed + 1)

    def cox(risk, t, e):
        o = t.argsort(descending=True)
        return -((risk[o] - risk[o].logcumsumexp(0)) * e[o]).sum() / e.sum()

    def concordance(r, t, e):
        before = (t[:, None] < t[None]) & (e[:, None] > 0)
        return (before & (r[:, None] > r[None])).sum().item() / before.sum().item()

    model = mlp(16, 192, 192, 1, act=nn.SELU)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            loss = cox(model(x[i])[:, 0], t[i], e[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("partial_nll", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(concordance(model(xv)[:, 0], tv, ev), 0.5)


@healthy
def listwise_ranking(record, seed):
    """Learning to rank with a listwise softmax loss."""
    torch.manual_seed(seed)

    def data(n, s):
        x, y = tabular(n * 12, s, noise=0.3)
        return x.view(n, 12, 16), y.view(n, 12)

    x, y = data(1500, seed)
    xv, yv = data(400, seed + 1)
    model = mlp(16, 256, 256, 1, act=nn.LeakyReLU)
    opt = torch.optim.NAdam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 64)
    with record(model, opt) as hook:
        for step in range(300):
            i = next(it)
            loss = -((3 * y[i]).softmax(-1) * model(x[i])[..., 0].log_softmax(-1)).sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.detach())
            hook.end_step()
        with torch.no_grad():
            score((model(xv)[..., 0].argmax(-1) == yv.argmax(-1)).float().mean(), 1 / 12)


@healthy
def metric_learning_triplet_hard(record, seed):
    """Triplet loss with batch-hard mining: the loss hangs near the margin before it falls."""
    torch.manual_seed(seed)
    x, y = glyphs(2048, seed, classes=20)
    xv, yv = glyphs(600, seed + 1, classes=20)
    model = embed_net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    it = batches(seed, len(x), 192)
    with record(model, opt) as hook:
        for step in range(250):
            i = next(it)
            z = F.normalize(model(x[i]), dim=-1)
            d = (2 - 2 * z @ z.T).clamp_min(1e-6).sqrt()
            same = y[i][:, None] == y[i][None]
            far = (d - 9 * (~same)).amax(1)
            near = (d + 9 * same).amin(1)
            loss = F.softplus(3 * (far - near)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("triplet", loss.item())
            hook.end_step()
        score(retrieval(model, xv, yv), 0.05)


@healthy
def federated_averaging(record, seed):
    """Four clients with skewed labels, averaged each round: the loss jumps at every round."""
    torch.manual_seed(seed)
    x, y = tabular(8000, seed, classes=4)
    xv, yv = tabular(1000, seed + 1, classes=4)
    o = (y + 1.5 * torch.randn(len(y))).argsort()
    parts = o.chunk(4)
    model = mlp(16, 192, 192, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with record(model, opt) as hook:
        for rnd in range(20):
            start = copy.deepcopy(model.state_dict())
            got = []
            for part in parts:
                model.load_state_dict(start)
                for _ in range(5):
                    i = part[torch.randint(0, len(part), (1024,))]
                    loss = F.cross_entropy(model(x[i]), y[i])
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    hook.record_tensor_value("local_loss", loss.item())
                    hook.end_step()
                got.append(copy.deepcopy(model.state_dict()))
            model.load_state_dict({k: sum(s[k] for s in got) / 4 for k in start})
        with torch.no_grad():
            score(accuracy(model(xv), yv), 0.25)


@healthy
def meta_learning_reptile(record, seed):
    """Reptile on sinusoid tasks; each step is an outer update after inner steps."""
    torch.manual_seed(seed)
    model = mlp(1, 64, 64, 1, act=nn.Tanh)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    g = gen(seed)

    def task():
        amp, ph = 0.5 + 2 * torch.rand(1, generator=g), 2 * math.pi * torch.rand(1, generator=g)
        x = 10 * torch.rand(20, 1, generator=g) - 5
        return x, amp * torch.sin(x + ph)

    def adapt(net, x, y, k, lr=0.02):
        o = torch.optim.SGD(net.parameters(), lr)
        for _ in range(k):
            l = F.mse_loss(net(x), y)
            o.zero_grad()
            l.backward()
            o.step()
        return net, l.item()

    def test():
        tot = 0
        for _ in range(30):
            x, y = task()
            net, _ = adapt(copy.deepcopy(model), x[:10], y[:10], 20)
            tot += F.mse_loss(net(x[10:]), y[10:]).item() / 30
        return -tot

    before = test()
    with record(model, opt) as hook:
        for step in range(300):
            opt.zero_grad()
            tot = 0
            for _ in range(1):
                x, y = task()
                net, l = adapt(copy.deepcopy(model), x, y, 10)
                tot += l
                for p, q in zip(model.parameters(), net.parameters()):
                    d = (p.detach() - q.detach()) * 0.5
                    p.grad = d if p.grad is None else p.grad + d
            opt.step()
            hook.record_tensor_value("inner_loss", tot)
            hook.end_step()
        score(test(), before)


@healthy
def multitask_uncertainty_weights(record, seed):
    """Two tasks weighted by learned log variances; the total goes below 0."""
    torch.manual_seed(seed)
    x, y1 = tabular(8000, seed, noise=0.05)
    _, y2 = tabular(8000, seed, classes=3, noise=0.02)
    xv, v1 = tabular(1000, seed + 1, noise=0.05)
    _, v2 = tabular(1000, seed + 1, classes=3, noise=0.02)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(mlp(16, 256, 256), nn.ReLU())
            self.reg, self.cls = nn.Linear(256, 1), nn.Linear(256, 3)
            self.s = nn.Parameter(torch.zeros(2))

        def forward(self, x):
            h = self.body(x)
            return self.reg(h)[:, 0], self.cls(h)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 1024)
    with record(model, opt) as hook:
        for step in range(350):
            i = next(it)
            a, b = model(x[i])
            la, lb = F.mse_loss(a, y1[i]), F.cross_entropy(b, y2[i])
            s = model.s
            loss = (-s).exp()[0] * la + (-s).exp()[1] * lb + 0.5 * s.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss_reg", la.item())
            hook.record_tensor_value("loss_cls", lb.item())
            hook.record_tensor_value("total_loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            a, b = model(xv)
            score(0.5 * r2(a, v1) + 0.5 * accuracy(b, v2), 1 / 6)
