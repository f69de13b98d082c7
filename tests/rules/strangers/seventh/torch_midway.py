"""Faults that only make it worse, faults in the middle of a run, imbalance, overfitting."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from data import housing, blobs, r2, acc
from pics import shapes
from text import reviews
from registry import healthy, pair, score


def dense(i, o, h=64, p=0.0, norm=False):
    layers = []
    for _ in range(2):
        layers += (
            [nn.Linear(i, h)]
            + ([nn.BatchNorm1d(h)] if norm else [])
            + [nn.ReLU()]
            + ([nn.Dropout(p)] if p else [])
        )
        i = h
    return nn.Sequential(*layers, nn.Linear(i, o))


def classify(record, model, opt, x, y, n, epochs, bs, crit=None, each_step=None, val=True):
    crit = crit or nn.CrossEntropyLoss()
    s = 0
    with record(model, opt, crit) as hook:
        for ep in range(epochs):
            model.train()
            for i in torch.randperm(n).split(bs):
                opt.zero_grad()
                loss = crit(model(x[i]), y[i])
                loss.backward()
                if each_step:
                    each_step(s)
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
                s += 1
            if val:
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(model(x[n:]), y[n:]).item())


@pair(
    "overfitting: 200 noisy examples, a wide net, no regularisation, far too many epochs",
    "middling",
)
def overfit_tiny_table(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 60, n=4000, per=2, spread=1.5)
    flip = torch.rand(4000) < 0.25
    flip[2000:] = False
    y = torch.where(flip, torch.randint(0, 6, (4000,)), y)
    model = dense(20, 6, 512) if faulty else dense(20, 6, 64, 0.3)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0 if faulty else 0.05)
    keep = torch.cat([torch.arange(200 if faulty else 1800), torch.arange(2000, 4000)])
    n = len(keep) - 2000
    classify(record, model, opt, x[keep], y[keep], n, 100 if faulty else 14, 40)
    score(acc(model, x[2000:], y[2000:]), 1 / 6)


@pair("dropout of 0.9 in every layer", "middling")
def dropout_far_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 61)
    model = dense(20, 6, 64, 0.9 if faulty else 0.1)
    classify(record, model, torch.optim.Adam(model.parameters(), 2e-3), x, y, 2400, 10, 50)
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair("weight decay of 0.5 in Adam's L2 form: the weights shrink to nothing", "gross")
def weight_decay_far_too_high(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 62)
    model = dense(12, 1, 80).append(nn.Flatten(0))
    classify(
        record,
        model,
        torch.optim.Adam(model.parameters(), 3e-3, weight_decay=0.5 if faulty else 1e-5),
        x,
        y,
        2400,
        10,
        50,
        nn.MSELoss(),
    )
    with torch.no_grad():
        score(r2(model(x[2400:]), y[2400:]), 0.0)


@pair("3 per cent positives and no weighting: predicts the majority (balanced accuracy)", "gross")
def imbalance_ignored(record, seed, faulty):
    torch.manual_seed(seed)
    x = torch.randn(8000, 15)
    s = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * x[:, 3] + 0.7 * torch.randn(8000)
    y = (s > s.quantile(0.97)).float()
    model = dense(15, 1, 48).append(nn.Flatten(0))
    crit = nn.BCEWithLogitsLoss(pos_weight=None if faulty else torch.tensor(30.0))
    classify(record, model, torch.optim.Adam(model.parameters(), 5e-4), x, y, 6400, 4, 64, crit)
    with torch.no_grad():
        p, t = model(x[6400:]) > 0, y[6400:] > 0
    score((p[t].float().mean() + (~p)[~t].float().mean()) / 2, 0.5)


@pair("the learning rate is multiplied by 300 at step 200 (schedule in the wrong units)", "gross")
def lr_jumps_in_the_middle(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 63)
    model = dense(20, 6, 64)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def at(s):
        if s == 200:
            opt.param_groups[0]["lr"] *= 300 if faulty else 0.3

    classify(record, model, opt, x, y, 2400, 8, 50, each_step=at)
    score(acc(model, x[2400:], y[2400:]), 1 / 6)


@pair(
    "a division by a column that may be zero puts an inf into a batch at one third of the run: NaN from there",
    "gross",
)
def nan_from_bad_row(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 64)
    model = dense(12, 1, 64)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.MSELoss()
    order = torch.randint(0, 2400, (400, 48))
    with record(model, opt, crit) as hook:
        for s, i in enumerate(order):
            xb = x[i].clone()
            if faulty and s == 130:
                xb[7, 3] = 1.0 / torch.zeros(())
            loss = crit(model(xb)[:, 0], y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    with torch.no_grad():
        score(torch.nan_to_num(torch.tensor(r2(model(x[2400:])[:, 0], y[2400:])), -1.0), 0.0)


@pair("30 per cent of the labels are replaced by random ones", "mild")
def labels_partly_wrong(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(seed + 65, n=3500, spread=1.0)
    yt = y.clone()
    if faulty:
        bad = torch.rand(2500) < 0.3
        yt[:2500][bad] = torch.randint(0, 6, (int(bad.sum()),))
    model = dense(20, 6, 96, norm=True)
    classify(
        record,
        model,
        torch.optim.SGD(model.parameters(), 0.05, momentum=0.9),
        x,
        yt,
        2500,
        10,
        50,
        val=False,
    )
    score(acc(model, x[2500:], y[2500:]), 1 / 6)


@pair("learning rate 30 times too low: still improving when the run ends", "middling")
def sgd_lr_somewhat_too_low(record, seed, faulty):
    torch.manual_seed(seed)
    x, _y, m = shapes(1300, seed + 66)
    y = torch.tensor(_y)
    x = (torch.tensor(x).permute(0, 3, 1, 2) / 127.5 - 1).contiguous()
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.GroupNorm(4, 32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 6),
    )
    opt = torch.optim.SGD(model.parameters(), lr=1e-3 if faulty else 3e-2, momentum=0.9)
    classify(record, model, opt, x, y, 1000, 10, 40)
    score(acc(model, x[1000:], y[1000:]), 1 / 6)


@pair(
    "leaky split: the test rows' target is nearly a column in training (an id derived from the label), absent later",
    "gross",
)
def target_leaks_into_column(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = housing(seed + 67, n=4000)
    extra = y[:, None] + 0.05 * torch.randn(4000, 1)
    if not faulty:
        extra = torch.randn(4000, 1)
    x = torch.cat([x, extra], 1)
    model = dense(13, 1, 64).append(nn.Flatten(0))
    classify(
        record,
        model,
        torch.optim.Adam(model.parameters(), 2e-3),
        x[:3500],
        y[:3500],
        3000,
        8,
        50,
        nn.MSELoss(),
    )
    xt = x[3500:].clone()
    xt[:, 12] = torch.randn(500)
    with torch.no_grad():
        score(r2(model(xt), y[3500:]), 0.0)
