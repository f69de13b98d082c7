"""Loops with averages, precision, checkpoints, strange but right set-ups."""

import copy
import io
import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import teacher, batches, r2, acc, bal_acc, shapes_cached


def net(d=12, k=5, h=64, **kw):
    return nn.Sequential(
        nn.Linear(d, h, **kw), nn.ReLU(), nn.Linear(h, h, **kw), nn.ReLU(), nn.Linear(h, k, **kw)
    )


def rows(seed, k=5, n=2600):
    x, z = teacher(n, 12, k, seed)
    return x[:-600], z.argmax(1)[:-600], x[-600:], z.argmax(1)[-600:]


@healthy
def misc_swa(record, seed):
    """Averaging from the middle on with a constant rate."""
    torch.manual_seed(seed)
    xt, yt, xv, yv = rows(seed)
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.08, momentum=0.9)
    avg = torch.optim.swa_utils.AveragedModel(m)
    sch = torch.optim.swa_utils.SWALR(opt, swa_lr=0.03, anneal_epochs=3)
    with record(m, opt) as hook:
        for ep in range(12):
            for a, b in batches(xt, yt, bs=50):
                loss = F.cross_entropy(m(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            if ep >= 6:
                avg.update_parameters(m)
                sch.step()
    with torch.no_grad():
        score(acc(avg(xv), yv), 0.2)


@healthy
def misc_wide_shallow(record, seed):
    torch.manual_seed(seed)
    xt, yt, xv, yv = rows(seed)
    m = nn.Sequential(nn.Linear(12, 1024), nn.ReLU(), nn.Linear(1024, 5))
    opt = torch.optim.SGD(m.parameters(), 0.1)
    with record(m, opt, nn.CrossEntropyLoss()) as hook:
        for ep in range(10):
            for a, b in batches(xt, yt, bs=50):
                loss = F.cross_entropy(m(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        score(acc(m(xv), yv), 0.2)


@healthy
def misc_random_features(record, seed):
    """A frozen random layer; only the read-out is trained."""
    torch.manual_seed(seed)
    x, z = teacher(2400, 4, 1, seed)
    f = nn.Linear(4, 300)
    f.requires_grad_(False)
    f.weight.mul_(3)
    out = nn.Linear(300, 1)
    m = nn.Sequential(f, nn.Tanh(), out)
    opt = torch.optim.Adam(out.parameters(), 3e-3)
    with record(m, opt) as hook:
        for ep in range(8):
            for a, b in batches(x[:2000], z[:2000], bs=50):
                loss = F.mse_loss(m(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        score(r2(m(x[2000:]), z[2000:]), 0)


@healthy
def misc_adversarial_domain(record, seed):
    """A gradient reversal layer is meant to raise the domain loss."""
    torch.manual_seed(seed)

    class Rev(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -0.3 * g

    x, z = teacher(3000, 12, 3, seed)
    y = z.argmax(1)
    dom = (torch.arange(3000) % 2).long()
    x = x + dom[:, None] * torch.tensor([1.5] * 3 + [0.0] * 9)
    f, c, d = (
        nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU()),
        nn.Linear(24, 3),
        nn.Linear(24, 2),
    )
    m = nn.ModuleDict(dict(f=f, c=c, d=d))
    opt = torch.optim.Adam(m.parameters(), 2e-3)
    with record(m, opt) as hook:
        for ep in range(8):
            for a, b, g in batches(x[:2400], y[:2400], dom[:2400], bs=60):
                h = f(a)
                loss = F.cross_entropy(c(h)[g == 0], b[g == 0]) + 0.5 * F.cross_entropy(
                    d(Rev.apply(h)), g
                )
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    with torch.no_grad():
        k = dom[2400:] == 1
        score(acc(c(f(x[2400:][k])), y[2400:][k]), 1 / 3)


def loop(
    record,
    seed,
    m,
    opt,
    *,
    epochs=10,
    bs=50,
    at=None,
    final=None,
    dtype=None,
    loss_fn=None,
    before_step=None,
    k=5,
):
    xt, yt, xv, yv = rows(seed)
    cast = (lambda t: t.to(dtype)) if dtype else (lambda t: t)
    loss_fn = loss_fn or F.cross_entropy
    with record(m, opt) as hook:
        i = 0
        for ep in range(epochs):
            if at:
                opt = at(ep, m, opt) or opt
            m.train()
            for a, b in batches(xt, yt, bs=bs):
                loss = loss_fn(m(cast(a)).float(), b)
                opt.zero_grad()
                loss.backward()
                if before_step:
                    before_step(m, i)
                opt.step()
                i += 1
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            m.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value(
                    "val_loss", F.cross_entropy(m(cast(xv)).float(), yv).item()
                )
    with torch.no_grad():
        score(acc((final or m)(cast(xv)).float(), yv), 0.2)


@pair("weights kept in bfloat16: small updates are rounded away", "middling")
def misc_pure_bf16(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()
    if faulty:
        m = m.to(torch.bfloat16)
    loop(
        record,
        seed,
        m,
        torch.optim.Adam(m.parameters(), 2e-4),
        epochs=18,
        dtype=torch.bfloat16 if faulty else None,
    )


@pair("rate set for batches of 50 kept for batches of 1000", "mild")
def misc_large_batch_same_rate(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()
    loop(
        record,
        seed,
        m,
        torch.optim.SGD(m.parameters(), 0.03, momentum=0.5),
        bs=1000 if faulty else 50,
        epochs=80 if faulty else 10,
    )


@pair("Adam's epsilon of 0.1 copied from another paper", "middling")
def misc_adam_eps(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()
    loop(record, seed, m, torch.optim.Adam(m.parameters(), 2e-3, eps=0.1 if faulty else 1e-8))


@pair("ReduceLROnPlateau with mode max on a loss: the rate falls at every epoch", "mild")
def misc_plateau_mode(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.02, momentum=0.9)
    sch = torch.optim.lr_scheduler.ReduceLROnPlateau(
        opt, "max" if faulty else "min", factor=0.1, patience=0 if faulty else 2
    )
    xt, yt, xv, yv = rows(seed)
    with record(m, opt, nn.CrossEntropyLoss()) as hook:
        for ep in range(12):
            for a, b in batches(xt, yt, bs=50):
                loss = F.cross_entropy(m(a), b)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                v = F.cross_entropy(m(xv), yv)
                hook.record_tensor_value("val_loss", v)
            sch.step(v)
    with torch.no_grad():
        score(acc(m(xv), yv), 0.2)


@pair("the best checkpoint, restored near the end, is the one of the first step", "middling")
def misc_restored_first(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()
    buf = io.BytesIO()
    torch.save(m.state_dict(), buf)

    def at(ep, m, opt):
        if ep == 9 and faulty:
            buf.seek(0)
            m.load_state_dict(torch.load(buf))

    loop(record, seed, m, torch.optim.Adam(m.parameters(), 3e-3), at=at)


@pair("a detach() in the forward pass keeps the first layers from learning", "middling")
def misc_detached_features(record, seed, faulty):
    torch.manual_seed(seed)

    class N(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(12, 48), nn.Linear(48, 48), nn.Linear(48, 5)

        def forward(self, x):
            h = F.relu(self.b(F.relu(self.a(x))))
            return self.c(h.detach() if faulty else h)

    m = N()
    loop(record, seed, m, torch.optim.Adam(m.parameters(), 3e-3))


@pair("one class is missing from the training split", "middling")
def misc_class_missing(record, seed, faulty):
    torch.manual_seed(seed)
    m = net()

    def ce(o, y):
        k = y != 2
        return F.cross_entropy(o[k], y[k]) if faulty and m.training else F.cross_entropy(o, y)

    loop(record, seed, m, torch.optim.Adam(m.parameters(), 3e-3), loss_fn=ce)


@pair("dropout on the logits themselves", "mild")
def misc_dropout_on_logits(record, seed, faulty):
    torch.manual_seed(seed)
    m = nn.Sequential(net(), nn.Dropout(0.8 if faulty else 0.0))
    loop(record, seed, m, torch.optim.Adam(m.parameters(), 3e-3))


@pair("focal loss with gamma of 12: only a few rows count", "mild")
def misc_focal_gamma(record, seed, faulty):
    torch.manual_seed(seed)
    g = 12.0 if faulty else 1.0

    def focal(o, y):
        lp = F.log_softmax(o, 1).gather(1, y[:, None])[:, 0]
        return -((1 - lp.exp()) ** g * lp).mean()

    m = net()
    loop(record, seed, m, torch.optim.SGD(m.parameters(), 0.05, momentum=0.9), loss_fn=focal)


@pair(
    "squared error on one-hot targets with a sigmoid on top, as though it were a regression", "mild"
)
def misc_mse_for_classes(record, seed, faulty):
    torch.manual_seed(seed)
    loss = (
        (lambda o, y: F.mse_loss(torch.sigmoid(o), F.one_hot(y, 5).float()))
        if faulty
        else F.cross_entropy
    )
    m = net()
    loop(record, seed, m, torch.optim.SGD(m.parameters(), 0.05, momentum=0.9), loss_fn=loss)
