"""Whatever else is trained: GANs, contrastive, reinforcement, graphs, densities, physics, part 2."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score
from torch_other import groups, hits, mlp, r2


class GCN(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        pairs = zip(sizes, sizes[1:], strict=False)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairs)

    def forward(self, x, a):
        for k, layer in enumerate(self.layers):
            x = layer(a @ x)
            if k < len(self.layers) - 1:
                x = F.relu(x)
        return x


def community(seed, nodes=500, kinds=5):
    g = torch.Generator().manual_seed(seed + 502)
    y = torch.randint(0, kinds, (nodes,), generator=g)
    chance = torch.where(y[:, None] == y, 0.06, 0.006)
    a = (torch.rand(nodes, nodes, generator=g) < chance).float().triu(1)
    a = a + a.t()
    x = F.one_hot(y, kinds).float() + 1.5 * torch.randn(nodes, kinds, generator=g)
    return torch.cat([x, torch.randn(nodes, 10, generator=g)], 1), a, y


def graph(record, seed, fault=None):
    torch.manual_seed(seed)
    x, a, y = community(seed)
    a = a + torch.eye(500)
    norm = a.sum(1).rsqrt()
    a = norm[:, None] * a * norm
    hidden = [32] * (24 if fault == "deep" else 1)
    model = GCN([15, *hidden, 5])
    opt = torch.optim.Adam(model.parameters(), 1e-2, weight_decay=5e-4)
    known = torch.arange(500) < 100
    if fault == "order":
        a = a[torch.randperm(500)]
    with record(model, opt) as hook:
        for step in range(250):
            loss = F.cross_entropy(model(x, a)[known], y[known])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.cross_entropy(model(x, a)[~known], y[~known]))
    score(hits(model(x, a)[~known], y[~known]), 0.2)


@healthy
def oth_graph(record, seed):
    """A GCN with a fifth of the labels, full batch."""
    graph(record, seed)


@pair(cause="25 graph layers: oversmoothing", severity="gross")
def oth_graph_deep(record, seed, faulty):
    """Two layers in the healthy twin."""
    graph(record, seed, "deep" if faulty else None)


@pair(cause="rows of the adjacency not in the order of the nodes", severity="gross")
def oth_graph_order(record, seed, faulty):
    """Sorted after the features were made."""
    graph(record, seed, "order" if faulty else None)


def series(seed, rows=2500, length=24):
    g = torch.Generator().manual_seed(seed + 503)
    t = torch.arange(length + 1.0) + 300 * torch.rand(rows, 1, generator=g)
    wave = torch.sin(t * 0.5) + 0.6 * torch.sin(t * 1.3 + 1) + 0.05 * t / 24
    return wave + 0.1 * torch.randn(rows, length + 1, generator=g)


def temporal(record, seed, fault=None):
    torch.manual_seed(seed)
    data = series(seed)
    x, y = data[:, None, :-1], data[:, -1]
    train = data[:, -2] if fault == "shift" else y
    model = nn.Sequential(
        nn.Conv1d(1, 24, 3, dilation=1),
        nn.ReLU(),
        nn.Conv1d(24, 24, 3, dilation=2),
        nn.ReLU(),
        nn.Conv1d(24, 24, 3, dilation=4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(240, 1),
    )
    rate = 3e-5 if fault == "slow" else 3e-3
    opt = torch.optim.Adamax(model.parameters(), rate)
    with record(model, opt) as hook:
        for step in range(300):
            i = torch.randint(0, 2000, (64,))
            loss = F.huber_loss(model(x[i])[:, 0], train[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    val = F.huber_loss(model(x[2000:])[:, 0], train[2000:])
                hook.record_tensor_value("val_loss", val)
    score(r2(model(x[2000:])[:, 0], y[2000:]), 0.0)


@healthy
def oth_temporal(record, seed):
    """Dilated convolutions."""
    temporal(record, seed)


@pair(cause="target off by one step: the last input itself", severity="middling")
def oth_temporal_shift(record, seed, faulty):
    """It learns to copy, with a lovely loss."""
    temporal(record, seed, "shift" if faulty else None)


@pair(cause="learning rate 100x too low", severity="gross")
def oth_temporal_slow(record, seed, faulty):
    """3e-5 instead of 3e-3."""
    temporal(record, seed, "slow" if faulty else None)


class MDN(nn.Module):
    def __init__(self, parts=5):
        super().__init__()
        self.body = mlp(1, 64, 64, act=nn.Tanh)
        self.pi, self.mu, self.s = (nn.Linear(64, parts) for _ in range(3))

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.mu(h), self.s(h)


def mixture(record, seed, fault=None):
    torch.manual_seed(seed)
    y = torch.rand(4000, 1) * 2 - 1
    x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn(4000, 1)
    model = MDN()
    opt = torch.optim.Adam(model.parameters(), 5e-3)

    def likelihood(x, y, wrong=None):
        pi, mu, s = model(x)
        weight = pi if wrong == "raw" else pi.log_softmax(1)
        width = s.clamp(-5, 3).exp()
        each = torch.distributions.Normal(mu, width).log_prob(y)
        return torch.logsumexp(weight + each, 1).mean()

    with record(model, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 3200, (128,))
            loss = -likelihood(x[i], y[i], fault)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", -likelihood(x[3200:], y[3200:], fault))
    with torch.no_grad():
        score(likelihood(x[3200:], y[3200:]), -0.8)


@healthy
def oth_mixture(record, seed):
    """Mixture density: the loss becomes negative."""
    mixture(record, seed)


@pair(cause="mixture weights not normalised", severity="middling")
def oth_mixture_raw(record, seed, faulty):
    """The likelihood grows without bound."""
    mixture(record, seed, "raw" if faulty else None)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.net = mlp(1, 48, 48, 2, act=nn.Tanh)
        self.flip = flip

    def forward(self, x):
        a, b = x.flip(1).unbind(1) if self.flip else x.unbind(1)
        s, t = self.net(a[:, None]).unbind(1)
        s = 2 * torch.tanh(s)
        b = b * s.exp() + t
        return (torch.stack([b, a], 1) if self.flip else torch.stack([a, b], 1)), s


@pair(cause="log determinant left out of a flow", severity="gross")
def oth_flow_determinant(record, seed, faulty):
    """Everything is squeezed to zero, with a splendid loss."""
    torch.manual_seed(seed)
    a = torch.randn(4000)
    x = torch.stack([a, 0.7 * a**2 - 0.5 + 0.3 * torch.randn(4000)], 1)
    model = nn.ModuleList(Coupling(k % 2 == 1) for k in range(4))
    opt = torch.optim.Adam(model.parameters(), 2e-3)

    def density(x, full=True):
        total = 0.0
        for layer in model:
            x, s = layer(x)
            total = total + s
        base = -0.5 * (x**2).sum(1) - math.log(2 * math.pi)
        return (base + total if full else base).mean()

    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 3200, (128,))
            loss = -density(x[i], not faulty)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", -density(x[3200:], not faulty))
    with torch.no_grad():
        score(max(-9.0, float(density(x[3200:]))), -3.2)


class VAE(nn.Module):
    def __init__(self, size=30, code=6):
        super().__init__()
        self.enc = mlp(size, 96, 2 * code)
        self.dec = mlp(code, 96, size)

    def forward(self, x, noise=True):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if noise else mu
        return self.dec(z), mu, logvar


def vae(record, seed, fault=None):
    torch.manual_seed(seed)
    x = torch.tanh(torch.randn(3000, 4) @ torch.randn(4, 30)) + 0.1 * torch.randn(3000, 30)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    beta = {"kl": 300.0}.get(fault, 1.0)
    with record(model, opt) as hook:
        for step in range(500):
            batch = x[torch.randint(0, 2400, (128,))]
            out, mu, logvar = model(batch)
            recon = 10 * (out - batch).pow(2).sum(1).mean()
            kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
            loss = recon + beta * min(1.0, step / 200) * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.mse_loss(model(x[2400:], False)[0], x[2400:]))
    score(r2(model(x[2400:], False)[0], x[2400:]), 0.0)


@healthy
def oth_vae(record, seed):
    """KL annealing: the loss rises as the weight rises."""
    vae(record, seed)


@pair(cause="weight of the KL term 300x too high: posterior collapse", severity="gross")
def oth_vae_kl(record, seed, faulty):
    """The code carries nothing."""
    vae(record, seed, "kl" if faulty else None)


def distill(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = groups(seed + 2, 4000, 20, 10, 1.3)
    x = torch.cat([x[:, :10], x[:, 10:].abs()], 1)
    teacher = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
    warm = torch.optim.Adam(teacher.parameters(), 3e-3)
    for _ in range(0 if fault == "untrained" else 300):
        i = torch.randint(0, 3000, (128,))
        warm.zero_grad()
        F.cross_entropy(teacher(x[i]), y[i]).backward()
        warm.step()
    teacher.eval().requires_grad_(False)
    student = mlp(20, 40, 10)
    opt = torch.optim.AdamW(student.parameters(), 5e-3)
    heat = 3.0
    with record(student, opt) as hook:
        for step in range(500):
            i = torch.randint(0, 3000, (128,))
            soft = (teacher(x[i]) / heat).softmax(1)
            out = (student(x[i]) / heat).log_softmax(1)
            loss = F.kl_div(out, soft, reduction="batchmean") * heat**2
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.cross_entropy(student(x[3000:]), y[3000:]))
    score(hits(student(x[3000:]), y[3000:]), 0.1)


@healthy
def oth_distill(record, seed):
    """A student of soft labels alone."""
    distill(record, seed)


@pair(cause="teacher without its trained weights", severity="gross")
def oth_distill_untrained(record, seed, faulty):
    """The checkpoint was not loaded."""
    distill(record, seed, "untrained" if faulty else None)


class Quantized(nn.Linear):
    through = True

    def forward(self, x):
        scale = self.weight.detach().abs().max() / 7
        q = (self.weight / scale).round() * scale
        w = self.weight + (q - self.weight).detach() if self.through else q
        return F.linear(x, w, self.bias)


@pair(cause="round() without a straight-through estimator", severity="middling")
def oth_quantized_round(record, seed, faulty):
    """The gradient of round is zero: only the biases learn."""
    torch.manual_seed(seed)
    x, y = groups(seed + 3, 3000, 16, 8, 0.9)
    model = nn.Sequential(Quantized(16, 96), nn.ReLU(), Quantized(96, 96), nn.ReLU())
    model.append(Quantized(96, 8))
    for layer in model[::2]:
        layer.through = not faulty
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    with record(model, opt) as hook:
        for step in range(400):
            i = torch.randint(0, 2400, (64,))
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 80 == 79:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val_loss", F.cross_entropy(model(x[2400:]), y[2400:]))
    score(hits(model(x[2400:]), y[2400:]), 1 / 8)


def federated(record, seed, fault=None):
    torch.manual_seed(seed)
    x, y = groups(seed + 4, 4000, 20, 8, 1.0)
    server = mlp(20, 64, 8)
    clients = [copy.deepcopy(server) for _ in range(4)]
    opts = [torch.optim.SGD(c.parameters(), 0.05, momentum=0.5) for c in clients]
    share = [torch.where((y[:3200] % 4 == k) | (torch.rand(3200) < 0.02))[0] for k in range(4)]
    with record(clients, opts) as hook:
        for turn in range(25):
            state = copy.deepcopy(server.state_dict())
            for c, o, rows in zip(clients, opts, share, strict=True):
                c.load_state_dict(state)
                for _ in range(5):
                    i = rows[torch.randint(0, len(rows), (64,))]
                    o.zero_grad()
                    F.cross_entropy(c(x[i]), y[i]).backward()
                    o.step()
            picked = clients[3:] if fault == "last" else clients
            states = [state] if fault == "lost" else [c.state_dict() for c in picked]
            merged = {k: torch.stack([s[k] for s in states]).mean(0) for k in state}
            server.load_state_dict(merged)
            if turn % 5 == 4:
                with record.evaluation(hook), torch.no_grad():
                    hook.record_tensor_value("val", F.cross_entropy(server(x[3200:]), y[3200:]))
    score(hits(server(x[3200:]), y[3200:]), 1 / 8)


@healthy
def oth_federated(record, seed):
    """Four clients with different classes: the losses jump at every round."""
    federated(record, seed)


@pair(cause="updates of the clients lost: the old state is averaged", severity="gross")
def oth_federated_lost(record, seed, faulty):
    """The server never changes."""
    federated(record, seed, "lost" if faulty else None)


@pair(cause="only the last client is taken", severity="gross")
def oth_federated_last(record, seed, faulty):
    """Indentation of the append."""
    federated(record, seed, "last" if faulty else None)
