"""Everyday trainings in plain loops: tables, images, sequences, autoencoders, fine-tuning, part 1."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from registry import healthy, pair, score


def r2(pred, target):
    pred, target = pred.detach().float().reshape(-1), target.float().reshape(-1)
    value = 1 - ((pred - target) ** 2).mean() / target.var()
    return max(-1.0, float(value)) if torch.isfinite(value) else -1.0


def accuracy(logits, target):
    return (logits.argmax(-1) == target).float().mean()


def balanced(pred, target):
    kinds = target.unique()
    return torch.stack([(pred[target == k] == k).float().mean() for k in kinds]).mean()


def blobs(seed, rows, features, classes, noise=1.0):
    g = torch.Generator().manual_seed(seed + 1000)
    centres = torch.randn(classes, 2, features, generator=g)
    y = torch.randint(0, classes, (rows,), generator=g)
    which = torch.randint(0, 2, (rows,), generator=g)
    return centres[y, which] + noise * torch.randn(rows, features, generator=g), y


def credit_table(seed, rows=6000):
    rng = np.random.default_rng(seed + 7)
    x = rng.normal(size=(rows, 12)).astype("float32")
    risk = 1.5 * x[:, 0] * x[:, 1] + x[:, 2] ** 2 - x[:, 3] + np.sin(2 * x[:, 4])
    y = (risk + 0.5 * rng.normal(size=rows) > np.quantile(risk, 0.92)).astype("float32")
    return torch.from_numpy(x), torch.from_numpy(y)


class CreditNet(nn.Module):
    def __init__(self, features, hidden=96):
        super().__init__()
        self.inp = nn.Linear(features, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = self.drop(F.relu(self.norm(self.inp(x))))
        return self.out(F.relu(self.mid(h))).squeeze(1)


def credit(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = credit_table(seed)
    train_x, train_y = x[:5000], y[:5000]
    if fault == "sorted":
        order = torch.argsort(train_y)
        train_x, train_y = train_x[order], train_y[order]
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=100, shuffle=fault != "sorted")
    model = CreditNet(12)
    weight = None if fault == "plain" else torch.tensor(11.0)
    criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
    lr = {"hot": 1.0, "cold": 1e-6}.get(fault, 1e-3)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    with record(model, optimizer, criterion) as hook:
        for _epoch in range(10):
            model.train()
            for a, b in loader:
                optimizer.zero_grad()
                loss = criterion(model(a), b)
                loss.backward()
                optimizer.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", criterion(model(x[5000:]), y[5000:]))
    score(balanced((model(x[5000:]) > 0).float(), y[5000:]), 0.5)


@healthy
def day_credit(record, seed):
    """Imbalanced table with a positive weight."""
    credit(record, seed)


@pair(cause="imbalanced classes without a weight", severity="middling")
def day_credit_no_weight(record, seed, faulty):
    """8 % positives, and the plain loss."""
    credit(record, seed, "plain" if faulty else None)


@pair(cause="learning rate 1000x too high for Adam", severity="gross")
def day_credit_hot(record, seed, faulty):
    """Adam at 1.0."""
    credit(record, seed, "hot" if faulty else None)


@pair(cause="learning rate 1000x too low", severity="gross")
def day_credit_cold(record, seed, faulty):
    """Adam at 1e-6."""
    credit(record, seed, "cold" if faulty else None)


@pair(cause="rows sorted by label and not shuffled", severity="middling")
def day_credit_sorted(record, seed, faulty):
    """All the positives come last in each epoch."""
    credit(record, seed, "sorted" if faulty else None)


def houses(record, seed, fault=None):
    torch.manual_seed(seed)
    area = torch.rand(4000) * 200 + 30
    year = torch.randint(1900, 2020, (4000,)).float()
    rooms = (area / 25).round() + torch.randint(0, 3, (4000,))
    tax = torch.rand(4000) * 9000
    other = torch.randn(4000, 6)
    price = area * 0.02 + (year - 1960).abs() * 0.02 + rooms * 0.2 * (other[:, 0] > 0) - tax / 4e3
    price = price + torch.sin(other[:, 1] * 2) + 0.2 * torch.randn(4000)
    price = (price - price.mean()) / price.std()
    x = torch.cat([torch.stack([area, year, rooms, tax], 1), other], 1)
    if fault != "raw":
        x = (x - x[:3200].mean(0)) / x[:3200].std(0)
    layers = [nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1)]
    if fault == "softplus":
        layers.append(nn.Softplus())
    net = nn.Sequential(*layers)
    decay = 0.3 if fault == "decay" else 1e-4
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=decay)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 500)
    loss_fn = nn.MSELoss()
    with record(net, opt, loss_fn) as hook:
        for i in range(500):
            rows = torch.randint(0, 3200, (128,))
            out = net(x[rows])
            target = price[rows] if fault == "broadcast" else price[rows].unsqueeze(1)
            loss = loss_fn(out, target)
            opt.zero_grad(set_to_none=False)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            sched.step()
            if i % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(net(x[3200:]).squeeze(1), price[3200:])
                hook.record_tensor_value("val_loss", val)
    score(r2(net(x[3200:]), price[3200:]), 0.0)


@healthy
def day_houses(record, seed):
    """A regressor with momentum and a cosine."""
    houses(record, seed)


@pair(cause="(N, 1) against (N,) broadcasts in the loss", severity="gross")
def day_houses_broadcast(record, seed, faulty):
    """The targets are not unsqueezed."""
    houses(record, seed, "broadcast" if faulty else None)


@pair(cause="softplus on the output of a regressor", severity="middling")
def day_houses_softplus_out(record, seed, faulty):
    """Half of the targets are negative."""
    houses(record, seed, "softplus" if faulty else None)


@pair(cause="weight decay far too strong", severity="middling")
def day_houses_decay(record, seed, faulty):
    """0.3 where 1e-4 was meant."""
    houses(record, seed, "decay" if faulty else None)


@pair(cause="inputs not standardised", severity="gross")
def day_houses_raw(record, seed, faulty):
    """Columns from 0 to 9000."""
    houses(record, seed, "raw" if faulty else None)


def shapes(seed, count, size=16, kinds=4, noise=0.4):
    g = torch.Generator().manual_seed(seed + 50)
    y = torch.randint(0, kinds, (count,), generator=g)
    images = noise * torch.randn(count, 1, size, size, generator=g)
    corner = torch.randint(0, size - 7, (count, 2), generator=g)
    stamps = torch.zeros(6, 7, 7)
    stamps[0, 3], stamps[0, :, 3] = 1, 1
    stamps[1] = torch.eye(7)
    stamps[1] = torch.maximum(stamps[1], torch.eye(7).flip(1))
    stamps[2, 0], stamps[2, 6], stamps[2, :, 0], stamps[2, :, 6] = 1, 1, 1, 1
    stamps[3, 2:5, 2:5] = 1
    stamps[4] = torch.eye(7)
    stamps[5] = torch.eye(7).flip(1)
    for i in range(count):
        r, c = corner[i].tolist()
        images[i, 0, r : r + 7, c : c + 7] += stamps[y[i]]
    return images, y


class ShapeNet(nn.Module):
    def __init__(self, kinds=4, width=12, drop=0.1, act=True):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1)
        self.b1 = nn.BatchNorm2d(width)
        self.c2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.b2 = nn.BatchNorm2d(2 * width)
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(2 * width * 16, kinds)
        self.act = F.relu if act else (lambda t: t)

    def forward(self, x):
        x = F.avg_pool2d(self.act(self.b1(self.c1(x))), 2)
        x = F.avg_pool2d(self.act(self.b2(self.c2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def images(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = shapes(seed, 1600)
    model = ShapeNet(drop=0.97 if fault == "drop" else 0.1, act=fault != "linear")
    if fault == "init":
        for p in model.parameters():
            if p.ndim > 1:
                nn.init.constant_(p, 0.02)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=260)
    model.train()
    with record(model, opt) as hook:
        for step in range(260):
            idx = torch.randperm(1300)[:48]
            target = y[idx]
            if fault == "labels":
                target = target[torch.randperm(48)]
            opt.zero_grad()
            F.cross_entropy(model(x[idx]), target, label_smoothing=0.05).backward()
            opt.step()
            plan.step()
            if step % 65 == 64:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.cross_entropy(model(x[1300:]), y[1300:]))
                model.train()
    model.eval()
    with torch.no_grad():
        score(accuracy(model(x[1300:]), y[1300:]), 0.25)


@healthy
def day_images(record, seed):
    """A small CNN with batch norm and one cycle."""
    images(record, seed)


@pair(cause="dropout of 0.97", severity="middling")
def day_images_dropout(record, seed, faulty):
    """Keep and drop probability mixed up."""
    images(record, seed, "drop" if faulty else None)


@pair(cause="activations forgotten in the CNN", severity="gross")
def day_images_linear(record, seed, faulty):
    """Convolutions on convolutions, linear altogether."""
    images(record, seed, "linear" if faulty else None)


@pair(cause="all weights initialised to one constant", severity="mild")
def day_images_constant(record, seed, faulty):
    """Every filter is the same."""
    images(record, seed, "init" if faulty else None)


@pair(cause="targets shuffled apart from the images", severity="gross")
def day_images_shuffled(record, seed, faulty):
    """Only the labels were permuted."""
    images(record, seed, "labels" if faulty else None)


def plain_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 4),
    )


def bytes_cnn(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = shapes(seed + 1, 1500, noise=0.25)
    raw = ((x + 1) * 60).clamp(0, 255).byte()
    x = raw.float() if fault == "bytes" else (raw.float() / 255 - 0.25) / 0.15
    net = plain_cnn()
    lr = {"low": 5e-5, "high": 2.0}.get(fault, 0.05)
    sgd = torch.optim.SGD(net.parameters(), lr, momentum=0.9, nesterov=True)
    lossf = nn.CrossEntropyLoss()
    with record([net], [sgd], lossf) as hook:
        for step in range(300):
            b = torch.randint(0, 1200, (32,))
            loss = lossf(net(x[b]), y[b])
            net.zero_grad()
            loss.backward()
            sgd.step()
            hook.end_step()
    score(accuracy(net(x[1200:]), y[1200:]), 0.25)


@healthy
def day_bytes_cnn(record, seed):
    """SGD with Nesterov, no validation."""
    bytes_cnn(record, seed)


@pair(cause="images of 0 to 255 not scaled", severity="gross")
def day_bytes_unscaled(record, seed, faulty):
    """No division by 255."""
    bytes_cnn(record, seed, "bytes" if faulty else None)


@pair(cause="learning rate 1000x too low for SGD", severity="gross")
def day_bytes_low(record, seed, faulty):
    """5e-5 where 5e-2 was meant."""
    bytes_cnn(record, seed, "low" if faulty else None)


@pair(cause="learning rate 40x too high for SGD", severity="gross")
def day_bytes_high(record, seed, faulty):
    """The network dies in the first steps."""
    bytes_cnn(record, seed, "high" if faulty else None)


class Adder(nn.Module):
    def __init__(self, cell="gru", hidden=48, cut=False):
        super().__init__()
        kinds = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}
        self.cell = kinds[cell](2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.cut = cut

    def forward(self, x):
        out, _ = self.cell(x)
        last = out[:, -1]
        if self.cut:
            last = last.detach()
        return self.head(last)[:, 0]


def adding_batch(g, size, length=20):
    value = torch.rand(size, length, generator=g)
    mark = torch.zeros(size, length)
    half = length // 2
    mark[torch.arange(size), torch.randint(0, half, (size,), generator=g)] = 1
    mark[torch.arange(size), torch.randint(half, length, (size,), generator=g)] = 1
    return torch.stack([value, mark], 2), (value * mark).sum(1) - 1


def adding(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    model = Adder(cut=fault == "cut")
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    clip = 1e-9 if fault == "clip" else 1.0
    val = adding_batch(torch.Generator().manual_seed(99), 500)
    with record(model, opt) as hook:
        for step in range(400):
            x, y = adding_batch(g, 64)
            loss = F.mse_loss(model(x), y)
            if fault != "zero":
                opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.mse_loss(model(val[0]), val[1]))
    with torch.no_grad():
        score(r2(model(val[0]), val[1]), 0.0)


@healthy
def day_adding(record, seed):
    """The adding problem with a GRU: a plateau first."""
    adding(record, seed)


@pair(cause="last state detached before the head", severity="gross")
def day_adding_detach(record, seed, faulty):
    """The GRU gets no gradient."""
    adding(record, seed, "cut" if faulty else None)


@pair(cause="gradient clipping at 1e-9 below the epsilon of Adam", severity="gross")
def day_adding_clip(record, seed, faulty):
    """Clipped so hard that the updates vanish."""
    adding(record, seed, "clip" if faulty else None)


@pair(cause="zero_grad forgotten", severity="middling")
def day_adding_zero_grad(record, seed, faulty):
    """Gradients of all steps add up."""
    adding(record, seed, "zero" if faulty else None)
