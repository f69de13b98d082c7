"""Dense nets: the classics."""

import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from data import housing, blobs, r2, acc
from registry import healthy, pair, score


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - g["lr"] * g["weight_decay"])
                p.sub_(g["lr"] * (b1 * m + (1 - b1) * p.grad).sign())
                m.lerp_(p.grad, 1 - b2)


@healthy
def lion_residual_mlp_fp16_scaler(record, seed):
    torch.manual_seed(seed)
    x, y = blobs(seed, n=4000)

    class Block(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.f = nn.Sequential(
                nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)
            )

        def forward(self, h):
            return h + self.f(h)

    model = nn.Sequential(
        nn.Linear(20, 48), Block(48), Block(48), nn.LayerNorm(48), nn.Linear(48, 6)
    )
    opt = Lion(model.parameters(), lr=5e-4, weight_decay=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 3200, (64,))
            opt.zero_grad()
            with torch.autocast("cpu", torch.float16):
                loss = crit(model(x[i]), y[i])
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(acc(model, x[3200:], y[3200:]), 1 / 6)


@healthy
def accumulation_four_micro_batches(record, seed):
    torch.manual_seed(seed)
    x, y = housing(seed, n=6000)
    model = nn.Sequential(
        nn.Linear(12, 80), nn.SiLU(), nn.Linear(80, 80), nn.SiLU(), nn.Linear(80, 1), nn.Flatten(0)
    )
    opt = torch.optim.NAdam(model.parameters(), lr=2e-3)
    crit = nn.SmoothL1Loss()
    loader = DataLoader(TensorDataset(x[:5000], y[:5000]), 16, shuffle=True, drop_last=True)
    with record(model, opt, crit) as hook:
        for ep in range(5):
            for k, (xb, yb) in enumerate(loader):
                loss = crit(model(xb), yb) / 4
                loss.backward()
                hook.record_tensor_value("loss", loss.item() * 4)
                if k % 4 == 3:
                    opt.step()
                    opt.zero_grad()
                    hook.end_step()
    with torch.no_grad():
        score(r2(model(x[5000:]), y[5000:]), 0.0)


@healthy
def xor_parity_long_plateau(record, seed):
    """Parity of three of ten bits: the loss stays at log 2 for a while, then falls to zero."""
    torch.manual_seed(seed)
    x = torch.randint(0, 2, (3000, 10)).float() * 2 - 1
    y = (x[:, 0] * x[:, 1] * x[:, 2] > 0).float()
    model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    crit = nn.BCEWithLogitsLoss()
    with record(model, opt, crit) as hook:
        for s in range(1000):
            i = torch.randint(0, 2500, (64,))
            loss = crit(model(x[i])[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    with torch.no_grad():
        score(((model(x[2500:])[:, 0] > 0) == (y[2500:] > 0)).float().mean(), 0.5)


@pair("optimizer made for the head only: the body's parameters were not passed", "gross")
def body_not_in_optimizer(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed)
    model = nn.ModuleDict(
        {
            "body": nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU()),
            "head": nn.Linear(16, 6),
        }
    )
    net = lambda t: model["head"](model["body"](t))
    opt = torch.optim.Adam(model["head"].parameters() if faulty else model.parameters(), lr=4e-3)
    with record(model, opt) as hook:
        for s in range(500):
            i = torch.randint(0, 2400, (64,))
            loss = F.cross_entropy(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        score((net(x[2400:]).argmax(1) == y[2400:]).float().mean(), 1 / 6)


@pair("optimizer.zero_grad() stands between backward and step: nothing is ever updated", "gross")
def zero_grad_after_backward(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 1)
    model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 6))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for ep in range(8):
            model.train()
            for i in torch.randperm(2400).split(64):
                if not faulty:
                    opt.zero_grad()
                loss = crit(model(x[i]), y[i])
                loss.backward()
                if faulty:
                    opt.zero_grad()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.end_step()
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("sigmoids instead of ReLUs in a net of ten layers: vanishing gradient", "gross")
def deep_sigmoid_vanishing(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 2)
    layers, d = [], 20
    for _ in range(10):
        layers += [nn.Linear(d, 40), nn.Sigmoid() if faulty else nn.ReLU()]
        d = 40
    model = nn.Sequential(*layers, nn.Linear(40, 6))
    for m in model:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(500):
            i = torch.randint(0, 2400, (64,))
            opt.zero_grad()
            loss = crit(model(x[i]), y[i])
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("biases start at -3: most ReLUs dead from the start", "gross")
def dead_relu_from_bias(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed)
    model = nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
    )
    if faulty:
        nn.init.constant_(model[0].bias, -3.0)
        nn.init.constant_(model[2].bias, -0.2)
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for ep in range(10):
            for i in torch.randperm(2400).split(60):
                loss = crit(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair("all weights initialised with zeros", "gross")
def zero_initialisation(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 3)
    model = nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)
    )
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.zeros_(m.weight) if faulty else nn.init.xavier_uniform_(m.weight)
            nn.init.zeros_(m.bias)
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 2400, (64,))
            loss = crit(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("learning rate ten times too high for Adam (0.1)", "middling")
def adam_lr_somewhat_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 4)
    model = nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
    )
    opt = torch.optim.Adam(model.parameters(), lr=0.1 if faulty else 3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for ep in range(10):
            for i in torch.randperm(2400).split(48):
                opt.zero_grad()
                loss = crit(model(x[i]), y[i])
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(model(x[2400:]), y[2400:]).item())
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)
