"""Contrastive and self-supervised learning, metric learning, distillation."""

import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import batches, acc, shapes_cached, teacher


def world(seed, n=2000, d=32, classes=6, nuisance=4.0, noise=0.5):
    """Class directions of moderate size within strong nuisance directions; an augmentation redraws the nuisance."""
    g = torch.Generator().manual_seed(seed + 3)
    q, _ = torch.linalg.qr(torch.randn(d, d, generator=g))
    cent = torch.randn(classes, 6, generator=g) * 1.5
    y = torch.randint(0, classes, (n,), generator=g)
    s = cent[y] + 0.4 * torch.randn(n, 6, generator=g)

    def view(s):
        z = torch.cat(
            [s, nuisance * torch.randn(len(s), 10), noise * torch.randn(len(s), d - 16)], 1
        )
        return torch.tanh(z @ q.T * 0.4)

    return s, y, view


def encoder(d=32, h=64, k=16, bn=False):
    return nn.Sequential(
        nn.Linear(d, h), *([nn.BatchNorm1d(h)] if bn else []), nn.ReLU(), nn.Linear(h, k)
    )


@torch.no_grad()
def knn(enc, view, s, y, n=1500, k=9):
    enc.eval()
    z = F.normalize(enc(view(s)), dim=1)
    d = z[n:] @ z[:n].T
    return float((y[:n][d.topk(k, 1)[1]].mode(1)[0] == y[n:]).float().mean())


def floor(view, s, y):
    torch.manual_seed(99)
    return max(knn(encoder(), view, s, y), 1 / 6)


def info_nce(a, b, tau=0.2, norm=True, self_in=False, dim=1):
    if norm:
        a, b = F.normalize(a, dim=dim), F.normalize(b, dim=dim)
    return F.cross_entropy(a @ b.T / tau, torch.arange(len(a)))


def simclr(
    record, seed, *, loss=info_nce, views=None, steps=350, opt=None, enc=None, bs=64, pos=None
):
    torch.manual_seed(seed)
    s, y, view = world(seed)
    enc = enc or encoder()
    proj = nn.Sequential(nn.ReLU(), nn.Linear(16, 16))
    m = nn.ModuleDict(dict(enc=enc, proj=proj))
    opt = opt(m) if opt else torch.optim.Adam(m.parameters(), 2e-3)
    i = 0
    with record(m, opt) as hook:
        while i < steps:
            for (a,) in batches(s[:1500], bs=bs):
                if views:
                    v, w = views(view, a)
                else:
                    v, w = view(a), view(a)
                if pos:
                    w = pos(w)
                l = loss(proj(enc(v)), proj(enc(w)))
                opt.zero_grad()
                l.backward()
                opt.step()
                hook.record_tensor_value("info_nce", l)
                hook.end_step()
                i += 1
                if i == steps:
                    break
    score(knn(enc, view, s, y), floor(view, s, y))


@healthy
def contrastive_simclr(record, seed):
    simclr(record, seed)


@healthy
def contrastive_large_batch_lars_like(record, seed):
    simclr(
        record,
        seed,
        bs=375,
        steps=280,
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, weight_decay=1e-4),
    )


def byol(record, seed, faulty, kind):
    torch.manual_seed(seed)
    s, y, view = world(seed)
    enc = encoder(bn=kind == "byol" or kind == "siam", k=16)
    pred = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
    tgt = copy.deepcopy(enc).requires_grad_(False)
    m = nn.ModuleDict(dict(online=enc, pred=pred))
    opt = torch.optim.Adam(m.parameters(), 2e-3)
    with record(m, opt) as hook:
        for ep in range(15):
            enc.train()
            for (a,) in batches(s[:1500], bs=64):
                v, w = view(a), view(a)
                if kind == "byol":
                    loss = (
                        4
                        - 2 * F.cosine_similarity(pred(enc(v)), tgt(w)).mean()
                        - 2 * F.cosine_similarity(pred(enc(w)), tgt(v)).mean()
                    )
                elif faulty:
                    loss = -F.cosine_similarity(enc(v), enc(w)).mean()
                else:
                    a1, a2 = enc(v), enc(w)
                    loss = -0.5 * (
                        F.cosine_similarity(pred(a1), a2.detach()).mean()
                        + F.cosine_similarity(pred(a2), a1.detach()).mean()
                    )
                opt.zero_grad()
                loss.backward()
                opt.step()
                with torch.no_grad():
                    for p, q in zip(tgt.parameters(), enc.parameters()):
                        p.lerp_(q, 0.02)
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    score(knn(enc, view, s, y), floor(view, s, y))


@healthy
def byol_moving_target(record, seed):
    byol(record, seed, False, "byol")


@pair("siamese representations without predictor and stop-gradient collapse", "gross")
def siamese_collapse(record, seed, faulty):
    byol(record, seed, faulty, "siam")


@pair("contrastive temperature of 50", "middling")
def contrastive_temperature(record, seed, faulty):
    simclr(
        record,
        seed,
        loss=lambda a, b: info_nce(a, b, 50.0 if faulty else 0.2),
        opt=lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9),
    )


def triplet(record, seed, *, swap=False, margin=1.0, hinge=True, steps=300, same=False):
    torch.manual_seed(seed)
    s, y, view = world(seed)
    enc = encoder()
    opt = torch.optim.Adam(enc.parameters(), 2e-3)
    crit = nn.TripletMarginLoss(margin)
    by = [torch.nonzero(y[:1500] == c)[:, 0] for c in range(6)]
    pick = lambda c: torch.stack([by[k][torch.randint(0, len(by[k]), ())] for k in c.tolist()])
    with record(enc, opt, crit) as hook:
        for i in range(steps):
            c = torch.randint(0, 6, (48,))
            n = (c + torch.randint(1, 6, (48,))) % 6
            a, p, q = (enc(view(s[pick(k)])) for k in (c, c, n))
            if same:
                q = enc(view(s[torch.randint(0, 1500, (48,))])) * 0 + p.detach()
            loss = crit(a, q, p) if swap else crit(a, p, q)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("triplet", loss)
            hook.end_step()
    score(knn(enc, view, s, y), floor(view, s, y))


def net(h):
    return nn.Sequential(nn.Linear(16, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 8))


def distil(record, seed, *, mode="right", steps=400):
    """A small student learns from a teacher, on unlabelled rows and few labels."""
    torch.manual_seed(seed)
    x, z = teacher(4500, 16, 8, seed)
    y = z.argmax(1)
    big = net(96)
    if mode != "untrained":
        o = torch.optim.Adam(big.parameters(), 3e-3)
        for _ in range(10):
            for a, b in batches(x[:3000], y[:3000], bs=100):
                o.zero_grad()
                F.cross_entropy(big(a), b).backward()
                o.step()
    if mode == "teacher-swapped":
        big[4].weight.data = big[4].weight.data.roll(1, 0)
        big[4].bias.data = big[4].bias.data.roll(1, 0)
    big.requires_grad_(False)
    small = net(40)
    T = 2.0
    opt = torch.optim.Adam(small.parameters(), 3e-3)
    kl = nn.KLDivLoss(reduction="batchmean")
    i = 0
    with record(small, opt, kl) as hook:
        while i < steps:
            for (a,) in batches(x[:4000], bs=100):
                t = F.softmax(big(a) / T, 1)
                if mode == "no-log":
                    loss = kl(F.softmax(small(a) / T, 1), t) * T * T
                elif mode == "elementwise":
                    loss = F.kl_div(F.log_softmax(small(a) / T, 1), t)
                elif mode == "hot":
                    loss = kl(F.log_softmax(small(a) / 100, 1), F.softmax(big(a) / 100, 1))
                else:
                    loss = kl(F.log_softmax(small(a) / T, 1), t) * T * T
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("kd", loss)
                hook.end_step()
                i += 1
                if i == steps:
                    break
    with torch.no_grad():
        score(acc(small(x[4000:]), y[4000:]), 1 / 8)


@healthy
def distillation_soft_targets(record, seed):
    distil(record, seed)
