"""Contrastive, self-supervised, metric, few-shot learning and distillation."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, gratings, mlp, picks, small_cnn, start
from registry import healthy, pair, score


def hidden_factors(n, mix, classes=6, nuisance=1.5):
    """Class signal in a few directions, large nuisance in others."""
    g = torch.Generator().manual_seed(1)
    centres = 1.6 * torch.randn(classes, 4, generator=g)
    y = torch.randint(classes, (n,))
    z = torch.cat([centres[y] + 0.4 * torch.randn(n, 4), nuisance * torch.randn(n, 8)], 1)
    return z, z @ mix, y


def two_views(z, mix, nuisance=1.5):
    """Augmentation: another draw of the nuisance factors."""

    def view():
        return (
            torch.cat(
                [z[:, :4] + 0.2 * torch.randn(len(z), 4), nuisance * torch.randn(len(z), 8)], 1
            )
            @ mix
        )

    return view(), view()


def nearest(train, y, test, yt):
    """Accuracy of five nearest neighbours on normalised embeddings."""
    s = F.normalize(test.detach(), dim=1) @ F.normalize(train.detach(), dim=1).T
    return (y[s.topk(5).indices].mode(1)[0] == yt).float().mean().item()


def info_nce(a, b, temperature):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.T / temperature
    t = torch.arange(len(a))
    return (F.cross_entropy(logits, t) + F.cross_entropy(logits.T, t)) / 2


@healthy
def byol_with_slow_target(record, seed):
    start(seed)
    mix = torch.randn(12, 32) / 3
    z, x, y = hidden_factors(1500, mix)
    _, xt, yt = hidden_factors(400, mix)

    def net(a, b):
        return nn.Sequential(nn.Linear(a, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, b))

    model = nn.ModuleDict({"online": net(32, 16), "head": net(16, 16)})
    target = copy.deepcopy(model["online"])
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 64, 450):
            a, b = two_views(z[i], mix)
            with torch.no_grad():
                ta, tb = target(a), target(b)
            pa, pb = model["head"](model["online"](a)), model["head"](model["online"](b))
            loss = -(F.cosine_similarity(pa, tb).mean() + F.cosine_similarity(pb, ta).mean()) / 2
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(target.parameters(), model["online"].parameters()):
                    p.lerp_(q, 0.02)
    model.eval()
    score(nearest(model["online"](x), y, model["online"](xt), yt), 1 / 6)


def episode(x, y, ways, shots, classes):
    c = torch.tensor(classes)[torch.randperm(len(classes))[:ways]]
    at = [(y == k).nonzero()[:, 0] for k in c]
    at = [a[torch.randperm(len(a))[: shots + 5]] for a in at]
    return (
        torch.stack([x[a[:shots]] for a in at]),
        torch.cat([x[a[shots:]] for a in at]),
        torch.arange(ways).repeat_interleave(5),
    )


def few_shot_data():
    mix = torch.randn(16, 40) / 4
    centres = torch.randn(40, 5) * 1.5
    y = torch.arange(40).repeat_interleave(40)
    z = torch.cat([centres[y] + 0.5 * torch.randn(1600, 5), 2 * torch.randn(1600, 11)], 1)
    return z @ mix, y


def prototype_scores(model, s, q):
    p = model(s.flatten(0, 1)).view(s.shape[0], s.shape[1], -1).mean(1)
    return -torch.cdist(model(q), p) ** 2


def few_shot_accuracy(model, x, y, classes):
    right = []
    with torch.no_grad():
        for _ in range(40):
            s, q, t = episode(x, y, 5, 3, classes)
            right.append((prototype_scores(model, s, q).argmax(1) == t).float().mean())
    return torch.stack(right).mean()


@healthy
def prototypes_from_few_shots(record, seed):
    start(seed)
    x, y = few_shot_data()
    model = mlp(40, 64, 16)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, opt, criterion):
        for _ in range(500):
            s, q, t = episode(x, y, 5, 3, range(30))
            opt.zero_grad()
            criterion(prototype_scores(model, s, q), t).backward()
            opt.step()
    score(few_shot_accuracy(model, x, y, range(30, 40)), 0.2)


@pair("contrastive views are the same image: the augmentation is switched off", "gross")
def views_without_augmentation(record, seed, faulty):
    start(seed)
    mix = torch.randn(12, 32) / 3
    z, x, y = hidden_factors(1500, mix)
    _, xt, yt = hidden_factors(400, mix)
    model = mlp(32, 64, 8)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 50, 400):
            a, b = (x[i], x[i]) if faulty else two_views(z[i], mix)
            loss = info_nce(model(a), model(b), 0.2)
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(nearest(model(x), y, model(xt), yt), 1 / 6)


@pair("siamese net without a stop-gradient collapses", "middling")
def siamese_without_stop_gradient(record, seed, faulty):
    start(seed)
    mix = torch.randn(12, 32) / 3
    z, x, y = hidden_factors(1500, mix)
    _, xt, yt = hidden_factors(400, mix)
    model = nn.ModuleDict(
        {
            "f": nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16)),
            "h": nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)),
        }
    )
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    with record(model, opt) as hook:
        for i in picks(len(x), 64, 400):
            a, b = two_views(z[i], mix)
            fa, fb = model["f"](a), model["f"](b)
            ta, tb = (fa, fb) if faulty else (fa.detach(), fb.detach())
            loss = (
                -(
                    F.cosine_similarity(model["h"](fa), tb).mean()
                    + F.cosine_similarity(model["h"](fb), ta).mean()
                )
                / 2
            )
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        f, ft = model["f"](x), model["f"](xt)
    score(nearest(f + 1e-3 * torch.randn_like(f), y, ft + 1e-3 * torch.randn_like(ft), yt), 1 / 6)


@pair("triplet mining takes the easiest positives and negatives", "gross")
def triplet_mining_of_the_easiest(record, seed, faulty):
    start(seed)
    mix = torch.randn(12, 32) / 3
    _, x, y = hidden_factors(1500, mix, 10, 3.0)
    _, xt, yt = hidden_factors(400, mix, 10, 3.0)
    model = mlp(32, 64, 12)
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    criterion = nn.TripletMarginLoss(margin=1.0)
    with record(model, opt, criterion):
        for i in picks(len(x), 48, 500):
            e = model(x[i])
            with torch.no_grad():
                d, same = torch.cdist(e, e), y[i][:, None] == y[i][None]
                near, far = d.clone(), d.clone()
                if faulty:
                    near.masked_fill_(~same, 1e9).fill_diagonal_(1e9)
                    far.masked_fill_(same, -1)
                    pos, neg = near.argmin(1), far.argmax(1)
                else:
                    near.masked_fill_(same, 1e9)
                    far.masked_fill_(~same, -1)
                    pos, neg = far.argmax(1), near.argmin(1)
            opt.zero_grad()
            criterion(e, e[pos], e[neg]).backward()
            opt.step()
    score(nearest(model(x), y, model(xt), yt), 0.1)


@pair("contrastive temperature far too high", "mild")
def temperature_far_too_high(record, seed, faulty):
    start(seed)
    mix = torch.randn(12, 40) / 3
    z, x, y = hidden_factors(1200, mix, 10, 2.5)
    _, xt, yt = hidden_factors(400, mix, 10, 2.5)
    model = mlp(40, 96, 24)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    with record(model, opt) as hook:
        for i in picks(len(x), 80, 400):
            a, b = two_views(z[i], mix, 2.5)
            loss = info_nce(model(a), model(b), 100.0 if faulty else 0.2)
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(nearest(model(x), y, model(xt), yt), 0.1)


@pair("the teacher's checkpoint was never loaded", "gross")
def teacher_without_checkpoint(record, seed, faulty):
    start(seed)
    (x, y), (xt, yt) = gratings(1200, 6), gratings(400, 6)
    teacher, model = small_cnn(1, 6), small_cnn(1, 6, 6)
    teacher(x[:2]), model(x[:2])
    to = torch.optim.Adam(teacher.parameters(), 2e-3)
    fresh = copy.deepcopy(teacher)
    for i in picks(1200, 32, 150):
        to.zero_grad()
        F.cross_entropy(teacher(x[i]), y[i]).backward()
        to.step()
    teacher = (fresh if faulty else teacher).eval().requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    criterion = nn.KLDivLoss(reduction="batchmean")
    with record(model, opt, criterion):
        for i in picks(1200, 32, 300):
            opt.zero_grad()
            criterion((model(x[i]) / 2).log_softmax(1), (teacher(x[i]) / 2).softmax(1)).backward()
            opt.step()
    score(accuracy(model, xt, yt), 1 / 6)
