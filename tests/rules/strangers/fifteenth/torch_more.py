"""Milder slips, some odd but fine habits, recommendation."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score


def reg_data(seed, n=1600, noise=0.2, offset=0.0, scale=1.0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.7 * x[:, 3] - 0.5 * x[:, 4].abs()
    y = (y + noise * torch.randn(n, generator=g)) * scale + offset
    return x[:1200], y[:1200], x[1200:], y[1200:]


def r2(p, y):
    return 1 - ((p - y) ** 2).mean() / ((y - y.mean()) ** 2).mean()


def small(seed, n=1500, d=6):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=g), g


def net(d, out, w=48):
    return nn.Sequential(nn.Linear(d, w), nn.Tanh(), nn.Linear(w, w), nn.Tanh(), nn.Linear(w, out))


def pics(seed, n=1200, k=6, c=1, s=12, noise=0.6, left_right=False):
    g = torch.Generator().manual_seed(seed)
    t = F.interpolate(torch.randn(k, c, 4, 4, generator=g), size=s, mode="bilinear")
    if left_right:  # classes come in mirrored pairs
        t[1::2] = t[0::2].flip(-1)
    y = torch.randint(k, (n,), generator=g)
    x = t[y]
    sh = torch.randint(-1, 2, (n, 2), generator=g)
    x = torch.stack([torch.roll(a, (int(p), int(q)), (1, 2)) for a, (p, q) in zip(x, sh)])
    x = x + noise * torch.randn(x.shape, generator=g)
    return x, y


class CNN(nn.Module):
    def __init__(self, c=1, k=6, w=12, bias=0.0, momentum=0.1, norm=True):
        super().__init__()
        N = (
            (lambda ch: nn.BatchNorm2d(ch, momentum=momentum))
            if norm
            else (lambda ch: nn.GroupNorm(2, ch))
        )
        self.f = nn.Sequential(
            nn.Conv2d(c, w, 3, padding=1),
            N(w),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(w, 2 * w, 3, padding=1),
            N(2 * w),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Linear(2 * w * 9, k)

    def forward(self, x):
        return self.head(self.f(x).flatten(1))


def accuracy(m, x, y):
    with torch.no_grad():
        return (m(x).argmax(1) == y).float().mean()


@pair(cause="final evaluation forgets model.eval(): dropout stays on", severity="mild")
def more_dropout_in_evaluation(record, seed, faulty):
    """Validation and the final test run in train mode."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    m = nn.Sequential(
        nn.Linear(12, 96),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(96, 64),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(64, 1),
    )
    o = torch.optim.Adam(m.parameters(), 4e-3)
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(14):
            m.train()
            for b in torch.randperm(1200).split(40):
                o.zero_grad()
                F.mse_loss(m(x[b])[:, 0], y[b]).backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                if not faulty:
                    m.eval()
                F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


@pair(cause="batch norm with batches of two (as many steps)", severity="gross")
def more_batch_norm_of_two(record, seed, faulty):
    """Statistics from two samples."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    m = nn.Sequential(
        nn.Linear(12, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Linear(48, 48),
        nn.BatchNorm1d(48),
        nn.ReLU(),
        nn.Linear(48, 1),
    )
    o = torch.optim.Adam(m.parameters(), 3e-3)
    bs = 2 if faulty else 32
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(10):
            m.train()
            for b in torch.randint(1200, (45, bs)):
                o.zero_grad()
                F.mse_loss(m(x[b])[:, 0], y[b]).backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                m.eval()
                F.mse_loss(m(vx)[:, 0], vy)
    m.eval()
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


def resumed(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed, noise=0.3)
    m = net(12, 1, 64)
    o = torch.optim.Adam(m.parameters(), 5e-3)
    for ep in range(6):
        for b in torch.randperm(1200).split(30):
            o.zero_grad()
            F.mse_loss(m(x[b])[:, 0], y[b]).backward()
            o.step()
    ck = copy.deepcopy({"m": m.state_dict(), "o": o.state_dict()})
    torch.manual_seed(seed + 5)
    m = net(12, 1, 64)
    if fault != "no_load":
        m.load_state_dict(ck["m"])
    o = torch.optim.Adam(m.parameters(), 5e-3)
    o.load_state_dict(ck["o"])
    s = torch.optim.lr_scheduler.LambdaLR(o, lambda k: 0.5 ** (k + 2))
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(5):
            for b in torch.randperm(1200).split(30):
                o.zero_grad()
                F.mse_loss(m(x[b])[:, 0], y[b]).backward()
                o.step()
            s.step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


@healthy
def more_resumed_with_decay(record, seed):
    """Resumed from a checkpoint: starts low and improves little."""
    resumed(record, seed)


@pair(
    cause="resume restores the optimizer and the schedule but not the weights", severity="middling"
)
def more_resume_without_weights(record, seed, faulty):
    """Weights from scratch, rate near the end of its decay."""
    resumed(record, seed, "no_load" if faulty else None)


@pair(
    cause="standard deviation by sqrt of a variance that is zero for empty rows: infinite gradient, then NaN",
    severity="gross",
)
def more_nan_from_sqrt(record, seed, faulty):
    """E[x^2] - E[x]^2 under a square root, without a floor."""
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1200, 30, generator=g) * torch.rand(1200, 1, generator=g) + 3
    x[::37] = 0.0  # empty rows
    y = x.std(1) * 3
    m = net(31, 1)
    o = torch.optim.Adam(m.parameters(), 3e-3)
    w = nn.Parameter(torch.ones(30))
    o.add_param_group({"params": [w]})
    model = nn.ModuleDict({"net": m, "w": nn.ParameterList([w])})

    def f(a):
        a = a * w
        v = (a**2).mean(1) - a.mean(1) ** 2
        s = v.sqrt() if faulty else (v.clamp(min=0) + 1e-4).sqrt()
        return m(torch.cat([a - 3, s[:, None]], 1))[:, 0]

    with record(model, o, nn.MSELoss()) as hook:
        for ep in range(8):
            for b in torch.randperm(900).split(30):
                o.zero_grad()
                F.mse_loss(f(x[b]), y[b]).backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(f(x[900:]), y[900:])
    with torch.no_grad():
        score(torch.nan_to_num(r2(f(x[900:]), y[900:]), nan=-1.0), 0.0)


def hetero(record, seed, fault=None):
    torch.manual_seed(seed)
    x, g = small(seed)
    s = torch.exp(-1.5 + x[:, 2])
    y = 0.3 * torch.sin(2 * x[:, 0]) + 0.2 * x[:, 1] + 0.3 * s * torch.randn(len(x), generator=g)
    m = net(6, 2)
    o = torch.optim.Adam(m.parameters(), 4e-3)

    def nll(p, t, tr=False):
        mu, lv = p[:, 0], p[:, 1].clamp(-10, 10)
        if tr and fault == "const":
            lv = lv.detach()
        if tr and fault == "var":
            return (0.5 * lv + 0.5 * (t - mu) ** 2 * torch.exp(lv)).mean()
        if tr and fault == "scale":
            return (0.5 * lv + 0.5 * (t - mu) ** 2 / torch.exp(0.5 * lv)).mean()
        return (0.5 * lv + 0.5 * (t - mu) ** 2 * torch.exp(-lv)).mean()

    with record(m, o) as hook:
        for ep in range(14):
            for b in torch.randperm(1100).split(40):
                o.zero_grad()
                nll(m(x[b]), y[b], True).backward()
                nn.utils.clip_grad_norm_(m.parameters(), 5.0)
                o.step()
            with record.evaluation(hook), torch.no_grad():
                nll(m(x[1100:]), y[1100:])
    with torch.no_grad():
        v = y[1100:]
        t = torch.stack([y.mean().expand(400), y.var().log().expand(400)], 1)
        score(-nll(m(x[1100:]), v), -nll(t, v))


@healthy
def more_heteroscedastic(record, seed):
    """Gaussian NLL with learned variance: negative and spiky."""
    hetero(record, seed)


@pair(cause="precision for variance: exp(lv) for exp(-lv)", severity="gross")
def more_variance_sign(record, seed, faulty):
    """Sign of the log variance."""
    hetero(record, seed, "var" if faulty else None)


@pair(cause="squared error divided by the standard deviation, not the variance", severity="gross")
def more_variance_is_std(record, seed, faulty):
    """exp(0.5 lv) for exp(lv)."""
    hetero(record, seed, "scale" if faulty else None)


@pair(cause="log variance detached: it is never learned", severity="gross")
def more_variance_detached(record, seed, faulty):
    """detach in the wrong place."""
    hetero(record, seed, "const" if faulty else None)


def ordinal(record, seed, fault=None):
    """Curriculum from easy to hard with a growing data set."""
    torch.manual_seed(seed)
    x, y = pics(seed, noise=1.5)
    hard = torch.randn(900).argsort() if fault is None else y[:900].argsort()
    m = CNN(norm=False)
    o = torch.optim.AdamW(m.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()
    with record(m, o, crit) as hook:
        for ep in range(6):
            m.train()
            pool = hard[: 150 * (ep + 1)] if fault != "stuck" else hard[:150]
            for b in pool[torch.randint(len(pool), (600,))].split(30):
                o.zero_grad()
                l = crit(m(x[b]), y[b])
                l.backward()
                o.step()
            with record.evaluation(hook):
                m.eval()
                with torch.no_grad():
                    crit(m(x[900:]), y[900:])
    score(accuracy(m.eval(), x[900:], y[900:]), 1 / 6)


@healthy
def more_growing_pool(record, seed):
    """The pool of samples grows: the loss rises at each stage."""
    ordinal(record, seed)


@pair(cause="curriculum sorted by label, not by difficulty", severity="mild")
def more_curriculum_by_label(record, seed, faulty):
    """The last class arrives in the last stage only."""
    ordinal(record, seed, "label" if faulty else None)


@healthy
def more_alternating_blocks(record, seed):
    """Body and head are trained in turns; the other one is frozen meanwhile."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    body, head = nn.Sequential(
        nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU()
    ), nn.Linear(64, 1)
    model = nn.Sequential(body, head)
    opts = [torch.optim.Adam(body.parameters(), 3e-3), torch.optim.SGD(head.parameters(), 0.02)]
    with record(model, opts, nn.MSELoss()) as hook:
        for ep in range(14):
            turn = ep % 2
            for p in body.parameters():
                p.requires_grad_(turn == 0)
            for p in head.parameters():
                p.requires_grad_(turn == 1)
            for b in torch.randperm(1200).split(40):
                model.zero_grad()
                F.mse_loss(model(x[b])[:, 0], y[b]).backward()
                opts[turn].step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(model(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(model(vx)[:, 0], vy), 0.0)


@healthy
def more_swa_high_rate(record, seed):
    """A constant high rate whose noise is averaged out by SWA."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed, noise=0.4)
    m = net(12, 1, 64)
    avg = torch.optim.swa_utils.AveragedModel(m)
    o = torch.optim.Adam(m.parameters(), 1.2e-2)
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(16):
            for b in torch.randperm(1200).split(40):
                o.zero_grad()
                F.mse_loss(m(x[b])[:, 0], y[b]).backward()
                o.step()
            if ep >= 6:
                avg.update_parameters(m)
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(avg(vx)[:, 0], vy), 0.0)


@healthy
def more_nan_guard_skips_bad_rows(record, seed):
    """Some rows hold NaN; batches with a loss that is not finite are skipped."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    x = x.clone()
    x[::90, 2] = float("nan")
    m = net(12, 1, 64)
    o = torch.optim.RMSprop(m.parameters(), 3e-3)
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(12):
            for b in torch.randperm(1200).split(24):
                l = F.mse_loss(m(x[b])[:, 0], y[b])
                if not torch.isfinite(l):
                    continue
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


@pair(cause="missing values filled with -999 after standardisation", severity="middling")
def more_missing_as_999(record, seed, faulty):
    """A sentinel passes for a value in training and in validation."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    fill = -999.0 if faulty else 0.0
    g = torch.Generator().manual_seed(seed + 1)
    x = torch.where(torch.rand(x.shape, generator=g) < 0.01, torch.tensor(fill), x)
    vx = torch.where(torch.rand(vx.shape, generator=g) < 0.01, torch.tensor(fill), vx)
    m = net(12, 1, 64)
    o = torch.optim.Adam(m.parameters(), 3e-3)
    with record(m, o, nn.MSELoss()) as hook:
        for ep in range(12):
            for b in torch.randperm(1200).split(40):
                o.zero_grad()
                F.mse_loss(m(x[b])[:, 0], y[b]).backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


@pair(
    cause="training set holds the same 120 rows over and over (subset index not updated)",
    severity="middling",
)
def more_first_rows_only(record, seed, faulty):
    """randperm(120) for randperm(1200)."""
    torch.manual_seed(seed)
    x, y, vx, vy = reg_data(seed)
    n = 120 if faulty else 1200
    m = net(12, 1, 64)
    o = torch.optim.AdamW(m.parameters(), 4e-3)
    with record(m, o, nn.MSELoss()) as hook:
        for k in range(360):
            b = torch.randint(n, (40,))
            o.zero_grad()
            F.mse_loss(m(x[b])[:, 0], y[b]).backward()
            o.step()
            if k % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    F.mse_loss(m(vx)[:, 0], vy)
    with torch.no_grad():
        score(r2(m(vx)[:, 0], vy), 0.0)


# recommender ---------------------------------------------------------------------------------


class MF(nn.Module):
    def __init__(self, nu, ni, k=8, sparse=False, std=0.1):
        super().__init__()
        self.u = nn.Embedding(nu, k, sparse=sparse)
        self.i = nn.Embedding(ni, k, sparse=sparse)
        self.bu = nn.Embedding(nu, 1, sparse=sparse)
        self.bi = nn.Embedding(ni, 1, sparse=sparse)
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=std)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bi.weight)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1) + self.bu(u)[:, 0] + self.bi(i)[:, 0]


def recsys(record, seed, fault=None, sparse=False, std=0.1):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    U, I = torch.randn(150, 3, generator=g), torch.randn(100, 3, generator=g)
    u = torch.randint(150, (9000,), generator=g)
    i = torch.randint(100, (9000,), generator=g)
    r = (
        (U[u] * I[i]).sum(1)
        + 0.5 * torch.randn(100, generator=g)[i]
        + 0.2 * torch.randn(9000, generator=g)
    )
    if fault == "hash":
        i = i % 60
    model = MF(150, 100, sparse=sparse, std=std)
    n = 8000
    ut = torch.arange(150) if fault != "remap" else torch.randperm(150, generator=g)
    o = (
        torch.optim.SparseAdam(model.parameters(), 0.03)
        if sparse
        else torch.optim.Adam(model.parameters(), 0.03)
    )
    crit = nn.MSELoss()
    with record(model, o, crit) as hook:
        for ep in range(8):
            order = torch.randperm(n)
            for k in range(0, n, 128):
                b = order[k : k + 128]
                o.zero_grad()
                ub = u[b]
                if fault == "gather":
                    ub = u[: len(b)]
                l = crit(model(ub, i[b]), r[b])
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                p = model(ut[u[n:]], i[n:])
                crit(p, r[n:])
    score(r2(p, r[n:]), 0.0)


@healthy
def rec_sparse_embeddings(record, seed):
    """Sparse gradients and SparseAdam; the start is a plateau near zero factors."""
    recsys(record, seed, sparse=True, std=0.02)


@pair(cause="item ids hashed modulo 60: collisions", severity="middling")
def rec_hash_collisions(record, seed, faulty):
    """Too few buckets."""
    recsys(record, seed, "hash" if faulty else None)


@pair(cause="validation uses another id mapping than training", severity="gross")
def rec_other_vocabulary(record, seed, faulty):
    """Ids are factorised anew for the validation table."""
    recsys(record, seed, "remap" if faulty else None)
