"""Generative models, reinforcement learning, self-supervised and contrastive learning, other settings. Fine trainings."""

import copy, math, random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *
from gen_rl_parts import *


@healthy
def ring_gan(record, seed):
    """Non-saturating GAN with spectral norm: losses go to and fro, no trend."""
    torch.manual_seed(seed)
    G = mlp(8, 96, 96, 2)
    D = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(2, 96)),
        nn.LeakyReLU(0.2),
        nn.utils.parametrizations.spectral_norm(nn.Linear(96, 96)),
        nn.LeakyReLU(0.2),
        nn.Linear(96, 1),
    )
    og, od = (
        torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.9)),
        torch.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.9)),
    )
    pair_of = nn.ModuleDict({"G": G, "D": D})
    with record(pair_of, [og, od]) as hook:
        for s in range(700):
            x = ring(128)
            fake = G(torch.randn(128, 8))
            ld = F.softplus(-D(x)).mean() + F.softplus(D(fake.detach())).mean()
            od.zero_grad()
            ld.backward()
            od.step()
            lg = F.softplus(-D(fake)).mean()
            og.zero_grad()
            lg.backward()
            og.step()
            hook.record_tensor_value("d_loss", ld.item())
            hook.record_tensor_value("g_loss", lg.item())
            hook.end_step()
        with torch.no_grad():
            score(mmd(G(torch.randn(1000, 8)), ring(1000)), mmd(torch.randn(1000, 2), ring(1000)))


@healthy
def digits_vae_kl_warmup(record, seed):
    torch.manual_seed(seed)
    x, _ = digits(3000, seed, size=12, noise=0.02)
    xt, _ = digits(500, seed + 1, size=12, noise=0.02)
    x, xt = x.flatten(1).float() / 255, xt.flatten(1).float() / 255

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.d = (
                mlp(144, 200, 100, 32, act=nn.SiLU),
                mlp(16, 100, 200, 144, act=nn.SiLU),
            )

        def forward(self, x):
            m, lv = self.e(x).chunk(2, 1)
            return self.d(m + torch.randn_like(m) * (lv / 2).exp()), m, lv

    net = VAE()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with record(net, opt) as hook:
        for s in range(700):
            b = x[torch.randint(0, 3000, (64,))]
            o, m, lv = net(b)
            rec = F.binary_cross_entropy_with_logits(o, b, reduction="none").sum(1).mean()
            kl = -0.5 * (1 + lv - m**2 - lv.exp()).sum(1).mean()
            beta = min(1.0, s / 400)
            loss = rec + beta * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("reconstruction", rec.item())
            hook.record_tensor_value("kl", kl.item())
            hook.end_step()
        with torch.no_grad():
            o, m, lv = net(xt)
            score(r2(net.d(m).sigmoid(), xt), 0.0)


@healthy
def ring_diffusion_ema(record, seed):
    """DDPM in two dimensions; the loss is flat and noisy for most of the run."""
    torch.manual_seed(seed)
    T = 60
    beta = torch.linspace(1e-3, 0.15, T)
    ab = (1 - beta).cumprod(0)
    net = Denoiser()
    ema = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    with record(net, opt) as hook:
        for s in range(1000):
            x = ring(128)
            t = torch.randint(0, T, (128, 1))
            e = torch.randn_like(x)
            z = ab[t].sqrt() * x + (1 - ab[t]).sqrt() * e
            loss = F.mse_loss(net(z, t / T), e)
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                for p, q in zip(ema.parameters(), net.parameters()):
                    p.lerp_(q, 0.01)
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            z = torch.randn(1000, 2)
            for t in range(T - 1, -1, -1):
                e = ema(z, torch.full((1000, 1), t / T))
                z = (z - beta[t] / (1 - ab[t]).sqrt() * e) / (1 - beta[t]).sqrt() + (
                    beta[t].sqrt() * torch.randn_like(z) if t else 0
                )
            score(mmd(z, ring(1000)), mmd(torch.randn(1000, 2), ring(1000)))


@healthy
def moons_realnvp_negative_nll(record, seed):
    torch.manual_seed(seed)

    def data(n):
        k = torch.randint(0, 2, (n, 1)).float()
        t = torch.rand(n, 1) * math.pi
        return (
            torch.cat([t.cos() * (1 - 2 * k) + k, t.sin() * (1 - 2 * k) + 0.5 * k], 1)
            + 0.03 * torch.randn(n, 2)
        ) * 0.4

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.ModuleList([mlp(1, 48, 48, 2, act=nn.Tanh) for _ in range(8)])

        def log_prob(self, x):
            ld = 0
            for i, n in enumerate(self.s):
                a, b = x[:, i % 2 : i % 2 + 1], x[:, 1 - i % 2 : 2 - i % 2]
                s, t = n(a).chunk(2, 1)
                s = 2 * torch.tanh(s)
                b = b * s.exp() + t
                ld = ld + s.sum(1)
                x = torch.cat([a, b] if i % 2 == 0 else [b, a], 1)
            return ld - 0.5 * (x**2).sum(1) - math.log(2 * math.pi)

    net = Flow()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 500)
    with record(net, opt) as hook:
        for s in range(500):
            loss = -net.log_prob(data(128)).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            opt.step()
            sched.step()
            hook.record_tensor_value("nll", loss)
            hook.end_step()
        with torch.no_grad():
            x = data(2000)
            g = torch.distributions.MultivariateNormal(x.mean(0), x.T.cov())
            score(net.log_prob(x).mean(), g.log_prob(x).mean())


@healthy
def corridor_dqn(record, seed):
    """TD loss that rises first, as values grow."""
    dqn(record, seed)


@healthy
def corridor_actor_critic(record, seed):
    torch.manual_seed(seed)
    random.seed(seed)

    class AC(nn.Module):
        def __init__(self):
            super().__init__()
            self.b, self.p, self.v = (
                mlp(12, 64, 64, act=nn.Tanh),
                nn.Linear(64, 4),
                nn.Linear(64, 1),
            )

        def forward(self, o):
            h = torch.tanh(self.b(o))
            return self.p(h), self.v(h).squeeze(-1)

    net = AC()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    env = Corridor()
    with record(net, opt) as hook:
        for it in range(200):
            O, A, G = [], [], []
            total = 0
            for _ in range(4):
                o, rs = env.reset(), []
                while True:
                    with torch.no_grad():
                        a = int(torch.distributions.Categorical(logits=net(o)[0]).sample())
                    O.append(o)
                    A.append(a)
                    o, r, d, tr = env.step(a)
                    rs.append(r)
                    if d or tr:
                        break
                g, gs = 0.0, []
                for r in reversed(rs):
                    g = r + 0.95 * g
                    gs.append(g)
                G += gs[::-1]
                total += sum(rs)
            l, v = net(torch.stack(O))
            G = torch.tensor(G)
            dist = torch.distributions.Categorical(logits=l)
            adv = G - v.detach()
            pl = -(dist.log_prob(torch.tensor(A)) * adv).mean()
            vl = F.mse_loss(v, G)
            ent = dist.entropy().mean()
            loss = pl + 0.5 * vl - 0.01 * ent
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            hook.record_tensor_value("policy_loss", pl.item())
            hook.record_tensor_value("value_loss", vl.item())
            hook.record_tensor_value("return", total / 4)
            hook.end_step()
        with torch.no_grad():
            random.seed(1)
            score(play(lambda o: int(net(o)[0].argmax())), RANDOM_PLAY)


@healthy
def waves_simclr(record, seed):
    torch.manual_seed(seed)
    x, y = waves(1500, seed, length=256)
    xt, yt = waves(500, seed + 1, length=256)
    f = encoder()
    head = mlp(64, 64, 32)
    net = nn.Sequential(f, head)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    with record(net, opt) as hook:
        for s in range(250):
            a, b = views(x[torch.randint(0, 1500, (64,))])
            z = F.normalize(net(torch.cat([a, b])), dim=1)
            sim = z @ z.T / 0.2
            sim.fill_diagonal_(-1e9)
            loss = F.cross_entropy(sim, (torch.arange(128) + 64) % 128)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("nt_xent", loss.item())
            hook.end_step()
        net.eval()
        score(probe(f, x, y, xt, yt), 1 / 6)


@healthy
def triplet_muon(record, seed):
    """Metric learning; hidden matrices with Muon, the rest with AdamW; the loss is often exactly zero late."""
    torch.manual_seed(seed)
    x, y = blobs(3000, seed, 20, 10, modes=2)
    xt, yt = blobs(600, seed + 1, 20, 10, modes=2)

    class Muon(torch.optim.Optimizer):
        def __init__(self, ps, lr=0.02, mu=0.9):
            super().__init__(ps, dict(lr=lr, mu=mu))

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    m.mul_(g["mu"]).add_(p.grad)
                    X = p.grad + g["mu"] * m
                    X = X / (X.norm() + 1e-7)
                    tall = X.shape[0] > X.shape[1]
                    X = X.T if tall else X
                    for _ in range(5):
                        A = X @ X.T
                        X = 3.4445 * X + (-4.775 * A + 2.0315 * A @ A) @ X
                    p.add_(X.T if tall else X, alpha=-g["lr"])

    net = mlp(20, 96, 96, 16)
    mats = [net[0].weight, net[2].weight]
    ids = {id(p) for p in mats}
    opts = [
        Muon(mats, 0.01),
        torch.optim.AdamW([p for p in net.parameters() if id(p) not in ids], 1e-3),
    ]
    crit = nn.TripletMarginLoss(margin=0.3)
    with record(net, opts, crit) as hook:
        for s in range(400):
            c = torch.randint(0, 10, (64,))
            n = (c + torch.randint(1, 10, (64,))) % 10
            pick = lambda k: torch.stack(
                [x[y == j][torch.randint(0, int((y == j).sum()), ())] for j in k.tolist()]
            )
            e = lambda t: F.normalize(net(t), dim=1)
            loss = crit(e(pick(c)), e(pick(c)), e(pick(n)))
            for o in opts:
                o.zero_grad()
            loss.backward()
            for o in opts:
                o.step()
            hook.record_tensor_value("triplet", loss.item())
            hook.end_step()
        with torch.no_grad():
            a, b = F.normalize(net(x), dim=1), F.normalize(net(xt), dim=1)
            score((y[torch.cdist(b, a).argmin(1)] == yt).float().mean(), 0.1)


@healthy
def distil_small_from_big(record, seed):
    torch.manual_seed(seed)
    x, y = blobs(6000, seed, 24, 8, spread=1.2)
    xt, yt = blobs(1000, seed + 1, 24, 8, spread=1.2)
    big = mlp(24, 256, 256, 8)
    o = torch.optim.Adam(big.parameters(), 1e-3)
    for _ in range(300):
        i = torch.randint(0, 6000, (128,))
        l = F.cross_entropy(big(x[i]), y[i])
        o.zero_grad()
        l.backward()
        o.step()
    small = mlp(24, 40, 8)
    opt = torch.optim.SGD(small.parameters(), 0.1, momentum=0.9)
    sch = torch.optim.lr_scheduler.StepLR(opt, 200, 0.3)
    with record(small, opt) as hook:
        for s in range(600):
            i = torch.randint(0, 6000, (64,))
            with torch.no_grad():
                t = big(x[i]) / 2
            kd = (
                F.kl_div(
                    (small(x[i]) / 2).log_softmax(1),
                    t.log_softmax(1),
                    log_target=True,
                    reduction="batchmean",
                )
                * 4
            )
            loss = 0.7 * kd + 0.3 * F.cross_entropy(small(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sch.step()
            hook.record_tensor_value("kd", kd.item())
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(small(xt), yt), 1 / 8)


@healthy
def growing_curriculum_resume(record, seed):
    """The data set grows by class (harder each time: loss jumps up), and half way it is resumed from a checkpoint."""
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 24, 10, spread=1.1)
    xt, yt = blobs(1000, seed + 1, 24, 10, spread=1.1)
    net = mlp(24, 100, 100, 10)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(800):
            k = min(10, 2 + 2 * (s // 120))
            if s % 120 == 0 and s < 700:
                X, Y = x[y < k], y[y < k]
            if s == 400:
                state = copy.deepcopy((net.state_dict(), opt.state_dict()))
                net.load_state_dict(state[0])
                opt.load_state_dict(state[1])
            i = torch.randint(0, len(X), (64,))
            loss = crit(net(X[i]), Y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)
