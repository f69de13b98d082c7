"""Course exercises: small classifiers and regressors with everyday details."""

import copy, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split
from registry import healthy, pair, score
import kit


def digits(seed, n=1000, nt=500, noise=40):
    x, y = kit.digits(n, seed, noise=noise)
    xt, yt = kit.digits(nt, seed + 50, noise=noise)
    return (x.float() / 255 - 0.5) / 0.5, y, (xt.float() / 255 - 0.5) / 0.5, yt


def dense(act=nn.ReLU, h=64, depth=2, drop=0.0, i=144, o=10):
    m, a = [nn.Flatten()], i
    for _ in range(depth):
        m += [nn.Linear(a, h), act()] + ([nn.Dropout(drop)] if drop else [])
        a = h
    return nn.Sequential(*m, nn.Linear(a, o))


@torch.no_grad()
def acc(model, x, y):
    return (model(x).argmax(1) == y).float().mean()


def loop(record, model, x, y, opt, crit, epochs, bs=32, aug=None, val=None, drop_last=False):
    dl = DataLoader(TensorDataset(x, y), bs, shuffle=True, drop_last=drop_last)
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            model.train()
            running_loss = 0.0
            for inputs, labels in dl:
                opt.zero_grad()
                outputs = model(aug(inputs) if aug else inputs)
                loss = crit(outputs, labels)
                loss.backward()
                opt.step()
                running_loss += loss.item()
            if val is not None:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    crit(model(val[0]), val[1])


def shift(x):
    d = torch.randint(-2, 3, (2,)).tolist()
    return torch.roll(x, d, (2, 3)) + 0.1 * torch.randn_like(x)


@pair("the augmentation is defined but not given to the small training set", "mild")
def augmentation_not_applied(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 250)
    model = dense(h=128)
    loop(
        record,
        model,
        x,
        y,
        torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2),
        nn.CrossEntropyLoss(),
        60,
        aug=None if faulty else shift,
        val=(xt[:100], yt[:100]),
    )
    model.eval()
    score(acc(model, xt, yt), 0.1)


@pair("model.eval() is forgotten before testing, dropout of one half stays on", "mild")
def eval_forgotten_dropout(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed)
    model = dense(drop=0.5, h=96)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(15):
            model.train()
            for i in torch.randperm(1000).split(25):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
            if not faulty:
                model.eval()
            with torch.no_grad():
                crit(model(xt), yt)
    score(acc(model, xt, yt), 0.1)


@pair("F.dropout is called without training=self.training", "mild")
def functional_dropout_always_on(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 1200)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2, self.fc1, self.fc2 = (
                nn.Conv2d(1, 10, 3),
                nn.Conv2d(10, 16, 3),
                nn.Linear(16, 50),
                nn.Linear(50, 10),
            )

        def forward(self, x):
            x = F.relu(F.max_pool2d(self.conv1(x), 2))
            x = F.relu(F.max_pool2d(self.conv2(x), 2)).flatten(1)
            x = F.relu(self.fc1(x))
            x = F.dropout(x, 0.4) if faulty else F.dropout(x, 0.4, training=self.training)
            return F.log_softmax(self.fc2(x), dim=1)

    model = Net()
    loop(
        record,
        model,
        x,
        y,
        torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        nn.NLLLoss(),
        14,
        val=(xt[:200], yt[:200]),
    )
    model.eval()
    score(acc(model, xt, yt), 0.1)


@pair("test images are read as BGR while training images are RGB", "middling")
def bgr_at_test(record, seed, faulty):
    kit.seed_all(seed)
    x, y = kit.textures(1000, seed)
    xt, yt = kit.textures(400, seed + 50)
    x, xt = (x - 0.48) / 0.14, (xt - 0.48) / 0.14
    xt = xt.flip(1) if faulty else xt
    model = nn.Sequential(
        nn.Conv2d(3, 12, 5, 2),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.Conv2d(12, 16, 3, 2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 8),
    )
    loop(
        record,
        model,
        x,
        y,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        nn.CrossEntropyLoss(),
        8,
        val=(xt[:200], yt[:200]),
    )
    model.eval()
    score(acc(model, xt, yt), 0.125)


@pair("the momentum of the recipe is forgotten", "gross")
def momentum_forgotten(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed)
    model = dense()
    opt = (
        torch.optim.SGD(model.parameters(), lr=0.01)
        if faulty
        else torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    )
    loop(record, model, x, y, opt, nn.CrossEntropyLoss(), 16)
    score(acc(model, xt, yt), 0.1)


@pair("five sigmoid hidden layers, where ReLU was meant", "gross")
def sigmoid_deep(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed)
    model = dense(nn.Sigmoid if faulty else nn.ReLU, depth=5, h=48)
    loop(
        record,
        model,
        x,
        y,
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        nn.CrossEntropyLoss(),
        26,
    )
    score(acc(model, xt, yt), 0.1)


@pair("after a join on the wrong index a third of the labels belong to other rows", "mild")
def labels_misaligned_in_part(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 900)
    if faulty:
        y = torch.cat([y[:600], y[600:].roll(1)])
    model = dense(h=128)
    loop(
        record,
        model,
        x,
        y,
        torch.optim.Adam(model.parameters(), lr=1e-3),
        nn.CrossEntropyLoss(),
        20,
        val=(xt[:200], yt[:200]),
    )
    score(acc(model, xt, yt), 0.1)


@pair("batch normalisation with batches of two images", "middling")
def batch_norm_tiny_batches(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 600)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(144, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10)
    )
    loop(
        record,
        model,
        x,
        y,
        torch.optim.Adam(model.parameters(), lr=1e-3),
        nn.CrossEntropyLoss(),
        8,
        bs=2 if faulty else 16,
    )
    model.eval()
    score(acc(model, xt, yt), 0.1)


@pair("AdamW's weight decay is 1.0 instead of 0.01", "middling")
def weight_decay_of_one(record, seed, faulty):
    kit.seed_all(seed)
    x, y = kit.table(1200, seed)
    xt, yt = kit.table(500, seed + 50)
    m, s = x.mean(0), x.std(0)
    x, xt = (x - m) / s, (xt - m) / s
    m, s = y.mean(), y.std()
    y, yt = (y - m) / s, (yt - m) / s
    model = nn.Sequential(
        nn.Linear(8, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1), nn.Flatten(0)
    )
    loop(
        record,
        model,
        x,
        y,
        torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1.0 if faulty else 0.01),
        nn.MSELoss(),
        15,
    )
    with torch.no_grad():
        score(kit.r2(model(xt), yt), 0)


@pair("early stopping with a patience of one epoch ends at the first bump", "middling")
def patience_of_one(record, seed, faulty):
    kit.seed_all(seed)
    x, y = kit.table(700, seed)
    xt, yt = kit.table(500, seed + 50)
    m, s = x.mean(0), x.std(0)
    x, xt = (x - m) / s, (xt - m) / s
    m, s = y.mean(), y.std()
    y, yt = (y - m) / s, (yt - m) / s
    model = nn.Sequential(
        nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1), nn.Flatten(0)
    )
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    crit = nn.MSELoss()
    best, wait, keep = 1e9, 0, None
    with record(model, opt, crit) as hook:
        for epoch in range(60):
            for i in torch.randperm(600).split(16):
                opt.zero_grad()
                crit(model(x[i]), y[i]).backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                v = crit(model(x[600:]), y[600:]).item()
            if v < best:
                best, wait, keep = v, 0, copy.deepcopy(model.state_dict())
            else:
                wait += 1
                if wait >= (1 if faulty else 12):
                    break
    model.load_state_dict(keep)
    with torch.no_grad():
        score(kit.r2(model(xt), yt), 0)


@healthy
def k_fold_cross_validation(record, seed):
    """Three models one after another"""
    kit.seed_all(seed)
    x, y, _, _ = digits(seed, 900)
    folds, res = torch.randperm(900).chunk(3), []
    for k in range(3):
        tr = torch.cat([f for j, f in enumerate(folds) if j != k])
        model = dense()
        loop(
            record,
            model,
            x[tr],
            y[tr],
            torch.optim.Adam(model.parameters(), lr=1e-3),
            nn.CrossEntropyLoss(),
            14,
        )
        res.append(acc(model, x[folds[k]], y[folds[k]]))
    score(sum(res) / 3, 0.1)


@healthy
def hyperparameter_sweep(record, seed):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 800)
    best, pick = -1, None
    for lr in (3e-3, 1e-3, 5e-4):
        model = dense(h=48)
        loop(
            record,
            model,
            x,
            y,
            torch.optim.AdamW(model.parameters(), lr=lr),
            nn.CrossEntropyLoss(),
            20,
            val=(xt[:200], yt[:200]),
        )
        if (a := acc(model, xt[:200], yt[:200])) > best:
            best, pick = a, model
    score(acc(pick, xt[200:], yt[200:]), 0.1)


@pair("sigmoid and mean squared error on one-hot targets instead of cross-entropy", "middling")
def mse_on_one_hot(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 1000)
    model = dense(h=64)
    mse = lambda o, t: F.mse_loss(o.sigmoid(), F.one_hot(t, 10).float())
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with record(model, opt, None) as hook:
        for epoch in range(6):
            model.train()
            for i in torch.randperm(1000).split(25):
                out = model(x[i])
                loss = mse(out, y[i]) if faulty else F.cross_entropy(out, y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
    score(acc(model, xt, yt), 0.1)


@pair("the loss is L1 on a skewed target where the mean is wanted", "middling")
def l1_where_mean_wanted(record, seed, faulty):
    kit.seed_all(seed)

    def make(n, s):
        x, _ = kit.table(n, s, scales=False)
        g = torch.Generator().manual_seed(s)
        e = torch.empty(n).exponential_(1.0, generator=g)
        return (
            x,
            e * torch.exp(0.6 * x[:, 0] + 0.4 * torch.sin(2 * x[:, 1])),
            torch.exp(0.6 * x[:, 0] + 0.4 * torch.sin(2 * x[:, 1])),
        )

    x, y, _ = make(1500, seed)
    xt, _, mt = make(500, seed + 50)
    model = nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1), nn.Flatten(0)
    )
    loop(
        record,
        model,
        x,
        y,
        torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4),
        nn.L1Loss() if faulty else nn.MSELoss(),
        12,
    )
    model.eval()
    with torch.no_grad():
        score(kit.r2(model(xt), mt), 0)


@pair("RandomErasing-like cutout covers nearly the whole image", "middling")
def cutout_too_large(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 1000)

    def cut(a, k=9 if faulty else 3):
        a = a.clone()
        i, j = torch.randint(0, 13 - k, (2,)).tolist()
        a[:, :, i : i + k, j : j + k] = 0
        return a

    model = dense(h=96)
    loop(
        record,
        model,
        x,
        y,
        torch.optim.AdamW(model.parameters(), lr=1e-3),
        nn.CrossEntropyLoss(),
        14,
        aug=cut,
        val=(xt[:200], yt[:200]),
    )
    score(acc(model, xt, yt), 0.1)


@pair("mixup mixes the images but keeps the first image's labels", "mild")
def mixup_labels_not_mixed(record, seed, faulty):
    kit.seed_all(seed)
    x, y, xt, yt = digits(seed, 800)
    model = dense(h=128)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    beta = torch.distributions.Beta(1.0, 1.0)
    with record(model, opt, crit) as hook:
        for epoch in range(20):
            for i in torch.randperm(800).split(32):
                l, j = beta.sample(), i[torch.randperm(len(i))]
                out = model(l * x[i] + (1 - l) * x[j])
                loss = (
                    crit(out, y[i]) if faulty else l * crit(out, y[i]) + (1 - l) * crit(out, y[j])
                )
                opt.zero_grad()
                loss.backward()
                opt.step()
    score(acc(model, xt, yt), 0.1)
