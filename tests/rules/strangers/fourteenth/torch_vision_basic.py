"""Small image models: classification, augmentation, calibration of training details."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from kit import accuracy, balanced, batches, digits, gratings, seed_all, small_cnn
from registry import healthy, pair, score


@healthy
def cnn_gratings_sgd_cosine(record, seed):
    seed_all(seed)
    x, y = gratings(1500, noise=0.8)
    loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=32, shuffle=True)
    model = small_cnn()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8 * len(loader))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            model.train()
            for xb, yb in loader:
                optimizer.zero_grad()
                loss = criterion(model(xb), yb)
                loss.backward()
                optimizer.step()
                schedule.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1200:]), y[1200:])
    score(accuracy(model, x[1200:], y[1200:]), 0.25)


@healthy
def digits_mixup_onecycle(record, seed):
    seed_all(seed)
    x, y = digits(2000)
    model = small_cnn(classes=10, width=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    steps = 10 * (1600 // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for i in batches(1600, 64):
                lam = torch.distributions.Beta(0.4, 0.4).sample().item()
                j = i[torch.randperm(len(i))]
                out = model(lam * x[i] + (1 - lam) * x[j])
                loss = lam * F.cross_entropy(out, y[i]) + (1 - lam) * F.cross_entropy(out, y[j])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                schedule.step()
    score(accuracy(model, x[1600:], y[1600:]), 0.1)


@healthy
def frozen_backbone_probe(record, seed):
    """A random-feature backbone pre-trained quickly, then frozen; only the head learns."""
    seed_all(seed)
    x, y = digits(1500)
    backbone = small_cnn(classes=10, width=16)
    pre = torch.optim.Adam(backbone.parameters(), lr=3e-3)
    for epoch in range(5):
        for i in batches(1200, 64):
            pre.zero_grad()
            F.cross_entropy(backbone(x[i]), y[i]).backward()
            pre.step()
    backbone[-1] = nn.Linear(128, 5)
    for p in backbone.parameters():
        p.requires_grad = False
    for p in backbone[-1].parameters():
        p.requires_grad = True
    target = y % 5
    optimizer = torch.optim.SGD(backbone[-1].parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    backbone.eval()
    with record(backbone, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1200, 32):
                loss = criterion(backbone(x[i]), target[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(backbone, x[1200:], target[1200:]), 0.2)


class ResidualNet(nn.Module):
    def __init__(self, width=16, depth=4, classes=4, gain=None):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.GroupNorm(4, width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
            for _ in range(depth)
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = F.max_pool2d(self.stem(x), 2)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h.relu().mean((2, 3)))


@healthy
def residual_groupnorm_warm_restarts(record, seed):
    seed_all(seed)
    x, y = gratings(1000, noise=1.0, classes=6)
    model = ResidualNet(classes=6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=60, T_mult=1)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            model.train()
            for i in batches(800, 32):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
            model.eval()
            with torch.no_grad():
                (model(x[800:]).argmax(1) == y[800:]).float().mean()
    score(accuracy(model, x[800:], y[800:]), 1 / 6)


@pair("images are left in 0..255 with a plain SGD rate tuned for 0..1", "gross")
def raw_pixel_range(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500)
    x = ((x - x.min()) / (x.max() - x.min()) * 255).round()
    if not faulty:
        x = (x / 255 - 0.5) / 0.25
    model = small_cnn(classes=10, bn=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(1200, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("softmax is applied before CrossEntropyLoss", "middling")
def double_softmax(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.5)
    model = small_cnn(classes=10)
    if faulty:
        model.append(nn.Softmax(dim=1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(6):
            model.train()
            for i in batches(1200, 32):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                accuracy(model, x[1200:], y[1200:])
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("the images are shuffled without their labels", "gross")
def shuffled_apart(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1500)
    model = small_cnn()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    train_x, train_y = x[:1200], y[:1200]
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            order = torch.randperm(1200)
            train_x = train_x[order]
            train_y = train_y if faulty else train_y[order]
            model.train()
            for i in range(0, 1200, 40):
                loss = criterion(model(train_x[i : i + 40]), train_y[i : i + 40])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                criterion(model(x[1200:]), y[1200:])
    score(accuracy(model, x[1200:], y[1200:]), 0.25)


@pair("the optimizer was built before the head was replaced, so the new head never moves", "gross")
def stale_head(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1400, classes=8, noise=0.7)
    model = small_cnn(classes=1000, width=8)
    for p in model[:-1].parameters():
        p.requires_grad_(False)
    if faulty:
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        model[-1] = nn.Linear(64, 8)
    else:
        model[-1] = nn.Linear(64, 8)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1100, 32):
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1100:], y[1100:]), 1 / 8)


@pair("augmentation flips and transposes images although the class is their direction", "middling")
def label_breaking_flip(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1500, classes=8, noise=0.4)
    model = small_cnn(classes=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    with record(model, optimizer) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1200, 32):
                xb = torch.roll(
                    x[i], (int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (2, 3)
                )
                if faulty:
                    flip = torch.rand(len(i)) < 0.5
                    xb = torch.where(flip[:, None, None, None], xb.flip(3), xb)
                loss = F.cross_entropy(model(xb), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 1 / 8)


@pair("half of the files failed to decode and became black images with their labels", "mild")
def corrupt_part(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1300, noise=0.4)
    tx, ty = x[:800].clone(), y[:800].clone()
    if faulty:
        tx[:400] = 0
    model = small_cnn(classes=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(16):
            for i in batches(800, 32):
                loss = criterion(model(tx[i]), ty[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[800:], y[800:]), 0.1)


@pair("zero_grad is called after backward, just before the step", "gross")
def zero_before_step(record, seed, faulty):
    seed_all(seed)
    x, y = gratings(1000)
    model = small_cnn(bn=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for i in batches(800, 32):
                if not faulty:
                    optimizer.zero_grad(set_to_none=False)
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                if faulty:
                    optimizer.zero_grad(set_to_none=False)
                optimizer.step()
    score(accuracy(model, x[800:], y[800:]), 0.25)


@pair("the training set is read class by class without shuffling", "gross")
def sorted_classes(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500)
    order = torch.argsort(y[:1200])
    data = TensorDataset(x[:1200][order], y[:1200][order])
    loader = DataLoader(data, batch_size=30, shuffle=not faulty)
    model = small_cnn(classes=10, bn=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, criterion=criterion):
        for epoch in range(10):
            for xb, yb in loader:
                optimizer.zero_grad()
                criterion(model(xb), yb).backward()
                optimizer.step()
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair(
    "sigmoid focal loss was given its alpha for the majority class, and the rare class starves",
    "gross",
)
def focal_alpha(record, seed, faulty):
    seed_all(seed)
    x, c = digits(2400, noise=0.7)
    y = (c == 3).float()
    model = small_cnn(classes=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    alpha = 0.05 if faulty else 0.75

    def focal(logits, target):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        pt = p * target + (1 - p) * (1 - target)
        return ((alpha * target + (1 - alpha) * (1 - target)) * (1 - pt) ** 2 * ce).mean()

    with record(model, optimizer) as hook:
        for epoch in range(6):
            model.train()
            for i in batches(1900, 32):
                loss = focal(model(x[i]).squeeze(1), y[i])
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    model.eval()
    with torch.no_grad():
        p = (model(x[1900:]).squeeze(1) > 0).long()
    score(balanced(p, y[1900:].long(), 2), 0.5)


@pair("BatchNorm's momentum is 0.02, so running statistics lag at evaluation", "mild")
def bn_momentum(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1500, noise=0.4)
    x = x * 3 + 4
    model = small_cnn(classes=10)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 0.02 if faulty else 0.1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(7):
            model.train()
            for i in batches(1200, 40):
                optimizer.zero_grad()
                loss = criterion(model(x[i]), y[i])
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1200:]), y[1200:])
    score(accuracy(model, x[1200:], y[1200:]), 0.1)


@pair("DataLoader workers' augmentation noise is twelve times the intended strength", "mild")
def noise_strength(record, seed, faulty):
    seed_all(seed)
    x, y = digits(1400, noise=0.3)
    model = small_cnn(classes=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for i in batches(1100, 32):
                xb = x[i] + (0.6 if faulty else 0.05) * torch.randn_like(x[i])
                loss = criterion(model(xb), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1100:], y[1100:]), 0.1)
