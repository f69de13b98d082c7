"""Mistakes in the data: labels, scales, types, order, sampling."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from kit import CNN, accuracy, digits, forecasts, loader, mlp, numbers, r2, ratings, table, waves
from registry import pair, score


def fit(record, model, data, epochs, lr=2e-3, loss_function=None, optimizer=None, tell=True):
    """The usual loop."""
    criterion = loss_function or nn.CrossEntropyLoss()
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(epochs):
            for x, y in data:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                if tell:
                    hook.record_tensor_value("loss", loss)


@pair("inputs shuffled without their labels", "gross")
def digits_labels_out_of_order(record, seed, faulty):
    """https://github.com/DrexelChatbotGroup/DrexelChatbot/issues/15"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    order = np.random.default_rng(seed).permutation(len(x))
    x = x[order]
    if not faulty:
        y = y[order]
    model = CNN()
    fit(record, model, loader(x, y), 8)
    score(accuracy(model, xt, yt), 0.1)


@pair("inputs shuffled without their targets", "gross")
def numbers_targets_out_of_order(record, seed, faulty):
    """https://github.com/Borda/kaggle_image-classify/pull/12"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    if faulty:
        y = y[torch.randperm(len(y))]
    model = mlp(12, 64, 32, 1)
    fit(record, model, loader(x, y[:, None]), 15, loss_function=nn.L1Loss())
    score(r2(model, xt, yt), 0)


@pair("data sorted by class and shuffle=False", "gross")
def digits_sorted_not_shuffled(record, seed, faulty):
    """https://github.com/subbyte/graphsage-tf2/issues/3 (shuffle missing)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    order = torch.argsort(y, stable=True)
    model = CNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    fit(
        record,
        model,
        loader(x[order], y[order], batch_size=50, shuffle=not faulty),
        12,
        optimizer=optimizer,
        tell=False,
    )
    score(accuracy(model, xt, yt), 0.1)


@pair("features of very different size are not scaled", "gross")
def table_raw_features(record, seed, faulty):
    """https://github.com/ryanchankh/mcr2/issues/10 and questions "loss is nan" answered by normalise"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(400, seed + 1)
    size = torch.logspace(0, 5, 20)
    x, xt = x * size + 3 * size, xt * size + 3 * size
    if not faulty:
        mean, std = x.mean(0), x.std(0)
        x, xt = (x - mean) / std, (xt - mean) / std
    model = mlp(20, 64, 4)
    fit(record, model, loader(x, y), 15, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    score(accuracy(model, xt, yt), 0.3)


@pair("prices as targets are not scaled", "gross")
def house_prices_not_scaled(record, seed, faulty):
    """https://discuss.pytorch.org/t/loss-function-finding-extreme-local-minimum/188664 (predictions near one number)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    price, test_price = 250000 + 90000 * y, 250000 + 90000 * yt
    mean, std = (torch.tensor(0.0), torch.tensor(1.0)) if faulty else (price.mean(), price.std())
    model = mlp(12, 64, 32, 1)
    fit(record, model, loader(x, ((price - mean) / std)[:, None]), 15, loss_function=nn.MSELoss())
    with torch.no_grad():
        out = model(xt)[:, 0] * std + mean
    score(max(-1.0, 1 - ((out - test_price) ** 2).mean() / test_price.var()), 0)


@pair("a feature whose max is its min gives nan in min-max scaling", "gross")
def table_minmax_of_constant(record, seed, faulty):
    """https://github.com/avalonstrel/GatedConvolution_pytorch/issues/27 and https://github.com/evandowning/deepreflect/issues/11"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(400, seed + 1)
    x[:, 3] = xt[:, 3] = 0
    low, span = x.min(0).values, x.max(0).values - x.min(0).values
    if not faulty:
        span[span == 0] = 1
    model = mlp(20, 64, 4)
    fit(record, model, loader((x - low) / span, y), 25, lr=5e-3, tell=False)
    score(accuracy(model, (xt - low) / span, yt), 0.3)


@pair("a few rows hold nan", "gross")
def numbers_rows_with_nan(record, seed, faulty):
    """https://github.com/fxia22/pointnet.pytorch/issues/58"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    x[[13, 444], 5] = float("nan")
    if not faulty:
        keep = ~x.isnan().any(1)
        x, y = x[keep], y[keep]
    model = mlp(12, 64, 32, 1)
    fit(record, model, loader(x, y[:, None]), 12, loss_function=nn.MSELoss())
    score(r2(model, xt, yt), 0)


@pair("targets in [0, 1] become integers", "gross")
def rates_targets_to_long(record, seed, faulty):
    """https://datarekha.com/interview/deep-learning/debugging-model-not-learning/ (targets of the wrong type)"""
    torch.manual_seed(seed)
    x, y = numbers(1500, seed)
    xt, yt = numbers(400, seed + 1)
    y, yt = torch.sigmoid(1.5 * y), torch.sigmoid(1.5 * yt)
    y = torch.LongTensor(y.numpy().astype(np.int64)) if faulty else y
    model = nn.Sequential(mlp(12, 64, 1), nn.Sigmoid())
    fit(record, model, loader(x, y[:, None].float()), 12, loss_function=nn.BCELoss())
    score(r2(model, xt, yt), 0)


@pair("image bytes divided as integers give zeros", "gross")
def digits_integer_division(record, seed, faulty):
    """https://github.com/keras-team/keras/issues/3642 (integers of 0-255 fed to a net; cast first)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    raw, raw_test = (x * 254).byte(), (xt * 254).byte()
    scale = (lambda t: (t // 255).float()) if faulty else (lambda t: t.float() / 255)
    model = CNN()
    fit(record, model, loader(scale(raw), y), 8)
    score(accuracy(model, scale(raw_test), yt), 0.1)


@pair("test images are not scaled as the training images are", "gross")
def digits_test_not_scaled(record, seed, faulty):
    """https://github.com/YuzhouPeng/unet-tensorrt/issues/9 (0-255 against 0-1)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed)
    xt, yt = digits(400, seed + 1)
    model = CNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    valid = loader(xt * 255 if faulty else (xt - 0.25) / 0.3, yt, shuffle=False)
    with record(model, optimizer) as hook:
        for epoch in range(8):
            model.train()
            for images, labels in loader((x - 0.25) / 0.3, y):
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
            model.eval()
            right = 0
            total = 0.0
            with record.evaluation(hook), torch.no_grad():
                for images, labels in valid:
                    out = model(images)
                    total += F.cross_entropy(out, labels).item() / len(valid)
                    right += (out.argmax(1) == labels).sum().item()
            hook.record_tensor_value("val_loss", total)
    score(right / len(yt), 0.1)


@pair("horizontal flips of digits change their meaning", "gross")
def digits_flip_augmentation(record, seed, faulty):
    """https://github.com/omoindrot/tensorflow-triplet-loss/issues/38 (trouble only with the flips)"""
    torch.manual_seed(seed)
    x, y = digits(3000, seed)
    xt, yt = digits(900, seed + 1)
    keep, kept = (y == 4) | (y > 5) & (y != 8), (yt == 4) | (yt > 5) & (yt != 8)
    x, xt = x[keep], xt[kept]  # signs that look left or right
    y, yt = torch.randint(0, 2, (len(x),)), torch.randint(0, 2, (len(xt),))
    x[y == 1] = x[y == 1].flip(-1)
    xt[yt == 1] = xt[yt == 1].flip(-1)
    model = CNN(classes=2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer, criterion):
        for epoch in range(8):
            for images, labels in loader(x, y):
                images = torch.roll(images, int(torch.randint(-1, 2, ())), 2)
                if faulty:
                    images = torch.where(
                        torch.rand(len(images), 1, 1, 1) < 0.5, images.flip(-1), images
                    )
                optimizer.zero_grad()
                criterion(model(images), labels).backward()
                optimizer.step()
    score(accuracy(model, xt, yt), 0.5)


@pair("a third of the labels are off by one in one file of the data", "mild")
def digits_some_labels_off_by_one(record, seed, faulty):
    """https://datarekha.com/interview/deep-learning/debugging-model-not-learning/ (label indices off by one)"""
    torch.manual_seed(seed)
    x, y = digits(1500, seed, noise=0.2)
    xt, yt = digits(400, seed + 1, noise=0.2)
    if faulty:
        y[1000:] = (y[1000:] + 1) % 10
    model = CNN()
    fit(record, model, loader(x, y), 9)
    score(accuracy(model, xt, yt), 0.1)


@pair("DistributedSampler of four replicas in one process: a quarter of the data", "middling")
def table_distributed_sampler_alone(record, seed, faulty):
    """https://github.com/yangkky/distributed_tutorial/issues/5"""
    torch.manual_seed(seed)
    x, y = table(700, seed, d=30, classes=6)
    xt, yt = table(600, seed + 1, d=30, classes=6)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, num_replicas=4, rank=0, seed=seed) if faulty else None
    model = mlp(30, 64, 6)
    fit(
        record,
        model,
        DataLoader(data, batch_size=16, sampler=sampler, shuffle=sampler is None),
        15,
        lr=1e-3,
    )
    score(accuracy(model, xt, yt), 0.2)


@pair("weights of the classes are their frequency, not its inverse", "gross")
def rare_class_weights_inverted(record, seed, faulty):
    """https://decodetrail.com/question/why-does-my-cnn-predict-only-one-class-no-matter-what-image-i-give-it/"""
    torch.manual_seed(seed)
    x, y = table(4000, seed, classes=5)
    xt, yt = table(1500, seed + 1, classes=5)
    y, yt = (y == 1).long(), (yt == 1).long()
    keep = (y == 0) | (torch.rand(len(y)) < 0.4)
    x, y = x[keep], y[keep]
    count = torch.bincount(y).float()
    weight = count / count.sum() if faulty else count.sum() / (2 * count)
    model = mlp(20, 32, 2)
    fit(
        record,
        model,
        loader(x, y, batch_size=128),
        12,
        loss_function=nn.CrossEntropyLoss(weight=weight),
    )
    out = model(xt).argmax(1)
    score(((out == yt)[yt == 1].float().mean() + (out == yt)[yt == 0].float().mean()) / 2, 0.5)


@pair("no weights for a class of 3 percent", "gross")
def fraud_only_predicts_majority(record, seed, faulty):
    """https://decodetrail.com/question/why-does-my-cnn-predict-only-one-class-no-matter-what-image-i-give-it/"""
    torch.manual_seed(seed)
    x, y = table(5000, seed, classes=8)
    xt, yt = table(2000, seed + 1, classes=8)
    y, yt = (y == 2).float(), (yt == 2).float()
    keep = (y == 0) | (torch.rand(len(y)) < 0.25)
    x, y = x[keep] + 0.7 * torch.randn(int(keep.sum()), 20), y[keep]
    xt = xt + 0.7 * torch.randn(xt.shape)
    model = mlp(20, 32, 1)
    ratio = (y == 0).sum() / (y == 1).sum()
    criterion = nn.BCEWithLogitsLoss() if faulty else nn.BCEWithLogitsLoss(pos_weight=ratio)
    fit(record, model, loader(x, y[:, None], batch_size=128), 8, lr=1e-3, loss_function=criterion)
    said = model(xt)[:, 0] > 0
    score((said[yt == 1].float().mean() + (~said)[yt == 0].float().mean()) / 2, 0.5)


@pair("sampler weights given per class, indexed as if per sample", "gross")
def rare_sampler_weights_wrong(record, seed, faulty):
    """https://github.com/zspacelabs/bimm/pull/55 (a sampler that draws from few samples)"""
    torch.manual_seed(seed)
    x, y = table(1500, seed)
    xt, yt = table(500, seed + 1)
    count = torch.bincount(y).float()
    weights = 1 / count if faulty else (1 / count)[y]
    sampler = WeightedRandomSampler(weights, len(x), replacement=True)
    model = mlp(20, 64, 4)
    fit(record, model, DataLoader(TensorDataset(x, y), batch_size=64, sampler=sampler), 15)
    score(accuracy(model, xt, yt), 0.3)


@pair("target is the last value of the window, not the next one", "middling")
def forecast_target_misaligned(record, seed, faulty):
    """https://discuss.pytorch.org/t/one-layer-bilstm-is-not-learning/175731"""
    torch.manual_seed(seed)
    x, y = forecasts(1500, seed)
    xt, yt = forecasts(400, seed + 1)
    if faulty:
        y = x[:, -1]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(1, 24, batch_first=True)
            self.fc = nn.Linear(24, 1)

        def forward(self, x):
            return self.fc(self.gru(x)[0][:, -1])

    model = Net()
    fit(record, model, loader(x, y), 12, lr=5e-3, loss_function=nn.MSELoss())
    score(r2(model, xt, yt), 0)


@pair("sigmoid output, for ratings of 1 to 5", "gross")
def ratings_sigmoid_output(record, seed, faulty):
    """https://github.com/AntixK/PyTorch-VAE/issues/48 (range of outputs is not that of the targets)"""
    torch.manual_seed(seed)
    a, b, r = ratings(seed)

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.user, self.item, self.bias = (
                nn.Embedding(150, 8),
                nn.Embedding(100, 8),
                nn.Embedding(100, 1),
            )
            for e in (self.user, self.item):
                nn.init.normal_(e.weight, std=0.3)
            nn.init.zeros_(self.bias.weight)

        def forward(self, pairs):
            s = (self.user(pairs[:, 0]) * self.item(pairs[:, 1])).sum(1) + self.bias(pairs[:, 1])[
                :, 0
            ]
            return torch.sigmoid(s) if faulty else 1 + 4 * torch.sigmoid(s)

    model = Factors()
    pairs = torch.stack([a, b], 1)
    fit(
        record,
        model,
        loader(pairs[:5000], r[:5000], batch_size=128),
        18,
        lr=1e-2,
        loss_function=nn.MSELoss(),
    )
    score(r2(model, pairs[5000:], r[5000:]), 0)
