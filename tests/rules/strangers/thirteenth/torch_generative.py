"""GANs and VAEs, and agents that learn from reward."""

import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from kit import digits, loader, mlp
from registry import pair, score


def ring(n):
    a = torch.randint(0, 6, (n,)) * (math.pi / 3)
    return torch.stack([2 * torch.cos(a), 2 * torch.sin(a)], 1) + 0.12 * torch.randn(n, 2)


@torch.no_grad()
def coverage(generator, latent=8):
    """Share of good samples, spread over the six modes."""
    x = generator(torch.randn(1200, latent))
    if not torch.isfinite(x).all():
        return 0.0
    a = torch.arange(6) * (math.pi / 3)
    d, which = torch.cdist(x, torch.stack([2 * torch.cos(a), 2 * torch.sin(a)], 1)).min(1)
    count = torch.bincount(which[d < 0.6], minlength=6) / len(x)
    return count.clamp(max=1 / 6).sum().item()


def gan(record, seed, mistake=None, steps=1000):
    torch.manual_seed(seed)
    G, D = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1, activation=lambda: nn.LeakyReLU(0.2))
    criterion = nn.BCEWithLogitsLoss()
    opt_g = torch.optim.Adam(
        D.parameters() if mistake == "optimizer" else G.parameters(), lr=1e-3, betas=(0.5, 0.999)
    )
    opt_d = torch.optim.Adam(
        D.parameters(), lr=1e-3 * (30 if mistake == "rate" else 1), betas=(0.5, 0.999)
    )
    one, zero = torch.ones(128, 1), torch.zeros(128, 1)
    end = torch.sigmoid if mistake == "sigmoid" else (lambda t: t)
    with record([G, D], [opt_g, opt_d], criterion) as hook:
        for step in range(steps):
            fake = G(torch.randn(128, 8))
            d_loss = criterion(end(D(ring(128))), one) + criterion(end(D(fake.detach())), zero)
            opt_d.zero_grad()
            d_loss.backward()
            opt_d.step()
            if mistake == "detached":
                out = D(fake.detach())
            else:
                out = end(D(G(torch.randn(128, 8))))
            g_loss = criterion(out, zero if mistake == "labels" else one)
            if mistake == "saturating":
                g_loss = -criterion(out, zero)
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
            hook.record_tensor_value("d_loss", d_loss)
            hook.record_tensor_value("g_loss", g_loss)
    score(coverage(G), 0.1)


@pair("the generator's step uses the detached samples", "gross")
def gan_generator_detached(record, seed, faulty):
    """https://taourl.com/read-2180730.html (generator learns nothing)"""
    gan(record, seed, "detached" if faulty else None)


@pair("the generator's optimizer has the discriminator's weights", "gross")
def gan_wrong_parameters(record, seed, faulty):
    """https://github.com/chojw/genb/issues/8 (steps of the two optimizers mixed up)"""
    gan(record, seed, "optimizer" if faulty else None)


@pair("labels of the generator's loss are the wrong way round", "gross")
def gan_labels_swapped(record, seed, faulty):
    """https://github.com/soumith/ganhacks/issues/36"""
    gan(record, seed, "labels" if faulty else None)


@pair("sigmoid at the discriminator's end, and BCEWithLogitsLoss", "gross")
def gan_sigmoid_twice(record, seed, faulty):
    """https://github.com/soumith/ganhacks/issues/67"""
    gan(record, seed, "sigmoid" if faulty else None)


@pair("discriminator's rate is 30 times that of the generator", "gross")
def gan_discriminator_too_fast(record, seed, faulty):
    """https://github.com/soumith/ganhacks/issues/14"""
    gan(record, seed, "rate" if faulty else None)


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(256, 96), nn.ReLU())
        self.mu, self.logvar = nn.Linear(96, latent), nn.Linear(96, latent)
        self.decoder = mlp(latent, 96, 256)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)), mu, logvar


def vae(record, seed, total):
    torch.manual_seed(seed)
    x, _ = digits(1500, seed, noise=0.05)
    xt, _ = digits(300, seed + 1, noise=0.05)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer) as hook:
        for epoch in range(20):
            for (images,) in loader(x):
                out, mu, logvar = model(images)
                kl = -0.5 * (1 + logvar - mu**2 - logvar.exp())
                loss = total(out, images.flatten(1), kl)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 50.0)
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    with torch.no_grad():
        h = model.encoder(xt)
        out = torch.sigmoid(model.decoder(model.mu(h)))
        true = xt.flatten(1)
        value = 1 - ((out - true) ** 2).mean() / ((true - true.mean(0)) ** 2).mean()
        kl = (-0.5 * (1 + model.logvar(h) - model.mu(h) ** 2 - model.logvar(h).exp())).sum(1).mean()
    if not torch.isfinite(value) or not torch.isfinite(kl) or kl > 200:
        value = torch.tensor(-1.0)
    score(max(-1.0, value.item()), 0)


def elbo(out, x, kl):
    return (
        F.binary_cross_entropy_with_logits(out, x, reduction="none").sum(1).mean()
        + kl.sum(1).mean()
    )


@pair("reconstruction is a mean over pixels, the KL a sum: posterior collapse", "gross")
def vae_mean_against_sum(record, seed, faulty):
    """https://github.com/AppliedDataSciencePartners/WorldModels/issues/12"""
    vae(
        record,
        seed,
        (
            (lambda out, x, kl: F.binary_cross_entropy_with_logits(out, x) + kl.sum(1).mean())
            if faulty
            else elbo
        ),
    )


@pair("KL is added with the wrong sign", "gross")
def vae_kl_sign(record, seed, faulty):
    """https://github.com/wiseodd/generative-models/issues/40 (the formula of the KL)"""
    vae(record, seed, (lambda out, x, kl: elbo(out, x, -kl)) if faulty else elbo)


@pair("weight of the KL is too high", "middling")
def vae_kl_weight(record, seed, faulty):
    """https://github.com/yzwxx/vae-celebA/issues/4"""
    vae(record, seed, (lambda out, x, kl: elbo(out, x, 4 * kl)) if faulty else elbo)


class Corridor:
    """Walk on 0..9 from 3: +1 at 9, -0.3 at 0, -0.02 a step; state one-hot; at most 40 steps."""

    n = 10

    def reset(self):
        self.at, self.time = 3, 0
        return self.state()

    def state(self):
        return np.eye(self.n, dtype=np.float32)[self.at]

    def step(self, action):
        self.time += 1
        if random.random() < 0.1:
            action = 1 - action
        self.at += 1 if action else -1
        reward = -0.02 + (1.0 if self.at == 9 else 0.05 if self.at == 0 else 0)
        done = self.at in (0, 9)
        return self.state(), reward, done, done or self.time >= 40


def play(policy, episodes=40):
    env, total = Corridor(), 0.0
    for _ in range(episodes):
        s, over = env.reset(), False
        while not over:
            s, r, _, over = env.step(policy(torch.from_numpy(s)))
            total += r
    return total / episodes


def dqn(record, seed, mistake=None):
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    env = Corridor()
    net, target = mlp(10, 48, 2), mlp(10, 48, 2)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    memory = []
    s, epsilon = env.reset(), 1.0
    with record(net, optimizer) as hook:
        for step in range(1500):
            if random.random() < epsilon:
                a = random.randrange(2)
            else:
                with torch.no_grad():
                    a = int(net(torch.from_numpy(s)).argmax())
            s2, r, done, over = env.step(a)
            memory.append((s, a, -r if mistake == "sign" else r, s2, float(done)))
            s = env.reset() if over else s2
            epsilon = max(0.1, epsilon * (0.5 if mistake == "greedy" else 0.997))
            if len(memory) < 100:
                continue
            batch = random.sample(memory[-2000:], 64)
            S, A, R, S2, D = (torch.tensor(np.array(v)) for v in zip(*batch))
            q = net(S).max(1).values if mistake == "gather" else net(S).gather(1, A[:, None])[:, 0]
            with torch.no_grad():
                future = target(S2).max(1).values
                y = R.float() + 0.95 * future * (1 if mistake == "done" else (1 - D.float()))
            loss = F.smooth_l1_loss(q[:, None] if mistake == "broadcast" else q, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
            if step % 50 == 0:
                target.load_state_dict(net.state_dict())
    with torch.no_grad():
        score(play(lambda s: int(net(s).argmax())), -0.1)


@pair("Q of [N, 1] against targets of [N]", "gross")
def dqn_loss_broadcast(record, seed, faulty):
    """https://github.com/pytorch/tutorials/issues/263 (shapes), as RLinf/RLinf/issues/1568"""
    dqn(record, seed, "broadcast" if faulty else None)


def reinforce(record, seed, mistake=None, episodes=160):
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    env = Corridor()
    net = mlp(10, 32, 2)
    if mistake == "relu":
        net.append(nn.ReLU())
    value = mlp(10, 32, 1)
    optimizer = torch.optim.Adam([*net.parameters(), *value.parameters()], lr=5e-3)
    with record([net, value], optimizer) as hook:
        for episode in range(episodes):
            states, actions, rewards = [], [], []
            for _ in range(4):
                s, over, got = env.reset(), False, []
                while not over:
                    with torch.no_grad():
                        a = int(
                            torch.distributions.Categorical(
                                logits=net(torch.from_numpy(s))
                            ).sample()
                        )
                    states.append(s)
                    actions.append(a)
                    s, r, _, over = env.step(a)
                    got.append(r)
                back = []
                for r in reversed(got):
                    back.append(r + 0.97 * (back[-1] if back else 0))
                rewards += back[::-1]
            S, A, R = torch.tensor(np.array(states)), torch.tensor(actions), torch.tensor(rewards)
            v = value(S)  # [N, 1]
            advantage = (R[:, None] - v).detach() if mistake == "shape" else (R - v[:, 0]).detach()
            log_p = torch.log_softmax(net(S), 1).gather(1, A[:, None])[:, 0]
            loss = (log_p * advantage).mean() * (1 if mistake == "sign" else -1)
            loss = loss + F.mse_loss(v[:, 0], R)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("policy_loss", loss)
    with torch.no_grad():
        score(play(lambda s: int(torch.distributions.Categorical(logits=net(s)).sample())), -0.1)


@pair("policy loss without the minus", "gross")
def reinforce_sign(record, seed, faulty):
    """https://huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1 (discuss.pytorch.org: REINFORCE with baseline loss function)"""
    reinforce(record, seed, "sign" if faulty else None)
