"""More of the milder mistakes."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from data import housing, blobs, r2, acc
from registry import healthy, pair, score


def loop(record, model, opt, crit, x, y, n, steps, bs, after=None):
    with record(model, opt, crit) as hook:
        for s in range(steps):
            model.train()
            i = torch.randint(0, n, (bs,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if after:
                after(s)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()


def net(i, o, h=64, act=nn.ReLU):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


@healthy
def pure_bf16_classifier(record, seed):
    torch.manual_seed(seed)
    x, y = blobs(seed + 80)
    x = x.bfloat16()
    model = net(20, 6).bfloat16()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loop(record, model, opt, nn.CrossEntropyLoss(), x, y, 2400, 500, 64)
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@healthy
def distribution_shift_half_way(record, seed):
    """Half way the stream changes to another table: the loss jumps up and falls again."""
    torch.manual_seed(seed)
    (xa, ya), (xb, yb) = blobs(seed + 81), blobs(seed + 581)
    model = net(20, 6, 96)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(600):
            x, y = (xa, ya) if s < 300 else (xb, yb)
            i = torch.randint(0, 2400, (64,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    score(acc(model, xb[2400:], yb[2400:]), 1 / 6)


@healthy
def gaussian_nll_warm_restarts(record, seed):
    torch.manual_seed(seed)
    x, y = housing(seed + 82, noise=0.1)
    y = y / 10
    model = net(12, 2, 80, nn.SiLU)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 150, eta_min=1e-4)
    nll = nn.GaussianNLLLoss()
    with record(model, opt, nll) as hook:
        for s in range(600):
            i = torch.randint(0, 2400, (64,))
            mu, lv = model(x[i]).chunk(2, 1)
            loss = nll(mu[:, 0], y[i], lv[:, 0].clamp(-10, 4).exp())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("nll", loss.item())
            hook.end_step()
    with torch.no_grad():
        score(r2(model(x[2400:])[:, 0], y[2400:]), 0.0)


@pair(
    "optimizer.step() only inside a condition that holds every 20th step, gradients of the others thrown away",
    "middling",
)
def step_rarely_called(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 83)
    model = net(20, 6)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for s in range(500):
            i = torch.randint(0, 2400, (64,))
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            if not faulty or s % 20 == 0:
                opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("gradients clipped to a norm of 0.001 with SGD: hardly moves", "gross")
def clipped_far_too_tightly(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 84)
    model = net(20, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(450):
            i = torch.randint(0, 2400, (50,))
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1e-3 if faulty else 1.0)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("ReLU after the last layer of a regression with negative targets", "middling")
def relu_on_the_output(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 85)
    y = (y - y.mean()) / y.std()
    model = net(12, 1)
    if faulty:
        model.append(nn.ReLU())
    model.append(nn.Flatten(0))
    loop(
        record,
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        nn.MSELoss(),
        x,
        y,
        2400,
        450,
        64,
    )
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair("batch size of 2 at a learning rate meant for 64", "middling")
def batch_far_too_small(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 86)
    model = net(12, 1).append(nn.Flatten(0))
    loop(
        record,
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        nn.MSELoss(),
        x,
        y,
        2400,
        600,
        2 if faulty else 64,
    )
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair("no activations between the layers: a linear model", "gross")
def activations_forgotten(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 87)
    model = net(12, 1, 64, nn.Identity if faulty else nn.ReLU).append(nn.Flatten(0))
    loop(
        record,
        model,
        torch.optim.Adam(model.parameters(), lr=2e-3),
        nn.MSELoss(),
        x,
        y,
        2400,
        450,
        64,
    )
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair("weights drawn from N(0, 1) instead of scaled by the fan-in", "mild")
def initialised_too_wide(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 88)
    model = net(20, 6, 96, nn.Tanh)
    if faulty:
        for p in model.parameters():
            nn.init.normal_(p)
    loop(
        record,
        model,
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        nn.CrossEntropyLoss(),
        x,
        y,
        2400,
        350,
        64,
    )
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair(
    "the body is frozen by accident in the middle of the run (left over from an experiment)", "mild"
)
def frozen_half_way(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 89)
    model = net(12, 1, 64).append(nn.Flatten(0))

    def after(s):
        if faulty and s == 120:
            model[:4].requires_grad_(False)

    loop(
        record,
        model,
        torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9),
        nn.MSELoss(),
        x,
        y,
        2400,
        600,
        64,
        after,
    )
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)
