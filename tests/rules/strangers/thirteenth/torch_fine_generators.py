"""Healthy trainings of generators and of agents."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from kit import accuracy, digits, loader, mlp, numbers
from registry import healthy, score

from torch_generative import VAE, Corridor, coverage, play, ring


@healthy
def gan_losses_oscillate(record, seed):
    torch.manual_seed(seed)
    G, D = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1, activation=lambda: nn.LeakyReLU(0.2))
    criterion = nn.BCEWithLogitsLoss()
    opt_g, opt_d = (torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.999)) for m in (G, D))
    with record([G, D], [opt_g, opt_d]) as hook:
        for step in range(900):
            d_loss = criterion(D(ring(128)), torch.full((128, 1), 0.9)) + criterion(
                D(G(torch.randn(128, 8)).detach()), torch.zeros(128, 1)
            )
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            g_loss = criterion(D(G(torch.randn(128, 8))), torch.ones(128, 1))
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
            hook.record_tensor_value("d_loss", d_loss)
            hook.record_tensor_value("g_loss", g_loss)
    score(coverage(G), 0.1)


@healthy
def wgan_gp_negative_losses(record, seed):
    torch.manual_seed(seed)
    G, D = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1)
    opt_g, opt_d = (torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.9)) for m in (G, D))
    with record([G, D], [opt_g, opt_d]) as hook:
        for step in range(550):
            for _ in range(2):
                real, fake = ring(128), G(torch.randn(128, 8)).detach()
                mix = torch.lerp(real, fake, torch.rand(128, 1)).requires_grad_()
                slope = torch.autograd.grad(D(mix).sum(), mix, create_graph=True)[0].norm(dim=1)
                d_loss = D(fake).mean() - D(real).mean() + ((slope - 1) ** 2).mean()
                opt_d.zero_grad()
                d_loss.backward()
                opt_d.step()
            g_loss = -D(G(torch.randn(128, 8))).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
            hook.record_tensor_value("critic", d_loss)
            hook.record_tensor_value("generator", g_loss)
    score(coverage(G), 0.1)


@healthy
def vae_kl_rises_first(record, seed):
    """https://github.com/facebookresearch/improved_vrnn/issues/4 (the KL rises at first: normal)"""
    torch.manual_seed(seed)
    x, _ = digits(1500, seed, noise=0.05)
    xt, _ = digits(300, seed + 1, noise=0.05)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(20):
            for (images,) in loader(x):
                out, mu, logvar = model(images)
                kl = (-0.5 * (1 + logvar - mu**2 - logvar.exp())).sum(1).mean()
                rec = (
                    F.binary_cross_entropy_with_logits(out, images.flatten(1), reduction="none")
                    .sum(1)
                    .mean()
                )
                optimizer.zero_grad()
                (rec + min(1.0, epoch / 8) * kl).backward()
                optimizer.step()
                hook.record_tensor_value("rec", rec)
                hook.record_tensor_value("kl", kl)
    with torch.no_grad():
        out, true = torch.sigmoid(model.decoder(model.mu(model.encoder(xt)))), xt.flatten(1)
        score(1 - ((out - true) ** 2).mean() / ((true - true.mean(0)) ** 2).mean(), 0)


@healthy
def denoising_autoencoder(record, seed):
    torch.manual_seed(seed)
    x, _ = digits(1200, seed, noise=0.0)
    xt, _ = digits(300, seed + 1, noise=0.0)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(12, 12, 3, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(12, 12, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(12, 1, 4, 2, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion):
        for epoch in range(10):
            for (images,) in loader(x):
                optimizer.zero_grad()
                criterion(model(images + 0.3 * torch.randn_like(images)), images).backward()
                optimizer.step()
    with torch.no_grad():
        score(
            1
            - ((model(xt + 0.3 * torch.randn_like(xt)) - xt) ** 2).mean()
            / (xt - xt.mean(0)).pow(2).mean(),
            0,
        )


@healthy
def diffusion_of_points(record, seed):
    """A loss that seems stuck, as most of the noise cannot be known."""
    torch.manual_seed(seed)
    net = mlp(4, 96, 96, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    keep = torch.cumprod(1 - torch.linspace(1e-3, 0.15, 40), 0)

    def inputs(x, t):
        return torch.cat([x, t / 40, torch.cos(t / 6)], 1)

    with record(net, optimizer) as hook:
        for step in range(1200):
            x = ring(128) / 2
            t = torch.randint(0, 40, (128, 1))
            noise = torch.randn_like(x)
            k = keep[t]
            loss = F.mse_loss(net(inputs(k.sqrt() * x + (1 - k).sqrt() * noise, t.float())), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)

    def sample(z):
        x = torch.randn(len(z), 2)
        for t in range(39, -1, -1):
            k, before = keep[t], keep[t - 1] if t else torch.tensor(1.0)
            e = net(inputs(x, torch.full((len(z), 1), float(t))))
            clean = ((x - (1 - k).sqrt() * e) / k.sqrt()).clamp(-1.5, 1.5)
            x = before.sqrt() * clean + (1 - before).sqrt() * e
        return 2 * x

    score(coverage(sample), 0.1)


@healthy
def dqn_loss_rises(record, seed):
    """The loss grows while rewards are found."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    env = Corridor()
    net, target = mlp(10, 48, 2), mlp(10, 48, 2)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    memory = []
    s = env.reset()
    with record([net, target], optimizer) as hook:
        for step in range(1300):
            with torch.no_grad():
                a = (
                    random.randrange(2)
                    if random.random() < max(0.1, 1 - step / 700)
                    else int(net(torch.from_numpy(s)).argmax())
                )
            s2, r, done, over = env.step(a)
            memory.append((s, a, r, s2, float(done)))
            s = env.reset() if over else s2
            if step < 100:
                continue
            S, A, R, S2, D = (torch.tensor(np.array(v)) for v in zip(*random.sample(memory, 64)))
            with torch.no_grad():
                y = R.float() + 0.95 * target(S2).gather(1, net(S2).argmax(1, keepdim=True))[
                    :, 0
                ] * (1 - D.float())
            loss = F.smooth_l1_loss(net(S).gather(1, A[:, None])[:, 0], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for p, q in zip(target.parameters(), net.parameters()):
                p.data.lerp_(q.data, 0.02)
            hook.record_tensor_value("td_loss", loss)
    with torch.no_grad():
        score(play(lambda s: int(net(s).argmax())), -0.1)


@healthy
def reinforce_noisy_returns(record, seed):
    from torch_generative import reinforce

    reinforce(record, seed, None, 170)


@healthy
def bandit_entropy_bonus(record, seed):
    torch.manual_seed(seed)
    x, y = numbers(400, seed)
    good = (y > 0).long()
    policy = mlp(12, 32, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    baseline = 0.5
    with record(policy, optimizer) as hook:
        for step in range(500):
            i = torch.randint(0, 400, (64,))
            d = torch.distributions.Categorical(logits=policy(x[i]))
            a = d.sample()
            reward = (a == good[i]).float()
            loss = -(d.log_prob(a) * (reward - baseline)).mean() - 0.01 * d.entropy().mean()
            baseline = 0.95 * baseline + 0.05 * reward.mean().item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("policy_loss", loss)
            hook.record_tensor_value("reward", reward.mean())
    xt, yt = numbers(400, seed + 1)
    score(accuracy(policy, xt, (yt > 0).long()), 0.5)
