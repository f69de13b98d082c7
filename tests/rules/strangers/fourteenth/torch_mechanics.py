"""Training mechanics: accumulation, precision, averaging, optimizers by hand, resuming, compiling."""

import copy
import io
import math

import torch
from torch import nn
from torch.nn import functional as F

from kit import (
    TinyGPT,
    accuracy,
    batches,
    corpus,
    digits,
    gratings,
    lm_score,
    mlp,
    moons,
    r2,
    seed_all,
    small_cnn,
    table_regression,
    tabular,
    windows,
)
from registry import healthy, pair, score


# ---- optimizers by hand ----
class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            a, b = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((a * m + (1 - a) * p.grad).sign(), alpha=-group["lr"])
                m.lerp_(p.grad, 1 - b)


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
                x = p.grad + group["momentum"] * m
                x = x / (x.norm() + 1e-7)
                tall = x.shape[0] > x.shape[1]
                x = x.T if tall else x
                for _ in range(5):
                    g = x @ x.T
                    x = 3.4445 * x + (-4.7750 * g + 2.0315 * g @ g) @ x
                x = x.T if tall else x
                p.add_(x, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


class SmallAdafactor(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                s, g2 = self.state[p], p.grad**2 + 1e-30
                s["t"] = s.get("t", 0) + 1
                b = 1 - s["t"] ** -0.8
                if p.dim() == 2:
                    r = s["r"] = b * s.get("r", 0) + (1 - b) * g2.mean(1)
                    c = s["c"] = b * s.get("c", 0) + (1 - b) * g2.mean(0)
                    u = p.grad / ((r / r.mean())[:, None] * c[None]).sqrt().clamp(min=1e-12)
                else:
                    v = s["v"] = b * s.get("v", 0) + (1 - b) * g2
                    u = p.grad / v.sqrt().clamp(min=1e-12)
                u = u / max(1.0, u.pow(2).mean().sqrt().item())
                p.add_(u, alpha=-group["lr"] * max(1e-2, p.pow(2).mean().sqrt().item()))


@healthy
def lion_gpt(record, seed):
    seed_all(seed)
    text = corpus(8000)
    model = TinyGPT(layers=1)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = Lion(model.parameters(), lr=1e-3, weight_decay=0.1)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for step in range(160):
            x, y = windows(text[:7000], 32, 12)
            loss = criterion(fast(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(lm_score(model, text[7000:]), -math.log(16))


@healthy
def muon_and_adamw(record, seed):
    seed_all(seed)
    x, y = tabular(2000, 20, 5)
    model = mlp(20, 64, 64, 5, act=nn.GELU)
    matrices = [model[2].weight]
    rest = [p for p in model.parameters() if all(p is not m for m in matrices)]
    first, second = Muon(matrices, lr=0.01), torch.optim.AdamW(rest, lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, [first, second], criterion) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1600, 32):
                loss = criterion(model(x[i]), y[i])
                model.zero_grad()
                loss.backward()
                first.step()
                second.step()
            with record.evaluation(hook):
                accuracy(model, x[1600:], y[1600:])
    score(accuracy(model, x[1600:], y[1600:]), 0.25)


@healthy
def adafactor_digits(record, seed):
    seed_all(seed)
    x, y = digits(1500)
    model = nn.Sequential(nn.Flatten(), mlp(144, 96, 96, 10))
    optimizer = SmallAdafactor(model.parameters(), lr=2e-2)
    with record(model) as hook:
        for epoch in range(15):
            for i in batches(1200, 40):
                loss = F.cross_entropy(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


def sam(record, seed, rho=0.05, restore=True):
    seed_all(seed)
    x, y = digits(1300, noise=0.4)
    model = small_cnn(classes=10, bn=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1000, 40):
                criterion(model(x[i]), y[i]).backward()
                with torch.no_grad():
                    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm() + 1e-12
                    moves = [rho * p.grad / norm for p in model.parameters()]
                    for p, e in zip(model.parameters(), moves):
                        p.add_(e)
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                if restore:
                    with torch.no_grad():
                        for p, e in zip(model.parameters(), moves):
                            p.sub_(e)
                optimizer.step()
                optimizer.zero_grad()
    score(accuracy(model, x[1000:], y[1000:]), 0.1)


@healthy
def sam_digits(record, seed):
    sam(record, seed)


@pair("SAM's ascent step is not undone before the descent", "gross")
def sam_not_restored(record, seed, faulty):
    sam(record, seed, rho=0.1, restore=not faulty)


# ---- accumulation, scaler, averaging ----
def accumulate(record, seed, every=4, divide=True, zero=True, lr=0.05, momentum=0.9):
    seed_all(seed)
    x, y = gratings(1300, noise=0.8)
    model = small_cnn(bn=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for k, i in enumerate(batches(1024, 8)):
                loss = criterion(model(x[i]), y[i])
                (loss / every if divide else loss).backward()
                if (k + 1) % every == 0:
                    optimizer.step()
                    if zero:
                        optimizer.zero_grad()
    score(accuracy(model, x[1024:], y[1024:]), 0.25)


@pair("gradients are accumulated and never zeroed", "gross")
def accumulate_forever(record, seed, faulty):
    accumulate(record, seed, zero=not faulty)


def scaled(record, seed, unscale_first=True, update=True, clip=1.0, start=2.0**10):
    seed_all(seed)
    x, y = tabular(1600, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=start, growth_interval=50)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1280, 32):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.float16 if start > 1e6 else torch.bfloat16):
                    loss = criterion(model(x[i]), y[i])
                scaler.scale(loss).backward()
                if unscale_first:
                    scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                scaler.step(optimizer)
                if update:
                    scaler.update()
    score(accuracy(model, x[1280:], y[1280:]), 0.4)


@healthy
def grad_scaler_cpu(record, seed):
    scaled(record, seed)


@pair("gradients are clipped before they are unscaled", "gross")
def clip_scaled(record, seed, faulty):
    scaled(record, seed, unscale_first=not faulty, start=2.0**16)


@pair("loss is multiplied by a static scale of 4096 and the gradients never divided back", "gross")
def static_scale(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1600, 16)
    model = mlp(16, 64, 64, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for i in batches(1280, 32):
                loss = F.cross_entropy(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                (loss * 4096).backward()
                if not faulty:
                    for p in model.parameters():
                        p.grad.div_(4096)
                optimizer.step()
    score(accuracy(model, x[1280:], y[1280:]), 0.4)


@healthy
def swa_digits(record, seed):
    seed_all(seed)
    x, y = digits(1400, noise=0.4)
    model = small_cnn(classes=10)
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            model.train()
            for i in batches(1100, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
            if epoch >= 6:
                average.update_parameters(model)
                schedule.step()
    torch.optim.swa_utils.update_bn([x[i] for i in batches(1100, 50)], average)
    score(accuracy(average, x[1100:], y[1100:]), 0.1)


def averaged(record, seed, decay=0.95, load_back=False):
    seed_all(seed)
    x, y = gratings(1300, noise=0.9, classes=6)
    model = small_cnn(classes=6, bn=False)
    ema = copy.deepcopy(model)
    for p in ema.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in batches(1000, 40):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    for a, b in zip(ema.parameters(), model.parameters()):
                        a.mul_(decay).add_(b, alpha=1 - decay)
                        if load_back:
                            b.copy_(a)
            with record.evaluation(hook):
                accuracy(ema, x[1000:], y[1000:])
    score(accuracy(ema, x[1000:], y[1000:]), 1 / 6)


@pair("the averaged weights are copied back into the model after every step", "gross")
def ema_copied_back(record, seed, faulty):
    averaged(record, seed, decay=0.98, load_back=faulty)


# ---- checkpoints ----
def resumed(
    record,
    seed,
    keep_optimizer=True,
    keep_schedule=True,
    keep_weights=True,
    lr=3e-3,
    sched="cosine",
    strict=True,
    eps=1e-8,
):
    """Saves halfway, builds everything anew, loads, goes on."""
    seed_all(seed)
    x, y = digits(1500, noise=0.4)
    steps, criterion = 12 * 30, nn.CrossEntropyLoss()

    def build():
        model = small_cnn(classes=10, width=12)
        optimizer = torch.optim.Adam(model.parameters(), lr=lr, eps=eps)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        return model, optimizer, schedule

    model, optimizer, schedule = build()
    buffer = io.BytesIO()

    def epochs(n):
        for epoch in range(n):
            model.train()
            for i in batches(1200, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
                schedule.step()

    with record(model, optimizer, criterion):
        epochs(11)
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
            },
            buffer,
        )
        buffer.seek(0)
        saved = torch.load(buffer)
        state = saved["model"]
        if not keep_weights:
            fresh = build()[0].state_dict()
            state = {k: (v if k[0] in "45789" else fresh[k]) for k, v in state.items()}
        model.load_state_dict(state)
        if keep_optimizer:
            optimizer.load_state_dict(saved["optimizer"])
        if keep_schedule:
            schedule.load_state_dict(saved["schedule"])
        epochs(1)
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@healthy
def checkpoint_resumed(record, seed):
    resumed(record, seed)


@pair(
    "weights of the first layers were not in the checkpoint (strict=False) and start anew near the end of the schedule",
    "middling",
)
def checkpoint_partial(record, seed, faulty):
    resumed(record, seed, keep_weights=not faulty)


@pair("after resuming, the schedule's warm-up restarts at a rate four times its first", "middling")
def schedule_restarted(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1300, noise=1.6, classes=8)
    model = small_cnn(classes=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rate = lambda s: 0.5 * (1 + math.cos(math.pi * min(s, 250) / 250)) + 0.001
    criterion = nn.CrossEntropyLoss()
    step = 0
    with record(model, optimizer, criterion) as hook:
        for epoch in range(12):
            model.train()
            if epoch == 10 and faulty:
                step = 0
            for i in batches(1000, 40):
                for group in optimizer.param_groups:
                    group["lr"] = 0.1 * rate(step) * (4 if faulty and epoch >= 10 else 1)
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
                step += 1
            with record.evaluation(hook):
                accuracy(model, x[1000:], y[1000:])
    score(accuracy(model, x[1000:], y[1000:]), 1 / 8)


@pair("RMSprop's state is rebuilt every batch, so no step knows earlier gradients", "middling")
def optimizer_rebuilt(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1500, noise=0.05)
    model = mlp(10, 64, 64, 1)
    make = lambda: torch.optim.RMSprop(model.parameters(), lr=2e-3)
    optimizer = make()
    criterion = nn.MSELoss()
    with record(model, None, criterion):
        for epoch in range(10):
            for i in batches(1200, 30):
                if faulty:
                    optimizer = make()
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        score(r2(model(x[1200:]), y[1200:]), 0.0)


# ---- compile and torch.func ----
@healthy
def compiled_cnn(record, seed):
    seed_all(seed)
    x, y = digits(1200)
    model = small_cnn(classes=10, bn=False)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(7):
            for i in batches(1000, 40):
                loss = criterion(fast(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1000:], y[1000:]), 0.1)


@pair("the compiled step trains a deep copy, so the model itself stays as it was", "gross")
def compiled_copy(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1500, 12)
    model = mlp(12, 64, 64, 3)
    target = copy.deepcopy(model) if faulty else model
    fast = torch.compile(target, backend="eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1200, 30):
                loss = criterion(fast(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.4)


@pair(
    "autocast runs a deep regression whose targets are large in bfloat16, losses and evaluation included",
    "mild",
)
def compiled_autocast(record, seed, faulty):
    seed_all(seed)
    x, y = table_regression(1200, 6, noise=0.0)
    y = y * 0.2 + 40
    model = mlp(6, 48, 48, 1, act=nn.Tanh)
    model[-1].bias.data.fill_(40)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with record(model, optimizer) as hook:
        for epoch in range(20):
            for i in batches(1000, 40):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=faulty):
                    loss = F.mse_loss(fast(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=faulty):
        score(max(-3.0, r2(model(x[1000:]).float(), y[1000:])), 0.0)


@healthy
def functional_per_sample_clip(record, seed):
    """Differentially private style: per-sample gradients by vmap, clipped, with noise."""
    seed_all(seed)
    x, y = moons(1200)
    model = mlp(2, 32, 2, act=nn.Tanh)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def one(params, a, b):
        return F.cross_entropy(torch.func.functional_call(model, params, (a[None],)), b[None])

    per_sample = torch.func.vmap(torch.func.grad_and_value(one), in_dims=(None, 0, 0))
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for i in batches(1000, 50):
                grads, losses = per_sample(
                    {k: v.detach() for k, v in model.named_parameters()}, x[i], y[i]
                )
                norm = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
                w = (1.0 / norm).clamp(max=1.0)
                for k, p in model.named_parameters():
                    p.grad = torch.einsum(
                        "b,b...->...", w, grads[k]
                    ) / 50 + 0.3 / 50 * torch.randn_like(p)
                hook.record_tensor_value("loss", losses.mean())
                optimizer.step()
    score(accuracy(model, x[1000:], y[1000:]), 0.5)
