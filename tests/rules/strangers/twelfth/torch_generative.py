"""Diffusion, flow matching, autoencoders, averaged models."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

from kit import forever, gen, hit, images, loader, r2, seed_all
from registry import healthy, pair, score


def points(seed, n):
    """Six blobs on a spiral."""
    g = gen(9000 + seed)
    k = torch.randint(6, (n,), generator=g)
    a = k * 6.2832 / 6
    x = torch.stack([a.cos(), a.sin()], 1) * (1.0 + 0.1 * k[:, None])
    return x + 0.06 * torch.randn(n, 2, generator=g), k


def on_blobs(x):
    """Share of points near a blob, each blob counted up to its due share."""
    k = torch.arange(6)
    a = k * 6.2832 / 6
    centre = torch.stack([a.cos(), a.sin()], 1) * (1.0 + 0.1 * k[:, None])
    far, which = torch.cdist(x, centre).min(1)
    shares = torch.bincount(which[far < 0.25], minlength=6) / len(x)
    return shares.clamp(max=1 / 6).sum().item()


class Denoiser(nn.Module):
    def __init__(self, width=96, time=True):
        super().__init__()
        self.inp = nn.Linear(10 + 16, width)
        self.mid = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.out = nn.Linear(width, 2)
        self.time = time

    def forward(self, x, t):
        f = torch.arange(1, 9) * t[:, None] * 3.0
        e = torch.cat([f.sin(), f.cos()], 1) * float(self.time)
        wave = torch.cat([2 * x, 5 * x], 1)
        h = F.silu(self.inp(torch.cat([x, wave.sin(), wave.cos(), e], 1)))
        for layer in self.mid:
            h = h + F.silu(layer(h))
        return self.out(h)


T = 50
BETAS = torch.linspace(1e-3, 0.18, T)
ABAR = (1 - BETAS).cumprod(0)


@torch.no_grad()
def sample_ddpm(model, n=400):
    x = torch.randn(n, 2, generator=gen(1))
    g = gen(2)
    for t in reversed(range(T)):
        eps = model(x, torch.full((n,), t / T))
        x = (x - BETAS[t] / (1 - ABAR[t]).sqrt() * eps) / (1 - BETAS[t]).sqrt()
        if t:
            x = x + BETAS[t].sqrt() * torch.randn(n, 2, generator=g)
        x = x.nan_to_num().clamp(-10, 10)
    return x


def say_points(out):
    score(on_blobs(out), on_blobs(torch.randn(400, 2, generator=gen(1))))


def diffuse(
    record,
    seed,
    steps=500,
    time=True,
    sqrt=True,
    target="eps",
    fixed=False,
    late=False,
    ema=None,
    lr=4e-3,
    model=None,
    scale=1.0,
):
    model = model or Denoiser(time=time)
    average = copy.deepcopy(model) if ema else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    data = forever(loader(*points(seed, 6000), batch=128, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            x, _ = next(data)
            x = x * scale
            g = gen(seed) if fixed else None
            t = torch.randint(T - 5 if late else 0, T, (len(x),), generator=g)
            eps = torch.randn(x.shape, generator=g)
            a = ABAR[t][:, None]
            noisy = (a.sqrt() * x + (1 - a).sqrt() * eps) if sqrt else (a * x + (1 - a) * eps)
            loss = F.mse_loss(model(noisy, t / T), eps if target == "eps" else x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if ema:
                with torch.no_grad():
                    for p, q in zip(average.parameters(), model.parameters()):
                        p.lerp_(q, 1 - ema)
            hook.record_tensor_value("loss", loss.item())
    say_points(sample_ddpm(average or model))


@healthy
def diffusion_points_ddpm(record, seed):
    seed_all(seed)
    diffuse(record, seed, 700)


@healthy
def diffusion_points_with_ema(record, seed):
    seed_all(seed)
    diffuse(record, seed, 600, ema=0.99)


@pair("target is the clean point but sampling takes it for the noise", "gross")
def diffusion_target_mismatch(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, target="x" if faulty else "eps")


@pair("noise level of the training without the square root", "middling")
def diffusion_square_root_missing(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, sqrt=not faulty)


@pair("time step is not given to the network", "gross")
def diffusion_time_missing(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, time=not faulty)


@pair("generator seeded anew at each step: always the same noise and times", "middling")
def diffusion_same_noise_each_step(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, fixed=faulty)


@pair("only the last, noisiest times are drawn", "gross")
def diffusion_times_only_late(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, late=faulty)


@pair("averaged model with a decay for far longer trainings is used", "gross")
def diffusion_ema_decay_too_long(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, ema=0.9999 if faulty else 0.98)


@pair("training data in pixels, sampling in units", "gross")
def diffusion_data_not_scaled(record, seed, faulty):
    seed_all(seed)
    diffuse(record, seed, scale=20.0 if faulty else 1.0)


def flow(record, seed, steps=500, sign=1.0, unpaired=False, rate=4e-3, small=False):
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    data = forever(loader(points(seed, 6000)[0], batch=128, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (x1,) = next(data)
            x0 = torch.randn_like(x1)
            t = torch.rand(len(x1)) * (0.05 if small else 1.0)
            x = (1 - t[:, None]) * x0 + t[:, None] * x1
            goal = x1 - (torch.randn_like(x0) if unpaired else x0)
            loss = (model(x, t) - sign * goal).pow(2).mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        x = torch.randn(400, 2, generator=gen(1))
        for i in range(40):
            x = x + model(x, torch.full((400,), i / 40)) / 40
    say_points(x)


@healthy
def flow_matching_points(record, seed):
    seed_all(seed)
    flow(record, seed, 600)


@pair("velocity from data to noise learnt, sampled the other way", "gross")
def flow_velocity_sign(record, seed, faulty):
    seed_all(seed)
    flow(record, seed, sign=-1.0 if faulty else 1.0)


@pair("velocity made with other noise than the point", "gross")
def flow_noise_drawn_twice(record, seed, faulty):
    seed_all(seed)
    flow(record, seed, unpaired=faulty)


class VAE(nn.Module):
    def __init__(self, code=6, width=96):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(256, width), nn.GELU())
        self.mu, self.logvar = nn.Linear(width, code), nn.Linear(width, code)
        self.decoder = nn.Sequential(nn.Linear(code, width), nn.GELU(), nn.Linear(width, 256))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 8)
        z = mu + (0.5 * logvar).exp() * torch.randn_like(mu)
        return self.decoder(z), mu, logvar


def pictures(seed, n):
    return images(seed, n, noise=0.1, flip=0.0, modes=1)[0]


def vae(
    record,
    seed,
    steps=400,
    kl_weight=1.0,
    lr=2e-3,
    reduce="sum",
    sign=1.0,
    shuffle=False,
    relu=False,
):
    model = VAE(8)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    data = forever(loader(pictures(seed, 2000), seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(steps):
            (x,) = next(data)
            out, mu, logvar = model(x)
            out = out.relu() if relu else out
            if reduce == "sum":
                fit = (out - x.flatten(1)).pow(2).sum(1).mean()
            else:
                fit = F.mse_loss(out, x.flatten(1))
            kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
            loss = fit + sign * kl_weight * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("elbo", loss)
    x = pictures(seed + 500, 400)
    with torch.no_grad():
        out = model.decoder(model.mu(model.encoder(x)))
        out = out.relu() if relu else out
        score(max(r2(out, x), -1.0), 0.0)


@healthy
def vae_pictures(record, seed):
    seed_all(seed)
    vae(record, seed)


@pair("weight of the KL far too large: the code collapses", "gross")
def vae_kl_weight_too_large(record, seed, faulty):
    seed_all(seed)
    vae(record, seed, kl_weight=300.0 if faulty else 1.0)


@pair("reconstruction averaged over pixels but KL summed: the code collapses", "gross")
def vae_reconstruction_mean(record, seed, faulty):
    seed_all(seed)
    vae(record, seed, reduce="mean" if faulty else "sum")


@pair("ReLU on the decoder's output though pixels are signed", "middling")
def vae_decoder_ends_in_relu(record, seed, faulty):
    seed_all(seed)
    vae(record, seed, relu=faulty)


@healthy
def denoising_autoencoder(record, seed):
    seed_all(seed)
    model = nn.Sequential(
        nn.Flatten(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 16),
        nn.ReLU(),
        nn.Linear(16, 128),
        nn.ReLU(),
        nn.Linear(128, 256),
    )
    optimizer, criterion = torch.optim.Adam(model.parameters(), lr=1e-3), nn.MSELoss()
    data = forever(loader(pictures(seed, 2000), seed=seed))
    with record(model, optimizer, criterion) as hook:
        for _ in range(450):
            (x,) = next(data)
            loss = criterion(model(x + 0.3 * torch.randn_like(x)), x.flatten(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("mse", loss.item())
    x = pictures(seed + 500, 400)
    with torch.no_grad():
        score(r2(model(x), x), 0.0)


class BNNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(512, 8),
        )

    def forward(self, x):
        return self.layers(x)


def averaged(record, seed, steps=240, kind="swa", start=140, decay=0.98, backwards=False):
    model = BNNet()
    average = (
        AveragedModel(model)
        if kind == "swa"
        else AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = SWALR(optimizer, swa_lr=0.02)
    batches = loader(*images(seed, 1500), seed=seed)
    data = forever(batches)
    with record(model, optimizer) as hook:
        for step in range(steps):
            x, y = next(data)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step > start or kind == "ema":
                average.update_parameters(model)
                if backwards:
                    model.load_state_dict(average.module.state_dict())
                if kind == "swa":
                    schedule.step()
            hook.record_tensor_value("loss", loss)
    update_bn(batches, average)
    x, y = images(seed + 500, 500)
    average.eval()
    with torch.no_grad():
        score(hit(average(x), y), 1 / 8)


@healthy
def swa_pictures_update_bn(record, seed):
    seed_all(seed)
    averaged(record, seed)


@healthy
def ema_pictures_swa_utils(record, seed):
    seed_all(seed)
    averaged(record, seed, kind="ema")


@pair("averaged weights copied back into the model at each step", "middling")
def ema_copied_into_model(record, seed, faulty):
    seed_all(seed)
    averaged(record, seed, 200, kind="ema", decay=0.99, backwards=faulty)
