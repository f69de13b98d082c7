"""Segmentation, detection, multi-task, distillation, pruning, quantisation, attention, and slips of every day."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

from kit import (
    Block,
    TinyGPT,
    accuracy,
    balanced,
    batches,
    corpus,
    digits,
    discs,
    gratings,
    lm_score,
    mlp,
    moons,
    r2,
    ratings,
    seed_all,
    small_cnn,
    table_regression,
    tabular,
    tagged,
    texts,
    waves,
    windows,
)
from registry import healthy, pair, score


# ---- segmentation and detection ----
class UNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        block = lambda i, o: nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU()
        )
        self.a, self.b, self.c = block(1, c), block(c, 2 * c), block(3 * c, c)
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.a(x)
        b = F.interpolate(self.b(F.max_pool2d(a, 2)), scale_factor=2)
        return self.head(self.c(torch.cat([a, b], 1)))


def dice(logits, mask, dims=(1, 2, 3), eps=1.0):
    p = torch.sigmoid(logits)
    return (1 - (2 * (p * mask).sum(dims) + eps) / (p.sum(dims) + mask.sum(dims) + eps)).mean()


def segment(
    record,
    seed,
    loss_fn=None,
    shift=0,
    threshold_mask=None,
    epochs=6,
    lr=3e-3,
    bias=None,
    evaluate=True,
    hflip=False,
    model=None,
    backend=None,
):
    seed_all(seed)
    x, m, _ = discs(500, noise=0.5)
    model = model or UNet()
    if bias is not None:
        nn.init.constant_(model.head.bias, bias)
    call = torch.compile(model, backend=backend) if backend else model
    tm = torch.roll(m, (shift, shift), (2, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    loss_fn = loss_fn or (lambda o, t: F.binary_cross_entropy_with_logits(o, t) + dice(o, t))
    with record(model, optimizer) as hook:
        for epoch in range(epochs):
            model.train()
            for i in batches(400, 20):
                xb, mb = x[i], tm[i]
                if torch.rand(()) < 0.5:
                    xb, mb = xb.flip(3), (mb if hflip else mb.flip(3))
                loss = loss_fn(call(xb), mb)
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if evaluate:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        dice(model(x[400:]), m[400:])
    model.eval()
    with torch.no_grad():
        p = (model(x[400:]) > 0).float()
        inter, union = (p * m[400:]).sum((1, 2, 3)), ((p + m[400:]) > 0).float().sum((1, 2, 3))
        score((inter / union.clamp(min=1)).mean(), 0.12)


@pair("masks are rolled by one pixel against the images", "middling")
def masks_shifted(record, seed, faulty):
    segment(record, seed, shift=1 if faulty else 0, backend="eager")


@pair("images are flipped without their masks", "mild")
def masks_not_flipped(record, seed, faulty):
    segment(record, seed, hflip=faulty)


@pair("the positive weight of the mask loss is 20 where about 2 is right", "mild")
def mask_weight(record, seed, faulty):
    w = torch.tensor(20.0 if faulty else 2.0)
    segment(
        record, seed, loss_fn=lambda o, t: F.binary_cross_entropy_with_logits(o, t, pos_weight=w)
    )


def detect(
    record,
    seed,
    weight=1.0,
    order=None,
    epochs=10,
    sum_loss=False,
    pixel_units=False,
    relu_out=False,
):
    """Objectness and box of one disc; a third of the images are empty."""
    seed_all(seed)
    x, m, box = discs(900, noise=0.3)
    there = (torch.rand(900) < 0.67).float()
    x = torch.where(there[:, None, None, None] > 0, x, 0.3 * torch.randn_like(x))
    target = box[:, order] if order else box
    if pixel_units:
        target = target * 640
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, stride=2),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 24, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(384, 48),
        nn.ReLU(),
        nn.Linear(48, 4),
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    with record(net, optimizer) as hook:
        for epoch in range(epochs):
            for i in batches(700, 25):
                out = net(x[i])
                boxes = out[:, 1:].relu() if relu_out else out[:, 1:]
                reg = (
                    F.smooth_l1_loss(boxes, target[i], reduction="none", beta=0.05).sum(1)
                    * there[i]
                ).sum() / there[i].sum().clamp(min=1)
                loss = F.binary_cross_entropy_with_logits(out[:, 0], there[i]) + weight * reg
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        out = net(x[700:])
        keep = there[700:] > 0
        p = out[keep][:, 1:] / (640 if pixel_units else 1)
        score(
            max(-2.0, r2(p[:, :2], box[700:][keep][:, :2]))
            + ((out[:, 0] > 0) == (there[700:] > 0)).float().mean(),
            0.67,
        )


@healthy
def detector_discs(record, seed):
    detect(record, seed)


@pair("box targets have x and y exchanged against the evaluation", "gross")
def boxes_swapped(record, seed, faulty):
    detect(record, seed, order=[1, 0, 2] if faulty else None)


@pair("boxes are regressed in pixels of a 640 image and swamp objectness", "mild")
def boxes_pixels(record, seed, faulty):
    detect(record, seed, pixel_units=faulty)


@pair("the box term's weight is 0.001", "middling")
def boxes_light(record, seed, faulty):
    detect(record, seed, weight=0.0005 if faulty else 1.0)


# ---- multi-task and distillation ----
def multitask(record, seed, weights=(1.0, 1.0), detach=False, uncertainty=False):
    seed_all(seed)
    x, y = tabular(1800, 12)
    z = torch.sin(x[:, :1] * 1.5) + 0.5 * x[:, 1:2] * x[:, 2:3]
    trunk, a, b = mlp(12, 64, 64), nn.Linear(64, 3), nn.Linear(64, 1)
    model = nn.ModuleDict({"trunk": trunk, "class": a, "value": b})
    logs = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*model.parameters(), logs], lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for i in batches(1500, 30):
                h = trunk(x[i]).relu()
                la = F.cross_entropy(a(h), y[i])
                lb = F.mse_loss(b(h.detach() if detach else h), z[i])
                loss = weights[0] * la + weights[1] * lb
                if uncertainty:
                    loss = (torch.exp(-logs) * torch.stack([la, lb]) + 0.5 * logs).sum()
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    with torch.no_grad():
        h = trunk(x[1500:]).relu()
        score((a(h).argmax(1) == y[1500:]).float().mean() + max(-1.0, r2(b(h), z[1500:])), 0.4)


@healthy
def multitask_uncertainty(record, seed):
    """The weighted loss falls below zero."""
    multitask(record, seed, uncertainty=True)


@pair("one of two tasks is weighted a thousand times the other", "mild")
def multitask_weights(record, seed, faulty):
    multitask(record, seed, weights=(3e-4, 1.0) if faulty else (1.0, 1.0))


@pair(
    "features are detached before the regression head: it gets what classification left", "middling"
)
def multitask_detached(record, seed, faulty):
    multitask(record, seed, detach=faulty)


def distil(record, seed, T=3.0, eval_teacher=True, log_twice=False, swap=False, alpha=0.9):
    seed_all(seed)
    x, y = digits(1500, noise=0.5)
    teacher = nn.Sequential(small_cnn(classes=10, width=16))
    pre = torch.optim.Adam(teacher.parameters(), lr=4e-3)
    for epoch in range(8):
        for i in batches(1200, 40):
            pre.zero_grad()
            F.cross_entropy(teacher(x[i]), y[i]).backward()
            pre.step()
    teacher.eval()
    if not eval_teacher:
        for p in teacher.parameters():
            nn.init.normal_(p, std=0.1)
    student = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(144, 10),
    )
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    criterion = nn.KLDivLoss(reduction="batchmean")
    with record(student, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1200, 40):
                with torch.no_grad():
                    soft = F.softmax(teacher(x[i]) / T, 1)
                out = student(x[i])
                logp = F.softmax(out / T, 1) if log_twice else F.log_softmax(out / T, 1)
                loss = alpha * T * T * criterion(logp, soft) + (1 - alpha) * F.cross_entropy(
                    out, y[i]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(student, x[1200:], y[1200:]), 0.1)


@pair("KLDivLoss is fed probabilities instead of log-probabilities", "middling")
def distil_not_log(record, seed, faulty):
    distil(record, seed, log_twice=faulty, alpha=1.0)


@pair("the teacher's checkpoint was not loaded", "gross")
def distil_random_teacher(record, seed, faulty):
    distil(record, seed, eval_teacher=not faulty, alpha=0.98)


# ---- pruning and quantisation ----
def prune(record, seed, amount=0.8, grads_too=True):
    """Trains, prunes the smallest weights, goes on with a mask."""
    seed_all(seed)
    x, y = tabular(1800, 16, 4)
    model = mlp(16, 96, 96, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    masks = {}
    with record(model, optimizer, criterion):
        for epoch in range(14):
            if epoch == 7:
                for m in model.modules():
                    if isinstance(m, nn.Linear):
                        cut = (
                            m.weight.detach()
                            .abs()
                            .flatten()
                            .kthvalue(int(amount * m.weight.numel()))
                            .values
                        )
                        masks[m] = (m.weight.detach().abs() > cut).float()
            for i in batches(1500, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                with torch.no_grad():
                    for m, mask in masks.items():
                        m.weight.mul_(mask)
    score(accuracy(model, x[1500:], y[1500:]), 0.3)


@pair("pruning removes 95 per cent of each layer", "mild")
def pruned_too_far(record, seed, faulty):
    prune(record, seed, amount=0.95 if faulty else 0.8)


class Ste(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, levels, bounded):
        s = w.abs().max() / levels + 1e-12
        return (w / s).round() * s

    @staticmethod
    def backward(ctx, g):
        return g, None, None


class Hard(torch.autograd.Function):
    """A rounding without a straight-through estimate: no gradient."""

    @staticmethod
    def forward(ctx, w, levels, bounded):
        s = w.abs().max() / levels + 1e-12
        return (w / s).round() * s

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g), None, None


class QLinear(nn.Linear):
    fn, levels = Ste, 7

    def forward(self, x):
        return F.linear(x, self.fn.apply(self.weight, self.levels, True), self.bias)


def quantised(record, seed, fn=Ste, levels=7):
    seed_all(seed)
    x, y = tabular(1800, 16, 4)
    layer = type("Q", (QLinear,), {"fn": fn, "levels": levels})
    model = nn.Sequential(layer(16, 64), nn.ReLU(), layer(64, 64), nn.ReLU(), layer(64, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in batches(1500, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, x[1500:], y[1500:])
    score(accuracy(model, x[1500:], y[1500:]), 0.3)


@pair("rounding passes no gradient: the straight-through estimate is missing", "gross")
def quantised_no_gradient(record, seed, faulty):
    quantised(record, seed, fn=Hard if faulty else Ste)


# ---- slips of every day ----
@pair("model.train() was forgotten: dropout and BatchNorm's statistics are never on", "middling")
def stuck_in_eval(record, seed, faulty):
    seed_all(seed)
    x, y = digits(500, noise=0.5)
    x = x * 2 + 1
    model = small_cnn(classes=10, width=20)
    model.insert(8, nn.Dropout(0.3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    model.eval() if faulty else None
    with record(model, optimizer, criterion) as hook:
        for epoch in range(18):
            if not faulty:
                model.train()
            for i in batches(300, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[300:]), y[300:])
    score(accuracy(model, x[300:], y[300:]), 0.1)


@pair("inference happens in train mode, with dropout of 0.6", "mild")
def scored_in_train_mode(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1500, 12)
    model = mlp(12, 96, 96, 3, drop=0.6)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    best, state = 0, None

    def accuracy_now():
        if not faulty:
            model.eval()
        with torch.no_grad():
            a = (model(x[1200:]).argmax(1) == y[1200:]).float().mean().item()
        model.train()
        return a

    with record(model, optimizer, criterion):
        for epoch in range(12):
            for i in batches(1200, 30):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            accuracy_now()
    score(accuracy_now(), 0.4)


@pair(
    "the loss takes log of a probability without epsilon or clamp, after a float16 round trip",
    "gross",
)
def log_of_zero(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1500, 12, spread=4.0, noise=0.05)
    model = mlp(12, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def nll(out, target):
        if faulty:
            p = F.softmax(out * 10, 1).half().float()
            return -torch.log(p[torch.arange(len(target)), target]).mean()
        return F.nll_loss(F.log_softmax(out * 10, 1), target)

    with record(model, optimizer) as hook:
        for epoch in range(8):
            for i in batches(1200, 30):
                loss = nll(model(x[i]), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.4)


@pair("features are normalised at training and not at all at test", "middling")
def batch_normalised_inputs(record, seed, faulty):
    seed_all(seed)
    x, y = tabular(1600, 12)
    x = x * (0.3 + 3 * torch.rand(12)) + 1.5 * torch.randn(12)
    mean, std = x[:1300].mean(0), x[:1300].std(0)
    model = mlp(12, 64, 64, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(10):
            model.train()
            for i in batches(1300, 26):
                loss = criterion(model((x[i] - mean) / std), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, x[1300:] if faulty else (x[1300:] - mean) / std, y[1300:])
    score(accuracy(model, x[1300:] if faulty else (x[1300:] - mean) / std, y[1300:]), 0.4)


@pair(
    "every worker draws the same random crop seed, so the same 64 samples come again and again",
    "middling",
)
def same_samples(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.5)

    class Draws(Dataset):
        def __len__(self):
            return 1200

        def __getitem__(self, i):
            k = torch.Generator().manual_seed(
                (i % 64) if faulty else int(torch.randint(1 << 30, ()))
            )
            j = int(torch.randint(1200, (), generator=k))
            return x[j], y[j]

    model = small_cnn(classes=10, bn=False, width=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for a, b in DataLoader(Draws(), 32, shuffle=True):
                loss = criterion(model(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.1)
