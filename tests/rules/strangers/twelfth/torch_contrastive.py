"""Retrieval with in-batch negatives, CLIP-like towers, triplets, self-supervision."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from kit import forever, gen, hit, images, loader, seed_all
from registry import healthy, pair, score


def views(seed, n, hidden=6, width=24, noise=0.25):
    """Two views of one hidden point, each through its own random net."""
    g = gen(51)
    wa, wb = (torch.randn(hidden, width, generator=g) for _ in range(2))
    z = torch.randn(n, hidden, generator=gen(9500 + seed))
    g = gen(9501 + seed)
    a = torch.tanh(z @ wa) + noise * torch.randn(n, width, generator=g)
    b = torch.tanh(z @ wb) ** 3 + noise * torch.randn(n, width, generator=g)
    return a, b


def tower(width=24, out=16, hidden=96):
    return nn.Sequential(
        nn.Linear(width, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, out)
    )


class TwoTowers(nn.Module):
    def __init__(self, start=math.log(1 / 0.07)):
        super().__init__()
        self.query, self.doc = tower(), tower()
        self.logit_scale = nn.Parameter(torch.tensor(start))

    def forward(self, a, b, normalize=True):
        q, d = self.query(a), self.doc(b)
        if normalize:
            q, d = F.normalize(q, dim=-1), F.normalize(d, dim=-1)
        return q, d


@torch.no_grad()
def say(model, seed, normalize=True):
    model.eval()
    a, b = views(seed + 500, 128)
    q, d = model(a, b, normalize)
    score(hit(q @ d.T, torch.arange(128)), 1 / 128)


def clip_loss(logits):
    y = torch.arange(len(logits))
    return (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2


def retrieve(
    record,
    seed,
    steps=350,
    lr=2e-3,
    batch=48,
    loss_fn=clip_loss,
    normalize=True,
    fixed=None,
    detach=False,
    mix=None,
    model=None,
    frozen=(),
    log=True,
):
    model = model or TwoTowers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    a, b = views(seed, 3000)
    if mix:
        a, b = mix(a, b)
    data = forever(loader(a, b, batch=batch, seed=seed))
    for name in frozen:
        getattr(model, name).requires_grad_(False)
    with record(model, optimizer) as hook:
        for _ in range(steps):
            q, d = model(*next(data), normalize)
            d = d.detach() if detach else d
            scale = model.logit_scale.exp().clamp(max=100) if fixed is None else fixed
            loss = loss_fn(scale * q @ d.T)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if log:
                hook.record_tensor_value("contrastive_loss", loss)
    say(model, seed, normalize)


@healthy
def clip_two_towers_symmetric(record, seed):
    seed_all(seed)
    retrieve(record, seed)


@healthy
def infonce_one_sided_fixed_temperature(record, seed):
    seed_all(seed)
    one = lambda s: F.cross_entropy(s, torch.arange(len(s)))  # noqa: E731
    retrieve(record, seed, 300, fixed=15.0, loss_fn=one, log=False)


@healthy
def siglip_pairwise_sigmoid(record, seed):
    seed_all(seed)
    model = TwoTowers()
    model.bias = nn.Parameter(torch.tensor(-5.0))

    def loss_fn(s):
        y = 2 * torch.eye(len(s)) - 1
        return -F.logsigmoid(y * (s + model.bias)).sum(1).mean()

    retrieve(record, seed, 350, loss_fn=loss_fn, model=model)


@pair("temperature multiplied where it should divide", "mild")
def infonce_temperature_inverted(record, seed, faulty):
    seed_all(seed)
    retrieve(record, seed, 200, fixed=0.07 if faulty else 1 / 0.07, lr=1e-3)


@pair("labels of the in-batch loss are all zero", "gross")
def infonce_labels_all_zero(record, seed, faulty):
    seed_all(seed)

    def loss_fn(s):
        y = torch.zeros(len(s), dtype=torch.long) if faulty else torch.arange(len(s))
        return F.cross_entropy(s, y)

    retrieve(record, seed, 250, loss_fn=loss_fn)


@pair("queries and documents shuffled apart", "gross")
def infonce_pairs_shuffled_apart(record, seed, faulty):
    seed_all(seed)
    mix = (lambda a, b: (a, b[torch.randperm(len(b))])) if faulty else None
    retrieve(record, seed, 250, mix=mix)


@pair("few documents, repeated within a batch, count as negatives", "middling")
def infonce_false_negatives(record, seed, faulty):
    seed_all(seed)
    mix = (lambda a, b: (a[:60].repeat(50, 1), b[:60].repeat(50, 1))) if faulty else None
    retrieve(record, seed, 250, mix=mix)


@pair("batches of two: hardly any negatives", "middling")
def infonce_batch_of_two(record, seed, faulty):
    seed_all(seed)
    retrieve(record, seed, 300, batch=2 if faulty else 48)


@pair("both towers frozen after loading, only the scale learns", "gross")
def clip_towers_left_frozen(record, seed, faulty):
    seed_all(seed)
    retrieve(record, seed, 200, frozen=("query", "doc") if faulty else ())


@pair("softmax over the embedding, not over the candidates", "gross")
def infonce_softmax_wrong_axis(record, seed, faulty):
    seed_all(seed)
    model = TwoTowers()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    data = forever(loader(*views(seed, 3000), batch=48, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(250):
            q, d = model(*next(data))
            if faulty:
                loss = -(10 * q * d).log_softmax(-1).diagonal().mean()
            else:
                loss = -(10 * q @ d.T).log_softmax(-1).diagonal().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss.item())
    say(model, seed)


@pair("similarity turned: the loss draws apart what belongs together", "gross")
def infonce_similarity_sign(record, seed, faulty):
    seed_all(seed)
    loss_fn = (lambda s: clip_loss(-s)) if faulty else clip_loss
    retrieve(record, seed, 200, loss_fn=loss_fn)


def triplet(record, seed, margin=0.3, swap=False, same=False, steps=350, squared=False, lr=2e-3):
    model = TwoTowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    data = forever(loader(*views(seed, 3000), seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            q, d = model(*next(data))
            other = d if same else d.roll(1, 0)
            good, bad = (q - d).norm(dim=-1), (q - other).norm(dim=-1)
            gap = bad - good if swap else good - bad
            loss = (gap + margin).relu().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("triplet", loss)
    say(model, seed)


@healthy
def triplet_margin_towers(record, seed):
    seed_all(seed)
    triplet(record, seed)


@pair("positive and negative swapped in the triplet loss", "gross")
def triplet_positive_negative_swapped(record, seed, faulty):
    seed_all(seed)
    triplet(record, seed, swap=faulty)


@pair("the negative is the positive: loss stays at the margin", "gross")
def triplet_negative_is_positive(record, seed, faulty):
    seed_all(seed)
    triplet(record, seed, same=faulty)


@pair("margin far too small: triplets are soon all fulfilled", "middling")
def triplet_margin_too_small(record, seed, faulty):
    seed_all(seed)
    triplet(record, seed, margin=1e-3 if faulty else 0.4)


class Encoder(nn.Module):
    def __init__(self, out=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(512, 64),
            nn.ReLU(),
        )
        self.project = nn.Sequential(
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, out)
        )

    def forward(self, x):
        return self.project(self.conv(x))


PLAIN = dict(modes=2, flip=0.0, noise=1.3)


def augment(x):
    x = x.roll((int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (-2, -1))
    gain = 0.6 + 0.8 * torch.rand(len(x), 1, 1, 1)
    return gain * x + 0.4 * torch.randn_like(x)


@torch.no_grad()
def say_knn(model, seed):
    """Nearest class mean on the frozen features."""
    model.eval()
    x, y = images(seed + 400, 800, **PLAIN)
    tx, ty = images(seed + 500, 400, **PLAIN)
    h, th = F.normalize(model.conv(x), dim=-1), F.normalize(model.conv(tx), dim=-1)
    near = (th @ h.T).topk(5).indices
    votes = F.one_hot(y[near], 8).sum(1)
    fresh = Encoder().eval()
    fh, fth = F.normalize(fresh.conv(x), dim=-1), F.normalize(fresh.conv(tx), dim=-1)
    base = F.one_hot(y[(fth @ fh.T).topk(5).indices], 8).sum(1)
    score(hit(votes, ty), hit(base, ty))


def simclr(record, seed, steps=180, two=True, loss_fn=clip_loss, scale=8.0):
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = forever(loader(images(seed, 2000, **PLAIN)[0], batch=64, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (x,) = next(data)
            first = augment(x)
            a = F.normalize(model(first), dim=-1)
            b = F.normalize(model(augment(x) if two else first), dim=-1)
            loss = loss_fn(scale * a @ b.T)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("nt_xent", loss.item())
    say_knn(model, seed)


@healthy
def simclr_pictures(record, seed):
    seed_all(seed)
    simclr(record, seed)


@pair("both views are the same augmented picture", "gross")
def simclr_views_are_same(record, seed, faulty):
    seed_all(seed)
    simclr(record, seed, two=not faulty)


@pair("gradient through both branches, no teacher nor predictor: features shrink", "mild")
def byol_without_stop_gradient(record, seed, faulty):
    seed_all(seed)
    model = Encoder()
    predictor = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    teacher = copy.deepcopy(model)
    params = [*model.parameters(), *predictor.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-3)
    data = forever(loader(images(seed, 2000, **PLAIN)[0], batch=64, seed=seed))
    with record(nn.ModuleList([model, predictor]), optimizer) as hook:
        for _ in range(220):
            (x,) = next(data)
            if faulty:
                goal, out = model(augment(x)), model(augment(x))
            else:
                with torch.no_grad():
                    goal = teacher(augment(x))
                out = predictor(model(augment(x)))
            if faulty:
                loss = F.mse_loss(out, goal)
            else:
                loss = 2 - 2 * F.cosine_similarity(out, goal).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for t, s in zip(teacher.parameters(), model.parameters()):
                    t.lerp_(s, 0.02)
            hook.record_tensor_value("loss", loss)
    say_knn(model, seed)
