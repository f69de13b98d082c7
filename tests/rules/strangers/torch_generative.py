"""Generative models."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, mlp, run, tensors
from registry import healthy, pair, score


def moons(count: int) -> Tensor:
    """Points on two half circles."""
    angle = math.pi * torch.rand(count)
    side = torch.randint(0, 2, (count,)) * 2.0 - 1
    x = torch.stack([torch.cos(angle) - side * 0.5, side * (torch.sin(angle) - 0.25)], 1)
    return x + 0.05 * torch.randn(count, 2)


@torch.no_grad()
def closeness(made: Tensor) -> float:
    """Minus the energy distance between made points and real ones."""
    real, again = moons(800), moons(800)
    made = torch.nan_to_num(made, 1e3, 1e3, -1e3)
    between = torch.cdist(made, real).mean()
    return (torch.cdist(made, made).mean() + torch.cdist(real, again).mean() - 2 * between).item()


class VAE(nn.Module):
    """A small variational autoencoder of digits."""

    def __init__(self, activation: type[nn.Module] = nn.Sigmoid) -> None:
        super().__init__()
        self.encode, self.decode = mlp(64, 96, 16), mlp(8, 96, 64)
        self.end = activation()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_var = self.encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * torch.exp(log_var / 2)
        divergence = 0.5 * (mean**2 + log_var.exp() - 1 - log_var).sum(1).mean()
        return self.end(self.decode(z)), divergence


@healthy
def vae_kl_annealing(record: Any, seed: int) -> None:
    """A VAE whose KL weight grows from 0 to 1: the total loss rises again, legitimately."""
    torch.manual_seed(seed)
    x = tensors(*data.digits(seed))[0].flatten(1)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw, step = Batches(seed, 64, x), 0

    def loss_of() -> Tensor:
        nonlocal step
        (rows,) = draw()
        step += 1
        again, divergence = model(rows)
        weight = min(1.0, max(0.0, (step - 100) / 150))
        fit = F.binary_cross_entropy(again, rows, reduction="none").sum(1).mean()
        return fit + weight * divergence

    run(record, model, optimizer, 350, loss_of)
    with torch.no_grad():
        score(-F.mse_loss(model(x)[0], x), -x.var(0).mean())


@pair(cause="KL weight a hundred times too strong: posterior collapse", severity="gross")
def posterior_collapse(record: Any, seed: int, faulty: bool) -> None:
    """A VAE of digits. Fault: beta is 100 (the reconstruction is averaged, the KL summed)."""
    torch.manual_seed(seed)
    x = tensors(*data.digits(seed))[0].flatten(1)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = Batches(seed, 64, x)

    def loss_of() -> Tensor:
        (rows,) = draw()
        again, divergence = model(rows)
        fit = F.binary_cross_entropy(again, rows, reduction="none").sum(1).mean()
        return fit + (100.0 if faulty else 1.0) * divergence

    run(record, model, optimizer, 300, loss_of)
    with torch.no_grad():
        score(-F.mse_loss(model(x)[0], x), -x.var(0).mean())


@pair(cause="decoder ends in a sigmoid while data reach from -1 to 1", severity="middling")
def sigmoid_for_signed_data(record: Any, seed: int, faulty: bool) -> None:
    """An autoencoder. Fault: data scaled to [-1, 1], but the output lies in [0, 1]."""
    torch.manual_seed(seed)
    x = 2 * tensors(*data.digits(seed))[0].flatten(1) - 1
    model = nn.Sequential(mlp(64, 96, 12), nn.ReLU(), mlp(12, 96, 64))
    model.append(nn.Sigmoid() if faulty else nn.Tanh())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    draw = Batches(seed, 64, x)

    def loss_of() -> Tensor:
        (rows,) = draw()
        return criterion(model(rows), rows)

    run(record, model, optimizer, 250, loss_of, criterion=criterion)
    with torch.no_grad():
        score(-F.mse_loss(model(x), x), -x.var(0).mean())


def adversarial(record: Any, rate_d: float, frozen: bool, names: tuple[str, str]) -> None:
    """A hinge GAN on two half circles."""
    maker, judge = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1, activation=nn.SiLU)
    model = nn.ModuleDict({"generator": maker, "discriminator": judge})
    optimizers = [torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.0, 0.9)),
                  torch.optim.Adam(judge.parameters(), lr=rate_d, betas=(0.0, 0.9))]  # fmt: skip
    with record(model, optimizers) as hook:
        for _ in range(400):
            real, fake = moons(128), maker(torch.randn(128, 4))
            judged = judge(fake.detach())
            loss_d = F.relu(1 - judge(real)).mean() + F.relu(1 + judged).mean()
            hook.record_tensor_value(names[0], loss_d)
            optimizers[1].zero_grad()
            loss_d.backward()
            optimizers[1].step()
            fake = maker(torch.randn(128, 4))
            if frozen:
                fake = fake.detach()
            loss_g = -judge(fake).mean()
            hook.record_tensor_value(names[1], loss_g)
            optimizers[0].zero_grad()
            loss_g.backward()
            optimizers[0].step()
            hook.end_step()
    with torch.no_grad():
        score(closeness(maker(torch.randn(800, 4))), -0.5)


@healthy
def gan_hinge(record: Any, seed: int) -> None:
    """A hinge GAN: losses oscillate and the generator's may be negative."""
    torch.manual_seed(seed)
    adversarial(record, 4e-3, False, ("d_loss", "g_loss"))


@pair(cause="generator's output detached in its own loss", severity="gross")
def generator_detached(record: Any, seed: int, faulty: bool) -> None:
    """A hinge GAN. Fault: .detach() of the fake batch is also in the generator's step."""
    torch.manual_seed(seed)
    adversarial(record, 4e-3, faulty, ("d_loss", "g_loss"))


@pair(cause="discriminator's learning rate far too high", severity="middling")
def discriminator_too_strong(record: Any, seed: int, faulty: bool) -> None:
    """A hinge GAN. Fault: the discriminator's rate is 0.5."""
    torch.manual_seed(seed)
    adversarial(record, 0.5 if faulty else 4e-3, False, ("discriminator_loss", "generator_loss"))


class Denoiser(nn.Module):
    """Predicts noise from points and time."""

    def __init__(self) -> None:
        super().__init__()
        self.net = mlp(2 + 8, 96, 96, 2, activation=nn.SiLU)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        angle = time * torch.tensor([1.0, 2.0, 4.0, 8.0])
        return self.net(torch.cat([x, angle.sin(), angle.cos()], 1))


def diffusion(record: Any, ema: float, timeless: bool = False) -> None:
    """DDPM with 50 noise levels; the samples come from the averaged weights."""
    keep = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 50), 0)
    model = Denoiser()
    shadow = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    both = nn.ModuleDict({"model": model, "ema": shadow})
    with record(both, optimizer) as hook:
        for _ in range(400):
            x, level = moons(256), torch.randint(0, 50, (256, 1))
            noise, share = torch.randn_like(x), keep[level]
            time = level / 50 * (0 if timeless else 1)
            guess = model(share.sqrt() * x + (1 - share).sqrt() * noise, time)
            loss = F.mse_loss(guess, noise)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for old, new in zip(shadow.parameters(), model.parameters(), strict=True):
                    old.lerp_(new, 1 - ema)
            hook.end_step()
    x = torch.randn(800, 2)
    with torch.no_grad():
        for level in reversed(range(50)):
            before = keep[level - 1] if level else torch.tensor(1.0)
            noise = shadow(x, torch.full((800, 1), level / 50))
            clean = ((x - (1 - keep[level]).sqrt() * noise) / keep[level].sqrt()).clamp(-3, 3)
            x = before.sqrt() * clean + (1 - before).sqrt() * noise
    score(closeness(x), -0.5)


@healthy
def diffusion_ema(record: Any, seed: int) -> None:
    """DDPM on points: the loss falls early and then stays at its floor, noisy."""
    torch.manual_seed(seed)
    diffusion(record, 0.98)


@pair(cause="EMA decay so high that the averaged weights stay at their start", severity="mild")
def ema_too_slow(record: Any, seed: int, faulty: bool) -> None:
    """DDPM. Fault: a decay of 0.99999 for 400 steps, and the samples use these weights."""
    torch.manual_seed(seed)
    diffusion(record, 0.99999 if faulty else 0.98)


@pair(cause="time step not given to the denoiser in training", severity="middling")
def time_not_given(record: Any, seed: int, faulty: bool) -> None:
    """DDPM. Fault: an integer division makes every time step zero."""
    torch.manual_seed(seed)
    diffusion(record, 0.98, timeless=faulty)


class Coupling(nn.Module):
    """RealNVP's affine coupling."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self.first, self.net = first, mlp(1, 48, 48, 2, activation=nn.SiLU)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, moved = x[:, self.first], x[:, 1 - self.first]
        scale, shift = self.net(kept[:, None]).unbind(1)
        scale = 2 * torch.tanh(scale / 2)
        moved = moved * scale.exp() + shift
        return torch.stack([kept, moved] if self.first == 0 else [moved, kept], 1), scale


class Flow(nn.Module):
    """Couplings in turn, returning the log-likelihood."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2) for i in range(6))

    def forward(self, x: Tensor, sign: float = 1.0) -> Tensor:
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, change = layer(x)
            total = total + change
        return -(x.square().sum(1) / 2 + math.log(2 * math.pi)) + sign * total


@healthy
def normalising_flow(record: Any, seed: int) -> None:
    """RealNVP of tight data: the negative log-likelihood becomes negative."""
    torch.manual_seed(seed)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300)
    run(
        record, model, optimizer, 300, lambda: -model(0.4 * moons(256)).mean(),
        schedule=schedule, clip=5.0,
    )  # fmt: skip
    with torch.no_grad():
        score(model(0.4 * moons(2000)).mean(), -2.0)


@pair(cause="sign of the log-determinant wrong", severity="gross")
def log_determinant_sign(record: Any, seed: int, faulty: bool) -> None:
    """RealNVP. Fault: the log-determinant is subtracted, so that everything shrinks to a point."""
    torch.manual_seed(seed)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    sign = -1.0 if faulty else 1.0
    run(record, model, optimizer, 250, lambda: -model(moons(256), sign).mean(), clip=5.0)
    with torch.no_grad():
        score(model(moons(2000)).mean(), -3.0)


@healthy
def flow_matching_bf16(record: Any, seed: int) -> None:
    """Flow matching under bfloat16 autocast; the loss has a high floor."""
    torch.manual_seed(seed)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-4)
    with record(model, optimizer) as hook:
        for _ in range(350):
            x, start, time = moons(256), torch.randn(256, 2), torch.rand(256, 1)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                guess = model(time * x + (1 - time) * start, time)
            loss = F.mse_loss(guess.float(), x - start)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    x = torch.randn(800, 2)
    with torch.no_grad():
        for i in range(30):
            x = x + model(x, torch.full((800, 1), i / 30)) / 30
    score(closeness(x), -0.3)
