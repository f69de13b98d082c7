"""Generative models, contrastive and other self-supervised learning."""

import copy
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import healthy, pair, score
from pics import shapes


def moons(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.rand(n, generator=g) * math.pi
    up = torch.rand(n, generator=g) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    p = torch.stack([x, y], 1) + 0.06 * torch.randn(n, 2, generator=g)
    return (p - torch.tensor([0.5, 0.25])) / torch.tensor([0.87, 0.5])


def closeness(a, b):
    """Minus a kernel distance between two samples (0 at best)."""

    def k(u, v):
        d = torch.cdist(u, v) ** 2
        return sum((-d / s).exp().mean() for s in (0.05, 0.3, 1.5))

    return -(k(a, a) + k(b, b) - 2 * k(a, b)).item()


def mlp(i, o, h=64, act=nn.SiLU, depth=2):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(i, h), act()]
        i = h
    return nn.Sequential(*layers, nn.Linear(i, o))


def grey(n, seed):
    x, y, _ = shapes(n, seed, noise=0.1, size=12)
    return torch.tensor(x).float().mean(-1).flatten(1) / 255, torch.tensor(y)


class VAE(nn.Module):
    def __init__(self, d=144, z=8):
        super().__init__()
        self.enc, self.dec = mlp(d, 2 * z, 128, nn.ReLU), mlp(z, d, 128, nn.ReLU)

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, 1)
        return self.dec(mu + (0.5 * lv).exp() * torch.randn_like(mu)), mu, lv


@healthy
def vae_kl_annealed(record, seed):
    """The KL weight grows over the first half, so the loss rises by design for a while."""
    torch.manual_seed(seed)
    x, _ = grey(2000, seed)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    with record(model, opt) as hook:
        for s in range(600):
            b = x[torch.randint(0, 1800, (64,))]
            out, mu, lv = model(b)
            rec = F.mse_loss(out, b, reduction="none").sum(1).mean() * 10
            kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
            loss = rec + min(1, s / 300) * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("reconstruction", rec.item())
            hook.record_tensor_value("kl", kl.item())
            hook.end_step()
    with torch.no_grad():
        v = x[1800:]
        score(1 - ((model(v)[0] - v) ** 2).mean() / (v - x[:1800].mean(0)).square().mean(), 0.0)


@healthy
def diffusion_ema(record, seed):
    torch.manual_seed(seed)
    data = moons(4000, seed)
    T = 100
    abar = torch.cumprod(1 - torch.linspace(1e-3, 0.08, T), 0)
    model = mlp(2 + 16, 2, 96, depth=3)
    freq = 2.0 ** torch.arange(8)

    def eps(net, x, t):
        a = (t[:, None] / T) * freq
        return net(torch.cat([x, a.sin(), a.cos()], 1))

    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with record(model, opt) as hook:
        for s in range(1500):
            x0 = data[torch.randint(0, 4000, (128,))]
            t = torch.randint(0, T, (128,))
            noise = torch.randn_like(x0)
            a = abar[t][:, None]
            loss = F.mse_loss(eps(model, a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), model.parameters()):
                    p.lerp_(q, 0.01)
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    x = torch.randn(600, 2)
    with torch.no_grad():
        for t in reversed(range(T)):
            al = abar[t] / (abar[t - 1] if t else 1.0)
            e = eps(ema, x, torch.full((600,), t))
            x = (x - (1 - al) / (1 - abar[t]).sqrt() * e) / al.sqrt() + (t > 0) * (
                1 - al
            ).sqrt() * torch.randn_like(x)
    score(closeness(x, data[:600]), closeness(torch.randn(600, 2), data[:600]))


def train_gan(record, seed, d_lr=1e-3, g_lr=1e-3, steps=1000):
    torch.manual_seed(seed)
    data = moons(4000, seed)
    G, D = mlp(4, 2, 64, nn.ReLU), mlp(2, 1, 64, lambda: nn.LeakyReLU(0.2))
    og = torch.optim.Adam(G.parameters(), g_lr, betas=(0.5, 0.9))
    od = torch.optim.Adam(D.parameters(), d_lr, betas=(0.5, 0.9))
    bce = nn.BCEWithLogitsLoss()
    net = nn.ModuleDict({"G": G, "D": D})
    one, zero = torch.ones(128, 1), torch.zeros(128, 1)
    with record(net, [og, od], bce) as hook:
        for s in range(steps):
            real = data[torch.randint(0, 4000, (128,))].requires_grad_()
            fake = G(torch.randn(128, 4))
            d_real = D(real)
            d_loss = bce(d_real, one) + bce(D(fake.detach()), zero)
            (r1,) = torch.autograd.grad(d_real.sum(), real, create_graph=True)
            d_loss = d_loss + 0.1 * r1.square().sum(1).mean()
            od.zero_grad()
            d_loss.backward()
            od.step()
            g_loss = bce(D(fake), one)
            og.zero_grad()
            g_loss.backward()
            og.step()
            hook.record_tensor_value("d_loss", d_loss.item())
            hook.record_tensor_value("g_loss", g_loss.item())
            hook.end_step()
    with torch.no_grad():
        score(
            closeness(G(torch.randn(600, 4)), data[:600]),
            closeness(torch.randn(600, 2), data[:600]),
        )


@healthy
def gan_two_moons(record, seed):
    train_gan(record, seed, steps=1500)


@pair(
    "the fakes are made under no_grad for the generator's step: the generator never learns", "gross"
)
def gan_generator_without_gradient(record, seed, faulty):
    torch.manual_seed(seed)
    data = moons(4000, seed + 1)
    G, D = mlp(4, 2, 64, nn.ReLU), mlp(2, 1, 64, lambda: nn.LeakyReLU(0.2))
    og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.9))
    with record(nn.ModuleList([G, D]), [og, od]) as hook:
        for s in range(1500):
            real = data[torch.randint(0, 4000, (128,))]
            fake = G(torch.randn(128, 4))
            d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
            od.zero_grad()
            d_loss.backward()
            od.step()
            g_loss = F.softplus(-D(fake.detach() if faulty else fake)).mean()
            og.zero_grad()
            g_loss.backward()
            og.step()
            hook.record_tensor_value("loss_d", d_loss.item())
            hook.record_tensor_value("loss_g", g_loss.item())
            hook.end_step()
    with torch.no_grad():
        score(
            closeness(G(torch.randn(600, 4)), data[:600]),
            closeness(torch.randn(600, 2), data[:600]),
        )


@pair("discriminator's learning rate far above the generator's: it wins at once", "gross")
def gan_discriminator_too_strong(record, seed, faulty):
    train_gan(
        record, seed + 2, d_lr=1e-2 if faulty else 1e-3, g_lr=2e-5 if faulty else 1e-3, steps=1200
    )


@pair("KL summed over the batch against a mean reconstruction: posterior collapse", "gross")
def vae_kl_far_too_heavy(record, seed, faulty):
    torch.manual_seed(seed)
    x, _ = grey(2000, seed + 3)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    with record(model, opt) as hook:
        for s in range(600):
            b = x[torch.randint(0, 1800, (64,))]
            out, mu, lv = model(b)
            rec = F.mse_loss(out, b)
            kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1)
            loss = rec + (kl.sum() * 0.01 if faulty else kl.mean() * 5e-4)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("mse", rec.item())
            hook.record_tensor_value("kl", kl.mean().item())
            hook.end_step()
    with torch.no_grad():
        v = x[1800:]
        score(1 - ((model(v)[0] - v) ** 2).mean() / (v - x[:1800].mean(0)).square().mean(), 0.0)


def probe(z, y, n):
    """Accuracy of ridge regression on the features."""
    z = torch.cat([(z - z.mean(0)) / (z.std(0) + 1e-6), torch.ones(len(z), 1)], 1)
    w = torch.linalg.solve(
        z[:n].T @ z[:n] + 1.0 * torch.eye(z.shape[1]), z[:n].T @ F.one_hot(y[:n]).float()
    )
    return ((z[n:] @ w).argmax(1) == y[n:]).float().mean().item()


def views(seed, n=3000):
    """Six hidden classes; a view hides a third of the columns, adds noise and a large nuisance shared by all columns."""
    g = torch.Generator().manual_seed(seed + 9)
    c = torch.randn(6, 30, generator=g)
    y = torch.randint(0, 6, (n,), generator=g)
    return c[y] + 0.8 * torch.randn(n, 30, generator=g), y


def augment(x):
    return (x + 0.5 * torch.randn_like(x)) * (torch.rand_like(x) > 0.3) + 3 * torch.randn(len(x), 1)


def train_simclr(record, seed, tau=0.2, lr=2e-3, steps=300, collapse=False):
    torch.manual_seed(seed)
    x, y = views(seed)
    enc, proj = mlp(30, 16, 96, nn.ReLU), mlp(16, 16, 32, nn.ReLU, 1)
    net = nn.Sequential(enc, proj)
    opt = torch.optim.AdamW(net.parameters(), lr=lr)
    with record(net, opt) as hook:
        for s in range(steps):
            b = x[torch.randint(0, 3000, (128,))]
            z1, z2 = F.normalize(net(augment(b)), dim=1), F.normalize(net(augment(b)), dim=1)
            if collapse:
                loss = (1 - (z1 * z2).sum(1)).mean()
            else:
                sim = z1 @ z2.T / tau
                t = torch.arange(128)
                loss = (F.cross_entropy(sim, t) + F.cross_entropy(sim.T, t)) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        score(probe(enc(augment(x)), y, 500), 1 / 6)


@healthy
def simclr_vectors(record, seed):
    train_simclr(record, seed, steps=400)


@pair("only the positive term of the contrastive loss: the embedding collapses", "gross")
def contrastive_without_negatives(record, seed, faulty):
    train_simclr(record, seed + 4, collapse=faulty, lr=3e-3, steps=500)
