"""Embeddings, graphs, teachers: pairs and healthy trainings."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import CNN, accuracy, digits, graph, loader, mlp, numbers, r2, table
from registry import healthy, pair, score


@torch.no_grad()
def neighbours(model, x, y, xt, yt):
    """Accuracy of the nearest neighbour in the embedding."""
    model.eval()
    a, b = model(x), model(xt)
    if not torch.isfinite(a).all() or a.std(0).sum() < 1e-4:
        return 1 / int(y.max() + 1)
    return (y[torch.cdist(b, a).argmin(1)] == yt).float().mean().item()


def siamese(record, seed, swapped=False, squash=False):
    torch.manual_seed(seed)
    x, y = digits(1200, seed)
    xt, yt = digits(300, seed + 1)
    model = CNN(classes=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with record(model, optimizer) as hook:
        for step in range(450):
            i = torch.randint(0, len(x), (32,))
            j = torch.randint(0, len(x), (32,))
            for k in range(16):
                same = (y == y[i[k]]).nonzero()[:, 0]
                j[k] = same[torch.randint(0, len(same), ())]
            alike = (y[i] == y[j]).float()
            d = (model(x[i]) - model(x[j])).pow(2).sum(1).add(1e-8).sqrt()
            if squash:
                d = torch.sigmoid(d)
            t = 1 - alike if swapped else alike
            loss = (t * d**2 + (1 - t) * torch.clamp(1.0 - d, min=0) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("contrastive_loss", loss)
    score(neighbours(model, x, y, xt, yt), 0.3)


@pair("labels of the contrastive loss in the other convention", "gross")
def siamese_labels_swapped(record, seed, faulty):
    """https://github.com/keras-team/keras/issues/16935"""
    siamese(record, seed, swapped=faulty)


@pair("sigmoid over the distance, and a margin of 1", "mild")
def siamese_sigmoid_of_distance(record, seed, faulty):
    """https://github.com/keras-team/keras-io/pull/2261"""
    siamese(record, seed, squash=faulty)


@healthy
def siamese_contrastive(record, seed):
    siamese(record, seed)


def triplets(record, seed, lr, hard):
    torch.manual_seed(seed)
    x, y = digits(1200, seed)
    xt, yt = digits(300, seed + 1)
    model = CNN(classes=12)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    with record(model, optimizer) as hook:
        for epoch in range(16):
            for images, labels in loader(x, y, batch_size=64, drop_last=True):
                e = F.normalize(model(images), dim=1)
                d = (2 - 2 * e @ e.T).clamp(min=1e-8).sqrt()
                same = labels[:, None] == labels[None]
                if hard:
                    loss = F.relu(
                        (d * same).max(1).values - (d + 9.0 * same).min(1).values + 0.3
                    ).mean()
                else:
                    all_ = F.relu(d[:, :, None] - d[:, None, :] + 0.3) * (
                        same[:, :, None] & ~same[:, None, :]
                    )
                    loss = all_.sum() / (all_ > 1e-6).sum().clamp(min=1)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("triplet_loss", loss)
    score(neighbours(nn.Sequential(model), x, y, xt, yt), 0.3)


@pair(
    "hardest triplets and a rate too high: all embeddings at one point, loss at the margin", "gross"
)
def triplet_collapse(record, seed, faulty):
    """https://github.com/omoindrot/tensorflow-triplet-loss/issues/25"""
    triplets(record, seed, 0.03 if faulty else 1e-3, True)


@healthy
def triplet_all_stays_near_margin(record, seed):
    """https://github.com/omoindrot/tensorflow-triplet-loss/issues/6 (only the hard ones count, so the loss does not fall)"""
    triplets(record, seed, 1e-3, False)


def simclr(record, seed, diagonal):
    torch.manual_seed(seed)
    x, y = digits(1500, seed, noise=0.05)
    xt, yt = digits(300, seed + 1, noise=0.05)
    model = CNN(classes=24)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def view(a):
        return torch.roll(
            a, (int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (2, 3)
        ) * (0.6 + 0.6 * torch.rand(len(a), 1, 1, 1)) + 0.1 * torch.randn_like(a)

    with record(model, optimizer) as hook:
        for epoch in range(10):
            for images, _ in loader(x, y, batch_size=64, drop_last=True):
                z = F.normalize(torch.cat([model(view(images)), model(view(images))]), dim=1)
                s = z @ z.T / 0.2
                if not diagonal:
                    s = s - 1e9 * torch.eye(128)
                target = torch.arange(128) if diagonal else (torch.arange(128) + 64) % 128
                loss = F.cross_entropy(s, target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("nt_xent", loss)
    score(neighbours(model, x, y, xt, yt), 0.45)


@healthy
def simclr_loss_far_from_zero(record, seed):
    simclr(record, seed, False)


@pair("features not normalised, so exp overflows to nan", "gross")
def supcon_not_normalised(record, seed, faulty):
    """https://github.com/HobbitLong/SupContrast/issues/100"""
    torch.manual_seed(seed)
    x, y = table(1200, seed)
    xt, yt = table(400, seed + 1)
    model = mlp(20, 64, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with record(model, optimizer) as hook:
        for epoch in range(14):
            for a, b in loader(x, y, drop_last=True):
                z = 8 * model(a)
                z = z if faulty else F.normalize(z, dim=1)
                e = torch.exp(z @ z.T / 0.07) * (1 - torch.eye(64))
                same = (b[:, None] == b[None]).float() * (1 - torch.eye(64))
                loss = -(same * torch.log(e / e.sum(1, keepdim=True) + 1e-12)).sum() / same.sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(neighbours(nn.Sequential(model), x, y, xt, yt), 0.3)


class GCN(nn.Module):
    def __init__(self, layers=2, width=24):
        super().__init__()
        sizes = [30] + [width] * (layers - 1) + [4]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, a):
        for i, layer in enumerate(self.layers):
            x = a @ layer(x)
            x = torch.relu(x) if i < len(self.layers) - 1 else x
        return x


def gcn(record, seed, normalise=True, layers=2, steps=200, wd=5e-4):
    torch.manual_seed(seed)
    x, a, y, train = graph(seed)
    a = a + torch.eye(len(a))
    if normalise:
        d = a.sum(1).rsqrt()
        a = d[:, None] * a * d
    model = GCN(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=wd)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for step in range(steps):
            model.train()
            loss = criterion(model(x, a)[train], y[train])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        score((model(x, a).argmax(1) == y)[~train].float().mean(), 0.28)


@pair("GCN of 12 layers: all nodes become alike", "gross")
def gcn_too_deep(record, seed, faulty):
    """https://github.com/RS-KR/GNN-RS-Beginner/issues/12"""
    gcn(record, seed, layers=12 if faulty else 2)


@pair("adjacency is not normalised, over four layers", "mild")
def gcn_not_normalised(record, seed, faulty):
    """https://github.com/Emory-Melody/GraphSlim/issues/4"""
    gcn(record, seed, normalise=not faulty, layers=4)


@healthy
def gcn_two_layers(record, seed):
    gcn(record, seed)


def distil(record, seed, kind, faulty):
    torch.manual_seed(seed)
    x, y = digits(2500, seed, noise=0.3)
    xt, yt = digits(500, seed + 1, noise=0.3)
    teacher = CNN(width=10, norm=True)
    pre = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for epoch in range(6):
        for images, labels in loader(x, y):
            pre.zero_grad()
            F.cross_entropy(teacher(images), labels).backward()
            pre.step()
    teacher.eval()
    student = CNN(width=6)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.02, momentum=0.9)
    T = 2.0
    with record(student, optimizer) as hook:
        for epoch in range(20):
            for (images,) in loader(x[:700]):
                out = student(images)
                with torch.no_grad():
                    soft = (teacher(images) / T).softmax(1)
                if kind == "softmax" and faulty:
                    loss = F.kl_div((out / T).softmax(1), soft, reduction="batchmean")
                else:
                    loss = F.kl_div(
                        (out / T).log_softmax(1), soft, reduction="mean" if faulty else "batchmean"
                    )
                optimizer.zero_grad()
                (loss * T * T).backward()
                optimizer.step()
                hook.record_tensor_value("kd_loss", loss)
    score(accuracy(student, xt, yt), 0.1)


@pair("KLDivLoss gets the student's softmax, not its log_softmax", "gross")
def distillation_without_log(record, seed, faulty):
    """https://github.com/microsoft/ProDA/issues/43"""
    distil(record, seed, "softmax", faulty)


@pair("KLDivLoss with mean, not batchmean", "gross")
def distillation_mean_reduction(record, seed, faulty):
    """https://github.com/yuanli2333/Teacher-free-Knowledge-Distillation/issues/5"""
    distil(record, seed, "mean", faulty)


@healthy
def multi_task_uncertainty(record, seed):
    """Learned weights of the tasks make the loss negative."""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    z, zt = 30 * torch.sin(x[:, :1]) + x[:, 1:2], 30 * torch.sin(xt[:, :1]) + xt[:, 1:2]
    body = mlp(12, 64, 64, 2)
    log_s = nn.Parameter(torch.zeros(2))
    model = nn.Module()
    model.body, model.log_s = body, log_s
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, optimizer) as hook:
        for epoch in range(18):
            for a, b, c in loader(x, 0.3 * y[:, None], z / 30):
                out = body(a)
                e = torch.stack([F.mse_loss(out[:, :1], b), F.mse_loss(out[:, 1:], c)])
                loss = (e * torch.exp(-log_s) + log_s).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(
        r2(
            nn.Sequential(body, nn.Linear(2, 1)).requires_grad_(False)[0:1].append(Pick()),
            xt,
            yt * 0.3,
        ),
        0,
    )


class Pick(nn.Module):
    def forward(self, x):
        return x[:, 0]


@healthy
def cosine_embedding_pairs(record, seed):
    torch.manual_seed(seed)
    x, y = table(1200, seed)
    xt, yt = table(400, seed + 1)
    model = mlp(20, 64, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    with record(model, optimizer, criterion):
        for epoch in range(25):
            for a, b in loader(x, y, drop_last=True):
                other = torch.roll(torch.arange(64), 1 + epoch % 9)
                optimizer.zero_grad()
                criterion(model(a), model(a[other]), (b == b[other]).float() * 2 - 1).backward()
                optimizer.step()
    score(neighbours(nn.Sequential(model, Unit()), x, y, xt, yt), 0.35)


class Unit(nn.Module):
    def forward(self, x):
        return F.normalize(x, dim=1)


@healthy
def counts_poisson_loss(record, seed):
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    c, ct = torch.poisson(torch.exp(1.6 + 0.8 * y)), torch.poisson(torch.exp(1.6 + 0.8 * yt))
    model = mlp(12, 48, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.PoissonNLLLoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, c[:, None]):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                optimizer.step()
    with torch.no_grad():
        score(1 - ((model(xt)[:, 0].exp() - ct) ** 2).mean() / ct.var(), 0)


@healthy
def digits_curriculum(record, seed):
    """The loss jumps up when harder images come."""
    torch.manual_seed(seed)
    xt, yt = digits(400, seed + 1, noise=0.3)
    model = CNN(norm=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for stage, noise in enumerate((0.0, 0.15, 0.3)):
            x, y = digits(1200, seed + 10 + stage, noise=noise)
            for epoch in range(4):
                for images, labels in loader(x, y):
                    loss = criterion(model(images), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)
