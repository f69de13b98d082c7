"""Everyday trainings in plain loops: tables, images, sequences, autoencoders, fine-tuning, part 2."""

import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score
from torch_everyday import accuracy, blobs, r2


class Elman(nn.Module):
    """By hand: h = tanh or relu of W h + U x."""

    def __init__(self, gain, hidden=64, kind="tanh"):
        super().__init__()
        self.u = nn.Linear(3, hidden)
        self.w = nn.Parameter(gain * torch.eye(hidden))
        self.out = nn.Linear(hidden, 3)
        self.act = torch.relu if kind == "relu" else torch.tanh

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.w.shape[0])
        for t in range(x.shape[1]):
            h = self.act(self.u(x[:, t]) + h @ self.w)
        return self.out(h)


@pair(cause="recurrent matrix of gain 2.5 with ReLU: explodes", severity="gross")
def day_elman_explodes(record, seed, faulty):
    """Which of three channels has the largest sum."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 15, 3)
    y = x.sum(1).argmax(1)
    model = Elman(2.5 if faulty else 0.9, kind="relu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with record(model, optimizer) as hook:
        for epoch in range(8):
            for k in range(0, 2400, 50):
                loss = F.cross_entropy(model(x[k : k + 50]), y[k : k + 50])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 3)


class TiedAutoencoder(nn.Module):
    def __init__(self, size, code, sigmoid=False):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(size, 64) / size**0.5)
        self.w2 = nn.Parameter(torch.randn(64, code) / 8)
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(n)) for n in (64, code, 64, size)])
        self.sigmoid = sigmoid

    def forward(self, x):
        h = F.gelu(x @ self.w1 + self.b[0])
        z = h @ self.w2 + self.b[1]
        h = F.gelu(z @ self.w2.t() + self.b[2])
        out = h @ self.w1.t() + self.b[3]
        return torch.sigmoid(out) if self.sigmoid else out


def autoencoder(record, seed, fault=None):
    torch.manual_seed(seed)
    mix = torch.randn(6, 40)
    x = torch.tanh(torch.randn(3000, 6) @ mix)
    x = (x - x.mean(0)) / x.std(0)
    model = TiedAutoencoder(40, 8, sigmoid=fault == "sigmoid")
    params = list(model.b) if fault == "biases" else model.parameters()
    opt = torch.optim.RMSprop(params, lr=1e-3)
    with record(model, opt) as hook:
        for step in range(600):
            batch = x[torch.randint(0, 2500, (128,))]
            loss = (model(batch) - batch).pow(2).sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.mse_loss(model(x[2500:]), x[2500:]))
    score(r2(model(x[2500:]), x[2500:]), 0.0)


@healthy
def day_autoencoder(record, seed):
    """Tied weights kept as bare parameters."""
    autoencoder(record, seed)


@pair(cause="sigmoid on the output for standardised data", severity="middling")
def day_autoencoder_sigmoid(record, seed, faulty):
    """The output cannot be negative."""
    autoencoder(record, seed, "sigmoid" if faulty else None)


@pair(cause="only the biases given to the optimizer", severity="gross")
def day_autoencoder_biases(record, seed, faulty):
    """model.b instead of model.parameters()."""
    autoencoder(record, seed, "biases" if faulty else None)


def pretrained(seed):
    torch.manual_seed(seed)
    x, y = blobs(seed, 4000, 30, 12, 0.9)
    body = nn.Sequential(
        nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU()
    )
    head = nn.Linear(64, 12)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 3e-3)
    for _ in range(250):
        i = torch.randint(0, 4000, (128,))
        opt.zero_grad()
        F.cross_entropy(head(body(x[i])), y[i]).backward()
        opt.step()
    return body, x, y % 6


class Tuned(nn.Module):
    def __init__(self, body, head):
        super().__init__()
        self.backbone = body
        self.head = head

    def forward(self, x):
        return self.head(self.backbone(x))


def finetune(record, seed, fault=None):
    body, x, y = pretrained(seed)
    x, y = x[:1400], y[:1400]
    model = Tuned(body, nn.Linear(64, 12))
    for p in model.backbone.parameters():
        p.requires_grad_(False)
    old = list(model.head.parameters())
    if fault != "old":
        model.head = nn.Linear(64, 6)
        old = list(model.head.parameters())
    opt = torch.optim.Adam(old, 5e-3)
    if fault == "old":
        model.head = nn.Linear(64, 6)
    model.train()
    model.backbone.eval()
    with record(model, opt) as hook:
        for step in range(250):
            i = torch.randint(0, 400, (64,))
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[400:]), y[400:]))
    score(accuracy(model(x[400:]), y[400:]), 1 / 6)


@healthy
def day_finetune_head(record, seed):
    """A frozen body and a new head."""
    finetune(record, seed)


@pair(cause="head replaced after the optimizer was made", severity="gross")
def day_finetune_old_head(record, seed, faulty):
    """The optimizer holds the weights of the old head."""
    finetune(record, seed, "old" if faulty else None)


@healthy
def day_finetune_groups(record, seed):
    """Discriminative rates: 1e-5 in the body, 1e-2 in the head, unfrozen half-way."""
    body, x, y = pretrained(seed)
    model = Tuned(body, nn.Linear(64, 6))
    for p in model.backbone.parameters():
        p.requires_grad = False
    opt = torch.optim.AdamW(
        [
            {"params": model.backbone.parameters(), "lr": 1e-5, "weight_decay": 0.0},
            {"params": model.head.parameters(), "lr": 1e-2},
        ]
    )
    with record(model, opt) as hook:
        for step in range(400):
            if step == 200:
                for p in model.backbone.parameters():
                    p.requires_grad = True
            i = torch.randint(0, 3000, (128,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            opt.step()
        model.eval()
        with record.evaluation(hook), torch.no_grad():
            hook.record_tensor_value("val_loss", F.cross_entropy(model(x[3000:]), y[3000:]))
    score(accuracy(model(x[3000:]), y[3000:]), 1 / 6)


def deep(act, depth=8, width=64, features=20, classes=8):
    layers = [nn.Linear(features, width), act()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), act()]
    return nn.Sequential(*layers, nn.Linear(width, classes))


@pair(cause="ten sigmoid layers: vanishing gradients", severity="gross")
def day_deep_sigmoid(record, seed, faulty):
    """ReLU in the healthy twin."""
    torch.manual_seed(seed)
    x, y = blobs(seed, 3000, 20, 8, 0.8)
    model = deep(nn.Sigmoid if faulty else nn.ReLU).apply(he)
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.8)
    with record(model, opt) as hook:
        for epoch in range(10):
            for chunk in torch.randperm(2400).split(60):
                opt.zero_grad()
                F.cross_entropy(model(x[chunk]), y[chunk]).backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 8)


def he(module):
    if isinstance(module, nn.Linear):
        nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(module.bias)


def huge(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight)
        nn.init.zeros_(module.bias)


@pair(cause="weights initialised with N(0, 1)", severity="middling")
def day_deep_tanh_init(record, seed, faulty):
    """Saturated tanh from the first step on."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 3, 4000, 32, 6, 1.0)
    model = deep(nn.Tanh, depth=5, width=128, features=32, classes=6)
    model.apply(huge if faulty else nn.Identity())
    opt = torch.optim.SGD(model.parameters(), 0.05)
    loss_fn = nn.CrossEntropyLoss()
    with record(model, opt, loss_fn):
        for _ in range(500):
            i = torch.randint(0, 3200, (64,))
            opt.zero_grad()
            loss_fn(model(x[i]), y[i]).backward()
            opt.step()
    score(accuracy(model(x[3200:]), y[3200:]), 1 / 6)


@pair(cause="biases of -8 kill the ReLUs", severity="gross")
def day_dead_relu(record, seed, faulty):
    """A wrong bias initialisation."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 16)
    y = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] * 0.5 + 0.1 * torch.randn(3000)
    model = nn.Sequential(nn.Linear(16, 200), nn.ReLU(), nn.Linear(200, 100), nn.ReLU())
    model.append(nn.Linear(100, 1)).apply(he)
    if faulty:
        nn.init.constant_(model[0].bias, -8.0)
        nn.init.constant_(model[2].bias, -8.0)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 2400, (128,))
            loss = F.smooth_l1_loss(model(x[i]).view(-1), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.smooth_l1_loss(model(x[2400:]).view(-1), y[2400:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(x[2400:]), y[2400:]), 0.0)


def wine(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = blobs(seed + 11, 3000, 13, 10, 0.7)
    trunk = nn.Sequential(nn.Linear(13, 100), nn.SiLU(), nn.Linear(100, 100), nn.SiLU())
    model = nn.Sequential(trunk, nn.Linear(100, 10))
    if fault == "softmax":
        model.append(nn.Softmax(dim=1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 2400, (64,))
            target = y[i]
            if fault == "shift":
                target = (target - 1).clamp(min=0)
            out = model(x[i])
            if fault == "nll":
                loss = F.nll_loss(out, target)
            elif fault == "axis":
                loss = F.nll_loss(F.log_softmax(out, dim=0), target)
            else:
                loss = F.cross_entropy(out, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 50:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_acc", accuracy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 0.1)


@pair(cause="softmax before cross entropy", severity="middling")
def day_wine_softmax(record, seed, faulty):
    """The model ends with a softmax."""
    wine(record, seed, "softmax" if faulty else None)


@pair(cause="nll_loss on raw logits", severity="gross")
def day_wine_nll(record, seed, faulty):
    """No log_softmax: the loss has no lower bound."""
    wine(record, seed, "nll" if faulty else None)


@pair(cause="labels off by one", severity="gross")
def day_wine_shift(record, seed, faulty):
    """Labels believed to begin at 1."""
    wine(record, seed, "shift" if faulty else None)


@pair(cause="log_softmax over the batch axis", severity="mild")
def day_wine_axis(record, seed, faulty):
    """dim=0 instead of dim=1."""
    wine(record, seed, "axis" if faulty else None)


@pair(cause="log(0) in a loss by hand", severity="gross")
def day_log_zero(record, seed, faulty):
    """Binary cross entropy by hand, without the clamp."""
    torch.manual_seed(seed)
    x = torch.randn(4000, 10) * 10
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 3)).float()
    model = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), 2e-2)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 3000, (100,))
            p = model(x[i])[:, 0]
            if not faulty:
                p = p.clamp(1e-6, 1 - 1e-6)
            loss = -(y[i] * p.log() + (1 - y[i]) * (1 - p).log()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    right = ((model(x[3000:])[:, 0] > 0.5) == y[3000:].bool()).float().mean()
                hook.record_tensor_value("val_acc", right)
    score(((model(x[3000:])[:, 0] > 0.5).float() == y[3000:]).float().mean(), 0.6)


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.brand = nn.Embedding(50, 16)
        self.body = nn.Sequential(nn.Linear(16 + 8, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU())
        self.heads = nn.ModuleDict({"price": nn.Linear(96, 1), "kind": nn.Linear(96, 5)})

    def forward(self, batch):
        h = self.body(torch.cat([self.brand(batch["brand"]), batch["x"]], 1))
        return {k: head(h) for k, head in self.heads.items()}
