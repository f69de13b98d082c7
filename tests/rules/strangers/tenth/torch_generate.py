"""Generative models as tutorials train them."""

import math, torch, torch.nn as nn, torch.nn.functional as F
from registry import healthy, pair, score
import kit


def faces(n, seed):
    x, _ = kit.digits(n, seed, k=5, size=8, noise=10)
    return x.float() / 255


def ring(n, seed=None):
    g = torch.Generator().manual_seed(seed) if seed is not None else None
    t = torch.randint(0, 6, (n,), generator=g) * math.pi / 3
    return torch.stack([t.cos(), t.sin()], 1) * 1.5 + 0.1 * torch.randn(n, 2, generator=g)


class VAE(nn.Module):
    """pytorch/examples vae"""

    def __init__(self, d=64, h=96, z=6):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(d, h), nn.Linear(h, z), nn.Linear(h, z)
        self.fc3, self.fc4 = nn.Linear(z, h), nn.Linear(h, d)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.flatten(1))
        return self.decode(mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)), mu, logvar


def vae_loss(recon, x, mu, logvar, beta=1.0, reduction="sum"):
    BCE = F.binary_cross_entropy(recon, x.flatten(1), reduction=reduction)
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + beta * KLD


def recon_r2(model, xt):
    with torch.no_grad():
        return kit.r2(model.decode(model.encode(xt.flatten(1))[0]), xt.flatten(1))


@healthy
def vae_mnist(record, seed):
    kit.seed_all(seed)
    x, xt = faces(2000, seed), faces(400, seed + 50)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with record(model, optimizer, None) as hook:
        for epoch in range(30):
            model.train()
            train_loss = 0
            for i in torch.randperm(2000).split(64):
                optimizer.zero_grad()
                recon, mu, logvar = model(x[i])
                loss = vae_loss(recon, x[i], mu, logvar)
                loss.backward()
                train_loss += loss.item()
                optimizer.step()
    score(recon_r2(model, xt), 0)


@pair(
    "the reconstruction term is a mean over all pixels while the KL term is a sum, so the posterior collapses",
    "gross",
)
def vae_mean_recon_sum_kl(record, seed, faulty):
    kit.seed_all(seed)
    x, xt = faces(2000, seed), faces(400, seed + 50)
    model = VAE(h=64, z=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, optimizer, None) as hook:
        for epoch in range(10):
            for i in torch.randperm(2000).split(50):
                recon, mu, logvar = model(x[i])
                loss = vae_loss(recon, x[i], mu, logvar, reduction="mean" if faulty else "sum")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                hook.record_tensor_value("loss", loss)
    score(recon_r2(model, xt), 0)


class VQ(nn.Module):
    def __init__(self, k=32, d=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 24, 4, 2, 1), nn.ReLU(), nn.Conv2d(24, d, 3, 1, 1))
        self.dec = nn.Sequential(
            nn.Conv2d(d, 24, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(24, 1, 4, 2, 1)
        )
        self.codebook = nn.Embedding(k, d)
        self.codebook.weight.data.uniform_(-1 / k, 1 / k)

    def forward(self, x, straight=True):
        z = self.enc(x).permute(0, 2, 3, 1)
        flat = z.reshape(-1, z.shape[-1])
        q = self.codebook(torch.cdist(flat, self.codebook.weight).argmin(1)).view_as(z)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        if straight:
            q = z + (q - z).detach()
        return self.dec(q.permute(0, 3, 1, 2)), loss


def vq_train(record, seed, straight):
    kit.seed_all(seed)
    x, xt = faces(1000, seed), faces(300, seed + 50)
    var = x.var()
    model = VQ()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, opt, None) as hook:
        for epoch in range(14):
            for i in torch.randperm(1000).split(50):
                r, vq = model(x[i], straight)
                loss = F.mse_loss(r, x[i]) / var + vq
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        score(kit.r2(model(xt)[0], xt), 0)


@healthy
def vqvae(record, seed):
    vq_train(record, seed, True)


@pair(
    "the straight-through estimator is missing, so the encoder gets no gradient of the reconstruction",
    "gross",
)
def vqvae_no_straight_through(record, seed, faulty):
    vq_train(record, seed, not faulty)


def mlp(*s, act=nn.ReLU, last=None):
    m = []
    for a, b in zip(s, s[1:]):
        m += [nn.Linear(a, b), act()]
    return nn.Sequential(*m[:-1], *([last] if last else []))


@healthy
def gan_ring_bce(record, seed):
    kit.seed_all(seed)
    G, D = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1, act=lambda: nn.LeakyReLU(0.2))
    criterion = nn.BCEWithLogitsLoss()
    optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
    with record(nn.ModuleList([G, D]), [optD, optG], criterion) as hook:
        for it in range(900):
            real, fake = ring(64), G(torch.randn(64, 8))
            D.zero_grad()
            errD = criterion(D(real), torch.full((64, 1), 0.9)) + criterion(
                D(fake.detach()), torch.zeros(64, 1)
            )
            errD.backward()
            optD.step()
            G.zero_grad()
            criterion(D(fake), torch.ones(64, 1)).backward()
            optG.step()
    with torch.no_grad():
        score(
            -kit.mmd(G(torch.randn(400, 8)), ring(400, 5)),
            -kit.mmd(0.1 * torch.randn(400, 2), ring(400, 5)),
        )


class DG(nn.Module):
    def __init__(self, z=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(z, 32, 4, 1, 0, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(True),
            nn.ConvTranspose2d(32, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z[..., None, None])


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def dcgan(record, seed, detach_g=False, wrong_range=False, iters=350):
    kit.seed_all(seed)
    x = faces(1500, seed) * (1 if wrong_range else 2) - (0 if wrong_range else 1)
    xt = faces(400, seed + 50) * 2 - 1
    netG = DG()
    netD = nn.Sequential(
        nn.Conv2d(1, 24, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2),
        nn.Conv2d(24, 1, 4),
        nn.Flatten(),
        nn.Sigmoid(),
    )
    netG.apply(weights_init)
    netD.apply(weights_init)
    with torch.no_grad():
        base = -kit.mmd(netG(torch.randn(400, 16)), xt)
    bce = nn.BCELoss()
    optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
    with record(nn.ModuleDict({"G": netG, "D": netD}), [optD, optG], bce) as hook:
        for it in range(iters):
            netD.zero_grad()
            bce(netD(x[torch.randint(0, 1500, (64,))]), torch.ones(64, 1)).backward()
            fake = netG(torch.randn(64, 16))
            bce(netD(fake.detach()), torch.zeros(64, 1)).backward()
            optD.step()
            netG.zero_grad()
            bce(netD(fake.detach() if detach_g else fake), torch.ones(64, 1)).backward()
            optG.step()
    with torch.no_grad():
        score(-kit.mmd(netG(torch.randn(400, 16)), xt), base)


@healthy
def dcgan_tutorial(record, seed):
    dcgan(record, seed)


@pair("the fake images are detached in the generator's step too, so it never learns", "gross")
def dcgan_generator_detached(record, seed, faulty):
    dcgan(record, seed, detach_g=faulty, iters=300)


@healthy
def wgan_gp_ring(record, seed):
    kit.seed_all(seed)
    G, C = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1)
    og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.9))
    oc = torch.optim.Adam(C.parameters(), lr=2e-3, betas=(0.0, 0.9))
    with record(nn.ModuleList([G, C]), [og, oc], None) as hook:
        for it in range(160):
            for _ in range(4):
                real, fake = ring(64), G(torch.randn(64, 8)).detach()
                e = torch.rand(64, 1)
                mid = (e * real + (1 - e) * fake).requires_grad_(True)
                gr = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)[0]
                loss = C(fake).mean() - C(real).mean() + 1.0 * ((gr.norm(2, dim=1) - 1) ** 2).mean()
                oc.zero_grad()
                loss.backward()
                oc.step()
            gl = -C(G(torch.randn(64, 8))).mean()
            og.zero_grad()
            gl.backward()
            og.step()
    with torch.no_grad():
        score(
            -kit.mmd(G(torch.randn(400, 8)), ring(400, 5)),
            -kit.mmd(0.1 * torch.randn(400, 2), ring(400, 5)),
        )


def temb(t, d=16):
    f = torch.exp(-math.log(100.0) * torch.arange(d // 2) / (d // 2))
    a = t[:, None].float() * f
    return torch.cat([a.sin(), a.cos()], 1)


class Eps(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.net = mlp(18, h, h, h, 2, act=nn.SiLU)

    def forward(self, x, t):
        return self.net(torch.cat([x, temb(t)], 1))


def ddpm(record, seed, faulty_time=False, target_x0=False, ema_decay=None, iters=900, N=40):
    kit.seed_all(seed)
    beta = torch.linspace(1e-3, 0.2, N)
    alpha = 1 - beta
    bar = alpha.cumprod(0)
    model = Eps()
    ema = Eps()
    ema.load_state_dict(model.state_dict())
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    with record(model, opt, None) as hook:
        for it in range(iters):
            x0 = ring(128)
            t = (
                torch.randint(0, N, (1,)).expand(128)
                if faulty_time
                else torch.randint(0, N, (128,))
            )
            noise = torch.randn_like(x0)
            xt = bar[t].sqrt()[:, None] * x0 + (1 - bar[t]).sqrt()[:, None] * noise
            loss = F.mse_loss(model(xt, t), x0 if target_x0 else noise)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if ema_decay:
                with torch.no_grad():
                    for a, b in zip(ema.parameters(), model.parameters()):
                        a.lerp_(b, 1 - ema_decay)
            hook.record_tensor_value("loss", loss)
    net = ema if ema_decay else model
    with torch.no_grad():
        x = torch.randn(500, 2)
        for i in reversed(range(N)):
            e = net(x, torch.full((500,), i))
            x = (x - beta[i] / (1 - bar[i]).sqrt() * e) / alpha[i].sqrt() + (
                beta[i].sqrt() * torch.randn_like(x) if i else 0
            )
        x = x.nan_to_num(9, 9, -9)
        score(-kit.mmd(x, ring(500, 5)), -kit.mmd(torch.randn(500, 2), ring(500, 5)))


@healthy
def ddpm_with_ema(record, seed):
    ddpm(record, seed, ema_decay=0.99, iters=1600)


@pair(
    "the network is trained to predict the clean sample, the sampler takes it as the noise", "gross"
)
def ddpm_wrong_target(record, seed, faulty):
    ddpm(record, seed, target_x0=faulty, iters=1200)


@healthy
def flow_matching(record, seed):
    kit.seed_all(seed)
    model = Eps()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with record(model, opt, None) as hook:
        for it in range(800):
            x1 = ring(128)
            x0 = torch.randn_like(x1)
            t = torch.rand(128)
            xt = (1 - t)[:, None] * x0 + t[:, None] * x1
            loss = (model(xt, t * 10) - (x1 - x0)).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
    with torch.no_grad():
        x = torch.randn(500, 2)
        for i in range(30):
            x = x + model(x, torch.full((500,), i / 3)) / 30
        score(-kit.mmd(x, ring(500, 5)), -kit.mmd(torch.randn(500, 2), ring(500, 5)))


class Coupling(nn.Module):
    """RealNVP in two dimensions"""

    def __init__(self, flip):
        super().__init__()
        self.flip, self.net = flip, mlp(1, 48, 48, 2, act=nn.Tanh)

    def forward(self, x):
        a, b = (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


@pair("the log-determinant is left out of the flow's likelihood", "gross")
def realnvp_no_logdet(record, seed, faulty):
    kit.seed_all(seed)
    flow = nn.ModuleList(Coupling(i % 2) for i in range(6))

    def logp(x, det=True):
        ld = 0
        for f in flow:
            x, d = f(x)
            ld = ld + d
        return -0.5 * (x**2).sum(1) - math.log(2 * math.pi) + (ld if det else 0)

    opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
    with record(flow, opt, None) as hook:
        for it in range(450):
            loss = -logp(ring(128), not faulty).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            opt.step()
    with torch.no_grad():
        z = ring(500, 5)
        score(
            max(logp(z).mean().item(), -50), (-0.5 * (z**2).sum(1) - math.log(2 * math.pi)).mean()
        )
