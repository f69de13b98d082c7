"""Audio, point clouds, sets, Lightning, precision, and everyday mistakes: models, data and loops."""

from __future__ import annotations

import logging
import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import score
from synth import accuracy, batches, gen, glyphs


def tones(n, seed, classes=8, length=1024):
    """Chirps of classes of start frequency and direction, at very different loudness."""
    g = gen(seed + 41)
    y = torch.randint(0, classes, (n,), generator=g)
    t = torch.arange(length) / length
    f0 = 40 + 40 * (y // 2).float()[:, None]
    k = torch.where(y % 2 == 0, 60.0, -30.0)[:, None]
    ph = 6.28 * torch.rand(n, 1, generator=g)
    w = torch.sin(2 * math.pi * (f0 * t + 0.5 * k * t**2) + ph) + 1.8 * torch.randn(
        n, length, generator=g
    )
    return w * 10 ** (-3 + 3 * torch.rand(n, 1, generator=g)), y


def spectrogram(w, log=True):
    s = torch.stft(w, 64, 32, window=torch.hann_window(64), return_complex=True).abs()[:, :32, :32]
    if log:
        s = (s + 1e-4).log()
        s = (s - s.mean((1, 2), keepdim=True)) / 1.5
    return s[:, None]


def audio_net(classes=8):
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(32 * 64, classes),
    )


def lightning_fit(record, seed, head_only=False):
    import lightning.pytorch as pl

    for n in ("lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(n).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    torch.manual_seed(seed)
    w, y = tones(2500, seed)
    wv, yv = tones(500, seed + 1)
    x, xv = spectrogram(w), spectrogram(wv)

    class Lit(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = audio_net()

        def training_step(self, batch, k):
            loss = F.cross_entropy(self.net(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, k):
            self.log("val_loss", F.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            if head_only:
                return torch.optim.SGD(self.net[0].parameters(), lr=0.02, momentum=0.9)
            return torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)

    lit = Lit()
    D = torch.utils.data
    trainer = pl.Trainer(
        max_steps=200,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        gradient_clip_val=1.0,
        callbacks=[record.callback("lightning")],
    )
    trainer.fit(
        lit,
        D.DataLoader(D.TensorDataset(x, y), 64, shuffle=True),
        D.DataLoader(D.TensorDataset(xv, yv), 250),
    )
    lit.eval()
    with torch.no_grad():
        score(accuracy(lit.net(xv), yv), 1 / 8)


def clouds(n, seed, points=48):
    g = gen(seed + 61)
    y = torch.randint(0, 4, (n,), generator=g)
    v = torch.randn(n, points, 3, generator=g)
    ball = F.normalize(v, dim=-1)
    cube = v / v.abs().amax(-1, keepdim=True)
    a = 6.28 * torch.rand(n, points, generator=g)
    h = 2 * torch.rand(n, points, generator=g) - 1
    cyl = torch.stack([a.cos(), a.sin(), h], -1)
    cone = torch.stack([a.cos() * (1 - h) / 2, a.sin() * (1 - h) / 2, h], -1)
    p = torch.stack([ball, cube, cyl, cone], 1)[torch.arange(n), y]
    return p * (0.8 + 0.4 * torch.rand(n, 1, 1, generator=g)) + 0.08 * torch.randn(
        p.shape, generator=g
    ), y


class PointNet(nn.Module):
    def __init__(self, dim=1):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.g = nn.Sequential(nn.Linear(64 if dim == 1 else 48, 64), nn.ReLU(), nn.Linear(64, 4))
        self.dim = dim

    def forward(self, p):
        return self.g(self.f(p).amax(self.dim))


def cnn(bn=False, drop=0.0):
    n = (lambda c: [nn.BatchNorm2d(c)]) if bn else (lambda c: [])
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 1, 1),
        *n(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, 1, 1),
        *n(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(drop),
        nn.Linear(512, 10),
    )


def plain(
    record,
    seed,
    model,
    opt,
    steps=200,
    size=96,
    accumulate=1,
    divide=True,
    reduction="mean",
    clip=None,
    noise=1.1,
    data=None,
    one_batch=False,
    stuck_eval=False,
    loss_fn=None,
    sched=None,
    unit=1.0,
    val_unit=None,
):
    """An ordinary loop over the images, for the everyday mistakes below."""
    x, y = data or glyphs(2500, seed, noise=noise)
    xv, yv = glyphs(600, seed + 1, noise=noise)
    x, xv = x * unit, xv * (unit if val_unit is None else val_unit)
    crit = nn.CrossEntropyLoss(reduction=reduction) if loss_fn is None else None
    it = batches(seed, len(x), size)
    first = next(it)
    model.eval() if stuck_eval else model.train()
    with record(model, opt, *([crit] if crit else [])) as hook:
        for step in range(steps):
            opt.zero_grad()
            total = 0.0
            for _ in range(accumulate):
                i = first if one_batch else next(it)
                out = model(x[i])
                loss = crit(out, y[i]) if crit else loss_fn(out, y[i])
                if divide:
                    loss = loss / accumulate
                loss.backward()
                total += loss.item()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            if sched:
                sched.step()
            hook.record_tensor_value("loss", total)
            hook.end_step()
            if step % 50 == 49:
                was = model.training
                model.eval()
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(xv), yv).item())
                model.train(was)
        model.eval()
        with torch.no_grad():
            score(accuracy(model(xv).nan_to_num(0.0), yv), 0.1)
