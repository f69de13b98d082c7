"""LightningModules: automatic and manual optimization, several optimizers, schedulers, part 1."""

import logging
import warnings
import lightning
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


warnings.filterwarnings("ignore", module="lightning")


def clusters(seed, rows, features, classes, noise=1.0):
    g = torch.Generator().manual_seed(seed + 300)
    centres = torch.randn(classes, 2, features, generator=g)
    y = torch.randint(0, classes, (rows,), generator=g)
    half = torch.randint(0, 2, (rows,), generator=g)
    return centres[y, half] + noise * torch.randn(rows, features, generator=g), y


def loaders(x, y, cut, size, shuffle=True):
    train = DataLoader(TensorDataset(x[:cut], y[:cut]), size, shuffle=shuffle, drop_last=True)
    return train, DataLoader(TensorDataset(x[cut:], y[cut:]), 500)


def fit(record, module, train, val=None, epochs=8, callbacks=(), **options):
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[record.callback("lightning"), *callbacks],
        **options,
    )
    trainer.fit(module, train, val)
    module.eval()
    return module


def correct(module, x, y):
    with torch.no_grad():
        return (module(x).argmax(-1) == y).float().mean()


def r2(module, x, y):
    with torch.no_grad():
        pred = module(x).reshape(-1).float()
    value = 1 - (pred - y.reshape(-1)).pow(2).mean() / y.var()
    return max(-1.0, float(value)) if torch.isfinite(value) else -1.0


class Classifier(lightning.LightningModule):
    def __init__(self, features, classes, lr=3e-3, total=320, only_head=False, weight=None):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()
        )
        self.head = nn.Linear(128, classes)
        self.lr, self.total, self.only_head = lr, total, only_head
        self.loss = nn.CrossEntropyLoss(weight=weight)
        self.freeze_stats = False

    def forward(self, x):
        return self.head(self.body(x))

    def on_train_batch_start(self, *_):
        if self.freeze_stats:
            self.eval()

    def training_step(self, batch, _):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.loss(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        params = self.head.parameters() if self.only_head else self.parameters()
        optimizer = torch.optim.AdamW(params, lr=self.lr)
        plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.lr, total_steps=self.total)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plan, "interval": "step"}}


def classify(record, seed, **options):
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed, 3200, 24, 12, 0.9)
    module = Classifier(24, 12, **options)
    fit(record, module, *loaders(x, y, 2560, 64), epochs=8)
    score(correct(module, x[2560:], y[2560:]), 1 / 12)


@healthy
def pl_classifier(record, seed):
    """Automatic optimization and one cycle by step."""
    classify(record, seed)


@pair(cause="learning rate 1000x too high", severity="gross")
def pl_classifier_hot(record, seed, faulty):
    """AdamW at 5."""
    classify(record, seed, lr=5.0 if faulty else 3e-3)


@pair(cause="learning rate 3000x too low", severity="gross")
def pl_classifier_cold(record, seed, faulty):
    """AdamW at 1e-6."""
    classify(record, seed, lr=1e-6 if faulty else 3e-3)


@pair(cause="only the head in configure_optimizers", severity="middling")
def pl_classifier_head(record, seed, faulty):
    """self.head.parameters()."""
    classify(record, seed, only_head=faulty)


@pair(cause="one class in thirty without a weight", severity="middling")
def pl_imbalance(record, seed, faulty):
    """Balanced accuracy with rare classes."""
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed + 1, 9000, 10, 3, 1.5)
    keep = torch.rand(9000) < torch.tensor([1.0, 0.04, 0.04])[y]
    x, y = x[keep], y[keep]
    cut = len(y) // 2
    counts = torch.bincount(y[:cut], minlength=3).float()
    module = Classifier(10, 3, total=8 * (cut // 50), weight=None if faulty else 1 / counts)
    fit(record, module, *loaders(x, y, cut, 50), epochs=8)
    parts = [correct(module, x[cut:][y[cut:] == k], k) for k in range(3)]
    score(torch.stack(parts).mean(), 1 / 3)


@pair(cause="eval mode during the training: batch norm with initial statistics", severity="mild")
def pl_eval_left_on(record, seed, faulty):
    """Inputs with a large offset need the batch statistics."""
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed + 2, 3200, 24, 8, 0.9)
    module = Classifier(24, 8, lr=1e-3)
    module.freeze_stats = faulty
    fit(record, module, *loaders(x * 5 + 40, y, 2560, 64), epochs=8)
    score(correct(module, x[2560:] * 5 + 40, y[2560:]), 1 / 8)


@pair(cause="training rows sorted by class, shuffle=False", severity="middling")
def pl_sorted(record, seed, faulty):
    """The loader goes through the classes one after the other."""
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed + 3, 3200, 16, 8, 0.8)
    order = y[:2560].argsort(stable=True)
    x[:2560], y[:2560] = x[order].clone(), y[order].clone()
    module = Classifier(16, 8, lr=2e-3)
    fit(record, module, *loaders(x, y, 2560, 64, shuffle=not faulty), epochs=8)
    score(correct(module, x[2560:], y[2560:]), 1 / 8)


class Forecaster(lightning.LightningModule):
    def __init__(self, lr=5e-3, sigmoid=False):
        super().__init__()
        self.rnn = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)
        self.lr, self.sigmoid = lr, sigmoid

    def forward(self, x):
        out = self.out(self.rnn(x[..., None])[0][:, -1])[:, 0]
        return torch.sigmoid(out) if self.sigmoid else out

    def training_step(self, batch, _):
        return F.smooth_l1_loss(self(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("val_loss", F.smooth_l1_loss(self(batch[0]), batch[1]), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def windows(seed, rows=2000, length=20):
    g = torch.Generator().manual_seed(seed + 301)
    freq = 0.2 + torch.rand(rows, 1, generator=g)
    phase = 6.3 * torch.rand(rows, 1, generator=g)
    wave = torch.sin(freq * torch.arange(length + 1.0) + phase)
    wave = wave + 0.05 * torch.randn(rows, length + 1, generator=g)
    return wave[:, :-1], wave[:, -1]


def forecast(record, seed, fault=None):
    lightning.seed_everything(seed, verbose=False)
    x, y = windows(seed)
    if fault == "scale":
        x = x * 500 + 20000
    clip = 1e-10 if fault == "clip" else 1.0
    module = Forecaster(sigmoid=fault == "sigmoid")
    train, val = loaders(x, y, 1600, 32)
    fit(record, module, train, val, epochs=8, gradient_clip_val=clip, accumulate_grad_batches=2)
    score(r2(module, x[1600:], y[1600:]), 0.0)


@healthy
def pl_forecast(record, seed):
    """Accumulation and clipping by the trainer."""
    forecast(record, seed)


@pair(cause="gradient_clip_val=1e-10", severity="gross")
def pl_forecast_clip(record, seed, faulty):
    """Below the epsilon of Adam."""
    forecast(record, seed, "clip" if faulty else None)


@pair(cause="inputs not standardised: the GRU saturates", severity="gross")
def pl_forecast_raw(record, seed, faulty):
    """Values around 20000."""
    forecast(record, seed, "scale" if faulty else None)


@pair(cause="sigmoid on the output of a forecast that is often negative", severity="middling")
def pl_forecast_sigmoid(record, seed, faulty):
    """The range of the output is (0, 1)."""
    forecast(record, seed, "sigmoid" if faulty else None)


class TwoOptimizers(lightning.LightningModule):
    """Body by SGD, head by Adam, both stepped by hand."""

    def __init__(self, fault=None):
        super().__init__()
        self.automatic_optimization = False
        self.body = nn.Sequential(nn.Linear(12, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh())
        self.head = nn.Linear(96, 1)
        self.fault = fault

    def forward(self, x):
        h = self.body(x)
        if self.fault == "detach":
            h = h.detach()
        return self.head(h)[:, 0]

    def training_step(self, batch, number):
        first, second = self.optimizers()
        loss = F.mse_loss(self(batch[0]), batch[1])
        if self.fault != "zero":
            first.zero_grad()
            second.zero_grad()
        self.manual_backward(loss)
        first.step()
        second.step()
        for plan in self.lr_schedulers():
            plan.step()

    def validation_step(self, batch, _):
        self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        first = torch.optim.SGD(self.body.parameters(), 0.1, momentum=0.9)
        second = torch.optim.Adam(self.head.parameters(), 1e-2)
        plan = torch.optim.lr_scheduler.CosineAnnealingLR
        return [first, second], [plan(first, 500), plan(second, 500)]


def bumps(seed, rows=3200, features=12):
    g = torch.Generator().manual_seed(seed + 302)
    x = torch.randn(rows, features, generator=g)
    y = torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(rows, generator=g)
    return x, (y - y.mean()) / y.std()


def two(record, seed, fault=None):
    lightning.seed_everything(seed, verbose=False)
    x, y = bumps(seed)
    module = fit(record, TwoOptimizers(fault), *loaders(x, y, 2560, 64), epochs=12)
    score(r2(module, x[2560:], y[2560:]), 0.0)


@healthy
def pl_two_optimizers(record, seed):
    """Two optimizers and two schedulers by hand."""
    two(record, seed)


@pair(cause="body detached before the head", severity="gross")
def pl_two_detached(record, seed, faulty):
    """The SGD for the body never gets a gradient."""
    two(record, seed, "detach" if faulty else None)


@pair(cause="zero_grad forgotten in manual optimization", severity="gross")
def pl_two_zero_grad(record, seed, faulty):
    """manual_backward adds up."""
    two(record, seed, "zero" if faulty else None)
