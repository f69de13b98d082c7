"""Generative and self-supervised trainings, reinforcement learning, series, physics: models, data and loops."""

from __future__ import annotations

from torch_tables import embed_net, mlp, retrieval
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from registry import score
from synth import batches, gen, glyphs, r2, waves


def moons(n, seed):
    g = gen(seed + 3)
    t = math.pi * torch.rand(n, generator=g)
    up = torch.rand(n, generator=g) < 0.5
    x = torch.where(up, t.cos(), 1 - t.cos())
    y = torch.where(up, t.sin(), 0.5 - t.sin())
    p = torch.stack([x - 0.5, y - 0.25], 1) * 1.4
    return p + 0.07 * torch.randn(n, 2, generator=g)


def swd(a, b, k=64):
    """Sliced Wasserstein distance between two samples of one size."""
    d = F.normalize(torch.randn(a.shape[1], k, generator=gen(1)), dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


class VAE(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.enc, self.dec = mlp(256, 128, 2 * z), mlp(z, 128, 256)

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, 1)
        z = mu + (0.5 * lv).exp() * torch.randn_like(mu)
        return self.dec(z), mu, lv


def vae_terms(model, x, w=1.0):
    out, mu, lv = model(x)
    rec = F.mse_loss(out, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
    return rec, kl


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=128):
        super().__init__()
        self.net = mlp(dim + 16, hidden, hidden, dim, act=nn.SiLU)
        self.register_buffer("f", 2.0 ** (torch.arange(8) / 2))

    def forward(self, x, t):
        a = t[:, None] * self.f
        return self.net(torch.cat([x, a.sin(), a.cos()], 1))


T = 50


BETA = torch.linspace(1e-3, 0.2, T)


ABAR = (1 - BETA).cumprod(0)


@torch.no_grad()
def ddpm_sample(model, n):
    x = torch.randn(n, 2, generator=gen(4))
    g = gen(5)
    for t in reversed(range(T)):
        e = model(x, torch.full((n,), t / T))
        x = (x - BETA[t] / (1 - ABAR[t]).sqrt() * e) / (1 - BETA[t]).sqrt()
        if t:
            x = x + BETA[t].sqrt() * torch.randn(n, 2, generator=g)
    return x


def ddpm(record, seed, wrong_time=False, clip=1.0):
    torch.manual_seed(seed)
    x = moons(10000, seed)
    model = Denoiser()
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    it = batches(seed, len(x), 2048)
    with record(model, opt) as hook:
        for step in range(400):
            b = x[next(it)]
            t = torch.randint(0, T, (len(b),))
            e = torch.randn_like(b)
            a = ABAR[t][:, None]
            used = torch.randint(0, T, (len(b),)) if wrong_time else t
            pred = model(a.sqrt() * b + (1 - a).sqrt() * e, used / T)
            loss = F.mse_loss(pred, e)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), model.parameters()):
                    p.lerp_(q, 0.03)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        test = moons(2000, seed + 1)
        score(
            -swd(ddpm_sample(ema, 2000), test), -swd(torch.randn(2000, 2, generator=gen(6)), test)
        )


class Coupling(nn.Module):
    def __init__(self, dim=2, layers=6):
        super().__init__()
        self.nets = nn.ModuleList(mlp(1, 64, 64, 2, act=nn.Tanh) for _ in range(layers))

    def forward(self, x):
        a, b, ld = x[:, :1], x[:, 1:], 0
        for n in self.nets:
            s, t = n(a).chunk(2, 1)
            s = 2 * torch.tanh(s)
            b = b * s.exp() + t
            ld = ld + s[:, 0]
            a, b = b, a
        z = torch.cat([a, b], 1)
        return -0.5 * (z**2).sum(1) - math.log(2 * math.pi) + ld


def flow(record, seed, sign):
    torch.manual_seed(seed)
    x = moons(10000, seed) * 0.2  # small units: negative log likelihood below 0
    xv = moons(1000, seed + 1) * 0.2
    model = Coupling()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    it = batches(seed, len(x), 512)
    with torch.no_grad():
        c = torch.distributions.MultivariateNormal(x.mean(0), x.T.cov()).log_prob(xv).mean()
    with record(model, opt) as hook:
        for step in range(350):
            loss = sign * -model(x[next(it)]).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            hook.record_tensor_value("nll", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(model(xv).mean().clamp_min(-50), c)


def gan(record, seed, detach_wrong=False, steps=400):
    torch.manual_seed(seed)
    ang = 2 * math.pi * torch.arange(8) / 8
    centres = torch.stack([ang.cos(), ang.sin()], 1)
    g = gen(seed)
    real = lambda n: (
        centres[torch.randint(0, 8, (n,), generator=g)] + 0.05 * torch.randn(n, 2, generator=g)
    )

    class GAN(nn.Module):
        def __init__(self):
            super().__init__()
            self.gen, self.disc = (
                mlp(8, 64, 64, 2),
                mlp(2, 64, 64, 1, act=lambda: nn.LeakyReLU(0.2)),
            )

    model = GAN()
    og = torch.optim.Adam(model.gen.parameters(), lr=2e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(model.disc.parameters(), lr=2e-3, betas=(0.5, 0.9))
    bce = F.binary_cross_entropy_with_logits
    with record(model, [og, od]) as hook:
        for step in range(steps):
            for _ in range(2):
                r, f = real(256), model.gen(torch.randn(256, 8)).detach()
                xr = r.clone().requires_grad_()
                dr, df = model.disc(xr), model.disc(f)
                grad = torch.autograd.grad(dr.sum(), xr, create_graph=True)[0]
                ld = (
                    bce(dr, torch.ones_like(dr))
                    + bce(df, torch.zeros_like(df))
                    + 0.05 * (grad**2).sum(1).mean()
                )
                od.zero_grad()
                ld.backward()
                od.step()
            fake = model.gen(torch.randn(256, 8))
            if detach_wrong:
                fake = fake.detach()
            d = model.disc(fake)
            lg = bce(d, torch.ones_like(d))
            og.zero_grad()
            lg.backward()
            og.step()
            hook.record_tensor_value("loss_d", ld.item())
            hook.record_tensor_value("loss_g", lg.item())
            hook.end_step()
        with torch.no_grad():
            s = model.gen(torch.randn(2000, 8))
            score(-swd(s, real(2000)), -swd(0.2 * torch.randn(2000, 2), real(2000)))


def augment(x):
    s = torch.randint(-2, 3, (2,))
    x = torch.roll(x, tuple(s.tolist()), (2, 3))
    return x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)) + 0.3 * torch.randn_like(x)


def simclr(record, seed, temperature=0.2, same_view=False):
    torch.manual_seed(seed)
    x, _ = glyphs(3000, seed, classes=20, noise=1.0)
    xv, yv = glyphs(600, seed + 1, classes=20, noise=1.0)
    model = embed_net()
    model.append(nn.ReLU()).append(nn.Linear(32, 32))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    it = batches(seed, len(x), 128)
    chance = retrieval(model, xv, yv)
    model.train()
    with record(model, opt) as hook:
        for step in range(200):
            b = x[next(it)]
            a = augment(b)
            z = F.normalize(
                torch.cat([model(a), model(a.clone() if same_view else augment(b))]), dim=1
            )
            s = z @ z.T / temperature - 1e9 * torch.eye(256)
            loss = F.cross_entropy(s, torch.arange(256).roll(128))
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("nt_xent", loss.item())
            hook.end_step()
        score(retrieval(model, xv, yv), chance)


def byol(record, seed, stop, steps):
    torch.manual_seed(seed)
    x, _ = glyphs(3000, seed, classes=20, noise=1.0)
    xv, yv = glyphs(600, seed + 1, classes=20, noise=1.0)

    class Siam(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = embed_net().append(nn.BatchNorm1d(32))
            self.pred = nn.Sequential(
                nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32)
            )

        def forward(self, x):
            return self.enc(x)

    model = Siam()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    it = batches(seed, len(x), 128)
    chance = retrieval(model, xv, yv)
    model.train()
    with record(model, opt) as hook:
        for step in range(steps):
            b = x[next(it)]
            z1, z2 = model.enc(augment(b)), model.enc(augment(b))
            p1, p2 = model.pred(z1), model.pred(z2)
            if stop:
                z1, z2 = z1.detach(), z2.detach()
            loss = -(F.cosine_similarity(p1, z2).mean() + F.cosine_similarity(p2, z1).mean()) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        score(retrieval(model, xv, yv), chance)


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn, self.out = nn.LSTM(1, hidden, batch_first=True), nn.Linear(hidden, 8)

    def forward(self, x):
        return self.out(self.rnn(x[..., None])[0][:, -1])


def forecast(record, seed, lr=5e-3, clip=1.0, time_shuffled=False, wd=0.0, steps=250, gamma=1.0):
    torch.manual_seed(seed)
    w, wv = waves(3000, 48, seed), waves(500, 48, seed + 1)
    model = Forecaster()
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=wd)
    crit = nn.SmoothL1Loss()
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma)
    it = batches(seed, len(w), 128)
    with record(model, opt, crit) as hook:
        for step in range(steps):
            b = w[next(it)]
            x = b[:, :40]
            if time_shuffled:
                x = x[:, torch.randperm(40)]
            loss = crit(model(x), b[:, 40:])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
            sched.step()
            hook.record_tensor_value("train_loss", loss.item())
            hook.end_step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", crit(model(wv[:, :40]), wv[:, 40:]).item())
        with torch.no_grad():
            score(r2(model(wv[:, :40]), wv[:, 40:]), 0.0)


class Q(nn.Module):
    def __init__(self, n=10):
        super().__init__()
        self.net = mlp(2 * n, 64, 64, 4)

    def forward(self, s):
        return self.net(s)


def grid(s, a, n=10):
    """A 10 x 10 grid; the goal is at (7, 7); reward 1 there, -0.02 a move."""
    d = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])[a]
    t = (s + d).clamp(0, n - 1)
    done = (t == 7).all(1)
    return t, torch.where(done, 1.0, -0.02), done


def hot(s, n=10):
    return F.one_hot(s, n).float().flatten(1)


@torch.no_grad()
def q_success(policy):
    s = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    s = s[(s != 7).any(1)]
    done = torch.zeros(len(s), dtype=torch.bool)
    for _ in range(18):
        t, _, d = grid(s, policy(hot(s)).argmax(1))
        done |= d
        s = t
    return done.float().mean().item()


def dqn(record, seed, update_target=True, steps=400, replay_frozen=False, bootstrap_done=False):
    torch.manual_seed(seed)
    model = Q()
    target = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    mem = None
    s = torch.randint(0, 10, (32, 2))
    before = q_success(model)
    with record(model, opt) as hook:
        for step in range(steps):
            eps = max(0.2, 1 - step / 100)
            with torch.no_grad():
                a = model(hot(s)).argmax(1)
            a = torch.where(torch.rand(32) < eps, torch.randint(0, 4, (32,)), a)
            t, r, d = grid(s, a)
            if not (replay_frozen and step > 2):
                new = (s, a, r, t, d)
                mem = (
                    new
                    if mem is None
                    else tuple(torch.cat([m, k])[-6000:] for m, k in zip(mem, new))
                )
            s = torch.where(
                (d | (torch.rand(32) < 0.05))[:, None], torch.randint(0, 10, (32, 2)), t
            )
            for _ in range(2):
                i = torch.randint(0, len(mem[0]), (256,))
                bs, ba, br, bt, bd = (m[i] for m in mem)
                with torch.no_grad():
                    y = br + 0.95 * (1.0 - bd.float()) * target(hot(bt)).amax(1)
                loss = F.smooth_l1_loss(model(hot(bs)).gather(1, ba[:, None])[:, 0], y)
                opt.zero_grad()
                loss.backward()
                opt.step()
            if update_target and step % 8 == 7:
                target.load_state_dict(model.state_dict())
            hook.record_tensor_value("td_loss", loss.item())
            hook.record_tensor_value("reward", r.mean().item())
            hook.end_step()
        score(q_success(model), before)


def policy_gradient(record, seed, sign=1.0, lr=5e-3, entropy=0.01):
    torch.manual_seed(seed)
    model = Q()
    critic = mlp(20, 64, 1)
    both = nn.ModuleDict({"actor": model, "critic": critic})
    opt = torch.optim.Adam(both.parameters(), lr=lr)
    before = q_success(model)
    with record(both, opt) as hook:
        for step in range(200):
            s = torch.randint(0, 10, (64, 2))
            lp, rew, val, alive, ent = [], [], [], [], []
            live = torch.ones(64)
            for _ in range(16):
                o = hot(s)
                dist = torch.distributions.Categorical(logits=model(o))
                a = dist.sample()
                s, r, d = grid(s, a)
                lp.append(dist.log_prob(a))
                rew.append(r * live)
                val.append(critic(o)[:, 0])
                alive.append(live)
                ent.append(dist.entropy())
                live = live * (~d).float()
            ret, R = [], torch.zeros(64)
            for r in reversed(rew):
                R = r + 0.95 * R
                ret.insert(0, R)
            lp, ret, val, m, ent = map(torch.stack, (lp, ret, val, alive, ent))
            adv = (ret - val).detach()
            adv = (adv - adv[m > 0].mean()) / (adv[m > 0].std() + 1e-6)
            pg = -sign * (lp * adv * m).sum() / m.sum()
            vf = (((val - ret) ** 2) * m).sum() / m.sum()
            loss = pg + 0.5 * vf - entropy * (ent * m).sum() / m.sum()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(both.parameters(), 0.5)
            opt.step()
            hook.record_tensor_value("policy_loss", pg.item())
            hook.record_tensor_value("value_loss", vf.item())
            hook.record_tensor_value("mean_return", ret[0].mean().item())
            hook.end_step()
        score(q_success(model), before)


def burgers_free(record, seed, detach=False, bc=1.0):
    torch.manual_seed(seed)
    model = mlp(1, 48, 48, 1, act=nn.Tanh)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.995)
    f = lambda x: (4 * x).sin() * x
    with record(model, opt) as hook:
        for step in range(400):
            x = (2 * torch.rand(768, 1) - 1).requires_grad_()
            u = model(x)
            du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
            with torch.no_grad():
                rhs = 8 * (4 * x).cos() - 16 * x * (4 * x).sin()
            pde = ((ddu - rhs) ** 2).mean()
            b = torch.tensor([[-1.0], [1.0]])
            edge = ((model(b) - f(b)) ** 2).mean()
            loss = pde + bc * edge
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            g = torch.linspace(-1, 1, 200)[:, None]
            score(max(-5, r2(model(g), f(g))), 0.0)
