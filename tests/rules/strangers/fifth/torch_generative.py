"""Generative and self-supervised trainings, reinforcement learning, series, physics: those that are fine."""

from __future__ import annotations

from torch_tables import embed_net, mlp

import torch
import torch.nn as nn
import torch.nn.functional as F

from generative_parts import (
    Denoiser,
    VAE,
    burgers_free,
    byol,
    ddpm,
    dqn,
    flow,
    forecast,
    gan,
    moons,
    policy_gradient,
    simclr,
    swd,
    vae_terms,
)
from registry import healthy, score
from synth import accuracy, batches, gen, glyphs, r2


@healthy
def vae_kl_annealed(record, seed):
    """VAE with KL annealing: the total loss rises as the weight does."""
    torch.manual_seed(seed)
    x = glyphs(4000, seed, noise=0.2)[0].flatten(1)
    xv = glyphs(500, seed + 1, noise=0.2)[0].flatten(1)
    model = VAE(16)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 512)
    with record(model, opt) as hook:
        for step in range(400):
            rec, kl = vae_terms(model, x[next(it)])
            loss = rec + min(1.0, step / 200) * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("recon", rec.item())
            hook.record_tensor_value("kl", kl.item())
            hook.end_step()
        with torch.no_grad():
            mu = model.enc(xv)[:, :16]
            score(1 - F.mse_loss(model.dec(mu), xv) / xv.var(0).mean(), 0.0)


@healthy
def ddpm_ema_two_moons(record, seed):
    """Denoising diffusion with EMA weights; the loss stays high and noisy."""
    ddpm(record, seed)


@healthy
def flow_matching(record, seed):
    """Conditional flow matching on two moons, AdamW with cosine decay."""
    torch.manual_seed(seed)
    x = moons(10000, seed)
    model = Denoiser()
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
    it = batches(seed, len(x), 2048)
    with record(model, opt) as hook:
        for step in range(400):
            b = x[next(it)]
            z, t = torch.randn_like(b), torch.rand(len(b))
            v = model((1 - t[:, None]) * z + t[:, None] * b, t)
            loss = (v - (b - z)).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("fm_loss", loss)
            hook.end_step()
        with torch.no_grad():
            s = torch.randn(2000, 2, generator=gen(6))
            base = -swd(s, moons(2000, seed + 1))
            for k in range(40):
                s = s + model(s, torch.full((2000,), k / 40)) / 40
            score(-swd(s, moons(2000, seed + 1)), base)


@healthy
def realnvp_density(record, seed):
    """Normalising flow, negative log likelihood below 0."""
    flow(record, seed, 1)


@healthy
def gan_ring_r1(record, seed):
    """GAN on a ring of Gaussians with R1; both losses oscillate."""
    gan(record, seed)


@healthy
def wgan_gp_negative_losses(record, seed):
    """WGAN with gradient penalty: the critic loss is negative and unbounded, the generator's drifts."""
    torch.manual_seed(seed)

    class GAN(nn.Module):
        def __init__(self):
            super().__init__()
            self.gen, self.disc = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1)

    model = GAN()
    x = moons(10000, seed)
    og = torch.optim.Adam(model.gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
    od = torch.optim.Adam(model.disc.parameters(), lr=1e-3, betas=(0.0, 0.9))
    it = batches(seed, len(x), 256)
    base = -swd(model.gen(torch.randn(2000, 8)).detach(), moons(2000, 9))
    with record(model, [od, og]) as hook:
        for step in range(300):
            for _ in range(3):
                r, f = x[next(it)], model.gen(torch.randn(256, 8)).detach()
                m = torch.rand(256, 1)
                m = (m * r + (1 - m) * f).requires_grad_()
                gr = torch.autograd.grad(model.disc(m).sum(), m, create_graph=True)[0]
                ld = (
                    model.disc(f).mean()
                    - model.disc(r).mean()
                    + 2 * ((gr.norm(dim=1) - 1) ** 2).mean()
                )
                od.zero_grad()
                ld.backward()
                od.step()
            lg = -model.disc(model.gen(torch.randn(256, 8))).mean()
            og.zero_grad()
            lg.backward()
            og.step()
            hook.record_tensor_value("critic_loss", ld.item())
            hook.record_tensor_value("gen_loss", lg.item())
            hook.end_step()
        with torch.no_grad():
            score(-swd(model.gen(torch.randn(2000, 8)), moons(2000, 9)), base)


@healthy
def simclr_contrastive(record, seed):
    """SimCLR."""
    simclr(record, seed)


@healthy
def simsiam_negative_cosine(record, seed):
    """SimSiam with stop-gradient; the loss goes from about 0 towards -1."""
    byol(record, seed, stop=True, steps=200)


@healthy
def distillation_soft_targets(record, seed):
    """A small student distilled from a trained teacher: KL at temperature 4 plus cross-entropy."""
    torch.manual_seed(seed)
    x, y = glyphs(2500, seed)
    xv, yv = glyphs(600, seed + 1)
    teacher = nn.Sequential(embed_net(), nn.ReLU(), nn.Linear(32, 10))
    it = batches(seed, len(x), 128)
    o = torch.optim.Adam(teacher.parameters(), 2e-3)
    for _ in range(100):
        i = next(it)
        l = F.cross_entropy(teacher(x[i]), y[i])
        o.zero_grad()
        l.backward()
        o.step()
    teacher.eval().requires_grad_(False)
    student = nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(8, 12, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(192, 10),
    )
    opt = torch.optim.AdamW(student.parameters(), lr=3e-3)
    kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
    with record(student, opt, kl) as hook:
        for step in range(350):
            i = next(it)
            with torch.no_grad():
                t = teacher(x[i])
            s = student(x[i])
            loss = 0.7 * 16 * kl(
                (s / 4).log_softmax(1), (t / 4).log_softmax(1)
            ) + 0.3 * F.cross_entropy(s, y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(student(xv), yv), 0.1)


@healthy
def lstm_forecast(record, seed):
    """LSTM forecasting eight steps ahead, clipped."""
    forecast(record, seed)


@healthy
def dqn_grid(record, seed):
    """DQN on a grid with a target network: the TD loss rises before it falls."""
    dqn(record, seed)


@healthy
def actor_critic_grid(record, seed):
    """A2C: the policy loss hovers around 0, the return rises."""
    policy_gradient(record, seed)


@healthy
def pinn_poisson(record, seed):
    """Physics-informed network for a Poisson equation: second derivatives, loss over orders of magnitude."""
    burgers_free(record, seed, bc=50.0)


@healthy
def neural_ode_spiral(record, seed):
    """Neural ODE with RK4, trained on trajectories of a spiral."""
    torch.manual_seed(seed)
    A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    step_m = torch.linalg.matrix_exp(A * 0.1)

    def data(n, s):
        x = [2 * torch.randn(n, 2, generator=gen(s))]
        for _ in range(12):
            x.append(x[-1] @ step_m.T)
        return torch.stack(x, 1)

    tr, te = data(1000, seed), data(200, seed + 1)
    f = mlp(2, 48, 2, act=nn.Tanh)

    def solve(x):
        out, h = [], 0.1
        for _ in range(12):
            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out.append(x)
        return torch.stack(out, 1)

    opt = torch.optim.Adam(f.parameters(), lr=1e-2)
    it = batches(seed, 1000, 64)
    with record(f, opt) as hook:
        for step in range(300):
            b = tr[next(it)]
            loss = (solve(b[:, 0]) - b[:, 1:]).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("l1", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(solve(te[:, 0]), te[:, 1:]), 0.0)
