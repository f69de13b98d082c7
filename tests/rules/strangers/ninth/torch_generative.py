"""Models that generate: VAE, GAN, diffusion, flow, energy."""

import torch
import torch.nn.functional as F
from torch import nn

from kit import gratings, mlp, moons, picks, r2, ring_of_blobs, sliced, start
from registry import healthy, pair, score


class Vae(nn.Module):
    def __init__(self, n=64, z=4, h=64):
        super().__init__()
        self.z, self.enc, self.dec = z, mlp(n, h, 2 * z), mlp(z, h, h, n)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        return self.dec(mu + (logvar / 2).exp() * torch.randn_like(mu)), mu, logvar


def digits_like(n):
    g = torch.Generator().manual_seed(2)
    basis = torch.randn(3, 64, generator=g)
    return (torch.randn(n, 3) @ basis).tanh() + 0.1 * torch.randn(n, 64)


class Denoiser(nn.Module):
    def __init__(self, h=96, timed=True):
        super().__init__()
        self.timed, self.net = timed, mlp(2 + 16, h, h, 2, act=nn.SiLU)

    def forward(self, x, t):
        f = t[:, None] / 50 * torch.arange(1, 9) * 1.6
        e = torch.cat([f.sin(), f.cos()], 1)
        return self.net(torch.cat([x, e if self.timed else torch.zeros_like(e)], 1))


BETA = torch.linspace(1e-3, 0.2, 50)
ALPHA_BAR = (1 - BETA).cumprod(0)


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(50)):
        e = model(x, torch.full((n,), float(t)))
        x = (x - BETA[t] / (1 - ALPHA_BAR[t]).sqrt() * e) / (1 - BETA[t]).sqrt()
        if t:
            x = x + BETA[t].sqrt() * torch.randn_like(x)
    return x


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip, self.net = flip, mlp(1, 32, 32, 2, act=nn.Tanh)

    def forward(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s, t = self.net(a).chunk(2, 1)
        s = 2 * (s / 2).tanh()
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s[:, 0]

    def inverse(self, y):
        a, b = (y[:, 1:], y[:, :1]) if self.flip else (y[:, :1], y[:, 1:])
        s, t = self.net(a).chunk(2, 1)
        b = (b - t) * (-2 * (s / 2).tanh()).exp()
        return torch.cat([b, a] if self.flip else [a, b], 1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(Coupling(k % 2 == 1) for k in range(6))

    def forward(self, x):
        total = torch.zeros(len(x))
        for p in self.parts:
            x, s = p(x)
            total = total + s
        return x, total

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        for p in reversed(self.parts):
            x = p.inverse(x)
        return x


def gain(fake, real):
    """How much closer than a Gaussian blob of the same mean and spread the samples are (1 is best)."""
    blob = torch.randn_like(real) * real.std(0) + real.mean(0)
    half = len(real) // 2
    floor = sliced(real[:half], real[half : 2 * half])
    base = sliced(blob[:half], real[:half])
    return 1 - (sliced(fake[:half], real[:half]) - floor) / (base - floor)


@healthy
def vae_with_annealed_kl(record, seed):
    start(seed)
    x, xt = digits_like(2000), digits_like(400)
    model = Vae()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for k, i in enumerate(picks(len(x), 40, 700)):
            out, mu, logvar = model(x[i])
            kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
            loss = 5 * ((out - x[i]) ** 2).sum(1).mean() + min(1.0, k / 200) * kl
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(r2(model(xt)[0], xt), 0)


@healthy
def gan_on_two_moons(record, seed):
    start(seed)
    x = moons(4000)[0] * 1.5
    gen, dis = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1, act=lambda: nn.LeakyReLU(0.2))
    model = nn.ModuleDict({"generator": gen, "discriminator": dis})
    og = torch.optim.Adam(gen.parameters(), 1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(dis.parameters(), 2e-3, betas=(0.5, 0.9))
    fade = [torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.05, 1400) for o in (og, od)]
    with record(model, og) as hook:
        for i in picks(len(x), 64, 1400):
            fake = gen(torch.randn(64, 4))
            d = F.softplus(-dis(x[i])).mean() + F.softplus(dis(fake.detach())).mean()
            hook.record_tensor_value("discriminator_loss", d)
            od.zero_grad()
            d.backward()
            od.step()
            g = F.softplus(-dis(fake)).mean()
            hook.record_tensor_value("generator_loss", g)
            og.zero_grad()
            g.backward()
            og.step()
            for f in fade:
                f.step()
    with torch.no_grad():
        score(
            -sliced(gen(torch.randn(1000, 4)), x[:1000]),
            -sliced(0.05 * torch.randn(1000, 2), x[:1000]),
        )


@healthy
def diffusion_of_points_with_ema(record, seed):
    start(seed)
    x, real = ring_of_blobs(4000, 4, 0.15), ring_of_blobs(2000, 4, 0.15)
    model, ema = Denoiser(), Denoiser()
    ema.load_state_dict(model.state_dict())
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 128, 1200):
            t, e = torch.randint(50, (128,)), torch.randn(128, 2)
            a = ALPHA_BAR[t][:, None]
            opt.zero_grad()
            criterion(model(a.sqrt() * x[i] + (1 - a).sqrt() * e, t.float()), e).backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), model.parameters()):
                    p.lerp_(q, 0.01)
    score(gain(sample(ema, 2000), real), 0)


@healthy
def coupling_flow(record, seed):
    start(seed)
    x, real = moons(4000)[0], moons(2000)[0]
    model = Flow()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 100, 900):
            z, logdet = model(x[i])
            loss = (0.5 * (z**2).sum(1) - logdet).mean()
            hook.record_tensor_value("negative_log_likelihood", loss)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
    score(gain(model.sample(2000), real), 0)


@pair("KL term given the wrong weight of three", "middling")
def vae_kl_weight_too_high(record, seed, faulty):
    start(seed)
    x = (gratings(1500, 4, 12, 0.0)[0].flatten(1) > 0).float()
    x, xt = x[:1200], x[1200:]
    model = Vae(144, 8, 96)
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    weight = 3.0 if faulty else 0.5
    with record(model, opt) as hook:
        for i in picks(len(x), 40, 700):
            out, mu, logvar = model(x[i])
            loss = F.binary_cross_entropy_with_logits(out, x[i], reduction="sum") / len(i)
            loss = loss - weight * 0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        score(((model(xt)[0] > 0) == (xt > 0.5)).float().mean(), 0.5)


@pair("the generator's optimizer holds the discriminator's parameters", "gross")
def gan_optimizer_of_the_wrong_net(record, seed, faulty):
    start(seed)
    x = ring_of_blobs(4000) + 1
    gen, dis = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1)
    model = nn.ModuleDict({"g": gen, "d": dis})
    og = torch.optim.Adam((dis if faulty else gen).parameters(), 1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(dis.parameters(), 1e-3, betas=(0.5, 0.9))
    criterion = nn.BCEWithLogitsLoss()
    one, nil = torch.ones(64, 1), torch.zeros(64, 1)
    with record(model, og, criterion):
        for i in picks(len(x), 64, 1000):
            fake = gen(torch.randn(64, 4))
            od.zero_grad()
            (criterion(dis(x[i]), one) + criterion(dis(fake.detach()), nil)).backward()
            od.step()
            og.zero_grad()
            criterion(dis(fake), one).backward()
            og.step()
    with torch.no_grad():
        score(
            -sliced(gen(torch.randn(1000, 4)), x[:1000]),
            -sliced(0.05 * torch.randn(1000, 2), x[:1000]),
        )


@pair("the denoiser is not told the time step", "gross")
def diffusion_without_time(record, seed, faulty):
    start(seed)
    x, real = moons(4000)[0] * 2, moons(2000)[0] * 2
    model = Denoiser(80, timed=not faulty)
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    criterion = nn.MSELoss()
    with record(model, opt, criterion):
        for i in picks(len(x), 128, 900):
            t, e = torch.randint(50, (128,)), torch.randn(128, 2)
            a = ALPHA_BAR[t][:, None]
            opt.zero_grad()
            criterion(model(a.sqrt() * x[i] + (1 - a).sqrt() * e, t.float()), e).backward()
            opt.step()
    score(max(gain(sample(model, 2000), real), -1), 0)


@pair("the log determinant enters the likelihood with the wrong sign", "gross")
def flow_with_wrong_sign(record, seed, faulty):
    start(seed)
    x, real = ring_of_blobs(4000, 3, 0.2), ring_of_blobs(2000, 3, 0.2)
    model = Flow()
    opt = torch.optim.Adam(model.parameters(), 1e-3)
    with record(model, opt) as hook:
        for i in picks(len(x), 100, 500):
            z, logdet = model(x[i])
            loss = (0.5 * (z**2).sum(1) + (logdet if faulty else -logdet)).mean()
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(-min(sliced(model.sample(2000), real), 3), -sliced(torch.randn(2000, 2), real))
