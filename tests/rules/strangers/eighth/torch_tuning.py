"""Fine tuning, adapters, averages of weights."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import shapes_cached, batches, acc, teacher, chain

_PRE = {}


def backbone():
    def cv(i, o):
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)
        )

    return nn.Sequential(
        cv(1, 16), cv(16, 24), cv(24, 32), nn.Flatten(), nn.Linear(128, 48), nn.ReLU()
    )


def pretrained(seed):
    """Trained once per seed on six kinds of figures (not recorded)."""
    if seed not in _PRE:
        state = torch.get_rng_state()
        torch.manual_seed(seed + 50)
        x, y, *_ = shapes_cached(1500, seed + 20, noise=0.2)
        b, h = backbone(), nn.Linear(48, 6)
        o = torch.optim.Adam([*b.parameters(), *h.parameters()], 3e-3)
        for ep in range(8):
            for a, c in batches(x, y, bs=50):
                o.zero_grad()
                F.cross_entropy(h(b(a)), c).backward()
                o.step()
        _PRE[seed] = copy.deepcopy(b.state_dict())
        torch.set_rng_state(state)
    return copy.deepcopy(_PRE[seed])


def task(seed):
    """Few pictures; new labels: filled, hollow or lines, in inverted contrast."""
    x, y, *_ = shapes_cached(700, seed + 40, noise=0.2)
    y = (
        torch.tensor([0, 1, 0, 1, 2, 2])[y] * 2
        + (x[:, 0, :8].sum((1, 2)) > x[:, 0, 8:].sum((1, 2))).long()
    )
    return x[:200], y[:200], x[200:], y[200:]


def two_rates(body, head, lr, head_lr):
    left = [p for p in body.parameters() if p.requires_grad] or [nn.Parameter(torch.zeros(1))]
    return torch.optim.Adam(
        [{"params": left, "lr": lr}, {"params": head.parameters(), "lr": head_lr}]
    )


def tune(
    record,
    seed,
    *,
    load=True,
    prefix=False,
    lr=1e-3,
    head_lr=None,
    freeze=0,
    epochs=25,
    opt=None,
    eval_bn=False,
    norm=None,
    valnorm=None,
    after=None,
    at_epoch=None,
    bs=20,
    smooth=0.0,
):
    torch.manual_seed(seed)
    sd = pretrained(seed)
    xt, yt, xv, yv = task(seed)
    if norm:
        xt, xv = norm(xt), norm(xv)
    b = backbone()
    if load:
        if prefix:
            sd = {"module." + k: v for k, v in sd.items()}
        b.load_state_dict(sd, strict=False)
    net = nn.Sequential(b, nn.Linear(48, 6))
    for p in list(b.parameters())[:freeze]:
        p.requires_grad_(False)
    opt = opt(net) if opt else two_rates(b, net[1], lr, head_lr or lr)
    crit = nn.CrossEntropyLoss(label_smoothing=smooth)
    with record(net, opt, crit) as hook:
        for ep in range(epochs):
            net.train()
            if eval_bn:
                b.eval()
            if at_epoch:
                at_epoch(ep, net, opt)
            for a, c in batches(xt, yt, bs=bs):
                opt.zero_grad()
                loss = crit(net(a), c)
                loss.backward()
                opt.step()
                if after:
                    after(net)
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                o = net(xv)
                hook.record_tensor_value("val_loss", F.cross_entropy(o, yv))
                hook.record_tensor_value("val_acc", acc(o, yv))
    with torch.no_grad():
        score(acc(net(xv), yv), 1 / 6)


@healthy
def tuning_frozen_stem(record, seed):
    """First two blocks frozen, BatchNorm of the whole backbone in eval mode."""
    tune(record, seed, freeze=6, eval_bn=True)


@healthy
def tuning_gradual_unfreezing(record, seed):
    def at(ep, net, opt):
        for p in net[0].parameters():
            p.requires_grad_(ep >= 6)

    tune(record, seed, at_epoch=at, opt=lambda n: torch.optim.AdamW(n.parameters(), 2e-3))


@pair("pretrained weights do not fit by a 'module.' prefix and strict=False hides it", "middling")
def tuning_prefix(record, seed, faulty):
    tune(record, seed, prefix=faulty, freeze=9)


@pair(
    "the new head is not in the optimizer, which was built before it; the backbone is frozen",
    "gross",
)
def tuning_head_not_optimised(record, seed, faulty):
    tune(
        record,
        seed,
        freeze=11,
        opt=lambda n: torch.optim.Adam((n[0] if faulty else n).parameters(), 5e-3),
    )


class LoRA(nn.Module):
    def __init__(self, lin, r=4, alpha=8.0, zero_a=False):
        super().__init__()
        self.lin = lin.requires_grad_(False)
        self.a = nn.Parameter(
            torch.zeros(r, lin.in_features)
            if zero_a
            else torch.randn(r, lin.in_features) / lin.in_features**0.5
        )
        self.b = nn.Parameter(torch.zeros(lin.out_features, r))
        self.s = alpha / r

    def forward(self, x):
        return self.lin(x) + self.s * (x @ self.a.T) @ self.b.T


_LM = {}


def base_mlp(seed):
    if seed not in _LM:
        state = torch.get_rng_state()
        torch.manual_seed(seed + 7)
        x, z = teacher(3000, 12, 5, seed)
        n = nn.Sequential(
            nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)
        )
        o = torch.optim.Adam(n.parameters(), 3e-3)
        for _ in range(10):
            for a, b in batches(x, z.argmax(1), bs=100):
                o.zero_grad()
                F.cross_entropy(n(a), b).backward()
                o.step()
        _LM[seed] = n
        torch.set_rng_state(state)
    return copy.deepcopy(_LM[seed])


def lora(
    record,
    seed,
    *,
    zero_a=False,
    alpha=8.0,
    lr=5e-3,
    merge_bug=False,
    steps=300,
    wd=0.0,
    freeze_all=False,
):
    """The base is adapted to rotated inputs and permuted classes."""
    torch.manual_seed(seed)
    n = base_mlp(seed)
    x, z = teacher(3000, 12, 5, seed)
    y = (z.argmax(1) + 1) % 5
    x = x.roll(1, 1)
    for i in (0, 2, 4):
        n[i] = LoRA(n[i], alpha=alpha, zero_a=zero_a)
    opt = torch.optim.AdamW([p for p in n.parameters() if p.requires_grad], lr, weight_decay=wd)
    i = 0
    with record(n, opt) as hook:
        while i < steps:
            for a, b in batches(x[:2000], y[:2000], bs=50):
                loss = F.cross_entropy(n(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
                i += 1
                if i == steps:
                    break
    with torch.no_grad():
        score(acc(n(x[2000:]), y[2000:]), 0.2)


@healthy
def tuning_lora(record, seed):
    lora(record, seed)


@pair("both LoRA matrices start at zero: no gradient ever", "gross")
def tuning_lora_zero(record, seed, faulty):
    lora(record, seed, zero_a=faulty)


@pair("a second task is trained without rehearsal: the first is forgotten", "gross")
def tuning_forgetting(record, seed, faulty):
    torch.manual_seed(seed)
    x, z = teacher(3000, 12, 4, seed)
    y = z.argmax(1)
    tr, va = slice(0, 2400), slice(2400, 3000)
    n = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(n.parameters(), 3e-3)
    low = y[tr] < 2
    xt, yt = x[tr], y[tr]
    parts = [(xt[low], yt[low]), (xt[~low], yt[~low])] if faulty else [(xt, yt)]
    with record(n, opt, nn.CrossEntropyLoss()) as hook:
        for a, b in parts:
            for ep in range(10):
                for u, v in batches(a, b, bs=60):
                    loss = F.cross_entropy(n(u), v)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    hook.record_tensor_value("loss", loss)
                    hook.end_step()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(n(x[va]), y[va]))
    with torch.no_grad():
        score(acc(n(x[va]), y[va]), 0.25)
