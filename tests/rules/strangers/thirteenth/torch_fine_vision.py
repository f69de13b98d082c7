"""Healthy trainings on images and tables: ways of training that make people ask."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn

from kit import CNN, UNet, accuracy, dice, digits, loader, mlp, numbers, r2, ratings, shapes, table
from registry import healthy, score


def digit_data(seed, n=1500):
    torch.manual_seed(seed)
    return *digits(n, seed), *digits(400, seed + 1)


@healthy
def digits_plain_cnn(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN(norm=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_noisy_small_batches(record, seed):
    """A loss that jumps, as batches are of 4."""
    x, y, xt, yt = digit_data(seed, 1200)
    model = CNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.8)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(4):
            for images, labels in loader(x, y, batch_size=4):
                loss = criterion(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_val_loss_below_train_loss(record, seed):
    """https://discuss.pytorch.org/t/validation-loss-lower-than-the-training-loss-on-the-nasa-turbofan-engine-dataset/192562"""
    x, y, xt, yt = digit_data(seed)
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 64),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(64, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(15):
            model.train()
            total = 0.0
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
                total += loss.item()
            hook.record_tensor_value("train_loss", total / 24)
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", criterion(model(xt), yt))
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_label_smoothing_floor(record, seed):
    """The loss does not go below 0.5, as labels are smoothed."""
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    with record(model, optimizer, criterion):
        for epoch in range(9):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_onecycle(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN(norm=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.1, epochs=8, steps_per_epoch=24
    )
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
                schedule.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_warm_restarts(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=60, T_mult=2)
    with record(model, optimizer) as hook:
        for epoch in range(9):
            for images, labels in loader(x, y):
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_reduce_on_plateau_long(record, seed):
    """Trained on long after it has converged; the rate falls again and again."""
    x, y, xt, yt = digit_data(seed, 800)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)
    with record(model, optimizer, criterion) as hook:
        for epoch in range(30):
            model.train()
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
            model.eval()
            with record.evaluation(hook), torch.no_grad():
                plateau.step(criterion(model(xt), yt))
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_swa(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN(norm=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    average, schedule = AveragedModel(model), SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    data = loader(x, y)
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for images, labels in data:
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
            if epoch >= 6:
                average.update_parameters(model)
                schedule.step()
    update_bn(data, average)
    score(accuracy(average, xt, yt), 0.1)


@healthy
def digits_ema_teacher(record, seed):
    """A mean teacher, which has no gradient by design."""
    x, y, xt, yt = digit_data(seed)
    student = CNN()
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
    with record([student, teacher], optimizer) as hook:
        for epoch in range(10):
            for images, labels in loader(x, y):
                out = student(images)
                with torch.no_grad():
                    soft = teacher(torch.roll(images, 1, 3)).softmax(1)
                loss = F.cross_entropy(out[:24], labels[:24]) + 0.3 * F.mse_loss(
                    out.softmax(1), soft
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                for p, q in zip(teacher.parameters(), student.parameters()):
                    p.lerp_(q.detach(), 0.03)
                hook.record_tensor_value("loss", loss)
    score(accuracy(teacher, xt, yt), 0.1)


@healthy
def digits_frozen_backbone(record, seed):
    """Only the head is trained, of a net trained before on other labels."""
    x, y, xt, yt = digit_data(seed)
    model = CNN(norm=True)
    pre = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        for images, labels in loader(*digits(1500, seed + 4)):
            pre.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            pre.step()
    for p in model.parameters():
        p.requires_grad = False
    model.fc2 = nn.Linear(48, 2)
    y, yt = y % 2, yt % 2
    optimizer = torch.optim.Adam(model.fc2.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        model.eval()
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.5)


@healthy
def digits_gradual_unfreezing(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            model.conv1.requires_grad_(epoch >= 4)
            model.conv2.requires_grad_(epoch >= 2)
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_accumulate_gradients(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            optimizer.zero_grad()
            for i, (images, labels) in enumerate(loader(x, y, batch_size=16, drop_last=True)):
                (criterion(model(images), labels) / 4).backward()
                if i % 4 == 3:
                    optimizer.step()
                    optimizer.zero_grad()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_bf16_autocast(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def table_fp16_grad_scaler(record, seed):
    """Scaled gradients look huge, and the first steps are skipped."""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    with record(model, optimizer, criterion):
        for epoch in range(14):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = criterion(model(a), b)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
    score(accuracy(model, xt, yt), 0.3)


@healthy
def digits_resume_from_checkpoint(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        for images, labels in loader(x, y):
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()
    saved = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    model = CNN()
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    optimizer.load_state_dict(saved["optimizer"])
    with record(model, optimizer, criterion):
        for epoch in range(7):
            for images, labels in loader(x, y):
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_mixup(record, seed):
    x, y, xt, yt = digit_data(seed)
    model = CNN(norm=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(10):
            for images, labels in loader(x, y):
                w = torch.distributions.Beta(0.4, 0.4).sample()
                other = torch.randperm(len(images))
                out = model(w * images + (1 - w) * images[other])
                loss = w * F.cross_entropy(out, labels) + (1 - w) * F.cross_entropy(
                    out, labels[other]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(model, xt, yt), 0.1)


@healthy
def digits_distillation(record, seed):
    x, y, xt, yt = digit_data(seed)
    teacher = CNN(width=12)
    pre = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    for epoch in range(8):
        for images, labels in loader(x, y):
            pre.zero_grad()
            F.cross_entropy(teacher(images), labels).backward()
            pre.step()
    teacher.eval()
    student = CNN(width=4)
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    T = 3.0
    with record(student, optimizer) as hook:
        for epoch in range(10):
            for images, labels in loader(x, y):
                out = student(images)
                with torch.no_grad():
                    soft = (teacher(images) / T).softmax(1)
                loss = 0.3 * F.cross_entropy(out, labels) + 0.7 * T * T * F.kl_div(
                    (out / T).log_softmax(1), soft, reduction="batchmean"
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(accuracy(student, xt, yt), 0.1)


@healthy
def unet_shapes(record, seed):
    torch.manual_seed(seed)
    x, _, _, m = shapes(400, seed)
    xt, _, _, mt = shapes(100, seed + 1)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(7):
            for images, masks in loader(x, m, batch_size=16):
                out = model(images)
                p = torch.sigmoid(out)
                loss = (
                    F.binary_cross_entropy_with_logits(out, masks)
                    + 1
                    - (2 * (p * masks).sum() + 1) / (p.sum() + masks.sum() + 1)
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    model.eval()
    with torch.no_grad():
        score(dice(model(xt), mt), 0.25)


@healthy
def shapes_detector_two_losses(record, seed):
    torch.manual_seed(seed)
    x, y, boxes, _ = shapes(900, seed)
    xt, yt, bt, _ = shapes(300, seed + 1)
    body, cls, box = CNN(3, 32, size=20, norm=True), nn.Linear(32, 3), nn.Linear(32, 3)
    model = nn.ModuleDict({"body": body, "cls": cls, "box": box})
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(14):
            for images, labels, where in loader(x, y, boxes, batch_size=32):
                h = torch.relu(body(images))
                a, b = F.cross_entropy(cls(h), labels), F.smooth_l1_loss(box(h), where, beta=0.1)
                optimizer.zero_grad()
                (a + 5 * b).backward()
                optimizer.step()
                hook.record_tensor_value("cls_loss", a)
                hook.record_tensor_value("box_loss", b)
    model.eval()
    with torch.no_grad():
        score((cls(torch.relu(body(xt))).argmax(1) == yt).float().mean(), 0.33)


@healthy
def prices_sum_reduction(record, seed):
    """Losses of thousands, as they are sums, and the rate is small for that."""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    model = mlp(12, 64, 32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-4, momentum=0.9)
    criterion = nn.MSELoss(reduction="sum")
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, 5 * y[:, None], batch_size=128):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 500)
                optimizer.step()
    score(r2(model, xt, 5 * yt), 0)


@healthy
def prices_gaussian_nll_negative(record, seed):
    """https://github.com/marco-rudolph/cs-flow/issues/28 (the loss is a negative log likelihood, so it can be below 0)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    y, yt = 0.2 * y, 0.2 * yt
    model = mlp(12, 64, 64, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.GaussianNLLLoss()
    with record(model, optimizer, criterion):
        for epoch in range(15):
            for a, b in loader(x, y):
                out = model(a)
                optimizer.zero_grad()
                criterion(out[:, 0], b, F.softplus(out[:, 1]) + 1e-3).backward()
                optimizer.step()
    score(r2(lambda_first(model), xt, yt), 0)


class lambda_first(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[:, 0]


@healthy
def table_always_clipped(record, seed):
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    model = mlp(20, 64, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for epoch in range(20):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                criterion(model(a), b).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
    score(accuracy(model, xt, yt), 0.3)


@healthy
def fraud_weighted_loss(record, seed):
    torch.manual_seed(seed)
    x, y = table(4000, seed, classes=6)
    xt, yt = table(1500, seed + 1, classes=6)
    y, yt = (y == 1).float(), (yt == 1).float()
    keep = (y == 0) | (torch.rand(len(y)) < 0.4)
    x, y = x[keep], y[keep]
    model = mlp(20, 48, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(y == 0).sum() / y.sum())
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for a, b in loader(x, y):
                optimizer.zero_grad()
                criterion(model(a)[:, 0], b).backward()
                optimizer.step()
    said = model(xt)[:, 0] > 0
    score((said[yt == 1].float().mean() + (~said)[yt == 0].float().mean()) / 2, 0.5)


@healthy
def ratings_rare_embeddings(record, seed):
    """Users that never come up have embeddings without a gradient."""
    torch.manual_seed(seed)
    a, b, r = ratings(seed)
    user, item = nn.Embedding(400, 8, sparse=True), nn.Embedding(300, 8, sparse=True)
    bias = nn.Embedding(300, 1, sparse=True)
    for e in (user, item):
        nn.init.normal_(e.weight, std=0.3)
    nn.init.constant_(bias.weight, 3.3)
    model = nn.ModuleList([user, item, bias])
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=1e-2)
    forward = lambda a, b: (user(a) * item(b)).sum(1) + bias(b)[:, 0]
    with record(model, optimizer) as hook:
        for epoch in range(12):
            for u, v, t in loader(a[:5000], b[:5000], r[:5000]):
                loss = F.mse_loss(forward(u, v), t)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        score(1 - F.mse_loss(forward(a[5000:], b[5000:]), r[5000:]) / r[5000:].var(), 0)


@healthy
def numbers_full_batch_lbfgs(record, seed):
    torch.manual_seed(seed)
    x, y = numbers(800, seed, d=6)
    xt, yt = numbers(400, seed + 1, d=6)
    model = mlp(6, 24, 1, activation=nn.Tanh)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=10)
    with record(model, optimizer) as hook:

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y[:, None]) + 1e-4 * sum(
                p.pow(2).sum() for p in model.parameters()
            )
            loss.backward()
            return loss

        for step in range(150):
            hook.record_tensor_value("loss", optimizer.step(closure))
    score(r2(model, xt, yt), 0)
