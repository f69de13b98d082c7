"""Lightning modules and its Trainer."""

from __future__ import annotations

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, StochasticWeightAveraging
from torch import nn

from kit import gen, hit, images, loader, majority, padded_count, r2, seed_all, tabular, waves
from registry import healthy, pair, score


def trainer(record, steps, *calls, **kw):
    return L.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[record.callback("lightning"), *calls],
        **kw,
    )


class Net(nn.Module):
    def __init__(self, classes=8, norm=True, act=nn.ReLU):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16) if norm else nn.Identity()
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(32) if norm else nn.Identity()
        self.act = act()
        self.fc = nn.Linear(32 * 16, classes)

    def forward(self, x):
        x = F.max_pool2d(self.act(self.norm1(self.conv1(x))), 2)
        return self.fc(self.act(self.norm2(self.conv2(x))).flatten(1))


class LitImages(L.LightningModule):
    def __init__(self, net, lr=1e-3, optimizer="adam", schedule=None, interval="step", only=None):
        super().__init__()
        self.net, self.lr, self.name, self.only = net, lr, optimizer, only
        self.schedule, self.interval = schedule, interval
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = self.criterion(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y))

    def configure_optimizers(self):
        params = list((self.only or self).parameters())
        if self.name == "adam":
            optimizer = torch.optim.AdamW(params, self.lr)
        else:
            optimizer = torch.optim.SGD(params, self.lr, momentum=0.9, weight_decay=5e-4)
        if self.schedule is None:
            return optimizer
        return [optimizer], [{"scheduler": self.schedule(optimizer), "interval": self.interval}]


def data(seed, n=1500, scale=1.0, offset=0.0, batch=32, shuffle=True):
    x, y = images(seed, n)
    return loader(x * scale + offset, y, batch=batch, seed=seed, shuffle=shuffle)


@torch.no_grad()
def say(lit, seed, scale=1.0, offset=0.0):
    lit.eval()
    x, y = images(seed + 500, 500)
    score(hit(lit(x * scale + offset), y), 1 / 8)


class Forecast(L.LightningModule):
    def __init__(self, squeeze=True, relu=False, last=True, lr=3e-3, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.squeeze, self.relu, self.last, self.lr = squeeze, relu, last, lr

    def forward(self, x):
        out, _ = self.rnn(x[..., None])
        out = self.head(out[:, -1 if self.last else 0])
        return out.relu() if self.relu else out

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        return F.mse_loss(out.squeeze(-1) if self.squeeze else out, y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


def forecast(record, seed, lit, steps=300, **kw):
    x = waves(seed, 1500)
    fit = trainer(record, steps, **kw)
    fit.fit(lit, loader(x[:, :30], x[:, 32], batch=32, seed=seed))
    x = waves(seed + 1, 300)
    lit.eval()
    with torch.no_grad():
        score(max(r2(lit(x[:, :30]), x[:, 32]), -1.0), 0.0)


@healthy
def lightning_cnn_onecycle(record, seed):
    seed_all(seed)
    lit = LitImages(
        Net(), schedule=lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 5e-3, total_steps=160)
    )
    trainer(record, 160).fit(lit, data(seed))
    say(lit, seed)


@healthy
def lightning_cnn_sgd_clip_validation(record, seed):
    seed_all(seed)
    lit = LitImages(Net(), lr=0.03, optimizer="sgd")
    fit = trainer(record, 180, gradient_clip_val=1.0, check_val_every_n_epoch=1)
    fit.fit(lit, data(seed), data(seed + 5, 128, shuffle=False))
    say(lit, seed)


@healthy
def lightning_gru_forecast(record, seed):
    seed_all(seed)
    forecast(record, seed, Forecast())


@healthy
def lightning_swa_callback(record, seed):
    seed_all(seed)
    lit = LitImages(Net(norm=False), lr=2e-3)
    fit = L.Trainer(
        max_epochs=5,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        callbacks=[
            record.callback("lightning"),
            StochasticWeightAveraging(swa_lrs=1e-3, swa_epoch_start=3),
        ],
    )
    fit.fit(lit, data(seed))
    say(lit, seed)


@healthy
def lightning_early_stopping(record, seed):
    seed_all(seed)
    lit = LitImages(Net(), lr=1e-3)
    fit = trainer(record, 200, EarlyStopping("val_loss", patience=4))
    fit.fit(lit, data(seed), data(seed + 5, 128, shuffle=False))
    say(lit, seed)


@healthy
def lightning_bf16_accumulate(record, seed):
    seed_all(seed)
    lit = LitImages(Net(), lr=2e-3)
    trainer(record, 120, precision="bf16-mixed", accumulate_grad_batches=2).fit(
        lit, data(seed, batch=16)
    )
    say(lit, seed)


class LitTwoPhase(L.LightningModule):
    """Manual optimisation: an autoencoder and a classifier on its code, two optimizers."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 16))
        self.decoder = nn.Linear(16, 12)
        self.head = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 4))

    def training_step(self, batch, batch_idx):
        x, y = batch
        auto, clf = self.optimizers()
        z = self.encoder(x)
        loss = F.mse_loss(self.decoder(z), x)
        auto.zero_grad()
        self.manual_backward(loss)
        auto.step()
        loss = F.cross_entropy(self.head(self.encoder(x)), y)
        clf.zero_grad()
        self.manual_backward(loss)
        clf.step()

    def configure_optimizers(self):
        auto = [*self.encoder.parameters(), *self.decoder.parameters()]
        return (
            torch.optim.Adam(auto, 1e-3),
            torch.optim.Adam([*self.head.parameters(), *self.encoder.parameters()], 3e-3),
        )


@healthy
def lightning_manual_two_optimizers(record, seed):
    seed_all(seed)
    lit = LitTwoPhase()
    x, y = tabular(seed, 2000)
    trainer(record, 600).fit(lit, loader(x, y, seed=seed))
    x, y = tabular(seed + 1, 600)
    lit.eval()
    with torch.no_grad():
        score(hit(lit.head(lit.encoder(x)), y), majority(y))


class Reader(L.LightningModule):
    def __init__(self, plain_list=False, lr=2e-3, mask=True, ignore_pad=True):
        super().__init__()
        self.embed = nn.Embedding(24, 32)
        parts = [nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True) for _ in range(2)]
        self.blocks = parts if plain_list else nn.ModuleList(parts)
        self.head = nn.Linear(32, 4)
        self.lr, self.mask = lr, mask

    def forward(self, ids, mask):
        h = self.embed(ids)
        for block in self.blocks:
            h = block(h, src_key_padding_mask=mask == 0)
        m = mask[..., None].float()
        return self.head((h * m).sum(1) / m.sum(1))

    def training_step(self, batch, batch_idx):
        ids, mask, y = batch
        loss = F.cross_entropy(self(ids, mask), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr, weight_decay=0.01)


def read(record, seed, lit, steps=150, keep=slice(None), shift=0):
    ids, mask, y = padded_count(seed, 1500)
    trainer(record, steps).fit(lit, loader(ids, mask, (y + shift) % 4, seed=seed))
    ids, mask, y = padded_count(seed + 1, 400)
    lit.eval()
    with torch.no_grad():
        score(hit(lit(ids, mask), y), 0.25)


@healthy
def lightning_reader_padding_mask(record, seed):
    seed_all(seed)
    read(record, seed, Reader())


@pair("only the head is handed to the optimizer", "middling")
def lightning_optimizer_head_only(record, seed, faulty):
    seed_all(seed)
    net = Net(norm=False)
    lit = LitImages(net, only=net.fc if faulty else None)
    trainer(record, 160).fit(lit, data(seed))
    say(lit, seed)


@pair("warm-up counted in steps but stepped once an epoch (interval left at epoch)", "middling")
def lightning_warmup_stepped_by_epoch(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(
        Net(),
        lr=0.03,
        optimizer="sgd",
        interval="epoch" if faulty else "step",
        schedule=lambda o: torch.optim.lr_scheduler.LinearLR(o, 1e-4, 1.0, 40),
    )
    trainer(record, 160).fit(lit, data(seed))
    say(lit, seed)


@pair("step decay meant for epochs is applied at each step", "gross")
def lightning_decay_stepped_by_batch(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(
        Net(norm=False),
        lr=1e-3,
        interval="step" if faulty else "epoch",
        schedule=lambda o: torch.optim.lr_scheduler.StepLR(o, 1, 0.5),
    )
    trainer(record, 180).fit(lit, data(seed))
    say(lit, seed)


@pair("prediction (N, 1) against target (N): loss broadcasts", "gross")
def lightning_forecast_broadcast(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Forecast(squeeze=not faulty))


@pair("ReLU after the regression output cuts negative values", "gross")
def lightning_forecast_relu_output(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Forecast(relu=faulty))


@pair("head reads the first step of the recurrent net in place of the last", "gross")
def lightning_forecast_first_step(record, seed, faulty):
    seed_all(seed)
    forecast(record, seed, Forecast(last=not faulty))


@pair("gradient clipped to 1e-4 under SGD", "gross")
def lightning_clip_far_too_small(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(Net(), lr=0.03, optimizer="sgd")
    trainer(record, 150, gradient_clip_val=1e-4 if faulty else 1.0).fit(lit, data(seed))
    say(lit, seed)


@pair("SGD learning rate of 3 with momentum", "gross")
def lightning_sgd_rate_too_high(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(Net(norm=False), lr=3.0 if faulty else 0.02, optimizer="sgd")
    trainer(record, 150).fit(lit, data(seed))
    say(lit, seed)


@pair("blocks in a plain list: neither trained nor registered", "middling")
def lightning_blocks_in_plain_list(record, seed, faulty):
    seed_all(seed)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            parts = [nn.Linear(12, 48), nn.Linear(48, 48), nn.Linear(48, 48)]
            self.parts = parts if faulty else nn.ModuleList(parts)
            self.head = nn.Linear(48, 4)

        def forward(self, x):
            for part in self.parts:
                x = torch.tanh(part(x))
            return self.head(x)

    lit = LitImages(Deep(), lr=3e-3)
    x, y = tabular(seed, 2000)
    trainer(record, 400).fit(lit, loader(x, y, seed=seed))
    x, y = tabular(seed + 1, 600)
    with torch.no_grad():
        score(hit(lit(x), y), majority(y))


@pair("data sorted by class and not shuffled", "gross")
def lightning_sorted_not_shuffled(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(Net(norm=False), lr=1e-3)
    x, y = images(seed, 1500)
    order = y.argsort() if faulty else torch.arange(len(y))
    batches = loader(x[order], y[order], batch=24, seed=seed, shuffle=not faulty)
    trainer(record, 180).fit(lit, batches)
    say(lit, seed)


@pair("inputs trained unnormalised at 0..255 with SGD", "gross")
def lightning_inputs_not_normalised(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(Net(norm=False), lr=0.02, optimizer="sgd")
    scale, offset = (64.0, 128.0) if faulty else (1.0, 0.0)
    trainer(record, 160).fit(lit, data(seed, scale=scale, offset=offset))
    say(lit, seed, scale, offset)


@pair("horizontal flips though left and right are the label", "gross")
def lightning_flip_breaks_labels(record, seed, faulty):
    seed_all(seed)

    def arrows(s, n):
        y = torch.randint(2, (n,), generator=gen(s))
        ramp = torch.linspace(-1, 1, 16) * (y * 2 - 1)[:, None]
        return (
            0.5 * ramp[:, None, None].expand(n, 1, 16, 16)
            + torch.randn(n, 1, 16, 16, generator=gen(s + 1)) * 2,
            y,
        )

    class Flipping(LitImages):
        def training_step(self, batch, batch_idx):
            x, y = batch
            if faulty:
                flip = torch.rand(len(x)) < 0.5
                x = torch.where(flip[:, None, None, None], x.flip(-1), x)
            else:
                x = x.roll(int(torch.randint(-2, 3, ())), -2)
            return self.criterion(self(x), y)

    lit = Flipping(Net(2), lr=1e-3)
    trainer(record, 150).fit(lit, loader(*arrows(seed, 1500), seed=seed))
    x, y = arrows(seed + 60, 400)
    lit.eval()
    with torch.no_grad():
        score(hit(lit(x), y), 0.5)


@pair("early stopping watches the loss with mode max", "middling")
def lightning_early_stopping_wrong_mode(record, seed, faulty):
    seed_all(seed)
    lit = LitImages(Net(norm=False), lr=4e-4)
    stop = EarlyStopping("val_loss", patience=1, mode="max" if faulty else "min")
    fit = trainer(record, 250, stop, val_check_interval=25, check_val_every_n_epoch=None)
    fit.fit(lit, data(seed), data(seed + 5, 256, shuffle=False))
    say(lit, seed)


@pair("label ids of the training off by one class", "gross")
def lightning_labels_off_by_one(record, seed, faulty):
    seed_all(seed)
    read(record, seed, Reader(), shift=int(faulty))
