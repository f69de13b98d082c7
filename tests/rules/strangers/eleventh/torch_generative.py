"""Autoencoders, VAE, GAN, diffusion, flows, energy-based models."""

import copy
import math
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


def mlp(*d, act=nn.ReLU):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


def ring(n, seed):
    """Eight modes on a ring."""
    g = torch.Generator().manual_seed(seed)
    k = torch.randint(0, 8, (n,), generator=g)
    a = k * math.pi / 4
    return torch.stack([a.cos(), a.sin()], 1) * 2 + 0.1 * torch.randn(n, 2, generator=g)


def moons(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = math.pi * torch.rand(n, generator=g)
    u = torch.rand(n, generator=g) < 0.5
    x = torch.where(u, t.cos(), 1 - t.cos())
    y = torch.where(u, t.sin(), 0.5 - t.sin())
    return (
        torch.stack([x, y], 1) + 0.07 * torch.randn(n, 2, generator=g) - torch.tensor([0.5, 0.25])
    ) * 1.4


def sample_quality(s, ref):
    """Minus the energy distance (0 is the best)."""
    if not torch.isfinite(s).all():
        return -5.0
    s, ref = s[:800], ref[:800]
    return (
        -(2 * torch.cdist(s, ref).mean() - torch.cdist(s, s).mean() - torch.cdist(ref, ref).mean())
        .clamp(max=5)
        .item()
    )


def blobs(n, seed, d=48):
    """Signals on a curved manifold of 4 factors."""
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, d)
    c = torch.rand(n, 2, generator=g)
    w = 0.05 + 0.1 * torch.rand(n, 2, generator=g)
    x = sum(torch.exp(-(((t - c[:, i : i + 1]) / w[:, i : i + 1]) ** 2)) for i in range(2))
    return (x / 2 + 0.02 * torch.randn(n, d, generator=g)).clamp(0, 1)


def r2(pred, x):
    return (
        max(-1.0, 1 - ((pred - x) ** 2).mean().item() / x.var(0).mean().item())
        if torch.isfinite(pred).all()
        else -1.0
    )


@healthy
def denoising_autoencoder(record, seed):
    torch.manual_seed(seed)
    x, v = blobs(3000, seed), blobs(500, seed + 9)
    model = mlp(48, 64, 8, 64, 48, act=nn.GELU)
    opt = torch.optim.AdamW(model.parameters(), 3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(1500):
            b = x[torch.randint(0, 3000, (64,))]
            opt.zero_grad()
            crit(model(b + 0.1 * torch.randn_like(b)), b).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(v + 0.1 * torch.randn_like(v)), v)
    score(q, 0.0)


@healthy
def sparse_autoencoder_l1(record, seed):
    """Most units are zero on purpose."""
    torch.manual_seed(seed)
    d = F.normalize(torch.randn(64, 24), dim=1)

    def data(n):
        z = torch.rand(n, 64) * (torch.rand(n, 64) < 0.05)
        return z @ d

    model = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 24))
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt, None) as hook:
        for s in range(1500):
            b = data(128)
            h = model[1](model[0](b))
            loss = (model[2](h) - b).pow(2).sum(1).mean() + 0.01 * h.abs().sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                model[2].weight.data = F.normalize(model[2].weight.data, dim=0)
        v = data(1000)
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(v), v)
    score(q, 0.0)


class VAE(nn.Module):
    def __init__(self, d=48, z=4):
        super().__init__()
        self.enc = mlp(d, 64, 64, 2 * z)
        self.dec = mlp(z, 64, 64, d)

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp() if self.training else mu
        return self.dec(z), mu, lv


def train_vae(record, seed, beta, anneal=0, n_steps=1200, sum_kl=True, sigma2=0.005):
    torch.manual_seed(seed)
    x, v = blobs(3000, seed), blobs(500, seed + 9)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt, None) as hook:
        for s in range(n_steps):
            b = x[torch.randint(0, 3000, (64,))]
            out, mu, lv = model(b)
            rec = ((out - b) ** 2).sum(1).mean() / (2 * sigma2)
            kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(1).mean()
            loss = rec + beta * (min(1, s / anneal) if anneal else 1) * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            model.eval()
            q = r2(model(v)[0], v)
    score(q, 0.0)


@healthy
def vae_kl_annealing(record, seed):
    """The loss rises while the weight of the KL is annealed: normal."""
    train_vae(record, seed, 1.0, anneal=600)


@pair(
    "the KL term is weighted as if per pixel, 200 times too heavy: the posterior collapses", "gross"
)
def vae_posterior_collapse(record, seed, faulty):
    train_vae(record, seed, 200.0 if faulty else 1.0)


def train_gan(
    record, seed, d_lr=1e-3, g_lr=1e-3, detach=True, zero_d=True, real_label=0.9, steps=1800
):
    torch.manual_seed(seed)
    x = ring(4000, seed)
    gen, dis = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1, act=lambda: nn.LeakyReLU(0.2))
    model = nn.ModuleDict({"g": gen, "d": dis})
    og = torch.optim.Adam(gen.parameters(), g_lr, betas=(0.5, 0.99))
    od = torch.optim.Adam(dis.parameters(), d_lr, betas=(0.5, 0.99))
    crit = nn.BCEWithLogitsLoss()
    one = torch.ones(128, 1)
    with record(model, [og, od], crit) as hook:
        for s in range(steps):
            real = x[torch.randint(0, 4000, (128,))] + 0.05 * torch.randn(128, 2)
            fake = gen(torch.randn(128, 8))
            ld = crit(dis(real), one * real_label) + crit(dis(fake.detach()), one * 0)
            if zero_d:
                od.zero_grad()
            ld.backward()
            od.step()
            lg = crit(dis(fake if detach else fake.detach()), one)
            og.zero_grad()
            lg.backward()
            og.step()
        with record.evaluation(hook), torch.no_grad():
            q = sample_quality(gen(torch.randn(1000, 8)), ring(1000, seed + 5))
    score(q, sample_quality(torch.randn(1000, 2) * 0.2, ring(1000, seed + 5)))


@healthy
def gan_ring_bce(record, seed):
    train_gan(record, seed)


@pair("the fake batch is detached in the generator's step too, the generator never learns", "gross")
def gan_generator_detached(record, seed, faulty):
    train_gan(record, seed, detach=not faulty)


@pair(
    "the generator's learning rate is 20 times the discriminator's: it jumps from mode to mode",
    "gross",
)
def gan_generator_lr(record, seed, faulty):
    train_gan(record, seed, g_lr=0.02 if faulty else 1e-3)


@healthy
def wgan_gp_critic_negative(record, seed):
    """Critic losses go negative and the penalty needs double backward."""
    torch.manual_seed(seed)
    x = moons(4000, seed)
    gen, dis = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1, act=nn.SiLU)
    model = nn.ModuleList([gen, dis])
    og, od = torch.optim.Adam(gen.parameters(), 5e-4, betas=(0.0, 0.9)), torch.optim.Adam(
        dis.parameters(), 1e-3, betas=(0.0, 0.9)
    )
    with record(model, [og, od], None) as hook:
        for s in range(500):
            for _ in range(3):
                real = x[torch.randint(0, 4000, (128,))]
                with torch.no_grad():
                    fake = gen(torch.randn(128, 4))
                e = torch.rand(128, 1)
                m = (e * real + (1 - e) * fake).requires_grad_(True)
                gr = torch.autograd.grad(dis(m).sum(), m, create_graph=True)[0]
                loss = dis(fake).mean() - dis(real).mean() + 5 * ((gr.norm(dim=1) - 1) ** 2).mean()
                od.zero_grad()
                loss.backward()
                od.step()
            lg = -dis(gen(torch.randn(128, 4))).mean()
            og.zero_grad()
            lg.backward()
            og.step()
        with record.evaluation(hook), torch.no_grad():
            q = sample_quality(gen(torch.randn(1000, 4)), moons(1000, seed + 5))
    score(q, sample_quality(torch.randn(1000, 2) * 0.2, moons(1000, seed + 5)))


class Eps(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.register_buffer("f", 2.0 ** torch.arange(6) * math.pi)
        self.net = mlp(2 + 12, h, h, 2, act=nn.SiLU)

    def forward(self, x, t):
        a = t[:, None] * self.f / 4
        return self.net(torch.cat([x, a.sin(), a.cos()], 1))


def train_ddpm(record, seed, t_bug=False, ema_decay=0.99, sqrt_bug=False, steps=2000):
    torch.manual_seed(seed)
    x = ring(4000, seed) / 1.42
    T = 60
    beta = torch.linspace(1e-3, 0.15, T)
    ab = (1 - beta).cumprod(0)
    model = Eps()
    opt = torch.optim.AdamW(model.parameters(), 4e-3, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    ema = copy.deepcopy(model).requires_grad_(False)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(steps):
            b = x[torch.randint(0, 4000, (128,))]
            t = torch.randint(0, T, (128,))
            n = torch.randn_like(b)
            a = ab[t][:, None]
            xt = (a * b + (1 - a) * n) if sqrt_bug else (a.sqrt() * b + (1 - a).sqrt() * n)
            tin = torch.zeros(128) if t_bug else t / T
            opt.zero_grad()
            loss = crit(model(xt, tin), n)
            loss.backward()
            opt.step()
            sched.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), model.parameters()):
                    p.lerp_(q, 1 - ema_decay)
        with record.evaluation(hook), torch.no_grad():
            z = torch.randn(1000, 2)
            for k in reversed(range(T)):
                e = ema(z, torch.full((1000,), k / T))
                z = (z - beta[k] / (1 - ab[k]).sqrt() * e) / (1 - beta[k]).sqrt()
                if k:
                    z = z + beta[k].sqrt() * torch.randn_like(z)
            ref = ring(1000, seed + 5) / 1.42
            q = sample_quality(z, ref)
    score(q, sample_quality(torch.randn(1000, 2) * 0.2, ref))


@healthy
def ddpm_noise_prediction(record, seed):
    train_ddpm(record, seed)


@pair("the time step given to the noise predictor in training is always zero", "middling")
def ddpm_no_time(record, seed, faulty):
    train_ddpm(record, seed, t_bug=faulty)


@pair(
    "the exponential moving average used for sampling decays by 0.99999 over 1,200 steps, it is still the random network",
    "gross",
)
def ddpm_ema_too_slow(record, seed, faulty):
    train_ddpm(record, seed, ema_decay=0.99999 if faulty else 0.99, steps=1200)


@healthy
def flow_matching(record, seed):
    """A loss that stays near a high floor, as the target is random."""
    torch.manual_seed(seed)
    x = moons(4000, seed)
    model = Eps()
    opt = torch.optim.RAdam(model.parameters(), 3e-3)
    with record(model, opt, None) as hook:
        for s in range(1500):
            b = x[torch.randint(0, 4000, (128,))]
            n, t = torch.randn_like(b), torch.rand(128)
            loss = F.mse_loss(model((1 - t[:, None]) * n + t[:, None] * b, t), b - n)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            z = torch.randn(1000, 2)
            for k in range(40):
                z = z + model(z, torch.full((1000,), k / 40)) / 40
            ref = moons(1000, seed + 5)
            q = sample_quality(z, ref)
    score(q, sample_quality(torch.randn(1000, 2) * 0.3, ref))


class Coupling(nn.Module):
    def __init__(self, flip, h=48):
        super().__init__()
        self.flip, self.net = flip, mlp(1, h, h, 2, act=nn.Tanh)
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s, t = self.net(a).chunk(2, 1)
        s = s.clamp(-2, 2)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.squeeze(1)


def train_flow(record, seed, no_flip=False, no_det=False):
    torch.manual_seed(seed)
    x, v = moons(3000, seed) / 3, moons(800, seed + 5) / 3
    model = nn.ModuleList(Coupling(k % 2 == 1 and not no_flip) for k in range(6))
    opt = torch.optim.Adam(model.parameters(), 2e-3)

    def nll(z, det=True):
        ld = 0
        for c in model:
            z, d = c(z)
            ld = ld + d
        return (0.5 * z**2).sum(1) + math.log(2 * math.pi) - (ld if det else 0.3 * ld)

    with record(model, opt, None) as hook:
        for s in range(600):
            loss = nll(x[torch.randint(0, 3000, (128,))], not no_det).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = -nll(v).mean().clamp(max=20).item()
    sd = torch.distributions.MultivariateNormal(x.mean(0), covariance_matrix=torch.cov(x.T))
    score(q, sd.log_prob(v).mean().item() - 0.2)


@healthy
def realnvp_negative_loss(record, seed):
    train_flow(record, seed)


@pair("all coupling layers transform the same half, the other half is never modelled", "gross")
def flow_same_half(record, seed, faulty):
    train_flow(record, seed, no_flip=faulty)


@pair("the log-determinant enters the likelihood with three tenths of its weight", "middling")
def flow_logdet_weight(record, seed, faulty):
    train_flow(record, seed, no_det=faulty)


@healthy
def energy_score_matching(record, seed):
    """Denoising score matching of an energy; the force is the negative gradient."""
    torch.manual_seed(seed)
    x, v = moons(3000, seed), moons(1000, seed + 5)
    model = mlp(2, 64, 64, 1, act=nn.SiLU)
    opt = torch.optim.Adam(model.parameters(), 3e-3)

    def loss_of(b):
        n = torch.randn_like(b)
        y = (b + 0.3 * n).requires_grad_(True)
        g = torch.autograd.grad(model(y).sum(), y, create_graph=True)[0]
        return ((-g * 0.3 + n) ** 2).sum(1).mean()

    with record(model, opt, None) as hook:
        for s in range(1000):
            loss = loss_of(x[torch.randint(0, 3000, (128,))])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            q = -loss_of(v).item()
    score(q, -2.0)


@pair(
    "the autoencoder's output is a sigmoid but the data were standardized to zero mean, half of the values cannot be reached",
    "middling",
)
def ae_sigmoid_standardized(record, seed, faulty):
    torch.manual_seed(seed)
    x, v = blobs(3000, seed), blobs(500, seed + 9)
    if faulty:
        m, s = x.mean(), x.std()
        x, v = (x - m) / s, (v - m) / s
    model = nn.Sequential(mlp(48, 64, 6, 64, 48), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.MSELoss()
    with record(model, opt, crit) as hook:
        for s in range(1200):
            b = x[torch.randint(0, 3000, (64,))]
            opt.zero_grad()
            crit(model(b), b).backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(v), v)
    score(q, 0.0)


@healthy
def vq_autoencoder_straight_through(record, seed):
    torch.manual_seed(seed)
    x, v = blobs(3000, seed), blobs(500, seed + 9)

    class VQ(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = mlp(48, 64, 32), mlp(32, 64, 48)
            self.code = nn.Embedding(32, 4)
            nn.init.uniform_(self.code.weight, -0.5, 0.5)

        def forward(self, x):
            z = self.enc(x).view(-1, 8, 4)
            i = torch.cdist(z.detach(), self.code.weight[None].detach()).argmin(-1)
            q = self.code(i)
            aux = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
            return self.dec((z + (q - z).detach()).flatten(1)), aux

    model = VQ()
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt, None) as hook:
        for s in range(1200):
            b = x[torch.randint(0, 3000, (64,))]
            out, aux = model(b)
            loss = F.mse_loss(out, b) * 20 + aux
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            q = r2(model(v)[0], v)
    score(q, 0.0)
