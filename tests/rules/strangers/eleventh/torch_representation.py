"""Contrastive learning, metric learning, recommenders, graphs, distillation, self-supervision."""

import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


def mlp(*d, act=nn.ReLU):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def world(seed=0, k=10, d=32):
    """Classes seen through a random nonlinear map, with strong nuisance."""
    g = torch.Generator().manual_seed(500 + seed)
    mu = torch.randn(k, 6, generator=g) * 1.3
    w1, w2 = torch.randn(18, 48, generator=g) / 4, torch.randn(48, d, generator=g) / 5

    def draw(y, gen=None):
        n = len(y)
        z = torch.cat([mu[y] + 0.5 * torch.randn(n, 6), 2.0 * torch.randn(n, 12)], 1)
        return torch.tanh(z @ w1) @ w2

    def draw_pair(y):
        c = mu[y] + 0.5 * torch.randn(len(y), 6)
        return [
            torch.tanh(torch.cat([c, 2.0 * torch.randn(len(y), 12)], 1) @ w1) @ w2 for _ in range(2)
        ]

    return draw, draw_pair


@torch.no_grad()
def knn(f, draw, k=10):
    y, v = torch.randint(0, k, (600,)), torch.randint(0, k, (400,))
    a, b = F.normalize(f(draw(y)), dim=1), F.normalize(f(draw(v)), dim=1)
    if not torch.isfinite(a).all():
        return 1 / k
    return (y[(b @ a.T + 1e-6 * torch.rand(400, 600)).argmax(1)] == v).float().mean().item()


def train_simclr(
    record, seed, temp=0.2, norm=True, detach_one=False, pos_bug=False, steps=800, lr=2e-3
):
    torch.manual_seed(seed)
    draw, draw_pair = world(seed)
    model = nn.ModuleDict({"f": mlp(32, 64, 32), "p": mlp(32, 32, 16)})
    opt = torch.optim.AdamW(model.parameters(), lr, weight_decay=1e-3)
    base = knn(lambda x: model["f"](x), draw)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            a, b = draw_pair(torch.randint(0, 10, (96,)))
            za, zb = model["p"](model["f"](a)), model["p"](model["f"](b))
            if norm:
                za, zb = F.normalize(za, dim=1), F.normalize(zb, dim=1)
            z = torch.cat([za, zb])
            sim = z @ z.T / temp
            sim = sim.masked_fill(torch.eye(192, dtype=torch.bool), -1e9)
            t = (torch.arange(192) + 96) % 192
            if pos_bug:
                t = (torch.arange(192) + 1) % 192
            loss = crit(sim, t)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            a = knn(lambda x: model["f"](x), draw)
    score(a, base)


@healthy
def simclr_vectors(record, seed):
    """The loss stays near log of the batch size less a bit: fine."""
    train_simclr(record, seed)


@pair("the index of the positive is wrong: the neighbour in the batch, not the other view", "gross")
def simclr_wrong_positive(record, seed, faulty):
    train_simclr(record, seed, pos_bug=faulty)


@pair(
    "the temperature multiplies where it should divide after a refactoring: 0.2 becomes 500",
    "middling",
)
def simclr_temperature(record, seed, faulty):
    train_simclr(record, seed, temp=500.0 if faulty else 0.2, steps=600)


def train_clip(
    record, seed, logit_max=100.0, shuffle_bug=False, dim_bug=False, steps=700, reshuffle=False
):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(8)
    wi, wt = torch.randn(8, 40, generator=g), torch.randn(8, 24, generator=g)

    def data(n):
        z = torch.randn(n, 8)
        return torch.tanh(z @ wi / 2) + 0.1 * torch.randn(n, 40), torch.tanh(
            z @ wt / 2
        ) + 0.1 * torch.randn(n, 24)

    img, txt = data(4000)
    if shuffle_bug:
        txt = txt[torch.randperm(4000)]

    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.i, self.t = mlp(40, 64, 16), mlp(24, 64, 16)
            self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

        def forward(self, a, b):
            dim = 0 if dim_bug else 1
            return (
                self.scale.exp().clamp(max=logit_max)
                * F.normalize(self.i(a), dim=dim)
                @ F.normalize(self.t(b), dim=dim).T
            )

    model = Clip()
    opt = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=0.02)
    with record(model, opt, None) as hook:
        for s in range(steps):
            j = torch.randint(0, 4000, (64,))
            lo = model(img[j], txt[j])
            t = torch.arange(64)
            loss = (F.cross_entropy(lo, t) + F.cross_entropy(lo.T, t)) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
        a, b = data(200)
        with record.evaluation(hook), torch.no_grad():
            q = (model(a, b).argmax(1) == torch.arange(200)).float().mean()
    score(q, 1 / 200)


@healthy
def clip_two_modalities(record, seed):
    train_clip(record, seed)


@pair("captions are shuffled independently of the images", "gross")
def clip_captions_shuffled(record, seed, faulty):
    train_clip(record, seed, shuffle_bug=faulty)


@pair("the embeddings are normalized over the batch (dim 0) instead of over the features", "mild")
def clip_normalized_over_batch(record, seed, faulty):
    train_clip(record, seed, dim_bug=faulty, steps=500)


def train_triplet(record, seed, swap=False, margin=0.3, lr=2e-3, steps=700):
    torch.manual_seed(seed)
    draw, _ = world(seed)
    model = mlp(32, 64, 64, 16)
    base = knn(model, draw)
    opt = torch.optim.Adam(model.parameters(), lr)
    crit = nn.TripletMarginLoss(margin=margin)
    with record(model, opt, crit) as hook:
        for s in range(steps):
            y = torch.randint(0, 10, (64,))
            n = (y + torch.randint(1, 10, (64,))) % 10
            e = F.normalize(model(torch.cat([draw(y), draw(y), draw(n)])), dim=1)
            a, p, q = e.chunk(3)
            loss = crit(a, q, p) if swap else crit(a, p, q)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            acc = knn(model, draw)
    score(acc, base)


@healthy
def triplet_loss_goes_to_zero(record, seed):
    train_triplet(record, seed)


def train_byol(record, seed, stopgrad=True, predictor=True, steps=700):
    torch.manual_seed(seed)
    draw, draw_pair = world(seed)
    f = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    p = mlp(32, 32, 32)
    tgt = copy.deepcopy(f).requires_grad_(False)
    base = knn(f, draw)
    model = nn.ModuleDict({"f": f, "p": p})
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt, None) as hook:
        for s in range(steps):
            a, b = draw_pair(torch.randint(0, 10, (128,)))
            if stopgrad:
                with torch.no_grad():
                    ta, tb = tgt(a), tgt(b)
                pa, pb = p(f(a)), p(f(b))
            else:
                ta, tb = f(a), f(b)
                pa, pb = ta, tb
            loss = (F.normalize(pa, dim=1) - F.normalize(tb, dim=1)).pow(2).sum(1).mean() + (
                F.normalize(pb, dim=1) - F.normalize(ta, dim=1)
            ).pow(2).sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for u, v in zip(tgt.parameters(), f.parameters()):
                    u.lerp_(v, 0.02)
        f.eval()
        with record.evaluation(hook):
            acc = knn(f, draw)
    score(acc, base)


@healthy
def byol_tiny_loss(record, seed):
    train_byol(record, seed)


@pair("no stop-gradient and no predictor: both views are mapped to one point", "gross")
def siamese_collapse(record, seed, faulty):
    train_byol(record, seed, stopgrad=not faulty)


def train_mf(
    record, seed, off=False, std=0.1, lr=0.01, neg_bug=False, sparse=False, wd=0.0, epochs=8
):
    torch.manual_seed(seed)
    U, I, d = 300, 200, 8
    pu, pi = torch.randn(U, 4), torch.randn(I, 4)
    p = torch.sigmoid(1.5 * pu @ pi.T - 1.5)
    lab = (torch.rand(U, I) < p).float()
    train = torch.rand(U, I) < 0.35
    u, i = train.nonzero().unbind(1)
    y = lab[u, i]

    class MF(nn.Module):
        def __init__(self):
            super().__init__()
            self.u, self.i = nn.Embedding(U, d, sparse=sparse), nn.Embedding(
                I + 1, d, sparse=sparse
            )
            self.b = nn.Parameter(torch.zeros(1))
            nn.init.normal_(self.u.weight, std=std)
            nn.init.normal_(self.i.weight, std=std)

        def forward(self, a, b):
            return (self.u(a) * self.i(b)).sum(1) + self.b

    model = MF()
    if sparse:
        opt = [
            torch.optim.SparseAdam([model.u.weight, model.i.weight], lr),
            torch.optim.SGD([model.b], 0.1),
        ]
    else:
        opt = torch.optim.Adam(model.parameters(), lr, weight_decay=wd)
    crit = nn.BCEWithLogitsLoss()
    ii = (i + torch.randint(0, 200, i.shape)) % I if off else i
    with record(model, opt, crit) as hook:
        for e in range(epochs):
            for j in torch.randperm(len(u)).split(256):
                for o in opt if isinstance(opt, list) else [opt]:
                    o.zero_grad()
                crit(model(u[j], ii[j]), y[j]).backward()
                for o in opt if isinstance(opt, list) else [opt]:
                    o.step()
        a, b = (~train).nonzero().unbind(1)
        with record.evaluation(hook), torch.no_grad():
            s, t = model(a, b), lab[a, b]
            pos, neg = s[t > 0][:3000], s[t == 0][:3000]
            auc = (pos[:, None] > neg[None]).float().mean() + 0.5 * (
                pos[:, None] == neg[None]
            ).float().mean()
    score(auc, 0.5)


@healthy
def matrix_factorization_sparse_adam(record, seed):
    train_mf(record, seed, sparse=True)


@pair("item ids were re-encoded after the join and do not match the interactions", "gross")
def recommender_ids_mismatch(record, seed, faulty):
    train_mf(record, seed, off=faulty)


@pair("weight decay of 0.003 in Adam (L2) on embeddings shrinks them", "gross")
def recommender_weight_decay(record, seed, faulty):
    train_mf(record, seed, wd=0.003 if faulty else 1e-5)


@pair(
    "embeddings start at exactly zero on both sides: the gradient of a dot product vanishes",
    "gross",
)
def recommender_zero_init(record, seed, faulty):
    train_mf(record, seed, std=0.0 if faulty else 0.1)


def train_gcn(record, seed, adj="norm", depth=2, mask_bug=False, steps=300, lr=0.01, skip=False):
    torch.manual_seed(seed)
    n, k = 600, 6
    y = torch.randint(0, k, (n,))
    pr = torch.where(y[:, None] == y[None], 0.05, 0.005)
    A = (torch.rand(n, n) < pr).float().triu(1)
    A = A + A.T
    x = torch.randn(n, 16) * 1.5 + torch.randn(k, 16)[y] * 0.9
    if adj == "norm":
        A = A + torch.eye(n)
        dg = A.sum(1).rsqrt()
        A = dg[:, None] * A * dg[None]
    elif adj == "perm":
        A = A + torch.eye(n)
        dg = A.sum(1).rsqrt()
        A = (dg[:, None] * A * dg[None])[torch.randperm(n)]
    tr = torch.rand(n) < 0.25

    class GCN(nn.Module):
        def __init__(self):
            super().__init__()
            w = [16] + [32] * (depth - 1) + [k]
            self.l = nn.ModuleList(nn.Linear(a, b) for a, b in zip(w[:-1], w[1:]))
            self.drop = nn.Dropout(0.4)

        def forward(self, x):
            for q, l in enumerate(self.l):
                h = A @ l(self.drop(x))
                x = torch.relu(h) if q + 1 < depth else h
            return x

    model = GCN()
    opt = torch.optim.Adam(model.parameters(), lr, weight_decay=5e-4)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            model.train()
            opt.zero_grad()
            crit(model(x)[tr], y[tr]).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            acc = (model(x).argmax(1) == y)[~tr].float().mean()
    score(acc, 1 / k)


@healthy
def gcn_transductive(record, seed):
    train_gcn(record, seed)


@pair("the rows of the adjacency matrix are in another order than the node features", "gross")
def gcn_rows_permuted(record, seed, faulty):
    train_gcn(record, seed, adj="perm" if faulty else "norm")


def train_distill(record, seed, T=3.0, swap=False, log_bug=False, steps=700):
    torch.manual_seed(seed)
    draw, _ = world(seed)
    teacher = mlp(32, 128, 10)
    o = torch.optim.Adam(teacher.parameters(), 3e-3)
    for _ in range(400):
        y = torch.randint(0, 10, (128,))
        o.zero_grad()
        F.cross_entropy(teacher(draw(y)), y).backward()
        o.step()
    if log_bug:
        teacher = mlp(32, 128, 10)
    teacher.eval().requires_grad_(False)
    student = mlp(32, 24, 10)
    opt = torch.optim.SGD(student.parameters(), 0.1, momentum=0.9)
    crit = nn.KLDivLoss(reduction="batchmean")
    with record(student, opt, crit) as hook:
        for s in range(steps):
            x = draw(torch.randint(0, 10, (64,)))
            a = student(x) / T
            b = (teacher(x) / T).softmax(1)
            loss = crit(a.log_softmax(1), b) * T * T
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            y = torch.randint(0, 10, (2000,))
            acc = (student(draw(y)).argmax(1) == y).float().mean()
    score(acc, 0.1)


@healthy
def distillation_kl(record, seed):
    train_distill(record, seed)


@pair(
    "the teacher's checkpoint was not loaded (strict=False with other names): it is random", "gross"
)
def distillation_random_teacher(record, seed, faulty):
    train_distill(record, seed, log_bug=faulty)


@healthy
def barlow_twins_rotating_views(record, seed):
    torch.manual_seed(seed)
    draw, draw_pair = world(seed)
    model = nn.Sequential(
        nn.Linear(32, 96),
        nn.BatchNorm1d(96),
        nn.ReLU(),
        nn.Linear(96, 32),
        nn.BatchNorm1d(32, affine=False),
    )
    base = knn(model, draw)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    with record(model, opt, None) as hook:
        for s in range(500):
            a, b = draw_pair(torch.randint(0, 10, (128,)))
            c = model(a).T @ model(b) / 128
            loss = (1 - c.diagonal()).pow(2).sum() + 0.02 * (c - torch.diag(c.diagonal())).pow(
                2
            ).sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with record.evaluation(hook):
            a = knn(model, draw)
    score(a, base)
