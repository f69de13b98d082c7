"""Graphs and recommenders."""

import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import acc, auc, batches, bal_acc


def sbm(seed, n=600, k=4, p=0.06, q=0.006, signal=0.35, d=16, hetero=False):
    g = torch.Generator().manual_seed(seed + 5)
    y = torch.randint(0, k, (n,), generator=g)
    prob = torch.where(y[:, None] == y[None], p, q)
    up = (torch.rand(n, n, generator=g) < prob).triu(1)
    A = (up | up.T).float()
    x = signal * F.one_hot(y, d).float() * 2 + torch.randn(n, d, generator=g)
    tr = torch.zeros(n, dtype=torch.bool)
    tr[torch.randperm(n, generator=g)[:200]] = True
    return A, x, y, tr


def norm_adj(A, loops=True):
    if loops:
        A = A + torch.eye(len(A))
    d = A.sum(1).clamp(min=1e-6)
    return A / (d[:, None] * d[None]).sqrt()


class GCN(nn.Module):
    def __init__(self, d=16, h=32, k=4, layers=2, drop=0.3, res=False):
        super().__init__()
        self.l = nn.ModuleList(
            [nn.Linear(d if i == 0 else h, h if i < layers - 1 else k) for i in range(layers)]
        )
        self.drop, self.res = nn.Dropout(drop), res

    def forward(self, P, x):
        for i, l in enumerate(self.l):
            z = P @ l(self.drop(x))
            if i < len(self.l) - 1:
                z = F.relu(z)
                x = x + z if self.res and i > 0 else z
        return z


def nodes(
    record,
    seed,
    *,
    net=None,
    P=None,
    graph=None,
    steps=180,
    lr=1e-2,
    opt=None,
    train_mask=None,
    edit=None,
):
    torch.manual_seed(seed)
    A, x, y, tr = graph or sbm(seed)
    if edit:
        x, y_tr = edit(x, y)
    else:
        y_tr = y
    net = net() if net else GCN()
    P = P(A) if P else norm_adj(A)
    opt = opt(net) if opt else torch.optim.Adam(net.parameters(), lr, weight_decay=5e-4)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for i in range(steps):
            net.train()
            opt.zero_grad()
            loss = crit(net(P, x)[tr], y_tr[tr])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
            if i % 10 == 9:
                net.eval()
                with record.evaluation(hook), torch.no_grad():
                    o = net(P, x)
                    hook.record_tensor_value("val_loss", crit(o[~tr], y[~tr]))
                    hook.record_tensor_value("val_acc", acc(o[~tr], y[~tr]))
    net.eval()
    with torch.no_grad():
        score(acc(net(P, x)[~tr], y[~tr]), 0.25)


@healthy
def graph_gcn_nodes(record, seed):
    """Full batch; one step per epoch."""
    nodes(record, seed, steps=160)


@healthy
def graph_sage_edges(record, seed):
    """Link prediction with negative sampling."""
    torch.manual_seed(seed)
    A, x, y, _ = sbm(seed, n=400, p=0.15, q=0.01)
    e = torch.nonzero(A.triu(1))
    e = e[torch.randperm(len(e))]
    te, ev = e[200:], e[:200]
    B = torch.zeros_like(A)
    B[te[:, 0], te[:, 1]] = B[te[:, 1], te[:, 0]] = 1
    P = B / B.sum(1, keepdim=True).clamp(min=1)

    class Sage(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(32, 32), nn.Linear(64, 16)

        def forward(self, x):
            h = F.relu(self.a(torch.cat([x, P @ x], 1)))
            return self.b(torch.cat([h, P @ h], 1))

    net = Sage()
    opt = torch.optim.AdamW(net.parameters(), 5e-3)
    with record(net, opt) as hook:
        for _ in range(200):
            z = net(x)
            pos = te[torch.randint(0, len(te), (256,))]
            neg = torch.randint(0, 400, (256, 2))
            sc = lambda e: (z[e[:, 0]] * z[e[:, 1]]).sum(1)
            loss = F.softplus(-sc(pos)).mean() + F.softplus(sc(neg)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        z = net(x)
        neg = torch.randint(0, 400, (400, 2))
        neg = neg[A[neg[:, 0], neg[:, 1]] == 0]
        s = torch.cat([(z[q[:, 0]] * z[q[:, 1]]).sum(1) for q in (ev, neg)])
        score(auc(s, torch.cat([torch.ones(len(ev)), torch.zeros(len(neg))])), 0.5)


@pair("a graph network of sixteen layers without skips: nodes become alike", "gross")
def graph_oversmoothing(record, seed, faulty):
    nodes(record, seed, net=lambda: GCN(layers=16 if faulty else 2, drop=0.1), lr=5e-3)


@pair("edge directions dropped: every node only hears from lower numbers", "middling")
def graph_one_direction(record, seed, faulty):
    def up(A):
        A = A.tril() + torch.eye(len(A))
        return A / A.sum(1, keepdim=True)

    nodes(record, seed, P=up if faulty else None)


def ratings(seed, users=200, items=120, k=4, n=9000):
    g = torch.Generator().manual_seed(seed)
    U, V = torch.randn(users, k, generator=g), torch.randn(items, k, generator=g)
    bu, bi = torch.randn(users, generator=g) * 0.5, torch.randn(items, generator=g) * 0.5
    u, i = torch.randint(0, users, (n,), generator=g), torch.randint(0, items, (n,), generator=g)
    z = (U[u] * V[i]).sum(1) / k**0.5 + bu[u] + bi[i]
    return u, i, z + 0.3 * torch.randn(n, generator=g), (U, V, bu, bi)


class MF(nn.Module):
    def __init__(self, users=200, items=120, k=8, std=0.1):
        super().__init__()
        self.u, self.v = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.u, self.v, self.bu, self.bi):
            nn.init.normal_(e.weight, std=std)

    def forward(self, u, i):
        return (self.u(u) * self.v(i)).sum(1) + self.bu(u)[:, 0] + self.bi(i)[:, 0]


def rate(
    record, seed, *, model=None, opt=None, epochs=8, bs=128, edit=None, reg=0.0, loss=F.mse_loss
):
    torch.manual_seed(seed)
    u, i, r, _ = ratings(seed)
    n = 7500
    tr = [u[:n], i[:n], r[:n]]
    if edit:
        tr = edit(*tr)
    m = model() if model else MF()
    opt = opt(m) if opt else torch.optim.Adam(m.parameters(), 2e-2, weight_decay=1e-5)
    with record(m, opt) as hook:
        for ep in range(epochs):
            for a, b, c in batches(*tr, bs=bs):
                l = loss(m(a, b), c) + reg * (m.u(a).pow(2).mean() + m.v(b).pow(2).mean())
                opt.zero_grad()
                l.backward()
                opt.step()
                hook.record_tensor_value("loss", l.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", loss(m(u[n:], i[n:]), r[n:]).item())
    with torch.no_grad():
        p = m(u[n:], i[n:])
        score(max(-1.0, float(1 - F.mse_loss(p, r[n:]) / r[n:].var())), 0)


def implicit(seed, users=200, items=150):
    g = torch.Generator().manual_seed(seed)
    U, V = torch.randn(users, 4, generator=g), torch.randn(items, 4, generator=g)
    z = U @ V.T
    top = z.topk(24, 1)[1]
    perm = torch.rand(users, 24, generator=g).argsort(1)
    top = top.gather(1, perm)
    return top[:, :18], top[:, 18:]


def bpr(record, seed, *, sign=1.0, negatives="random", steps=500, loss="bpr", swap=False):
    torch.manual_seed(seed)
    seen, held = implicit(seed)
    m = MF(200, 150)
    opt = torch.optim.Adam(m.parameters(), 1e-2)
    with record(m, opt) as hook:
        for _ in range(steps):
            u = torch.randint(0, 200, (256,))
            p = seen[u, torch.randint(0, 18, (256,))]
            n = (
                torch.randint(0, 150, (256,))
                if negatives == "random"
                else seen[u, torch.randint(0, 18, (256,))]
            )
            if loss == "bpr":
                l = -F.logsigmoid(sign * (m(u, p) - m(u, n))).mean()
            elif loss == "positives":
                l = F.softplus(-m(u, p)).mean()
            else:
                l = F.softplus(-m(u, p)).mean() + F.softplus(m(u, n)).mean()
            opt.zero_grad()
            l.backward()
            opt.step()
            hook.record_tensor_value("bpr", l)
            hook.end_step()
    with torch.no_grad():
        s = m.u.weight @ m.v.weight.T + m.bi.weight.T
        s.scatter_(1, seen, -1e9)
        rec = s.topk(20, 1)[1]
        hit = (rec[:, :, None] == held[:, None]).any(1).float().mean()
        score(hit, 20 / 132)


@healthy
def recommender_bpr(record, seed):
    bpr(record, seed)


@healthy
def recommender_two_towers(record, seed):
    """In-batch negatives."""
    torch.manual_seed(seed)
    seen, held = implicit(seed)
    q = nn.Sequential(nn.Embedding(200, 24), nn.Linear(24, 16))
    d = nn.Sequential(nn.Embedding(150, 24), nn.Linear(24, 16))
    m = nn.ModuleList([q, d])
    opt = torch.optim.AdamW(m.parameters(), 1e-2, weight_decay=1e-2)
    with record(m, opt) as hook:
        for _ in range(300):
            u = torch.randperm(200)[:96]
            i = seen[u, torch.randint(0, 18, (96,))]
            a, b = F.normalize(q(u), dim=1), F.normalize(d(i), dim=1)
            s = a @ b.T / 0.2
            same = (i[:, None] == i[None]) & ~torch.eye(96).bool()
            loss = F.cross_entropy(s.masked_fill(same, -1e9), torch.arange(96))
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    with torch.no_grad():
        s = F.normalize(q(torch.arange(200)), dim=1) @ F.normalize(d(torch.arange(150)), dim=1).T
        s.scatter_(1, seen, -1e9)
        hit = (s.topk(20, 1)[1][:, :, None] == held[:, None]).any(1).float().mean()
        score(hit, 20 / 132)


@pair("only positives: all labels are one", "middling")
def recommender_no_negatives(record, seed, faulty):
    bpr(record, seed, loss="positives" if faulty else "logistic")


@pair("embeddings regularised as strongly as 1.0", "mild")
def recommender_over_regularised(record, seed, faulty):
    rate(record, seed, reg=1.0 if faulty else 0.02)
