"""Generative models, reinforcement learning, self-supervised and contrastive learning, other settings. Pairs."""

import copy, math, random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *
from gen_rl_parts import *


@pair("DQN regresses max_a Q instead of Q of the action taken", "gross")
def dqn_wrong_gather(record, seed, faulty):
    dqn(record, seed, bug="max" if faulty else "")


@pair(
    "the replay stores the old observation as the next one (a buffer that is reused, no copy)",
    "gross",
)
def dqn_next_state_alias(record, seed, faulty):
    torch.manual_seed(seed)
    dqn(record, seed, sync=30, bug="alias" if faulty else "")


@pair("the sign of the policy gradient is wrong: returns are minimised", "gross")
def reinforce_sign(record, seed, faulty):
    torch.manual_seed(seed)
    random.seed(seed)
    net = mlp(12, 48, 4, act=nn.Tanh)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    env = Corridor()
    with record(net, opt) as hook:
        for it in range(200):
            lp, G, tot = [], [], 0
            for _ in range(4):
                o, rs = env.reset(), []
                while True:
                    d_ = torch.distributions.Categorical(logits=net(o))
                    a = d_.sample()
                    lp.append(d_.log_prob(a))
                    o, r, d, tr = env.step(int(a))
                    rs.append(r)
                    if d or tr:
                        break
                g, gs = 0.0, []
                for r in reversed(rs):
                    g = r + 0.95 * g
                    gs.append(g)
                G += gs[::-1]
                tot += sum(rs)
            G = torch.tensor(G)
            G = (G - G.mean()) / (G.std() + 1e-6)
            loss = (torch.stack(lp) * G).mean() * (1 if faulty else -1)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("episode_return", tot / 4)
            hook.end_step()
        with torch.no_grad():
            random.seed(1)
            score(
                play(lambda o: int(torch.distributions.Categorical(logits=net(o)).sample())),
                RANDOM_PLAY,
            )


@pair(
    "fake samples are not detached and one optimizer holds all: the generator is trained to help the discriminator",
    "gross",
)
def gan_one_optimizer(record, seed, faulty):
    torch.manual_seed(seed)
    sn = nn.utils.parametrizations.spectral_norm
    G = mlp(8, 64, 64, 2)
    D = nn.Sequential(
        sn(nn.Linear(2, 64)),
        nn.LeakyReLU(0.2),
        sn(nn.Linear(64, 64)),
        nn.LeakyReLU(0.2),
        nn.Linear(64, 1),
    )
    og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(
        [*D.parameters(), *G.parameters()] if faulty else D.parameters(), 1e-3, betas=(0.5, 0.9)
    )
    bce = nn.BCEWithLogitsLoss()
    with record(nn.ModuleList([G, D]), [og, od], bce) as hook:
        for s in range(600):
            x, f = ring(128), G(torch.randn(128, 8))
            ld = bce(D(x), torch.ones(128, 1)) + bce(
                D(f if faulty else f.detach()), torch.zeros(128, 1)
            )
            od.zero_grad()
            ld.backward()
            od.step()
            f = G(torch.randn(128, 8))
            lg = bce(D(f), torch.ones(128, 1))
            og.zero_grad()
            lg.backward()
            og.step()
            hook.record_tensor_value("loss_D", ld.item())
            hook.record_tensor_value("loss_G", lg.item())
            hook.end_step()
        with torch.no_grad():
            score(mmd(G(torch.randn(1000, 8)), ring(1000)), mmd(torch.randn(1000, 2), ring(1000)))


@pair(
    "the discriminator's rate is a hundred times the generator's: it wins at once and saturates",
    "gross",
)
def gan_discriminator_wins(record, seed, faulty):
    torch.manual_seed(seed)
    G, D = mlp(8, 64, 64, 2), mlp(2, 64, 64, 1)
    og = torch.optim.Adam(G.parameters(), 1e-4 if faulty else 1e-3, betas=(0.5, 0.99))
    od = torch.optim.Adam(D.parameters(), 1e-2 if faulty else 1e-3, betas=(0.5, 0.99))
    with record(nn.ModuleList([G, D]), [og, od]) as hook:
        for s in range(900):
            x, f = ring(128), G(torch.randn(128, 8))
            ld = F.softplus(-D(x)).mean() + F.softplus(D(f.detach())).mean()
            od.zero_grad()
            ld.backward()
            od.step()
            lg = F.softplus(-D(f)).mean()
            og.zero_grad()
            lg.backward()
            og.step()
            hook.record_tensor_value("d_loss", ld)
            hook.record_tensor_value("g_loss", lg)
            hook.end_step()
        with torch.no_grad():
            score(mmd(G(torch.randn(1000, 8)), ring(1000)), mmd(torch.randn(1000, 2), ring(1000)))


@pair("KL summed but reconstruction averaged over the pixels: posterior collapse", "gross")
def vae_posterior_collapse(record, seed, faulty):
    torch.manual_seed(seed)
    x, _ = digits(3000, seed, size=12, noise=0.02)
    xt, _ = digits(500, seed + 1, size=12, noise=0.02)
    x, xt = x.flatten(1).float() / 255, xt.flatten(1).float() / 255
    net = nn.ModuleDict({"enc": mlp(144, 160, 32), "dec": mlp(16, 160, 144)})
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    with record(net, opt) as hook:
        for s in range(600):
            b = x[torch.randint(0, 3000, (64,))]
            m, lv = net["enc"](b).chunk(2, 1)
            o = net["dec"](m + torch.randn_like(m) * (lv / 2).exp())
            rec = F.binary_cross_entropy_with_logits(o, b, reduction="none")
            rec = rec.mean() if faulty else rec.sum(1).mean()
            loss = rec - 0.5 * (1 + lv - m**2 - lv.exp()).sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("elbo_loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(r2(net["dec"](net["enc"](xt)[:, :16]).sigmoid(), xt), 0.0)


@pair("the diffusion net gets the wrong t (always 0) in training", "middling")
def diffusion_no_time(record, seed, faulty):
    torch.manual_seed(seed)
    T = 60
    beta = torch.linspace(1e-3, 0.15, T)
    ab = (1 - beta).cumprod(0)
    net = Denoiser(64)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    with record(net, opt) as hook:
        for s in range(800):
            x = ring(128)
            t = torch.randint(0, T, (128, 1))
            e = torch.randn_like(x)
            z = ab[t].sqrt() * x + (1 - ab[t]).sqrt() * e
            loss = F.mse_loss(net(z, t / T * (0 if faulty else 1)), e)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            z = torch.randn(1000, 2)
            for t in range(T - 1, -1, -1):
                e = net(z, torch.full((1000, 1), t / T))
                z = (z - beta[t] / (1 - ab[t]).sqrt() * e) / (1 - beta[t]).sqrt() + (
                    beta[t].sqrt() * torch.randn_like(z) if t else 0
                )
            score(mmd(z, ring(1000)), mmd(torch.randn(1000, 2), ring(1000)))


@pair("contrastive logits without masking the diagonal: each view matches itself", "middling")
def simclr_self_pairs(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = waves(1500, seed, length=256)
    xt, yt = waves(500, seed + 1, length=256)
    f = encoder()
    net = nn.Sequential(f, nn.ReLU(), nn.Linear(64, 32))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    with record(net, opt) as hook:
        for s in range(250):
            a, b = views(x[torch.randint(0, 1500, (48,))])
            z = F.normalize(net(torch.cat([a, b])), dim=1)
            sim = z @ z.T / 0.2
            if faulty:
                loss = F.cross_entropy(sim, torch.arange(96))
            else:
                sim = sim - 1e9 * torch.eye(96)
                loss = F.cross_entropy(sim, (torch.arange(96) + 48) % 96)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        score(probe(f, x, y, xt, yt), 1 / 6)


@pair(
    "BYOL-like loss without stop-gradient or predictor (both branches trained to agree): collapse to a constant",
    "middling",
)
def siamese_collapse(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = waves(1500, seed, length=256)
    xt, yt = waves(500, seed + 1, length=256)
    f = encoder()
    opt = torch.optim.Adam(f.parameters(), lr=3e-3)
    with record(f, opt) as hook:
        for s in range(300):
            a, b = views(x[torch.randint(0, 1500, (64,))])
            za, zb = f(a), f(b)
            loss = F.mse_loss(za, zb)
            if not faulty:  # VICReg: variance and covariance terms
                for z in (za, zb):
                    z = z - z.mean(0)
                    c = (z.T @ z) / 63
                    loss = (
                        loss
                        + F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean()
                        + (c.fill_diagonal_(0) ** 2).sum() / 64 * 0.04
                    )
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("ssl_loss", loss.item())
            hook.end_step()
        f.eval()
        score(probe(f, x, y, xt, yt), 1 / 6)


@pair(
    "optimizer.step() only inside a condition on the last batch of an accumulation that is never met (off by one)",
    "gross",
)
def accumulation_never_steps(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(4000, seed, 24, 8, spread=1.1)
    xt, yt = blobs(800, seed + 1, 24, 8, spread=1.1)
    net = mlp(24, 80, 80, 8)
    opt = torch.optim.AdamW(net.parameters(), 3e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(800):
            i = torch.randint(0, 4000, (32,))
            loss = crit(net(x[i]), y[i]) / 4
            loss.backward()
            if (s % 4 == 4) if faulty else (s % 4 == 3):
                opt.step()
                opt.zero_grad()
            hook.record_tensor_value("loss", loss.item() * 4)
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 8)


@pair("zero_grad between backward and step: nothing is ever learnt", "gross")
def zero_grad_before_step(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(4000, seed, 16, 6, data_seed=12)
    xt, yt = blobs(800, seed + 1, 16, 6, data_seed=12)
    net = nn.Sequential(
        nn.Linear(16, 64),
        nn.BatchNorm1d(64),
        nn.GELU(),
        nn.Linear(64, 64),
        nn.BatchNorm1d(64),
        nn.GELU(),
        nn.Linear(64, 6),
    )
    opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 4000, (64,))
            loss = crit(net(x[i]), y[i])
            if not faulty:
                opt.zero_grad()
            loss.backward()
            if faulty:
                opt.zero_grad()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        net.eval()
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 6)


@pair("learning rate five times too small in a short training", "mild")
def lr_somewhat_low(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 30, 10, spread=1.2, data_seed=3)
    xt, yt = blobs(1000, seed + 1, 30, 10, spread=1.2, data_seed=3)
    net = mlp(30, 128, 128, 10)
    opt = torch.optim.Adam(net.parameters(), 2e-4 if faulty else 1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 5000, (64,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)


@pair("dropout of 0.9 where 0.1 was meant (keep probability mixed up)", "middling")
def dropout_keep_mixed_up(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(5000, seed, 30, 10, spread=1.2, data_seed=5)
    xt, yt = blobs(1000, seed + 1, 30, 10, spread=1.2, data_seed=5)
    p = 0.9 if faulty else 0.1
    net = nn.Sequential(
        nn.Linear(30, 128),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Dropout(p),
        nn.Linear(128, 10),
    )
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for ep in range(7):
            net.train()
            for b in torch.randperm(5000).split(64):
                loss = crit(net(x[b]), y[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("loss", loss.item())
                hook.end_step()
            net.eval()
            with record.evaluation(hook), torch.no_grad():
                hook.record_tensor_value("val_loss", crit(net(xt), yt).item())
        with torch.no_grad():
            score(acc(net(xt), yt), 0.1)


@pair("ReLUs dead from the start: biases of -8 by a bad initialiser", "gross")
def dead_relus(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(4000, seed, 24, 6, data_seed=7)
    xt, yt = blobs(800, seed + 1, 24, 6, data_seed=7)
    net = mlp(24, 64, 64, 64, 6)
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
            nn.init.constant_(m.bias, -8.0 if faulty else 0.0)
    opt = torch.optim.SGD(net.parameters(), 0.02, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(net, opt, crit) as hook:
        for s in range(400):
            i = torch.randint(0, 4000, (64,))
            loss = crit(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            score(acc(net(xt), yt), 1 / 6)


@pair(
    "custom loss has sqrt(0) in it: NaN gradients as soon as an item is paired with itself (around the middle of the run)",
    "gross",
)
def contrastive_sqrt_nan(record, seed, faulty):
    torch.manual_seed(seed)
    x, y = blobs(3000, seed, 20, 6, modes=2)
    xt, yt = blobs(600, seed + 1, 20, 6, modes=2)
    net = mlp(20, 64, 64, 8)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    with record(net, opt) as hook:
        for s in range(500):
            i, j = torch.randint(0, 3000, (64,)), torch.randint(0, 3000, (64,))
            if s >= 240 and s % 10 == 0:
                j[0] = i[0]  # a sampler that now and then pairs an item with itself
            d2 = (net(x[i]) - net(x[j])).pow(2).sum(1)
            d = d2.sqrt() if faulty else (d2 + 1e-8).sqrt()
            same = (y[i] == y[j]).float()
            loss = (same * d**2 + (1 - same) * F.relu(1 - d) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.end_step()
        with torch.no_grad():
            a, b = torch.nan_to_num(net(x)), torch.nan_to_num(net(xt))
            score((y[torch.cdist(b, a).argmin(1)] == yt).float().mean(), 1 / 6)
