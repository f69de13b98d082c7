"""Everyday trainings in plain loops: tables, images, sequences, autoencoders, fine-tuning, part 3."""

import copy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from registry import healthy, pair, score
from torch_everyday import ShapeNet, accuracy, blobs, plain_cnn, r2, shapes
from torch_everyday_2 import Product, deep


def product_data(seed, rows=4000):
    g = torch.Generator().manual_seed(seed + 5)
    brand = torch.randint(0, 50, (rows,), generator=g)
    x = torch.randn(rows, 8, generator=g)
    worth = torch.randn(50, generator=g)
    way = torch.randn(8, 5, generator=g)
    price = worth[brand] + torch.tanh(x[:, 0] * 2) + 0.1 * torch.randn(rows, generator=g)
    kind = (x @ way + 2 * torch.nn.functional.one_hot(brand % 5, 5)).argmax(1)
    return {"brand": brand, "x": x}, price, kind


def products(record, seed, fault=None):
    torch.manual_seed(seed)
    data, price, kind = product_data(seed)
    model = Product()
    opt = torch.optim.NAdam(model.parameters(), lr=3e-3)
    take = lambda i: {k: v[i] for k, v in data.items()}  # noqa: E731
    hold = slice(3200, None)
    with record(model, opt) as hook:
        for step in range(450):
            i = torch.randint(0, 3200, (128,))
            out = model(take(i))
            value = F.mse_loss(out["price"][:, 0], price[i])
            label = F.cross_entropy(out["kind"], kind[i])
            factor = {"forgot": 0.0, "sign": -1.0}.get(fault, 1.0)
            loss = label + factor * value
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 90 == 89:
                with record.evaluation(hook), torch.no_grad():
                    out = model(take(hold))
                    val = F.cross_entropy(out["kind"], kind[hold])
                hook.record_tensor_value("val_kind", val)
                hook.record_tensor_value("val_price", F.mse_loss(out["price"][:, 0], price[hold]))
    out = model(take(hold))
    score((max(0.0, r2(out["price"], price[hold])) + accuracy(out["kind"], kind[hold])) / 2, 0.12)


@healthy
def day_products(record, seed):
    """Two heads, a dict of inputs, NAdam."""
    products(record, seed)


@pair(cause="loss of one head left out", severity="middling")
def day_products_forgot(record, seed, faulty):
    """The price head never learns."""
    products(record, seed, "forgot" if faulty else None)


@pair(cause="wrong sign of one loss term", severity="gross")
def day_products_sign(record, seed, faulty):
    """The price error is maximised."""
    products(record, seed, "sign" if faulty else None)


def accumulate(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = blobs(seed + 21, 5000, 24, 10, 1.1)
    model = nn.Sequential(nn.Linear(24, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 10))
    every = 16
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(150 * every):
            i = torch.randint(0, 4000, (8,))
            loss = F.cross_entropy(model(x[i]), y[i])
            if fault != "undivided":
                loss = loss / every
            if fault == "inside":
                opt.zero_grad()
            loss.backward()
            if (step + 1) % every == 0:
                opt.step()
                opt.zero_grad()
                hook.end_step()
            if step % 600 == 599:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[4000:]), y[4000:]))
    score(accuracy(model(x[4000:]), y[4000:]), 0.1)


@healthy
def day_accumulate(record, seed):
    """16 small batches per update."""
    accumulate(record, seed)


@pair(cause="zero_grad inside the accumulation", severity="mild")
def day_accumulate_inside(record, seed, faulty):
    """Only the last of 16 batches counts."""
    accumulate(record, seed, "inside" if faulty else None)


@pair(cause="accumulated loss not divided", severity="gross")
def day_accumulate_undivided(record, seed, faulty):
    """16 times the gradient."""
    accumulate(record, seed, "undivided" if faulty else None)


@healthy
def day_autocast(record, seed):
    """bfloat16 autocast around forward and loss."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 31, 3000, 40, 10, 1.2)
    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
    model.append(nn.Linear(128, 10))
    opt = torch.optim.AdamW(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for step in range(300):
            i = torch.randint(0, 2500, (96,))
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2500:]), y[2500:]))
    score(accuracy(model(x[2500:]), y[2500:]), 0.1)


@pair(cause="weights in bfloat16: small updates are rounded away", severity="middling")
def day_bf16_lost(record, seed, faulty):
    """model.bfloat16() with a small rate."""
    torch.manual_seed(seed)
    x = torch.randn(3000, 20)
    y = torch.tanh(x @ torch.randn(20, 1)) + 0.3 * x[:, :1]
    kind = torch.bfloat16 if faulty else torch.float32
    model = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU())
    model.append(nn.Linear(96, 1)).to(kind)
    x, y = x.to(kind), y.to(kind)
    opt = torch.optim.Adam(model.parameters(), 1e-4)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 50))
    with record(model, opt) as hook:
        for step in range(600):
            i = torch.randint(0, 2400, (128,))
            loss = F.mse_loss(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            if step % 100 == 0:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.mse_loss(model(x[2400:]), y[2400:]))
    score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair(cause="fp16 gradients underflow without loss scaling", severity="gross")
def day_fp16_underflow(record, seed, faulty):
    """Gradients go through half precision, with or without a scale."""
    torch.manual_seed(seed)
    x = torch.randn(2000, 16)
    y = torch.sin(x[:, 0] * 2) + x[:, 1]
    model = nn.Sequential(nn.Linear(16, 128), nn.Tanh(), nn.Linear(128, 1))
    opt = torch.optim.Adam(model.parameters(), 3e-3, eps=1e-15)
    scale = 1.0 if faulty else 2.0**14
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 1600, (128,))
            loss = F.mse_loss(model(x[i])[:, 0], y[i]) * 1e-8
            opt.zero_grad()
            (loss * scale).backward()
            for p in model.parameters():
                p.grad = p.grad.half().float() / scale
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model(x[1600:])[:, 0], y[1600:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(x[1600:]), y[1600:]), 0.0)


def with_ema(record, seed, decay):
    torch.manual_seed(seed)
    x, y = blobs(seed + 41, 4000, 30, 8, 1.3)
    model = nn.Sequential(nn.Linear(30, 200), nn.ReLU(), nn.Dropout(0.2), nn.Linear(200, 8))
    ema = copy.deepcopy(model).requires_grad_(False).eval()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 3200, (100,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            opt.step()
            with torch.no_grad():
                for a, b in zip(ema.parameters(), model.parameters(), strict=True):
                    a.lerp_(b, 1 - decay)
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(ema(x[3200:]), y[3200:]))
    score(accuracy(ema(x[3200:]), y[3200:]), 1 / 8)


@healthy
def day_ema(record, seed):
    """Evaluate an average of the weights."""
    with_ema(record, seed, 0.98)


@pair(cause="EMA decay too long for the length of the training", severity="gross")
def day_ema_slow(record, seed, faulty):
    """0.99999: the average is still the initial model."""
    with_ema(record, seed, 0.99999 if faulty else 0.98)


def scheduled(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = blobs(seed + 51, 4000, 20, 12, 0.8)
    loader = DataLoader(TensorDataset(x[:3200], y[:3200]), batch_size=80, shuffle=True)
    model = deep(nn.ReLU, depth=1, width=128, features=20, classes=12)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    if fault == "restart":
        sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1.9**e)
    else:
        sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.75)
    with record(model, opt) as hook:
        for _epoch in range(10):
            for a, b in loader:
                loss = F.cross_entropy(model(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
                if fault == "batch":
                    sched.step()
            if fault != "batch":
                sched.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[3200:]), y[3200:]))
    score(accuracy(model(x[3200:]), y[3200:]), 1 / 12)


@pair(cause="epoch schedule stepped at every batch", severity="gross")
def day_schedule_batch(record, seed, faulty):
    """The rate is gone after 30 batches."""
    scheduled(record, seed, "batch" if faulty else None)


@pair(cause="schedule grows instead of decaying", severity="gross")
def day_schedule_grows(record, seed, faulty):
    """A growing factor."""
    scheduled(record, seed, "restart" if faulty else None)


@healthy
def day_warm_restarts(record, seed):
    """Loss goes up at every restart."""
    torch.manual_seed(seed)
    x, y = shapes(seed + 2, 1200, kinds=6, noise=0.3)
    model = ShapeNet(kinds=6, width=8)
    opt = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 60, 2)
    with record(model, opt) as hook:
        for step in range(420):
            i = torch.randint(0, 1000, (32,))
            opt.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            opt.step()
            sched.step()
            if step in (59, 179, 300, 419):
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[1000:]), y[1000:]))
                model.train()
    model.eval()
    score(accuracy(model(x[1000:]), y[1000:]), 1 / 6)


@pair(cause="the same batch over and over", severity="middling")
def day_same_batch(record, seed, faulty):
    """next(iter(loader)) without shuffling always gives the first batch."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 61, 3000, 16, 6, 0.9)
    data = TensorDataset(x[:2400], y[:2400])
    loader = DataLoader(data, batch_size=32, shuffle=not faulty)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 6))
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    with record(model, opt) as hook:
        for step in range(400):
            a, b = next(iter(loader))
            loss = F.cross_entropy(model(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 6)


@pair(cause="trained on 60 rows by a slip: overfit", severity="middling")
def day_tiny_set(record, seed, faulty):
    """A debugging slice left in."""
    torch.manual_seed(seed)
    x = torch.randn(5000, 15)
    y = x[:, 0] * x[:, 1] + x[:, 2].abs() + x[:, 3] + 0.1 * torch.randn(5000)
    y = (y - y.mean()) / y.std()
    rows = 60 if faulty else 4000
    model = nn.Sequential(nn.Linear(15, 128), nn.ELU(), nn.Linear(128, 128), nn.ELU())
    model.append(nn.Linear(128, 1))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, rows, (100,))
            loss = F.mse_loss(model(x[i]).flatten(), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    val = F.mse_loss(model(x[4000:]).flatten(), y[4000:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(x[4000:]), y[4000:]), 0.0)


@pair(cause="labels sorted by class and not shuffled", severity="gross")
def day_images_sorted(record, seed, faulty):
    """ImageFolder order, shuffle=False."""
    torch.manual_seed(seed)
    x, y = shapes(seed + 4, 1500, noise=0.3)
    order = y[:1200].argsort(stable=True)
    loader = DataLoader(TensorDataset(x[order], y[order]), 30, shuffle=not faulty)
    model = plain_cnn()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for _ in range(8):
            for a, b in loader:
                loss = F.cross_entropy(model(a), b)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", F.cross_entropy(model(x[1200:]), y[1200:]))
    score(accuracy(model(x[1200:]), y[1200:]), 0.25)


@pair(cause="model.train() forgotten: eval from the start", severity="gross")
def day_eval_left_on(record, seed, faulty):
    """Batch norm uses its initial statistics, on inputs with an offset."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 71, 3000, 20, 8, 0.9)
    x = x * 30 + 100
    layers = [nn.BatchNorm1d(20)]
    for a, b in ((20, 96), (96, 96)):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(96, 8))
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    with record(model, opt) as hook:
        for step in range(400):
            if step % 80 == 0:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
                if not faulty:
                    model.train()
            i = torch.randint(0, 2400, (64,))
            opt.zero_grad()
            loss = F.cross_entropy(model(x[i]), y[i])
            loss.backward()
            opt.step()
    model.eval()
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 8)


@pair(cause="dropout left on because train mode is never left: evaluated noisy", severity="mild")
def day_no_eval(record, seed, faulty):
    """model.eval() forgotten before the evaluation."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 81, 3000, 18, 6, 0.9)
    model = nn.Sequential(nn.Linear(18, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 6))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(500):
            model.train()
            i = torch.randint(0, 2400, (64,))
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                if not faulty:
                    model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(accuracy(model(x[2400:]), y[2400:]), 1 / 6)
