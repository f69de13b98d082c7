"""Optimizers and schedules written in the file, precision, compile, several tasks, graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, SequentialLR
from torch.utils.checkpoint import checkpoint

from kit import forever, grammar, hit, images, loader, majority, seed_all, tabular
from registry import healthy, pair, score
from torch_posttrain import TinyGPT, lm_loss


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(m.lerp(p.grad, 1 - b1).sign(), alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b2)


def orthogonal(g, steps=5):
    x = g / (g.norm() + 1e-7)
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if turned else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                m.mul_(group["momentum"]).add_(p.grad)
                update = orthogonal(p.grad + group["momentum"] * m)
                p.add_(update, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


class ScheduleFree(torch.optim.Optimizer):
    """Schedule-free SGD: gradients at y, steps at z, the average x is what is used."""

    def __init__(self, params, lr=0.5, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))
        self.count = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s["z"], s["x"] = p.clone(), p.clone()
                s["z"].add_(p.grad, alpha=-group["lr"])
                s["x"].lerp_(s["z"], 1 / self.count)
                p.copy_(s["z"].lerp(s["x"], group["beta"]))

    @torch.no_grad()
    def eval(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p]["x"])


def lm_run(
    record,
    seed,
    model,
    optimizers,
    steps=220,
    schedule=None,
    say=True,
    context=None,
    train=lambda m, x: m(x),
):
    data = forever(loader(grammar(seed, 2000, 18), seed=seed))
    single = optimizers[0] if len(optimizers) == 1 else optimizers
    with record(model, single) as hook:
        for _ in range(steps):
            (ids,) = next(data)
            loss = lm_loss(train(model, ids), ids)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
            if schedule:
                schedule.step()
            hook.record_tensor_value("loss", loss.item())
    for optimizer in optimizers:
        if hasattr(optimizer, "eval"):
            optimizer.eval()
    test = grammar(seed + 500, 256, 18)
    model.eval()
    with torch.no_grad():
        score(hit(model(test)[:, :-1].float(), test[:, 1:]), majority(test))


@healthy
def lion_language_model(record, seed):
    seed_all(seed)
    model = TinyGPT(16)
    lm_run(record, seed, model, [Lion(model.parameters(), 7e-4, weight_decay=0.1)], 260)


def muon_split(model):
    inner = [p for p in model.blocks.parameters() if p.ndim == 2]
    known = {id(p) for p in inner}
    return inner, [p for p in model.parameters() if id(p) not in known]


@healthy
def muon_and_adamw_language_model(record, seed):
    seed_all(seed)
    model = TinyGPT(16)
    inner, rest = muon_split(model)
    lm_run(record, seed, model, [Muon(inner), torch.optim.AdamW(rest, lr=3e-3)])


@healthy
def adafactor_of_torch_language_model(record, seed):
    seed_all(seed)
    model = TinyGPT(16)
    lm_run(record, seed, model, [torch.optim.Adafactor(model.parameters(), lr=0.05)], 300)


@healthy
def checkpointed_fused_adamw_warmup(record, seed):
    seed_all(seed)
    model = TinyGPT(16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    schedule = SequentialLR(
        optimizer, [LinearLR(optimizer, 0.01, 1.0, 25), CosineAnnealingLR(optimizer, 200)], [25]
    )

    def train(m, ids):
        h = m.wte(ids) + m.wpe(torch.arange(ids.shape[1]))
        for block in m.blocks:
            h = checkpoint(block, h, use_reentrant=False)
        return m.head(m.norm(h))

    lm_run(record, seed, model, [optimizer], 225, schedule, train=train)


@healthy
def compiled_eager_backend_language_model(record, seed):
    seed_all(seed)
    model = TinyGPT(16)
    compiled = torch.compile(model, backend="eager")
    lm_run(record, seed, compiled, [torch.optim.Adam(compiled.parameters(), lr=3e-3)])


def classify(
    record,
    seed,
    model,
    optimizer,
    steps=250,
    loss_fn=F.cross_entropy,
    schedule=None,
    data=None,
    each=None,
    done=None,
    scaler=None,
    clip=None,
    unscale=True,
):
    data = data or forever(loader(*images(seed, 1500), seed=seed))
    with record(model, optimizer) as hook:
        for step in range(steps):
            x, y = next(data)
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            if scaler:
                scaler.scale(loss).backward()
                if unscale:
                    scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
            if schedule:
                schedule.step()
            hook.record_tensor_value("loss", loss)
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    x, y = images(seed + 500, 500)
    model.eval()
    with torch.no_grad():
        score(hit(model(x), y), 1 / 8)


class ResNetish(nn.Module):
    def __init__(self, width=16, norm=True):
        super().__init__()
        make = (lambda: nn.BatchNorm2d(width)) if norm else nn.Identity
        self.stem = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.convs = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.norms = nn.ModuleList([make() for _ in range(3)])
        self.fc = nn.Linear(width * 16, 8)

    def forward(self, x):
        x = self.stem(x)
        for conv, norm in zip(self.convs, self.norms):
            x = x + F.relu(norm(conv(x)))
        return self.fc(F.max_pool2d(x, 2).flatten(1))


@healthy
def resnet_schedule_free(record, seed):
    seed_all(seed)
    model = ResNetish()
    classify(record, seed, model, ScheduleFree(model.parameters(), 0.3), 300)


@healthy
def resnet_sgd_nesterov_groups(record, seed):
    seed_all(seed)
    model = ResNetish()
    flat = [p for p in model.parameters() if p.ndim == 1]
    deep = [p for p in model.parameters() if p.ndim > 1]
    optimizer = torch.optim.SGD(
        [{"params": deep, "weight_decay": 1e-3}, {"params": flat}],
        lr=0.05,
        momentum=0.9,
        nesterov=True,
    )
    classify(record, seed, model, optimizer, 200, schedule=CosineAnnealingLR(optimizer, 200))


@healthy
def resnet_grad_scaler_and_clip(record, seed):
    seed_all(seed)
    model = ResNetish()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    classify(
        record,
        seed,
        model,
        optimizer,
        200,
        clip=1.0,
        scaler=torch.amp.GradScaler("cpu", init_scale=1024.0),
    )


@pair("gradients clipped while still scaled: unscale_ forgotten", "gross")
def scaler_clip_without_unscale(record, seed, faulty):
    seed_all(seed)
    model = ResNetish()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    classify(
        record,
        seed,
        model,
        optimizer,
        200,
        clip=1.0,
        unscale=not faulty,
        scaler=torch.amp.GradScaler("cpu", init_scale=65536.0),
    )


@pair("Lion with the learning rate of SGD", "gross")
def lion_rate_too_high(record, seed, faulty):
    seed_all(seed)
    model = TinyGPT(16)
    lm_run(record, seed, model, [Lion(model.parameters(), 0.1 if faulty else 7e-4)])


@pair("decay meant for epochs is applied at each step", "middling")
def exponential_decay_each_step(record, seed, faulty):
    seed_all(seed)
    model = ResNetish(norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    decay = LambdaLR(optimizer, lambda s: 0.9**s if faulty else 0.9 ** (s // 46))
    classify(record, seed, model, optimizer, 250, schedule=decay)


@pair("betas of Adam swapped", "middling")
def adam_betas_swapped(record, seed, faulty):
    seed_all(seed)
    model = ResNetish()
    betas = (0.999, 0.9) if faulty else (0.9, 0.999)
    classify(record, seed, model, torch.optim.Adam(model.parameters(), 2e-3, betas=betas), 150)


@pair("epsilon of Adam set to 1", "middling")
def adam_epsilon_too_large(record, seed, faulty):
    seed_all(seed)
    model = ResNetish(norm=False)
    eps = 1.0 if faulty else 1e-8
    classify(record, seed, model, torch.optim.AdamW(model.parameters(), 2e-3, eps=eps), 200)


@pair("L2 of 0.3 given to Adam as weight decay", "mild")
def adam_coupled_weight_decay(record, seed, faulty):
    seed_all(seed)
    model = ResNetish(norm=False)
    decay = 0.3 if faulty else 1e-4
    optimizer = torch.optim.Adam(model.parameters(), 2e-3, weight_decay=decay)
    classify(record, seed, model, optimizer, 200)


@pair("all weights start at zero", "gross")
def resnet_weights_start_at_zero(record, seed, faulty):
    seed_all(seed)
    model = ResNetish(norm=False)
    if faulty:
        for p in model.parameters():
            nn.init.zeros_(p)
    classify(record, seed, model, torch.optim.AdamW(model.parameters(), 2e-3), 200)


@pair("biases far below zero: the ReLUs are dead", "middling")
def resnet_dead_relus(record, seed, faulty):
    seed_all(seed)
    model = ResNetish(norm=False)
    for conv in model.convs:
        nn.init.constant_(conv.bias, -30.0 if faulty else 0.0)
    classify(record, seed, model, torch.optim.AdamW(model.parameters(), 2e-3), 200)


@pair("model stays in eval mode after the first evaluation", "mild")
def batch_norm_left_in_eval_mode(record, seed, faulty):
    seed_all(seed)
    model = ResNetish()
    if faulty:
        model.eval()
    classify(record, seed, model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), 150)


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU())
        self.kind, self.number = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.number(h)[:, 0]


def multi(record, seed, scale=1.0, overwrite=False, steps=450):
    model = Multi()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9)
    x, y = tabular(seed, 3000)
    z = tabular(seed, 3000, classes=0, rule=3)[1]
    z = (z - z.mean()) / z.std() * scale
    data = forever(loader(x, y, z, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            x, y, z = next(data)
            kind, number = model(x)
            loss = F.cross_entropy(kind, y)
            other = F.mse_loss(number, z)
            loss = other if overwrite else loss + other
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    x, y = tabular(seed + 500, 800)
    with torch.no_grad():
        score(hit(model(x)[0], y), majority(y))


@healthy
def multi_task_two_heads(record, seed):
    seed_all(seed)
    multi(record, seed)


@pair("loss of one task not scaled, it swamps the other", "middling")
def multi_task_one_loss_swamps(record, seed, faulty):
    seed_all(seed)
    multi(record, seed, scale=100.0 if faulty else 1.0)


@pair("loss assigned where it should be added: one head is never trained", "gross")
def multi_task_loss_overwritten(record, seed, faulty):
    seed_all(seed)
    multi(record, seed, overwrite=faulty)
