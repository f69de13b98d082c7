"""Tables and recommenders."""

import copy, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
import kit


def house(n, seed, scale=True):
    x, y = kit.table(n, seed)
    xt, yt = kit.table(500, seed + 50)
    if scale:
        m, s = x.mean(0), x.std(0)
        x, xt = (x - m) / s, (xt - m) / s
    m, s = y.mean(), y.std()
    return x, ((y - m) / s)[:, None], xt, ((yt - m) / s)[:, None]


def mlp(i=8, h=64, o=1, drop=0.0, bn=False):
    m = []
    for a, b in ((i, h), (h, h)):
        m += [nn.Linear(a, b)] + ([nn.BatchNorm1d(b)] if bn else []) + [nn.ReLU(), nn.Dropout(drop)]
    return nn.Sequential(*m, nn.Linear(h, o))


def fit(
    record,
    model,
    x,
    y,
    loss_fn,
    opt,
    epochs,
    bs=32,
    sched=None,
    shuffle=True,
    clip=None,
    hookname=False,
):
    dl = DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=shuffle)
    with record(model, opt, loss_fn) as hook:
        for epoch in range(epochs):
            model.train()
            for xb, yb in dl:
                opt.zero_grad()
                loss = loss_fn(model(xb), yb)
                loss.backward()
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                opt.step()
            if sched:
                sched.step()
    model.eval()


@torch.no_grad()
def r2(model, xt, yt):
    model.eval()
    return kit.r2(model(xt), yt)


@healthy
def california_housing_early_best(record, seed):
    """machinelearningmastery: keep the best weights by validation loss"""
    kit.seed_all(seed)
    x, y, xt, yt = house(1500, seed)
    model = nn.Sequential(
        nn.Linear(8, 24),
        nn.ReLU(),
        nn.Linear(24, 12),
        nn.ReLU(),
        nn.Linear(12, 6),
        nn.ReLU(),
        nn.Linear(6, 1),
    )
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    best, weights = 1e9, None
    with record(model, optimizer, loss_fn) as hook:
        for epoch in range(40):
            model.train()
            for s in range(0, 1200, 30):
                loss = loss_fn(model(x[s : s + 30]), y[s : s + 30])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                mse = loss_fn(model(x[1200:]), y[1200:]).item()
            if mse < best:
                best, weights = mse, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    score(r2(model, xt, yt), 0)


@pair(
    "the targets have shape (n,) and the predictions (n, 1), so the loss broadcasts to n x n",
    "gross",
)
def house_target_broadcast(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = house(1200, seed)
    model = mlp()
    fit(
        record,
        model,
        x,
        y[:, 0] if faulty else y,
        nn.MSELoss(),
        torch.optim.Adam(model.parameters(), lr=2e-3),
        20,
    )
    score(r2(model, xt, yt), 0)


@pair("the inputs are not standardised; columns range from 0.1 to 4000", "gross")
def house_raw_columns(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = house(1200, seed, scale=not faulty)
    model = mlp(h=48)
    fit(
        record,
        model,
        x,
        y,
        nn.SmoothL1Loss(),
        torch.optim.AdamW(model.parameters(), lr=2e-3),
        20,
        40,
    )
    score(r2(model, xt, yt), 0)


@pair(
    "the test rows are standardised with their own subset's range, min-max instead of the training mean and deviation",
    "middling",
)
def house_test_scaled_otherwise(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = house(1500, seed, scale=False)
    m, s = x.mean(0), x.std(0)
    lo, hi = xt.amin(0), xt.amax(0)
    xt = (xt - lo) / (hi - lo) * 4 - 2 if faulty else (xt - m) / s
    x = (x - m) / s
    model = mlp(h=48, drop=0.05)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.MSELoss()
    with record(model, opt, loss_fn) as hook:
        for epoch in range(16):
            model.train()
            for i in torch.randperm(1500).split(32):
                opt.zero_grad()
                loss_fn(model(x[i]), y[i]).backward()
                opt.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                loss_fn(model(xt), yt)
    score(r2(model, xt, yt), 0)


@pair("weight decay of 0.1 as for AdamW is given to Adam, where it is an L2 penalty", "middling")
def adam_l2_as_decoupled(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = house(1500, seed)
    model = mlp(h=64)
    opt = (torch.optim.Adam if faulty else torch.optim.AdamW)(
        model.parameters(), lr=2e-3, weight_decay=0.1
    )
    fit(record, model, x, y, nn.MSELoss(), opt, 16)
    score(r2(model, xt, yt), 0)


@pair("StepLR is stepped every batch with a step_size counted in epochs", "middling")
def steplr_every_batch(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = house(1200, seed)
    model = mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = torch.optim.lr_scheduler.StepLR(opt, 8, 0.3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for epoch in range(20):
            for i in torch.randperm(1200).split(32):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
                if faulty:
                    sched.step()
            if not faulty:
                sched.step()
    score(r2(model, xt, yt), 0)


def churned(n, seed, rate=0.5):
    x, c, y = kit.churn(n + 600, seed, rate=rate)
    return x[:n], c[:n], y[:n], x[n:], c[n:], y[n:]


class DeepFM(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.lin = nn.Embedding(36, 1)
        self.emb = nn.Embedding(36, k)
        self.num = nn.Linear(10, k)
        self.wide = nn.Linear(10, 1)
        self.deep = nn.Sequential(
            nn.Linear(3 * k + 10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 1)
        )

    def forward(self, x, c):
        c = c + torch.tensor([0, 12, 24])
        e = self.emb(c)
        f = torch.cat([e, self.num(x)[:, None]], 1)
        fm = 0.5 * (f.sum(1) ** 2 - (f**2).sum(1)).sum(1, keepdim=True)
        return (
            self.wide(x)
            + self.lin(c).sum(1)
            + fm * 0.3
            + self.deep(torch.cat([e.flatten(1), x], 1))
        )


def ctr(record, model, seed, opt, loss_fn, epochs=10, rate=0.5, n=2500, target=None, bs=64):
    x, c, y, xt, ct, yt = churned(n, seed, rate)
    with record(model, opt, loss_fn) as hook:
        for epoch in range(epochs):
            model.train()
            for i in torch.randperm(n).split(bs):
                opt.zero_grad()
                loss = loss_fn(model(x[i], c[i]), y[i][:, None])
                loss.backward()
                opt.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                kit.auc(model(xt, ct), yt)
    with torch.no_grad():
        return model(xt, ct), yt


@healthy
def deepfm_click(record, seed):
    kit.seed_all(seed)
    model = DeepFM()
    s, y = ctr(
        record,
        model,
        seed,
        torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5),
        nn.BCEWithLogitsLoss(),
        12,
    )
    score(kit.auc(s, y), 0.5)


@pair("the rare class's pos_weight is inverted, positives over negatives", "gross")
def pos_weight_inverted(record, seed, faulty):
    kit.seed_all(seed)
    model = DeepFM(4)
    w = torch.tensor([0.15 / 0.85 if faulty else 0.85 / 0.15])
    s, y = ctr(
        record,
        model,
        seed,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        nn.BCEWithLogitsLoss(pos_weight=w),
        12,
        rate=0.15,
    )
    p, y = s[:, 0] > 0, y > 0
    score(((p & y).sum() / y.sum() + (~p & ~y).sum() / (~y).sum()) / 2, 0.5)


class FTT(nn.Module):
    def __init__(self, d=24, share=False):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(10, d) * d**-0.5), nn.Parameter(
            torch.randn(10, d) * d**-0.5
        )
        self.cat = nn.Embedding(36, d)
        self.cls = nn.Parameter(torch.randn(1, 1, d) * d**-0.5)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d, 4, 48, 0.1, batch_first=True, norm_first=True),
            2,
            enable_nested_tensor=False,
        )
        self.head = nn.Sequential(nn.LayerNorm(d), nn.ReLU(), nn.Linear(d, 1))
        self.register_buffer("off", torch.tensor([0, 0, 0] if share else [0, 12, 24]))

    def forward(self, x, c):
        t = torch.cat(
            [
                self.cls.expand(len(x), -1, -1),
                x[..., None] * self.w + self.b,
                self.cat(c + self.off),
            ],
            1,
        )
        return self.head(self.enc(t)[:, 0])


@healthy
def ft_transformer(record, seed):
    kit.seed_all(seed)
    model = FTT()
    s, y = ctr(
        record,
        model,
        seed,
        torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-5),
        nn.BCEWithLogitsLoss(),
        5,
        bs=64,
    )
    score(kit.auc(s, y), 0.5)


class Wide(nn.Module):
    """Entity embeddings as in fastai's tabular learner"""

    def __init__(self, off=(0, 12, 24), d=10, emb=6):
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(12, emb) for _ in range(3))
        self.drop, self.bn = nn.Dropout(0.04), nn.BatchNorm1d(d)
        self.layers = nn.Sequential(
            nn.Linear(d + 3 * emb, 64),
            nn.ReLU(),
            nn.BatchNorm1d(64),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.BatchNorm1d(32),
            nn.Linear(32, 1),
        )
        self.use = True

    def forward(self, x, c):
        e = torch.cat([m(c[:, i]) for i, m in enumerate(self.embs)], 1)
        return self.layers(torch.cat([self.drop(e) if self.use else e * 0, self.bn(x)], 1))


@healthy
def fastai_like_tabular(record, seed):
    kit.seed_all(seed)
    model = Wide()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=1e-4)
    s, y = ctr(record, model, seed, opt, nn.BCEWithLogitsLoss(), 8)
    score(kit.auc(s, y), 0.5)


@pair("category codes go into a linear layer as if they were numbers", "middling")
def categories_as_numbers(record, seed, faulty):
    kit.seed_all(seed)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(13 if faulty else 46, 48)

        def forward(self, x, c):
            c = (c.float() - 5.5) / 3.5 if faulty else F.one_hot(c, 12).flatten(1).float()
            return self.net(torch.cat([x, c], 1))

    model = M()
    s, y = ctr(
        record,
        model,
        seed,
        torch.optim.Adam(model.parameters(), lr=1e-3),
        nn.BCEWithLogitsLoss(),
        8,
    )
    score(kit.auc(s, y), 0.5)


class MF(nn.Module):
    def __init__(self, k=6, mean=3.3):
        super().__init__()
        self.u, self.v, self.bu, self.bv, self.mean = (
            nn.Embedding(120, k),
            nn.Embedding(80, k),
            nn.Embedding(120, 1),
            nn.Embedding(80, 1),
            mean,
        )
        for e in (self.u, self.v):
            nn.init.normal_(e.weight, 0, 0.1)
        for e in (self.bu, self.bv):
            nn.init.zeros_(e.weight)

    def forward(self, a, b):
        return self.mean + (self.u(a) * self.v(b)).sum(1) + self.bu(a)[:, 0] + self.bv(b)[:, 0]


def movielens(record, seed, model, opt, epochs, shift=0, n=5000):
    a, b, r = kit.ratings(n, seed)
    at, bt, rt = kit.ratings(800, seed + 50)
    loss_fn = nn.MSELoss()
    with record(model, opt, loss_fn) as hook:
        for epoch in range(epochs):
            for i in torch.randperm(n).split(128):
                opt.zero_grad()
                loss_fn(model((a[i] + shift) % 120, b[i]), r[i]).backward()
                opt.step()
    with torch.no_grad():
        score(kit.r2(model(at, bt), rt), 0)


@healthy
def matrix_factorisation(record, seed):
    kit.seed_all(seed)
    model = MF()
    movielens(
        record, seed, model, torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4), 16
    )


@pair("no regularisation and too many factors: weight decay is forgotten", "mild")
def factorisation_no_decay(record, seed, faulty):
    kit.seed_all(seed)
    model = MF(16)
    movielens(
        record,
        seed,
        model,
        torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=0 if faulty else 4e-4),
        30,
        n=3500,
    )


@healthy
def two_tower_in_batch(record, seed):
    kit.seed_all(seed)
    a, b, r = kit.ratings(9000, seed)
    k = r > 4.0
    a, b = a[k], b[k]
    at, bt, rt = kit.ratings(2000, seed + 50)
    model = nn.ModuleDict(
        {
            "user": nn.Sequential(nn.Embedding(120, 16), nn.Linear(16, 16)),
            "item": nn.Sequential(nn.Embedding(80, 16), nn.Linear(16, 16)),
        }
    )
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)

    def sim(a, b):
        return F.normalize(model["user"](a), dim=1), F.normalize(model["item"](b), dim=1)

    with record(model, opt, None) as hook:
        for epoch in range(20):
            for i in torch.randperm(len(a)).split(64):
                u, v = sim(a[i], b[i])
                logits = u @ v.T / 0.2
                loss = F.cross_entropy(logits, torch.arange(len(i)))
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        u, v = sim(at, bt)
        score(kit.auc((u * v).sum(1), (rt > 4.0).float()), 0.5)
