"""Generative and self-supervised trainings, reinforcement learning, series, physics: pairs with and without a fault."""

from __future__ import annotations

from torch_tables import embed_net

import torch
import torch.nn as nn
import torch.nn.functional as F

from generative_parts import (
    VAE,
    burgers_free,
    ddpm,
    dqn,
    flow,
    forecast,
    gan,
    policy_gradient,
    simclr,
)
from registry import pair, score
from synth import accuracy, batches, glyphs


@pair(
    "reconstruction averaged over pixels but KL summed over the latents: the posterior collapses",
    "gross",
)
def vae_posterior_collapse_reduction(record, seed, faulty):
    """VAE on flattened images."""
    torch.manual_seed(seed)
    x = glyphs(4000, seed, noise=0.2)[0].flatten(1)
    xv = glyphs(500, seed + 1, noise=0.2)[0].flatten(1)
    model = VAE(16)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    it = batches(seed, len(x), 512)
    with record(model, opt) as hook:
        for step in range(300):
            b = x[next(it)]
            out, mu, lv = model(b)
            rec = F.mse_loss(out, b) if faulty else F.mse_loss(out, b, reduction="sum") / len(b)
            kl = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp()) / len(b)
            loss = rec + kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("kl", kl.item())
            hook.end_step()
        with torch.no_grad():
            mu = model.enc(xv)[:, :16]
            score(1 - F.mse_loss(model.dec(mu), xv) / xv.var(0).mean(), 0.0)


@pair("the network is told other time steps than those the noise was drawn for", "middling")
def ddpm_wrong_timestep(record, seed, faulty):
    """Denoising diffusion on two moons."""
    ddpm(record, seed, wrong_time=faulty)


@pair("the log likelihood is minimised instead of maximised", "gross")
def realnvp_sign(record, seed, faulty):
    """Normalising flow."""
    flow(record, seed, -1 if faulty else 1)


@pair("the fakes are detached in the generator's step too, the generator never learns", "gross")
def gan_generator_detached(record, seed, faulty):
    """GAN on a ring of Gaussians."""
    gan(record, seed, detach_wrong=faulty, steps=300)


@pair(
    "contrastive temperature of 10 instead of 0.1-0.2: all similarities look the same", "middling"
)
def simclr_temperature_too_high(record, seed, faulty):
    """SimCLR."""
    simclr(record, seed, temperature=10.0 if faulty else 0.2)


@pair("both views are the same augmented image, so there is nothing to be invariant to", "gross")
def simclr_identical_views(record, seed, faulty):
    """SimCLR."""
    simclr(record, seed, same_view=faulty)


@pair("probabilities instead of log-probabilities are given to KLDivLoss as its input", "mild")
def distillation_kl_on_probabilities(record, seed, faulty):
    """Distillation with KL only."""
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
    opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
    kl = nn.KLDivLoss(reduction="batchmean")
    with record(student, opt, kl) as hook:
        for step in range(300):
            i = next(it)
            with torch.no_grad():
                t = (teacher(x[i]) / 2).softmax(1)
            s = student(x[i]) / 2
            loss = 4 * kl(s.softmax(1) if faulty else s.log_softmax(1), t)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("kd_loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(accuracy(student(xv), yv), 0.1)


@pair("the time axis of the input window is shuffled by the augmentation", "gross")
def lstm_time_axis_shuffled(record, seed, faulty):
    """LSTM forecasting."""
    forecast(record, seed, time_shuffled=faulty)


@pair("learning rate 1e-5 where 5e-3 was tuned", "gross")
def lstm_rate_1e5(record, seed, faulty):
    """LSTM forecasting."""
    forecast(record, seed, lr=1e-5 if faulty else 5e-3)


@pair("exponential decay of 0.9 meant for epochs is applied at every batch", "middling")
def lstm_decay_each_batch(record, seed, faulty):
    """LSTM forecasting with an exponential schedule."""
    forecast(record, seed, gamma=0.9 if faulty else 0.995)


@pair("the target network is never updated", "gross")
def dqn_target_never_updated(record, seed, faulty):
    """DQN on a grid."""
    dqn(record, seed, update_target=not faulty)


@pair("the replay buffer is filled in the first steps only and never again", "gross")
def dqn_replay_frozen(record, seed, faulty):
    """DQN on a grid."""
    dqn(record, seed, replay_frozen=faulty)


@pair("sign of the policy loss: bad actions are made likelier", "gross")
def actor_critic_sign(record, seed, faulty):
    """A2C on a grid."""
    policy_gradient(record, seed, sign=-1.0 if faulty else 1.0)


@pair("the boundary condition's loss term was left out (weight 0)", "gross")
def pinn_no_boundary(record, seed, faulty):
    """Physics-informed network for a Poisson equation."""
    burgers_free(record, seed, bc=0.0 if faulty else 50.0)
