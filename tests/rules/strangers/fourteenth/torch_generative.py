"""Autoencoders, VAEs, GANs, diffusion, flows, energy models, fields and physics."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from kit import batches, digits, mlp, moons, r2, seed_all
from registry import healthy, pair, score


def mmd(a, b):
    """A distance between two samples."""

    def k(u, v):
        d = torch.cdist(u, v) ** 2
        return sum(torch.exp(-d / s) for s in (0.1, 0.5, 2.0)).mean()

    return (k(a, a) + k(b, b) - 2 * k(a, b)).clamp(min=0).sqrt().item()


def rings(n):
    k = torch.randint(3, (n,)) * math.pi * 2 / 3 + 0.4
    return torch.stack([1.5 * k.cos() + 0.5, k.sin()], 1) + 0.2 * torch.randn(n, 2)


# ---- VAE ----
class Vae(nn.Module):
    def __init__(self, z=6):
        super().__init__()
        self.enc, self.dec = mlp(144, 96, 2 * z), mlp(z, 96, 144)

    def forward(self, x, sample=True):
        mean, log_var = self.enc(x).chunk(2, 1)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean) if sample else mean
        return self.dec(z), mean, log_var


def vae(
    record, seed, beta=1.0, kl_sign=1.0, reduce_mean=False, epochs=10, anneal=False, detach=False
):
    seed_all(seed)
    x = digits(1400, noise=0.1)[0].flatten(1)
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    with record(model, optimizer) as hook:
        for epoch in range(epochs):
            for i in batches(1200, 40):
                out, mean, log_var = model(x[i])
                if detach:
                    out = model.dec(
                        (mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)).detach()
                    )
                rec = ((out - x[i]) ** 2).sum(1) / 0.1
                kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1)
                if reduce_mean:
                    rec = rec / 1440
                b = beta * min(1.0, step / 150) if anneal else beta
                loss = (rec + b * kl_sign * kl).mean()
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
    with torch.no_grad():
        score(r2(model(x[1200:], sample=False)[0], x[1200:]), 0.0)


@healthy
def vae_annealed(record, seed):
    """The loss rises while the KL weight grows."""
    vae(record, seed, anneal=True)


@pair("reconstruction is averaged over pixels while KL is summed: posterior collapse", "gross")
def vae_collapse(record, seed, faulty):
    vae(record, seed, reduce_mean=faulty)


@pair("beta is 6, so much of the code is unused", "middling")
def vae_beta(record, seed, faulty):
    vae(record, seed, beta=6.0 if faulty else 1.0)


@healthy
def denoising_autoencoder(record, seed):
    seed_all(seed)
    x = digits(1200, noise=0.05)[0]
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1, stride=2),
        nn.SiLU(),
        nn.Conv2d(12, 24, 3, padding=1, stride=2),
        nn.SiLU(),
        nn.ConvTranspose2d(24, 12, 2, stride=2),
        nn.SiLU(),
        nn.ConvTranspose2d(12, 1, 2, stride=2),
    )
    optimizer = torch.optim.RAdam(model.parameters(), lr=4e-3)
    criterion = nn.MSELoss()
    with record(model, optimizer, criterion) as hook:
        for epoch in range(8):
            model.train()
            for i in batches(1000, 25):
                loss = criterion(model(x[i] + 0.4 * torch.randn_like(x[i])), x[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with record.evaluation(hook):
                model.eval()
                with torch.no_grad():
                    criterion(model(x[1000:]), x[1000:])
    with torch.no_grad():
        score(r2(model(x[1000:] + 0.4 * torch.randn_like(x[1000:])), x[1000:]), 0.0)


# ---- GAN ----
def gan(
    record,
    seed,
    steps=700,
    g_lr=1e-3,
    d_lr=1e-3,
    fake_detached=True,
    wrong_labels=False,
    wasserstein=False,
    shared=False,
    clip=0.05,
    both=True,
):
    seed_all(seed)
    data = rings(2000)
    g, d = mlp(4, 64, 64, 2), mlp(2, 64, 64, 1, act=lambda: nn.LeakyReLU(0.2))
    og = torch.optim.Adam(g.parameters(), lr=g_lr, betas=(0.5, 0.9))
    od = torch.optim.Adam(d.parameters(), lr=d_lr, betas=(0.5, 0.9))
    bce = nn.BCEWithLogitsLoss()
    one, zero = torch.ones(64, 1), torch.zeros(64, 1)
    with record([g, d], [og, od] if both else None) as hook:
        for step in range(steps):
            real = data[torch.randint(2000, (64,))]
            fake = g(torch.randn(64, 4))
            dr, df = d(real), d(fake.detach())
            if wasserstein:
                e = torch.rand(64, 1)
                mix = (e * real + (1 - e) * fake.detach()).requires_grad_()
                gp = (
                    (torch.autograd.grad(d(mix).sum(), mix, create_graph=True)[0].norm(dim=1) - 1)
                    .pow(2)
                    .mean()
                )
                loss_d = df.mean() - dr.mean() + 2 * gp
            else:
                loss_d = bce(dr, one) + bce(df, zero)
            hook.record_tensor_value("loss_d", loss_d)
            od.zero_grad()
            loss_d.backward()
            od.step()
            fake = g(torch.randn(64, 4))
            out = d(fake if fake_detached else fake.detach())
            loss_g = -out.mean() if wasserstein else bce(out, zero if wrong_labels else one)
            hook.record_tensor_value("loss_g", loss_g)
            og.zero_grad()
            loss_g.backward()
            og.step()
    with torch.no_grad():
        score(-mmd(g(torch.randn(600, 4)), rings(600)), -mmd(0.3 * torch.randn(600, 2), rings(600)))


@healthy
def wgan_gp(record, seed):
    gan(record, seed, wasserstein=True, g_lr=5e-4, d_lr=1e-3)


@pair("the generator's fakes are detached from the discriminator's verdict", "gross")
def gan_detached(record, seed, faulty):
    gan(record, seed, fake_detached=not faulty, steps=500, both=False)


@pair("the discriminator learns a hundred times too slowly", "gross")
def gan_slow_critic(record, seed, faulty):
    gan(record, seed, d_lr=1e-5 if faulty else 1e-3, steps=600)


# ---- diffusion ----
def diffusion(
    record,
    seed,
    steps=900,
    T=50,
    target="noise",
    same_t=False,
    time_scale=1.0,
    ema_decay=0.98,
    forget_t=False,
):
    seed_all(seed)
    data = rings(2000)
    beta = torch.linspace(1e-3, 0.15, T)
    bar = torch.cumprod(1 - beta, 0)
    net = mlp(2 + 8, 96, 96, 2, act=nn.SiLU)
    ema = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)

    def embed(t):
        w = (t.float() * time_scale / T)[:, None] * torch.tensor([1.0, 2.0, 4.0, 8.0]) * 3
        return torch.cat([w.sin(), w.cos()], 1)

    with record(net, optimizer) as hook:
        for step in range(steps):
            x = data[torch.randint(2000, (128,))]
            t = torch.full((128,), T - 1) if same_t else torch.randint(T, (128,))
            noise = torch.randn_like(x)
            b = bar[t][:, None]
            xt = b.sqrt() * x + (1 - b).sqrt() * noise
            out = net(torch.cat([xt, embed(t * 0 if forget_t else t)], 1))
            loss = F.mse_loss(out, noise if target == "noise" else x)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), net.parameters()):
                    p.lerp_(q, 1 - ema_decay)
    with torch.no_grad():
        x = torch.randn(600, 2)
        for t in reversed(range(T)):
            e = ema(torch.cat([x, embed(torch.full((600,), t))], 1))
            x = (x - beta[t] / (1 - bar[t]).sqrt() * e) / (1 - beta[t]).sqrt()
            if t:
                x = x + beta[t].sqrt() * torch.randn_like(x)
        score(-mmd(x.clamp(-5, 5), rings(600)), -mmd(torch.randn(600, 2), rings(600)))


@pair("the network learns to predict the clean point but the sampler takes it for noise", "gross")
def ddpm_target(record, seed, faulty):
    diffusion(record, seed, target="clean" if faulty else "noise")


@pair(
    "the EMA decay of 0.9999 is far too slow for 900 steps; the averaged weights are near the start",
    "gross",
)
def ddpm_ema(record, seed, faulty):
    diffusion(record, seed, ema_decay=0.9999 if faulty else 0.98)


@healthy
def flow_matching_moons(record, seed):
    """Loss stays high: its floor is the conditional variance."""
    seed_all(seed)
    data = moons(2000)[0]
    net = mlp(3, 96, 96, 2, act=nn.SiLU)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, 800, power=1.0)
    criterion = nn.MSELoss()
    with record(net, optimizer, criterion):
        for step in range(800):
            x1, x0, t = data[torch.randint(2000, (128,))], torch.randn(128, 2), torch.rand(128, 1)
            loss = criterion(net(torch.cat([(1 - t) * x0 + t * x1, t], 1)), x1 - x0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        x = torch.randn(600, 2)
        for k in range(30):
            x = x + net(torch.cat([x, torch.full((600, 1), k / 30)], 1)) / 30
        score(-mmd(x, moons(600)[0]), -mmd(torch.randn(600, 2), moons(600)[0]))


# ---- normalising flow ----
class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.net, self.flip = mlp(1, 32, 32, 2, act=nn.Tanh), flip

    def forward(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.squeeze(1)


def realnvp(record, seed, determinant=True, lr=3e-3, alternate=True, steps=600):
    seed_all(seed)
    data = moons(2400)[0]
    layers = nn.ModuleList(Coupling(k % 2 == 1 if alternate else False) for k in range(6))
    optimizer = torch.optim.Adam(layers.parameters(), lr=lr)

    def log_prob(x, honest=True):
        total = 0
        for layer in layers:
            x, s = layer(x)
            total = total + s
        base = -0.5 * (x**2).sum(1) - math.log(2 * math.pi)
        return base + total if honest else base

    with record(layers, optimizer) as hook:
        for step in range(steps):
            loss = -log_prob(data[torch.randint(2000, (100,))], determinant).mean()
            hook.record_tensor_value("nll", loss)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(layers.parameters(), 5.0)
            optimizer.step()
    with torch.no_grad():
        score(log_prob(data[2000:]).mean().clamp(min=-20), -2.4)


@pair("the flow's loss leaves out the log-determinant", "gross")
def realnvp_determinant(record, seed, faulty):
    realnvp(record, seed, determinant=not faulty, steps=400)


@pair("coupling layers do not alternate, so one coordinate is never transformed", "middling")
def realnvp_one_sided(record, seed, faulty):
    realnvp(record, seed, alternate=not faulty, steps=400)


# ---- fields ----
def field(n=28):
    g = torch.linspace(-1, 1, n)
    u, v = torch.meshgrid(g, g, indexing="ij")
    xy = torch.stack([u, v], -1).view(-1, 2)
    c = torch.stack(
        [torch.sin(9 * u + 4 * v), torch.cos(8 * v * u), torch.sign(u * v) * 0.7], -1
    ).view(-1, 3)
    return xy, c


class Sine(nn.Module):
    def __init__(self, i, o, w=20.0, first=False):
        super().__init__()
        self.linear, self.w = nn.Linear(i, o), w
        bound = 1 / i if first else math.sqrt(6 / i) / w
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.w * self.linear(x))


def siren(record, seed, fixed=True, steps=250, lr=1e-3):
    seed_all(seed)
    xy, c = field()
    model = nn.Sequential(Sine(2, 48, first=True), Sine(48, 48), Sine(48, 48), nn.Linear(48, 3))
    if not fixed:
        for m in model.modules():
            if isinstance(m, nn.Linear):
                m.reset_parameters()
                m.weight.data.mul_(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    held = torch.rand(len(xy)) < 0.2
    with record(model, optimizer) as hook:
        for step in range(steps):
            loss = F.mse_loss(model(xy[~held]), c[~held])
            hook.record_tensor_value("mse", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        score(r2(model(xy[held]), c[held]), 0.0)


@pair("SIREN layers were initialised as ordinary wide ones", "gross")
def siren_init(record, seed, faulty):
    siren(record, seed, fixed=not faulty, lr=5e-4)


def fourier(record, seed, scale=2.0, depth_sigma=True, wrong_order=False, steps=400):
    """NeRF-like: rays through a density field in 1-d, composited."""
    seed_all(seed)
    rays = torch.rand(400, 2) * 2 - 1
    z = torch.linspace(0, 1, 24)

    def truth(p):
        d = 12 * torch.exp(-((p - 0.2) ** 2).sum(-1) / 0.05) + 12 * torch.exp(
            -((p + 0.4) ** 2).sum(-1) / 0.08
        )
        return d, 0.5 + 0.5 * torch.sin(3 * p[..., :1] + torch.tensor([0.0, 2.0, 4.0]))

    def points(r):
        return torch.cat(
            [r[:, None].expand(-1, 24, -1), (z * 2 - 1)[None, :, None].expand(len(r), -1, 1)], -1
        )

    def composite(d, c, cumulative=True):
        a = 1 - torch.exp(-d / 24)
        t = torch.cumprod(torch.cat([torch.ones(len(d), 1), 1 - a + 1e-6], 1), 1)[:, :-1]
        if not cumulative:
            t = t.detach() * 0 + 1
        return ((a * t)[..., None] * c).sum(1)

    with torch.no_grad():
        target = composite(*truth(points(rays)))
    b = torch.randn(3, 16) * scale
    model = mlp(32, 64, 64, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def render(r, cumulative=True):
        p = points(r) @ b
        o = model(torch.cat([p.sin(), p.cos()], -1))
        return composite(F.softplus(o[..., 0]) * 6, o[..., 1:].sigmoid(), cumulative)

    with record(model, optimizer) as hook:
        for step in range(steps):
            i = torch.randint(320, (32,))
            loss = F.mse_loss(render(rays[i], not wrong_order), target[i])
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        score(max(-1.0, r2(render(rays[320:]), target[320:])), 0.0)


@pair("the Fourier features' scale is six times too fine: it memorises rays", "mild")
def nerf_scale(record, seed, faulty):
    fourier(record, seed, scale=6.0 if faulty else 1.0)


# ---- physics ----
def pinn(record, seed, boundary=1.0, second=True, steps=500, act=nn.Tanh, lr=3e-3):
    """u'' = -pi^2 sin(pi x), u(0)=0, u(1)=0."""
    seed_all(seed)
    model = mlp(1, 24, 24, 1, act=act)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
    edge, value = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [0.5]])
    with record(model, optimizer) as hook:
        for step in range(steps):
            x = torch.rand(64, 1, requires_grad=True)
            u = model(x)
            du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            ddu = torch.autograd.grad(du.sum(), x, create_graph=second)[0]
            residual = (ddu if second else ddu.detach()) + math.pi**2 * torch.sin(math.pi * x)
            loss = residual.pow(2).mean() + boundary * (model(edge) - value).pow(2).mean()
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        x = torch.linspace(0, 1, 200)[:, None]
        score(max(-2.0, r2(model(x), torch.sin(math.pi * x) + 0.5 * x)), 0.0)


@healthy
def pinn_poisson(record, seed):
    pinn(record, seed, boundary=50.0, steps=800)


@pair("the boundary's weight in the loss is 0.01 instead of 50", "gross")
def pinn_boundary(record, seed, faulty):
    pinn(record, seed, boundary=1e-2 if faulty else 50.0)
