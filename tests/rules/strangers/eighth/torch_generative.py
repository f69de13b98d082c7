"""VAE, GAN, diffusion, flows."""

import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from kit import shapes_cached, batches, r2


def ring(n, modes=8, r=2.0, sd=0.12):
    a = torch.randint(0, modes, (n,)).float() * 2 * math.pi / modes
    return torch.stack([a.cos(), a.sin()], 1) * r + sd * torch.randn(n, 2)


def energy(a, b):
    """Energy distance between two samples."""
    return float(2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean())


def latent_data(seed, n=1800, d=24, k=4):
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, k, generator=g)
    w = torch.randn(k, d, generator=g) / k**0.5
    return torch.tanh(1.5 * z @ w) + 0.1 * torch.randn(n, d, generator=g)


class VAE(nn.Module):
    def __init__(self, d=24, k=6, h=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 2 * k))
        self.dec = nn.Sequential(nn.Linear(k, h), nn.ReLU(), nn.Linear(h, d))

    def forward(self, x, sample=True):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.exp(0.5 * lv) * torch.randn_like(mu) if sample else mu
        return self.dec(z), mu, lv


def vae(
    record,
    seed,
    beta=0.05,
    kl_sum=True,
    sample_fault=False,
    epochs=10,
    kl_sign=1.0,
    anneal=False,
    prior=False,
    scale=1.0,
):
    x = latent_data(seed) * scale
    tr, va = x[:1500], x[1500:]
    m = VAE()
    opt = torch.optim.Adam(m.parameters(), 3e-3)
    i = 0
    with record(m, opt) as hook:
        for ep in range(epochs):
            for (a,) in batches(tr, bs=50):
                o, mu, lv = m(a)
                if sample_fault:
                    o = m.dec(mu + lv * torch.randn_like(mu))
                rec = ((o - a) ** 2).mean()
                kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
                i += 1
                b = beta * min(1, i / 150) if anneal else beta
                loss = rec + b * kl_sign * kl
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss)
                hook.record_tensor_value("kl", kl)
                hook.end_step()
    with torch.no_grad():
        if prior:
            fake = m.dec(torch.randn(300, 6))
            score(-energy(fake, va), -energy(torch.zeros_like(va) + va.mean(0), va))
        else:
            score(r2(m(va, False)[0], va), 0)


@healthy
def vae_rows_annealed(record, seed):
    torch.manual_seed(seed)
    vae(record, seed, beta=0.02, anneal=True)


class GAN(nn.Module):
    def __init__(self, h=48, act=nn.LeakyReLU):
        super().__init__()
        self.g = nn.Sequential(
            nn.Linear(4, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2)
        )
        self.d = nn.Sequential(
            nn.Linear(2, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, 1)
        )


def gan(
    record,
    seed,
    *,
    steps=500,
    lrg=5e-4,
    lrd=1e-3,
    detach_fault=False,
    label_fault=False,
    saturating=False,
    betas=(0.5, 0.9),
    zero_fault=False,
    shifted=1.0,
):
    m = GAN()
    data = ring(2000, modes=4, sd=0.3) + shifted
    og, od = torch.optim.Adam(m.g.parameters(), lrg, betas), torch.optim.Adam(
        m.d.parameters(), lrd, betas
    )
    bce = nn.BCEWithLogitsLoss()
    one, nil = torch.ones(64, 1), torch.zeros(64, 1)
    with record(m, [og, od], bce) as hook:
        for i in range(steps):
            real = data[torch.randint(0, 2000, (64,))]
            fake = m.g(torch.randn(64, 4))
            dl = bce(m.d(real), one) + bce(m.d(fake.detach()), nil)
            od.zero_grad()
            dl.backward()
            od.step()
            out = m.d(fake)
            if detach_fault:
                gl = bce(m.d(fake.detach()), one) + 0 * fake.sum()
            elif saturating:
                gl = -bce(out, nil)
            else:
                gl = bce(out, nil if label_fault else one)
            og.zero_grad()
            gl.backward()
            og.step()
            hook.record_tensor_value("d_loss", dl)
            hook.record_tensor_value("g_loss", gl)
            hook.end_step()
    with torch.no_grad():
        score(
            -energy(m.g(torch.randn(600, 4)), data[:600]), -energy(torch.zeros(600, 2), data[:600])
        )


@healthy
def gan_points(record, seed):
    torch.manual_seed(seed)
    gan(record, seed)


@healthy
def wgan_gp_points(record, seed):
    """Critic without a sigmoid, three critic steps to one, gradient penalty."""
    torch.manual_seed(seed)
    m = GAN()
    data = ring(2000, modes=4, sd=0.3) + 1
    og, od = torch.optim.Adam(m.g.parameters(), 2e-3, (0.0, 0.9)), torch.optim.Adam(
        m.d.parameters(), 2e-3, (0.0, 0.9)
    )
    with record(m, [og, od]) as hook:
        for i in range(300):
            for _ in range(3):
                real, fake = data[torch.randint(0, 2000, (64,))], m.g(torch.randn(64, 4)).detach()
                t = torch.rand(64, 1)
                mix = (t * real + (1 - t) * fake).requires_grad_()
                (g,) = torch.autograd.grad(m.d(mix).sum(), mix, create_graph=True)
                cl = m.d(fake).mean() - m.d(real).mean() + 1.0 * ((g.norm(dim=1) - 1) ** 2).mean()
                od.zero_grad()
                cl.backward()
                od.step()
            gl = -m.d(m.g(torch.randn(64, 4))).mean()
            og.zero_grad()
            gl.backward()
            og.step()
            hook.record_tensor_value("critic", cl.item())
            hook.record_tensor_value("gen", gl.item())
            hook.end_step()
    with torch.no_grad():
        score(
            -energy(m.g(torch.randn(600, 4)), data[:600]), -energy(torch.zeros(600, 2), data[:600])
        )


T = 40
BETA = torch.linspace(1e-3, 0.2, T)
ABAR = torch.cumprod(1 - BETA, 0)


class Denoiser(nn.Module):
    def __init__(self, h=96, timed=True):
        super().__init__()
        self.t = nn.Embedding(T, 16)
        self.f = nn.Sequential(
            nn.Linear(18, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2)
        )
        self.timed = timed

    def forward(self, x, t):
        e = self.t(t) if self.timed else self.t(torch.zeros_like(t))
        return self.f(torch.cat([x, e], 1))


def diffusion(
    record,
    seed,
    *,
    target="eps",
    ema=None,
    timed=True,
    steps=700,
    fixed_t=False,
    raw_t=None,
    lr=3e-3,
    mixed=False,
):
    m = Denoiser(timed=timed)
    data = ring(3000, modes=3, r=1.6, sd=0.2)
    opt = torch.optim.AdamW(m.parameters(), lr)
    avg = (
        torch.optim.swa_utils.AveragedModel(
            m, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(ema)
        )
        if ema
        else None
    )
    with record(m, opt) as hook:
        for i in range(steps):
            x = data[torch.randint(0, 3000, (128,))]
            t = torch.randint(0, 5 if fixed_t else T, (128,))
            e = torch.randn_like(x)
            a = ABAR[t][:, None]
            xt = a.sqrt() * x + ((1 - a) if mixed else (1 - a).sqrt()) * e
            loss = F.mse_loss(m(xt, t), x if target == "x0" else e)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if avg:
                avg.update_parameters(m)
            hook.record_tensor_value("mse", loss)
            hook.end_step()
    net = avg or m
    with torch.no_grad():
        x = torch.randn(800, 2)
        for t in range(T - 1, -1, -1):
            e = net(x, torch.full((800,), t))
            x = (x - BETA[t] / (1 - ABAR[t]).sqrt() * e) / (1 - BETA[t]).sqrt()
            if t:
                x = x + BETA[t].sqrt() * torch.randn_like(x)
        x = x.nan_to_num(0).clamp(-20, 20)
        score(-energy(x, data[:800]), -energy(torch.randn(800, 2), data[:800]))


@healthy
def diffusion_points_ema(record, seed):
    torch.manual_seed(seed)
    diffusion(record, seed, ema=0.98)


class Coupling(nn.Module):
    def __init__(self, flip, h=32):
        super().__init__()
        self.f, self.flip = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, 2)), flip

    def forward(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s, t = self.f(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s[:, 0]


def flow(record, seed, faulty=False, lr=3e-3, steps=350):
    x1 = torch.randn(3000) * 1.2
    data = torch.stack([x1, x1**2 * 0.8 - 1 + 0.25 * torch.randn(3000)], 1)
    m = nn.ModuleList([Coupling(i % 2 == 1) for i in range(6)])
    opt = torch.optim.Adam(m.parameters(), lr)

    def ll(x):
        ld = 0
        for l in m:
            x, s = l(x)
            ld = ld + s
        return -0.5 * (x**2).sum(1) - math.log(2 * math.pi), ld

    with record(m, opt) as hook:
        for i in range(steps):
            p, ld = ll(data[torch.randint(0, 2500, (100,))])
            loss = -(p if faulty else p + ld).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("nll", loss)
            hook.end_step()
    with torch.no_grad():
        p, ld = ll(data[2500:])
        sd = data.std(0)
        score(
            max(-9.0, (p + ld).mean()),
            (
                -0.5 * ((data[2500:] - data.mean(0)) / sd) ** 2
                - 0.5 * math.log(2 * math.pi)
                - sd.log()
            )
            .sum(1)
            .mean(),
        )


@healthy
def flow_realnvp(record, seed):
    torch.manual_seed(seed)
    flow(record, seed)


@pair("KL term summed over dimensions, weighed against a mean reconstruction", "gross")
def vae_kl_too_heavy(record, seed, faulty):
    torch.manual_seed(seed)
    vae(record, seed, beta=0.3 if faulty else 0.02)


@pair("log-variance used as the standard deviation", "gross")
def vae_logvar_as_std(record, seed, faulty):
    torch.manual_seed(seed)
    vae(record, seed, beta=0.02, sample_fault=faulty, prior=True, epochs=14)


@pair("KL term left out by a zero weight: samples from the prior are bad", "middling")
def vae_no_kl(record, seed, faulty):
    torch.manual_seed(seed)
    vae(record, seed, beta=0.0 if faulty else 0.02, prior=True, epochs=14)


@pair("fake is detached in the generator's step too", "gross")
def gan_generator_detached(record, seed, faulty):
    torch.manual_seed(seed)
    gan(record, seed, detach_fault=faulty)


@pair("noise scaled by 1 - abar instead of its root in training", "mild")
def diffusion_noise_scale(record, seed, faulty):
    torch.manual_seed(seed)
    diffusion(record, seed, mixed=faulty)


@pair("EMA decay of 0.9999 in a run of 700 steps: the sampled copy is the initial one", "gross")
def diffusion_ema_slow(record, seed, faulty):
    torch.manual_seed(seed)
    diffusion(record, seed, ema=0.9999 if faulty else 0.98)
