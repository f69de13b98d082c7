"""Image trainings."""

import math
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score


def shapes(n, seed, classes=6, size=16, noise=0.35):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    cx = torch.randint(5, size - 5, (n, 1, 1), generator=g).float()
    cy = torch.randint(5, size - 5, (n, 1, 1), generator=g).float()
    dx, dy = xx - cx, yy - cy
    r = 3 + torch.rand(n, 1, 1, generator=g) * 1.5
    forms = [
        ((dx.abs() < r) & (dy.abs() < r)),
        ((dx**2 + dy**2).sqrt() - r).abs() < 1,
        (dy.abs() < 1) & (dx.abs() <= r + 1),
        (dx.abs() < 1) & (dy.abs() <= r + 1),
        ((dx - dy).abs() < 1.5) & (dx.abs() < r),
        ((dx.abs() < 1) | (dy.abs() < 1)) & (dx.abs() + dy.abs() < 2 * r - 2),
    ]
    x = torch.stack([f.float() for f in forms], 1)[torch.arange(n), y]
    amp = 0.7 + 0.6 * torch.rand(n, 1, 1, generator=g)
    return (x * amp + noise * torch.randn(n, size, size, generator=g)).unsqueeze(1), y


def cnn(classes=6, w=12, norm=True, drop=0.0):
    def block(i, o):
        return (
            [nn.Conv2d(i, o, 3, padding=1, bias=not norm)]
            + ([nn.BatchNorm2d(o)] if norm else [])
            + [nn.ReLU(), nn.MaxPool2d(2)]
        )

    return nn.Sequential(
        *block(1, w),
        *block(w, 2 * w),
        *block(2 * w, 2 * w),
        nn.Flatten(),
        nn.Dropout(drop),
        nn.Linear(8 * w, classes),
    )


@torch.no_grad()
def accuracy(model, x, y):
    was = model.training
    model.eval()
    a = (model(x).argmax(1) == y).float().mean().item()
    model.train(was)
    return a


@healthy
def cnn_shapes_cosine(record, seed):
    torch.manual_seed(seed)
    xt, yt = shapes(2000, seed)
    xv, yv = shapes(600, seed + 100)
    loader = DataLoader(TensorDataset(xt, yt), batch_size=64, shuffle=True)
    model = cnn()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    crit = nn.CrossEntropyLoss()
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
    with record(model, opt, crit) as hook:
        for epoch in range(8):
            model.train()
            for x, y in loader:
                if torch.rand(1) < 0.5:
                    x = torch.roll(
                        x,
                        (int(torch.randint(-1, 2, (1,))), int(torch.randint(-1, 2, (1,)))),
                        (2, 3),
                    )
                opt.zero_grad()
                loss = crit(model(x), y)
                loss.backward()
                opt.step()
            sched.step()
            with record.evaluation(hook):
                acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


class Res(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.b1 = nn.BatchNorm2d(o)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.b2 = nn.BatchNorm2d(o)
        nn.init.zeros_(self.b2.weight)  # zero-init residual
        self.skip = (
            nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
            if i != o or stride > 1
            else nn.Identity()
        )

    def forward(self, x):
        return F.relu(self.skip(x) + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))


@healthy
def resnet_onecycle_smoothing(record, seed):
    torch.manual_seed(seed)
    xt, yt = shapes(1600, seed)
    xv, yv = shapes(500, seed + 100)
    loader = DataLoader(TensorDataset(xt, yt), batch_size=64, shuffle=True, drop_last=True)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, 1, 1, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        Res(12, 12, 1),
        Res(12, 24, 2),
        Res(24, 32, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 6),
    )
    decay = [p for p in model.parameters() if p.ndim > 1]
    other = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-4}, {"params": other, "weight_decay": 0}],
        lr=0.1,
        momentum=0.9,
        nesterov=True,
    )
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    epochs = 8
    sched = torch.optim.lr_scheduler.OneCycleLR(
        opt, max_lr=0.2, total_steps=epochs * len(loader), pct_start=0.25
    )
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            model.train()
            for x, y in loader:
                loss = crit(model(x), y)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
                sched.step()
            with record.evaluation(hook):
                acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


class ViT(nn.Module):
    def __init__(self, classes=6, d=32, depth=2, p=4, view_bug=False):
        super().__init__()
        self.p, self.view_bug = p, view_bug
        self.embed = nn.Linear(p * p, d)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 17, d) * 0.02)
        layer = nn.TransformerEncoderLayer(
            d, 4, 2 * d, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        b = x.shape[0]
        if self.view_bug:  # patches first, then batch: a reshape mixes images
            t = (
                x.unfold(2, self.p, self.p)
                .unfold(3, self.p, self.p)
                .permute(1, 2, 3, 0, 4, 5)
                .reshape(b, 16, self.p * self.p)
            )
        else:
            t = (
                x.unfold(2, self.p, self.p)
                .unfold(3, self.p, self.p)
                .reshape(b, 16, self.p * self.p)
            )
        t = torch.cat([self.cls.expand(b, -1, -1), self.embed(t)], 1) + self.pos
        return self.head(self.norm(self.enc(t)[:, 0]))


def train_vit(record, seed, bug):
    torch.manual_seed(seed)
    xt, yt = shapes(3000, seed, noise=0.2)
    xv, yv = shapes(500, seed + 100, noise=0.2)
    model = ViT(view_bug=bug)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05, betas=(0.9, 0.98))
    steps = 600
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * s / steps))
    )
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            i = torch.randint(0, len(xt), (64,))
            loss = crit(model(xt[i]), yt[i])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            if s % 150 == 149:
                with record.evaluation(hook):
                    acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


@pair(
    "the patches are permuted with the batch inside and then reshaped, which mixes images of a batch",
    "gross",
)
def vit_patch_reshape(record, seed, faulty):
    train_vit(record, seed, faulty)


@healthy
def convnext_layerscale(record, seed):
    class Block(nn.Module):
        def __init__(self, d, drop):
            super().__init__()
            self.dw = nn.Conv2d(d, d, 5, padding=2, groups=d)
            self.norm = nn.LayerNorm(d)
            self.up = nn.Linear(d, 4 * d)
            self.down = nn.Linear(4 * d, d)
            self.gamma = nn.Parameter(1e-6 * torch.ones(d))
            self.drop = drop

        def forward(self, x):
            h = self.norm(self.dw(x).permute(0, 2, 3, 1))
            h = self.gamma * self.down(F.gelu(self.up(h)))
            if self.training:
                keep = (torch.rand(x.shape[0], 1, 1, 1) > self.drop).float() / (1 - self.drop)
                h = h * keep
            return x + h.permute(0, 3, 1, 2)

    torch.manual_seed(seed)
    xt, yt = shapes(1500, seed)
    xv, yv = shapes(500, seed + 100)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 2, 2),
        Block(16, 0.0),
        Block(16, 0.1),
        nn.Conv2d(16, 32, 2, 2),
        Block(32, 0.1),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(32),
        nn.Linear(32, 6),
    )
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    crit = nn.CrossEntropyLoss(label_smoothing=0.1)
    sched = torch.optim.lr_scheduler.SequentialLR(
        opt,
        [
            torch.optim.lr_scheduler.LinearLR(opt, 0.01, 1.0, 40),
            torch.optim.lr_scheduler.CosineAnnealingLR(opt, 460),
        ],
        [40],
    )
    with record(model, opt, crit) as hook:
        model.train()
        for s in range(500):
            i = torch.randint(0, 1500, (48,))
            opt.zero_grad()
            crit(model(xt[i]), yt[i]).backward()
            opt.step()
            sched.step()
        with record.evaluation(hook):
            acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


@healthy
def mixup_high_train_loss(record, seed):
    """The training loss stays near 1 as mixed labels cannot be fitted: right."""
    torch.manual_seed(seed)
    xt, yt = shapes(2000, seed)
    xv, yv = shapes(500, seed + 100)
    model = cnn(drop=0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    crit = nn.CrossEntropyLoss()
    beta = torch.distributions.Beta(0.8, 0.8)
    with record(model, opt, crit) as hook:
        for epoch in range(10):
            model.train()
            for i in torch.randperm(2000).split(64):
                lam = beta.sample().item()
                j = i[torch.randperm(len(i))]
                out = model(lam * xt[i] + (1 - lam) * xt[j])
                loss = lam * crit(out, yt[i]) + (1 - lam) * crit(out, yt[j])
                opt.zero_grad()
                loss.backward()
                opt.step()
            for gr in opt.param_groups:
                gr["lr"] *= 0.8
            with record.evaluation(hook):
                acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


@healthy
def batch_of_two_groupnorm(record, seed):
    """Batches of two and an autocast in bfloat16: a noisy curve, but right."""
    torch.manual_seed(seed)
    xt, yt = shapes(1500, seed, classes=4, noise=0.2)
    xv, yv = shapes(400, seed + 100, classes=4, noise=0.2)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.GroupNorm(4, 16),
        nn.SiLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.GroupNorm(4, 32),
        nn.SiLU(),
        nn.Conv2d(32, 32, 3, 1, 1),
        nn.SiLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 4),
    )
    opt = torch.optim.NAdam(model.parameters(), lr=7e-4)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(1500):
            i = torch.randint(0, 1500, (2,))
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = crit(model(xt[i]), yt[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            acc = accuracy(model, xv, yv)
    score(acc, 0.25)


@healthy
def finetune_frozen_backbone(record, seed):
    """The backbone is trained on a rotation task, then frozen in eval mode; only the head learns."""
    torch.manual_seed(seed)
    xt, yt = shapes(2000, seed, noise=0.2)
    xv, yv = shapes(500, seed + 100, noise=0.2)
    pre = cnn(noise_classes := 6)
    o = torch.optim.Adam(pre.parameters(), 2e-3)
    perm = torch.tensor([2, 0, 1, 5, 3, 4])
    for s in range(150):
        i = torch.randint(0, 2000, (64,))
        o.zero_grad()
        F.cross_entropy(pre(xt[i]), perm[yt[i]]).backward()
        o.step()
    model = nn.Sequential(pre[:-1], nn.Linear(96, noise_classes))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for epoch in range(5):
            model.train()
            model[0].eval()
            for i in torch.randperm(2000).split(50):
                opt.zero_grad()
                crit(model(xt[i]), yt[i]).backward()
                opt.step()
            with record.evaluation(hook):
                acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


def plain(
    record, seed, model, opt, crit, data, val, epochs=6, bs=64, shuffle=True, fwd=None, chance=1 / 6
):
    xt, yt = data
    with record(model, opt, crit) as hook:
        for epoch in range(epochs):
            model.train()
            order = torch.randperm(len(xt)) if shuffle else torch.arange(len(xt))
            for i in order.split(bs):
                opt.zero_grad()
                out = model(xt[i])
                loss = crit(fwd(out) if fwd else out, yt[i])
                loss.backward()
                opt.step()
            with record.evaluation(hook):
                acc = accuracy(model, *val)
    score(acc, chance)


@pair(
    "the learning rate of SGD is 100 times too large for a network without normalization", "gross"
)
def cnn_lr_huge(record, seed, faulty):
    torch.manual_seed(seed)
    model = cnn(norm=False)
    opt = torch.optim.SGD(model.parameters(), lr=3.0 if faulty else 0.03, momentum=0.9)
    plain(
        record,
        seed,
        model,
        opt,
        nn.CrossEntropyLoss(),
        shapes(2000, seed, noise=0.2),
        shapes(500, seed + 100, noise=0.2),
        epochs=14,
    )


@pair("the softmax is applied before CrossEntropyLoss", "mild")
def cnn_softmax_twice(record, seed, faulty):
    torch.manual_seed(seed)
    model = cnn(norm=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)
    plain(
        record,
        seed,
        model,
        opt,
        nn.CrossEntropyLoss(),
        shapes(1500, seed),
        shapes(500, seed + 100),
        epochs=6,
        fwd=(lambda o: torch.softmax(o, 1)) if faulty else None,
    )


@pair(
    "BatchNorm momentum of 0.999 in the TensorFlow sense was turned into 0.0001, the running statistics never catch up",
    "gross",
)
def bn_momentum_tiny(record, seed, faulty):
    torch.manual_seed(seed)
    model = cnn()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 1e-4 if faulty else 0.1
    x, y = shapes(1500, seed)
    xv, yv = shapes(500, seed + 100)
    plain(
        record,
        seed,
        model,
        torch.optim.Adam(model.parameters(), 2e-3),
        nn.CrossEntropyLoss(),
        (x * 8 + 3, y),
        (xv * 8 + 3, yv),
        epochs=5,
    )


@pair(
    "the validation images are fed as 0..255 while the training images were scaled to zero mean and unit variance",
    "gross",
)
def val_not_normalized(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = shapes(1500, seed)
    xv, yv = shapes(500, seed + 100)
    x, xv = (x * 60 + 90).clamp(0, 255), (xv * 60 + 90).clamp(0, 255)
    m, s = x.mean(), x.std()
    model = cnn(norm=False)
    plain(
        record,
        seed,
        model,
        torch.optim.Adam(model.parameters(), 2e-3),
        nn.CrossEntropyLoss(),
        ((x - m) / s, y),
        ((xv if faulty else (xv - m) / s), yv),
        epochs=7,
    )


@pair("the training data are sorted by class and not shuffled", "gross")
def sorted_no_shuffle(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = shapes(1500, seed)
    o = y.argsort()
    model = cnn(norm=True)
    plain(
        record,
        seed,
        model,
        torch.optim.SGD(model.parameters(), 0.02, momentum=0.9),
        nn.CrossEntropyLoss(),
        (x[o], y[o]),
        shapes(500, seed + 100),
        epochs=5,
        shuffle=not faulty,
    )


@pair(
    "the network stays in evaluation mode after the first validation, BatchNorm no longer normalizes by the batch",
    "gross",
)
def eval_forever_deep(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = shapes(1500, seed)
    xv, yv = shapes(500, seed + 100)
    x, xv = x * 20 + 50, xv * 20 + 50
    model = cnn(drop=0.1)
    opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, opt, crit) as hook:
        for s in range(150):
            if s % 25 == 0:
                with record.evaluation(hook):
                    model.eval()
                    with torch.no_grad():
                        acc = (model(xv).argmax(1) == yv).float().mean()
                    if not faulty:
                        model.train()
            i = torch.randint(0, 1500, (64,))
            opt.zero_grad()
            crit(model(x[i]), y[i]).backward()
            opt.step()
        with record.evaluation(hook):
            acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)


@pair(
    "cutout erases two fifths of every image, often the whole shape, instead of a small corner",
    "middling",
)
def cutout_too_large(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = shapes(1500, seed)
    xv, yv = shapes(500, seed + 100)
    model = cnn()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.CrossEntropyLoss()
    k = 10 if faulty else 4
    with record(model, opt, crit) as hook:
        for s in range(250):
            i = torch.randint(0, 1500, (64,))
            xb = x[i].clone()
            a, b = torch.randint(0, 17 - k, (2,)).tolist()
            xb[:, :, a : a + k, b : b + k] = 0
            opt.zero_grad()
            crit(model(xb), y[i]).backward()
            opt.step()
        with record.evaluation(hook):
            acc = accuracy(model, xv, yv)
    score(acc, 1 / 6)
