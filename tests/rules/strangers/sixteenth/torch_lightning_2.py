"""LightningModules: automatic and manual optimization, several optimizers, schedulers, part 2."""

import math
import lightning
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import GradientAccumulationScheduler, StochasticWeightAveraging
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from registry import healthy, pair, score
from torch_lightning import (
    Classifier,
    Forecaster,
    bumps,
    clusters,
    correct,
    fit,
    loaders,
    r2,
    windows,
)


class GAN(lightning.LightningModule):
    def __init__(self, fault=None):
        super().__init__()
        self.automatic_optimization = False
        self.gen = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.gen.append(nn.Linear(64, 2))
        self.dis = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64))
        self.dis.extend([nn.LeakyReLU(0.2), nn.Linear(64, 1)])
        self.fault = fault

    def training_step(self, batch, _):
        real = batch[0]
        gen, dis = self.optimizers()
        fake = self.gen(torch.randn(len(real), 4))
        loss = F.softplus(-self.dis(real)).mean() + F.softplus(self.dis(fake.detach())).mean()
        dis.zero_grad()
        self.manual_backward(loss)
        dis.step()
        given = fake.detach() if self.fault == "detach" else fake
        loss = F.softplus(-self.dis(given)).mean()
        gen.zero_grad()
        self.manual_backward(loss)
        gen.step()

    def configure_optimizers(self):
        gen = torch.optim.Adam(self.gen.parameters(), 2e-3, betas=(0.5, 0.9))
        dis = torch.optim.Adam(self.dis.parameters(), 2e-3, betas=(0.5, 0.9))
        return gen, dis


def gan(record, seed, fault=None):
    lightning.seed_everything(seed, verbose=False)
    angle = torch.rand(3200) * 2 * math.pi
    real = torch.stack([angle.cos() * 2 + 1, angle.sin()], 1) + 0.05 * torch.randn(3200, 2)
    module = fit(record, GAN(fault), DataLoader(TensorDataset(real), 64, shuffle=True), epochs=10)
    with torch.no_grad():
        fake = module.gen(torch.randn(1000, 4))
    near = torch.cdist(real[:1000], fake).min(1).values
    off = torch.cdist(fake, real).min(1).values
    score(1 - (near.mean() + off.mean()) / 2, 0.0)


@healthy
def pl_gan(record, seed):
    """A GAN on a ring: losses of about log 2 that say nothing."""
    gan(record, seed)


@pair(cause="fake samples detached in the step of the generator", severity="gross")
def pl_gan_detached(record, seed, faulty):
    """The generator stays as it is."""
    gan(record, seed, "detach" if faulty else None)


class Scheduled(lightning.LightningModule):
    """A regression of a wave, with the schedule under test."""

    def __init__(self, fault=None, plateau=False):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 1))
        self.fault, self.plateau = fault, plateau

    def forward(self, x):
        return self.net(x)[:, 0]

    def training_step(self, batch, _):
        return {"loss": F.mse_loss(self(batch[0]), batch[1])}

    def validation_step(self, batch, _):
        self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), 0.05, momentum=0.9)
        if self.plateau:
            mode = "max" if self.fault else "min"
            plan = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode, factor=0.1, patience=0)
            return {"optimizer": opt, "lr_scheduler": {"scheduler": plan, "monitor": "val_loss"}}
        plan = torch.optim.lr_scheduler.StepLR(opt, 4, 0.5)
        unit = "step" if self.fault else "epoch"
        return {"optimizer": opt, "lr_scheduler": {"scheduler": plan, "interval": unit}}


@pair(cause="schedule in epochs, but interval='step'", severity="gross")
def pl_interval(record, seed, faulty):
    """Halved at every fourth batch."""
    lightning.seed_everything(seed, verbose=False)
    x, y = bumps(seed + 1)
    module = fit(record, Scheduled(faulty), *loaders(x, y, 2560, 64), epochs=12)
    score(r2(module, x[2560:], y[2560:]), 0.0)


@pair(cause="ReduceLROnPlateau with mode='max' on a loss", severity="middling")
def pl_plateau_mode(record, seed, faulty):
    """Every improvement cuts the rate by ten."""
    lightning.seed_everything(seed, verbose=False)
    x, y = bumps(seed + 2)
    module = Scheduled(faulty, plateau=True)
    fit(record, module, *loaders(x, y, 2560, 64), epochs=14)
    score(r2(module, x[2560:], y[2560:]), 0.0)


class Conv(lightning.LightningModule):
    """Squares or crosses in 12 by 12 images."""

    def __init__(self, lr=2e-3):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(96, 3),
        )
        self.lr = lr
        self.unused = nn.Linear(10, 10)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, _):
        return F.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("val_loss", F.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.RAdam(self.parameters(), self.lr)


def marks(seed, rows=1600):
    g = torch.Generator().manual_seed(seed + 303)
    y = torch.randint(0, 3, (rows,), generator=g)
    x = 0.3 * torch.randn(rows, 1, 12, 12, generator=g)
    at = torch.randint(0, 7, (rows, 2), generator=g).tolist()
    stamp = torch.zeros(3, 5, 5)
    stamp[0, 2], stamp[0, :, 2] = 1, 1
    stamp[1] = torch.maximum(torch.eye(5), torch.eye(5).flip(0))
    stamp[2, 0], stamp[2, 4], stamp[2, :, 0], stamp[2, :, 4] = 1, 1, 1, 1
    for k, (r, c) in enumerate(at):
        x[k, 0, r : r + 5, c : c + 5] += stamp[y[k]]
    return x, y


@healthy
def pl_conv_swa(record, seed):
    """SWA callback, an unused layer."""
    lightning.seed_everything(seed, verbose=False)
    x, y = marks(seed)
    swa = StochasticWeightAveraging(swa_lrs=2e-3, swa_epoch_start=0.6)
    module = fit(record, Conv(4e-3), *loaders(x, y, 1280, 32), epochs=8, callbacks=[swa])
    score(correct(module, x[1280:], y[1280:]), 1 / 3)


@healthy
def pl_conv_bf16(record, seed):
    """precision='bf16-mixed'."""
    lightning.seed_everything(seed, verbose=False)
    x, y = marks(seed + 1)
    options = {"epochs": 6, "precision": "bf16-mixed"}
    module = fit(record, Conv(4e-3), *loaders(x, y, 1280, 32), **options)
    score(correct(module, x[1280:], y[1280:]), 1 / 3)


@pair(cause="labels shuffled apart from the images", severity="gross")
def pl_conv_labels(record, seed, faulty):
    """A random permutation of the targets."""
    lightning.seed_everything(seed, verbose=False)
    x, y = marks(seed + 2)
    target = y[torch.randperm(1600)] if faulty else y
    module = fit(record, Conv(4e-3), *loaders(x, target, 1280, 32), epochs=6)
    score(correct(module, x[1280:], y[1280:]), 1 / 3)


@healthy
def pl_growing_accumulation(record, seed):
    """Accumulation grows with the epochs."""
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed + 4, 3200, 20, 6, 0.8)
    plan = GradientAccumulationScheduler({0: 1, 4: 4})
    train, val = loaders(x, y, 2560, 32)
    module = Classifier(20, 6, total=700)
    fit(record, module, train, val, epochs=8, callbacks=[plan])
    score(correct(module, x[2560:], y[2560:]), 1 / 6)


class Thaw(lightning.LightningModule):
    """A pretrained body, frozen for the first half."""

    def __init__(self, body, classes, thaw_at):
        super().__init__()
        self.body, self.head = body, nn.Linear(64, classes)
        self.thaw_at = thaw_at
        self.body.requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x))

    def on_train_epoch_start(self):
        if self.current_epoch == self.thaw_at:
            self.body.requires_grad_(True)

    def training_step(self, batch, _):
        return F.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("val_loss", F.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        groups = [
            {"params": self.body.parameters(), "lr": 1e-4},
            {"params": self.head.parameters(), "lr": 5e-3},
        ]
        return torch.optim.Adam(groups)


def thawing(record, seed, pretrain, thaw_at, mix=False):
    lightning.seed_everything(seed, verbose=False)
    x, y = clusters(seed + 5, 3200, 40, 12, 1.2)
    body = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    first = nn.Linear(64, 12)
    opt = torch.optim.Adam([*body.parameters(), *first.parameters()], 3e-3)
    for _ in range(pretrain):
        i = torch.randint(0, 3200, (128,))
        opt.zero_grad()
        F.cross_entropy(first(body(x[i])), y[i]).backward()
        opt.step()
    y = y % 4
    module = fit(record, Thaw(body, 4, thaw_at), *loaders(x, y, 2560, 64), epochs=6)
    score(correct(module, x[2560:], y[2560:]), 0.25)


@healthy
def pl_thaw(record, seed):
    """Frozen for three epochs, then tuned gently."""
    thawing(record, seed, 150, 3)


@pair(cause="backbone frozen though its weights were not loaded", severity="middling")
def pl_not_loaded(record, seed, faulty):
    """A random body stays frozen to the end."""
    thawing(record, seed, 0 if faulty else 150, 99)


class Auto(lightning.LightningModule):
    def __init__(self, act=True, code=6):
        super().__init__()
        make = nn.GELU if act else nn.Identity
        self.down = nn.Sequential(nn.Linear(30, 96), make(), nn.Linear(96, code))
        self.up = nn.Sequential(nn.Linear(code, 96), make(), nn.Linear(96, 30))

    def forward(self, x):
        return self.up(self.down(x))

    def training_step(self, batch, _):
        return F.mse_loss(self(batch[0]), batch[0])

    def validation_step(self, batch, _):
        self.log("val_loss", F.mse_loss(self(batch[0]), batch[0]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 3e-3)


@pair(cause="activations left out of an autoencoder", severity="middling")
def pl_auto_linear(record, seed, faulty):
    """No better than a principal component analysis."""
    lightning.seed_everything(seed, verbose=False)
    z = torch.randn(3200, 3)
    z = torch.cat([z, z.abs(), z.roll(1, 1) * z], 1)
    x = torch.sin(z @ torch.randn(9, 30))
    module = Auto(act=not faulty)
    fit(record, module, *loaders(x, x, 2560, 64), epochs=12)
    score(r2(module, x[2560:], x[2560:]), 0.0)


@pair(cause="precision='bf16-true' with a small rate", severity="mild")
def pl_bf16_true(record, seed, faulty):
    """Weights themselves in bfloat16."""
    lightning.seed_everything(seed, verbose=False)
    x, y = windows(seed + 1)
    kind = "bf16-true" if faulty else "32-true"
    module = fit(record, Forecaster(1e-3), *loaders(x, y, 1600, 32), epochs=8, precision=kind)
    score(r2(module.float(), x[1600:], y[1600:]), 0.0)
