"""GAN, diffusion, several tasks, continual, fine-tuning, metric learning, forecasting, waves."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score

# GAN and diffusion in two dimensions ---------------------------------------------------------


def sliced(a, b):
    th = torch.linspace(0, math.pi, 17)[:-1]
    D = torch.stack([th.cos(), th.sin()])
    return (torch.sort(a @ D, 0).values - torch.sort(b @ D, 0).values).abs().mean()


def gan(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    L = torch.tensor([[0.8, 0.0], [0.5, 0.3]])
    data = lambda n: torch.randn(n, 2, generator=g) @ L.T + torch.tensor([2.0, -1.0])
    G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    D = nn.Sequential(
        nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
    )
    og = torch.optim.Adam(G.parameters(), 2e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(D.parameters(), 3e-3, betas=(0.5, 0.9))
    bce = F.binary_cross_entropy_with_logits
    one, zero = torch.ones(96, 1), torch.zeros(96, 1)
    avg = copy.deepcopy(G)
    with record([G, D], [og, od]) as hook:
        for k in range(500):
            fake = G(torch.randn(96, 4))
            ld = bce(D(data(96)), one * 0.9) + bce(
                D(fake.detach()), one if fault == "fake_real" else zero
            )
            od.zero_grad()
            ld.backward()
            od.step()
            z = torch.randn(96, 4)
            fk = G(z)
            if fault == "same_noise":
                fk = G(torch.ones(96, 4))
            lg = bce(
                D(fk.detach() if fault == "detach" else fk), zero if fault == "g_label" else one
            )
            og.zero_grad()
            lg.backward() if fault != "detach" else lg.backward()
            og.step()
            with torch.no_grad():
                for p, q in zip(avg.parameters(), G.parameters()):
                    p.lerp_(q, 0.02)
            if k % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    D(G(torch.randn(96, 4)))
    with torch.no_grad():
        real = data(1000)
        score(-sliced(avg(torch.randn(1000, 4)), real), -sliced(0.3 * torch.randn(1000, 2), real))


@healthy
def gan_two_dims(record, seed):
    """GAN with averaged generator: neither loss falls."""
    gan(record, seed)


@pair(cause="generator trained towards the label fake", severity="gross")
def gan_generator_label(record, seed, faulty):
    """zeros for ones in the generator's loss."""
    gan(record, seed, "g_label" if faulty else None)


@pair(cause="fakes detached in the generator's step too", severity="gross")
def gan_detached_generator(record, seed, faulty):
    """The generator gets no gradient."""
    gan(record, seed, "detach" if faulty else None)


@pair(cause="generator trained on constant noise", severity="middling")
def gan_constant_noise(record, seed, faulty):
    """ones for randn: collapse to a point."""
    gan(record, seed, "same_noise" if faulty else None)


def diffusion(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    x = corners[torch.randint(4, (3000,), generator=g)] + 0.1 * torch.randn(3000, 2, generator=g)
    T = 40
    beta = torch.linspace(5e-3, 0.2, T)
    ab = torch.cumprod(1 - beta, 0)
    net = nn.Sequential(
        nn.Linear(2 + 8, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 2)
    )

    def te(t):
        f = t[:, None].float() / T * torch.tensor([1.0, 3, 9, 27])
        return torch.cat([f.sin(), f.cos()], 1)

    def eps(xt, t):
        return net(torch.cat([xt, te(t)], 1))

    o = torch.optim.AdamW(net.parameters(), 6e-3)
    sch = torch.optim.lr_scheduler.CosineAnnealingLR(o, 600)
    crit = nn.MSELoss()
    with record(net, o, crit) as hook:
        for k in range(600):
            b = torch.randint(3000, (256,))
            t = torch.randint(T, (256,))
            n = torch.randn(256, 2)
            if fault == "no_sqrt":
                xt = ab[t][:, None] * x[b] + (1 - ab[t])[:, None] * n
            else:
                xt = ab[t].sqrt()[:, None] * x[b] + (1 - ab[t]).sqrt()[:, None] * n
            tt = torch.randint(T, (256,)) if fault == "other_t" else t
            y = torch.randn(256, 2) if fault == "other_noise" else (x[b] if fault == "x0" else n)
            l = crit(eps(xt, tt), y)
            o.zero_grad()
            l.backward()
            o.step()
            sch.step()
            if k % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    crit(eps(x[:200], torch.zeros(200, dtype=torch.long)), x[:200])
    with torch.no_grad():
        z = torch.randn(600, 2)
        for t in reversed(range(T)):
            e = eps(z, torch.full((600,), t))
            z = (z - beta[t] / (1 - ab[t]).sqrt() * e) / (1 - beta[t]).sqrt() + (
                (beta[t] * (1 - ab[t - 1]) / (1 - ab[t])).sqrt() * torch.randn(600, 2) if t else 0
            )
        far = lambda a: torch.cdist(a.nan_to_num(9.0), corners).min(1).values.clamp(max=3).mean()
        score(-far(z), -far(torch.randn(600, 2)))


@healthy
def diffusion_four_corners(record, seed):
    """Denoising diffusion with four clusters: the loss stays high for good reason."""
    diffusion(record, seed)


@pair(
    cause="network trained against other noise than was added (randn called twice)",
    severity="gross",
)
def diffusion_other_noise(record, seed, faulty):
    """Unpredictable target."""
    diffusion(record, seed, "other_noise" if faulty else None)


@pair(cause="square roots of alpha bar left out in the forward process", severity="middling")
def diffusion_no_sqrt(record, seed, faulty):
    """Training noise level does not fit the sampler."""
    diffusion(record, seed, "no_sqrt" if faulty else None)


@pair(cause="predicts x0 though the sampler takes it for noise", severity="gross")
def diffusion_x0_for_noise(record, seed, faulty):
    """Loss on the wrong tensor."""
    diffusion(record, seed, "x0" if faulty else None)


@pair(cause="time step drawn anew for the embedding", severity="middling")
def diffusion_time_mismatch(record, seed, faulty):
    """Embedding does not fit the noise level."""
    diffusion(record, seed, "other_t" if faulty else None)


# multi-task, continual, fine-tuning, metric learning -----------------------------------------


def multitask(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1600, 8, generator=g)
    y1 = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
    y2 = torch.sin(x[:, 3]) + x[:, 4] * x[:, 5]
    if fault == "unit":
        y2 = y2 * 1000
    body = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    h1, h2 = nn.Linear(64, 2), nn.Linear(64, 1)
    model = nn.ModuleList([body, h1, h2])
    o = (
        torch.optim.SGD(model.parameters(), 0.03, momentum=0.9)
        if fault != "unit" and False
        else torch.optim.Adam(model.parameters(), 3e-3)
    )
    with record(model, o) as hook:
        for ep in range(10):
            for b in torch.randperm(1200).split(40):
                h = body(x[b])
                l = F.cross_entropy(h1(h), y1[b]) + F.mse_loss(h2(h)[:, 0], y2[b])
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                F.cross_entropy(h1(body(x[1200:])), y1[1200:])
    with torch.no_grad():
        h = body(x[1200:])
        acc = (h1(h).argmax(1) == y1[1200:]).float().mean()
    score(acc, 0.5)


@pair(cause="second task in other units (x1000) drowns the first", severity="gross")
def multitask_units(record, seed, faulty):
    """Loss scales do not match."""
    multitask(record, seed, "unit" if faulty else None)


def blobs(g, n, k=6, d=20, spread=1.0):
    c = torch.randn(k, d, generator=torch.Generator().manual_seed(99)) * spread
    y = torch.randint(k, (n,), generator=g)
    return c[y] + torch.randn(n, d, generator=g), y


def continual(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = blobs(g, 2400)
    vx, vy = blobs(g, 600)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 6))
    o = torch.optim.SGD(model.parameters(), 0.05)
    crit = nn.CrossEntropyLoss()
    mem = torch.empty(0, dtype=torch.long)
    with record(model, o, crit) as hook:
        for task in range(3):
            idx = torch.nonzero(y // 2 == task)[:, 0]
            for ep in range(4):
                for b in idx[torch.randperm(len(idx))].split(24):
                    if len(mem) and fault != "no_replay":
                        b = torch.cat([b, mem[torch.randint(len(mem), (48,))]])
                    l = crit(model(x[b]), y[b])
                    o.zero_grad()
                    l.backward()
                    o.step()
                with record.evaluation(hook), torch.no_grad():
                    crit(model(vx), vy)
            mem = torch.cat([mem, idx[:100]])
    with torch.no_grad():
        score((model(vx).argmax(1) == vy).float().mean(), 1 / 6)


@healthy
def continual_with_replay(record, seed):
    """Three tasks one after the other with replay: the loss spikes at each change."""
    continual(record, seed)


@pair(cause="replay memory filled but never drawn from", severity="middling")
def continual_no_replay(record, seed, faulty):
    """Forgets all but the last task."""
    continual(record, seed, "no_replay" if faulty else None)


def finetune(record, seed, fault=None, good=False):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = blobs(g, 3000, spread=0.7)
    vx, vy = blobs(g, 600, spread=0.7)
    make = lambda: nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6)
    )
    pre = make()
    po = torch.optim.Adam(pre.parameters(), 2e-3)
    for k in range(150):
        b = torch.randint(2000, (64,))
        po.zero_grad()
        F.cross_entropy(pre(x[b]), y[b]).backward()
        po.step()
    model = make()
    sd = pre.state_dict()
    model.load_state_dict(
        {"module." + k: v for k, v in sd.items()} if fault == "prefix" else sd, strict=False
    )
    if not good:
        perm = torch.tensor([3, 0, 5, 1, 2, 4])
        y = perm[y]
        vy = perm[vy]
        model[4] = nn.Linear(64, 6)
        for p in list(model[0].parameters()) + list(model[2].parameters()):
            p.requires_grad_(False)
        if fault == "prefix":
            with torch.no_grad():
                for m in (model[0], model[2]):
                    m.weight.mul_(0.3)
    o = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad],
        1e-5 if good and fault is None else (0.3 if fault == "lr" else 5e-3),
    )
    crit = nn.CrossEntropyLoss()
    x, y = x[2000:], y[2000:]
    with record(model, o, crit) as hook:
        for ep in range(8):
            for b in torch.randperm(1000).split(40):
                o.zero_grad()
                l = crit(model(x[b]), y[b])
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                crit(model(vx), vy)
    with torch.no_grad():
        score((model(vx).argmax(1) == vy).float().mean(), 1 / 6)


@healthy
def finetune_already_good(record, seed):
    """Fine-tuning of what is already good with a rate of 1e-5: the loss barely moves."""
    finetune(record, seed, good=True)


@healthy
def finetune_frozen_body(record, seed):
    """New head on a frozen pretrained body."""
    finetune(record, seed)


@pair(
    cause="pretrained weights silently not loaded (prefix, strict=False) and the body frozen",
    severity="middling",
)
def finetune_weights_not_loaded(record, seed, faulty):
    """Frozen at random."""
    finetune(record, seed, "prefix" if faulty else None)


@pair(cause="rate 0.3 with AdamW wrecks the pretrained model", severity="gross")
def finetune_rate_wrecks(record, seed, faulty):
    """Fine-tuning with a far too large rate."""
    finetune(record, seed, "lr" if faulty else None, good=True)


def triplet(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = blobs(g, 1600, k=8, spread=0.7)
    model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 6))
    o = torch.optim.Adam(model.parameters(), 3e-3)
    crit = nn.TripletMarginLoss(margin=1.0)
    by = [torch.nonzero(y[:1200] == c)[:, 0] for c in range(8)]
    with record(model, o, crit) as hook:
        for k in range(250):
            a = torch.randint(1200, (48,))
            pos = torch.stack(
                [by[int(y[i])][torch.randint(len(by[int(y[i])]), (1,))[0]] for i in a]
            )
            neg = torch.stack(
                [
                    by[c][torch.randint(len(by[c]), (1,))[0]]
                    for c in ((y[a] + torch.randint(1, 8, (48,))) % 8).tolist()
                ]
            )
            A, P, N = model(x[a]), model(x[pos]), model(x[neg])
            l = crit(A, N, P) if fault == "swap" else crit(A, P, N)
            if fault == "zero":
                l = crit(A, P, P)
            o.zero_grad()
            l.backward()
            o.step()
            if k % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    model(x[1200:])
    with torch.no_grad():
        d = torch.cdist(model(x[1200:]), model(x[:1200]))
        nn_ = y[:1200][d.topk(5, 1, largest=False).indices].mode(1).values
        score((nn_ == y[1200:]).float().mean(), 1 / 8)


@healthy
def metric_triplets_three_calls(record, seed):
    """Triplet loss: the model is called three times per step, the loss goes towards zero."""
    triplet(record, seed)


@pair(cause="positive and negative exchanged in the triplet loss", severity="gross")
def metric_triplet_swapped(record, seed, faulty):
    """Pulls strangers together."""
    triplet(record, seed, "swap" if faulty else None)


# forecasting and waves -----------------------------------------------------------------------


def forecast(record, seed, fault=None, clip=1.0, lr=4e-3):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n = 1500
    t = torch.arange(n).float()
    s = torch.sin(t / 4) + 0.6 * torch.sin(t / 1.7 + 1) + 0.15 * torch.randn(n, generator=g)
    W, H = 24, 3
    X = s.unfold(0, W + H, 1)
    if fault == "flip_time":
        Xt = torch.cat([X[:, :W].flip(1), X[:, W:]], 1)
    else:
        Xt = X

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.r = nn.RNN(1, 24, batch_first=True)
            self.o = nn.Linear(24, 1)
            nn.init.orthogonal_(self.r.weight_hh_l0)
            if fault == "explode":
                with torch.no_grad():
                    self.r.weight_hh_l0.mul_(6.0)

        def forward(self, x):
            z, _ = self.r(x[..., None])
            return self.o(z[:, -1])[:, 0]

    model = Net()
    o = torch.optim.Adam(model.parameters(), lr)
    crit = nn.MSELoss()
    tgt = W - 1 if fault == "last" else W + H - 1
    mu, sd = 0.0, 1.0
    with record(model, o, crit) as hook:
        for ep in range(9):
            order = torch.randperm(1100)
            for i in range(0, 1100, 44):
                b = order[i : i + 44]
                xb = Xt[b][:, :W]
                if fault == "batch_norm":
                    xb = (xb - xb.mean(1, keepdim=True)) / xb.std(1, keepdim=True) * 0 + xb[
                        :, torch.randperm(W)
                    ]
                l = crit(model(xb), Xt[b][:, tgt])
                o.zero_grad()
                l.backward()
                nn.utils.clip_grad_norm_(model.parameters(), clip)
                o.step()
            with record.evaluation(hook), torch.no_grad():
                crit(model(X[1200:, :W]), X[1200:, W + H - 1])
    with torch.no_grad():
        p, y = model(X[1200:, :W]), X[1200:, W + H - 1]
    score(1 - ((p - y) ** 2).mean() / y.var(), 0.0)


@healthy
def ts_plain_rnn_clipped(record, seed):
    """Plain RNN with an orthogonal start and hard clipping."""
    forecast(record, seed, clip=0.3)


@pair(cause="target is the last value of the window and not the future", severity="gross")
def ts_target_in_window(record, seed, faulty):
    """Off by the horizon: learns to copy."""
    forecast(record, seed, "last" if faulty else None)


@pair(cause="time steps permuted within each window", severity="gross")
def ts_time_shuffled(record, seed, faulty):
    """Shuffle along the wrong axis."""
    forecast(record, seed, "batch_norm" if faulty else None)


@pair(cause="recurrent weights start 6 times too large: chaotic, saturated state", severity="gross")
def ts_recurrent_init_large(record, seed, faulty):
    """Saturated RNN."""
    forecast(record, seed, "explode" if faulty else None)


def waves(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, L = 1000, 256
    y = torch.randint(5, (n,), generator=g)
    t = torch.arange(L) / L
    f = torch.tensor([11.0, 17, 23, 31, 41])[y][:, None] + torch.randn(n, 1, generator=g)
    x = torch.sin(2 * math.pi * f * t + 6.28 * torch.rand(n, 1, generator=g))
    x = x + 0.5 * torch.randn(n, L, generator=g)
    x[::10, 128:] = 0.0  # some clips end early
    x[3::40] = 0.0  # and some are silent
    y[3::40] = 0
    sp = torch.stft(x, 64, 32, window=torch.hann_window(64), return_complex=True)
    if fault == "phase":
        sp = sp.angle()
    elif fault == "log_zero":
        sp = torch.log(sp.abs())
    else:
        sp = torch.log(sp.abs() + 1e-2)
    sp = sp.transpose(1, 2) if fault == "axes" else sp
    model = nn.Sequential(
        nn.Conv1d(sp.shape[1], 32, 3),
        nn.ReLU(),
        nn.Conv1d(32, 32, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(32, 5),
    )
    o = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    crit = nn.CrossEntropyLoss()
    with record(model, o, crit) as hook:
        for ep in range(8):
            model.train()
            for b in torch.randperm(800).split(25):
                o.zero_grad()
                l = crit(model(sp[b]), y[b])
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                crit(model(sp[800:]), y[800:])
    with torch.no_grad():
        score(
            (model(sp[800:]).argmax(1) == y[800:]).float().mean(),
            torch.bincount(y[800:]).max() / 200,
        )


@healthy
def wave_tones_with_silence(record, seed):
    """Log spectrograms of noisy tones, a few clips silent."""
    waves(record, seed)


@pair(cause="phase (angle) used in place of the magnitude", severity="middling")
def wave_phase_for_magnitude(record, seed, faulty):
    """Wrong part of the complex spectrum."""
    waves(record, seed, "phase" if faulty else None)


@pair(cause="log of silence without an epsilon: minus infinity, then NaN", severity="gross")
def wave_log_of_silence(record, seed, faulty):
    """Silent clips give -inf."""
    waves(record, seed, "log_zero" if faulty else None)
