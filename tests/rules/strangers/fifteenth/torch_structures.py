"""Graphs, sets, experts, equations, flows, meta-learning, reinforcement, GAN, diffusion, continual, fine-tuning."""

import copy
import math
import torch
import torch.nn.functional as F
from torch import nn
from registry import healthy, pair, score


def gcn(record, seed, fault=None, layers=2):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, k = 300, 4
    y = torch.randint(k, (n,), generator=g)
    P = torch.where(y[:, None] == y[None], 0.10, 0.01)
    A = (torch.rand(n, n, generator=g) < P).float().triu(1)
    A = A + A.T
    x = 0.6 * F.one_hot(y, k).float() @ torch.randn(k, 16, generator=g) + torch.randn(
        n, 16, generator=g
    )
    tr = torch.zeros(n, dtype=torch.bool)
    tr[torch.randperm(n, generator=g)[:60]] = True
    if fault == "reordered":
        p = torch.randperm(n, generator=g)
        A = A[p][:, p]
    Ah = A + torch.eye(n)
    d = Ah.sum(1)
    Ah = Ah / (d[:, None] * d[None]).sqrt() if fault != "no_norm" else Ah
    if fault == "smooth":
        Ah = torch.matrix_power(Ah, 40)
    lin = nn.ModuleList(
        [nn.Linear(16, 32)] + [nn.Linear(32, 32) for _ in range(layers - 2)] + [nn.Linear(32, k)]
    )

    def f():
        h = x
        for i, l in enumerate(lin):
            h = Ah @ l(F.dropout(h, 0.3, lin.training))
            if i < layers - 1:
                h = h.relu()
        return h

    o = torch.optim.Adam(lin.parameters(), 1e-2, weight_decay=5e-4)
    crit = nn.CrossEntropyLoss()
    with record(lin, o, crit) as hook:
        for ep in range(120):
            lin.train()
            out = f()
            l = crit(out[tr], y[:60]) if fault == "mask" else crit(out[tr], y[tr])
            o.zero_grad()
            l.backward()
            o.step()
            if ep % 20 == 19:
                with record.evaluation(hook):
                    lin.eval()
                    with torch.no_grad():
                        crit(f()[~tr], y[~tr])
    lin.eval()
    with torch.no_grad():
        score((f().argmax(1) == y)[~tr].float().mean(), 0.27)


@healthy
def graph_full_batch(record, seed):
    """GCN on one graph with 60 labelled nodes, whole graph each step; training loss goes low."""
    gcn(record, seed)


@pair(cause="nodes reordered but the adjacency kept (or the reverse)", severity="gross")
def graph_nodes_reordered(record, seed, faulty):
    """Edges join the wrong nodes."""
    gcn(record, seed, "reordered" if faulty else None)


@pair(cause="labels indexed by position and logits by the training mask", severity="middling")
def graph_mask_on_one_side(record, seed, faulty):
    """y[:60] for y[mask]."""
    gcn(record, seed, "mask" if faulty else None)


@pair(cause="forty propagation steps per layer: oversmoothing", severity="gross")
def graph_oversmoothing(record, seed, faulty):
    """All nodes look alike."""
    gcn(record, seed, "smooth" if faulty else None)


def deepset(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    n, L = 1600, 12
    ln = torch.randint(2, L + 1, (n,), generator=g)
    m = (torch.arange(L)[None] < ln[:, None]).float()
    x = torch.randn(n, L, 3, generator=g)
    y = ((torch.sin(2 * x[..., 0]) + x[..., 1] * x[..., 2]) * m).sum(1) / ln
    y = y / y.std()
    if fault == "junk":
        m_use = torch.ones_like(m)
    else:
        m_use = m
    phi = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 32), nn.SiLU())
    rho = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
    model = nn.ModuleDict({"phi": phi, "rho": rho})

    def f(i):
        h = phi(x[i]) * m_use[i][..., None]
        if fault == "pool_dim":
            return rho((h.sum(0) / len(i)))[0].expand(len(i))
        return rho(h.sum(1) / m_use[i].sum(1, keepdim=True))[:, 0]

    o = [
        torch.optim.Adam(phi.parameters(), 4e-3),
        torch.optim.SGD(rho.parameters(), 0.02, momentum=0.9),
    ]
    if fault == "one_opt":
        o = o[1:]
    crit = nn.MSELoss()
    with record(model, o, crit) as hook:
        for ep in range(12):
            for b in torch.randperm(1200).split(40):
                l = crit(f(b), y[b])
                model.zero_grad()
                l.backward()
                for q in o:
                    q.step()
            with record.evaluation(hook), torch.no_grad():
                crit(f(torch.arange(1200, n)), y[1200:])
    with torch.no_grad():
        v = y[1200:]
        score(1 - ((f(torch.arange(1200, n)) - v) ** 2).mean() / v.var(), 0.0)


@healthy
def set_two_optimizers(record, seed):
    """Deep set with Adam for the encoder and SGD for the head."""
    deepset(record, seed)


@pair(cause="padding (junk) counted in the mean of the set", severity="middling")
def set_padding_counted(record, seed, faulty):
    """Mask left out of the pooling."""
    deepset(record, seed, "junk" if faulty else None)


@pair(cause="encoder missing from the optimizers", severity="middling")
def set_encoder_not_optimised(record, seed, faulty):
    """Only the head learns."""
    deepset(record, seed, "one_opt" if faulty else None)


def moe(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(2000, 6, generator=g)
    W = torch.randn(4, 6, generator=g)
    dom = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    y = (x * W[dom]).sum(1) + 0.1 * torch.randn(2000, generator=g)
    gate = nn.Linear(6, 4)
    ex = nn.ModuleList(
        nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)) for _ in range(4)
    )
    model = nn.ModuleDict({"gate": gate, "experts": ex})

    def f(a):
        w = gate(a).softmax(0 if fault == "dim" else 1)
        if fault == "argmax":
            w = F.one_hot(w.argmax(1) * 0, 4).float()
        e = torch.cat([m(a) for m in ex], 1)
        return (w * e).sum(1), w

    o = torch.optim.Adam(model.parameters(), 8e-3)
    with record(model, o, nn.MSELoss()) as hook:
        for ep in range(12):
            for b in torch.randperm(1500).split(50):
                p, w = f(x[b])
                bal = (w.mean(0) ** 2).sum() * 4
                l = F.mse_loss(p, y[b]) + (
                    0.05 * bal if fault != "balance" else 30.0 * (w**2).sum(1).mean()
                )
                o.zero_grad()
                l.backward()
                o.step()
            with record.evaluation(hook), torch.no_grad():
                F.mse_loss(f(x[1500:])[0], y[1500:])
    with torch.no_grad():
        p, v = f(x[1500:])[0], y[1500:]
        score(1 - ((p - v) ** 2).mean() / v.var(), 0.0)


@healthy
def moe_soft_gate(record, seed):
    """Four experts with a soft gate and a balance term."""
    moe(record, seed)


@pair(cause="gate softmax over the batch and not over experts", severity="gross")
def moe_gate_over_batch(record, seed, faulty):
    """Gate weights depend on the other rows."""
    moe(record, seed, "dim" if faulty else None)


@pair(cause="gate balance term 600 times too strong: the gate stays uniform", severity="mild")
def moe_balance_too_strong(record, seed, faulty):
    """The auxiliary loss rules."""
    moe(record, seed, "balance" if faulty else None)


# physics -------------------------------------------------------------------------------------


def pinn(record, seed, fault=None, lbfgs=False):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )
    o = (
        torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, history_size=10)
        if lbfgs
        else torch.optim.Adam(model.parameters(), 5e-3)
    )
    tv = torch.linspace(0, 4, 100)[:, None]
    sol = torch.cos(2 * tv)

    def loss():
        t = (
            torch.rand(64, 1) * 4 if not lbfgs else torch.linspace(0, 4, 64)[:, None]
        ).requires_grad_()
        u = model(t)
        du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
        d2 = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
        res = d2 - 4 * u if fault == "sign" else d2 + 4 * u
        if fault == "detach":
            res = d2.detach() + 4 * u
        z = torch.zeros(1, 1, requires_grad=True)
        u0 = model(z)
        v0 = torch.autograd.grad(u0.sum(), z, create_graph=True)[0]
        ic = ((u0 - 1) ** 2 + v0**2).sum()
        if fault == "no_ic":
            ic = 0.0 * ic
        return (res**2).mean() * 0.1 + 10 * ic

    with record(model, o) as hook:
        for k in range(120 if lbfgs else 600):
            if lbfgs:

                def closure():
                    o.zero_grad()
                    l = loss()
                    l.backward()
                    return l

                o.step(closure)
            else:
                o.zero_grad()
                loss().backward()
                o.step()
            if k % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    F.mse_loss(model(tv), sol)
    with torch.no_grad():
        score(1 - ((model(tv) - sol) ** 2).mean() / sol.var(), 0.0)


@healthy
def pinn_oscillator_lbfgs(record, seed):
    """Equation of an oscillator solved with LBFGS."""
    pinn(record, seed, lbfgs=True)


@pair(cause="initial condition left out of the loss: the zero solution fits", severity="gross")
def pinn_no_initial_condition(record, seed, faulty):
    """Trivial solution."""
    pinn(record, seed, "no_ic" if faulty else None, lbfgs=True)


# flow ----------------------------------------------------------------------------------------


def moons(n, g):
    a = math.pi * torch.rand(n, generator=g)
    s = (torch.rand(n, generator=g) < 0.5).float()
    x = torch.stack(
        [torch.cos(a) * (1 - 2 * s) + s - 0.5, torch.sin(a) * (1 - 2 * s) + 0.5 * s - 0.25], 1
    )
    return (x + 0.08 * torch.randn(n, 2, generator=g)) * 0.5


def flow(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, v = moons(3000, g), moons(500, g)
    nets = nn.ModuleList(
        nn.Sequential(nn.Linear(1, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2))
        for _ in range(6)
    )
    for m in nets:
        nn.init.zeros_(m[-1].weight)
        nn.init.zeros_(m[-1].bias)

    def logp(a, train=False):
        ld = 0
        for i, m in enumerate(nets):
            c, t = (
                (a[:, :1], a[:, 1:])
                if i % 2 == 0 or (fault == "same_half")
                else (a[:, 1:], a[:, :1])
            )
            s, b = m(c).chunk(2, 1)
            s = 2 * torch.tanh(s / 2)
            t = t * s.exp() + b
            ld = ld + s[:, 0]
            a = torch.cat([c, t], 1) if i % 2 == 0 or fault == "same_half" else torch.cat([t, c], 1)
        base = -0.5 * (a**2).sum(1) - math.log(2 * math.pi)
        if train and fault == "logdet":
            return base - ld
        if train and fault == "no_logdet":
            return base
        return base + ld

    o = torch.optim.Adam(nets.parameters(), 4e-3)
    with record(nets, o) as hook:
        for k in range(300):
            b = torch.randint(3000, (128,))
            l = -logp(x[b], True).mean()
            o.zero_grad()
            l.backward()
            nn.utils.clip_grad_norm_(nets.parameters(), 5.0)
            o.step()
            if k % 60 == 59:
                with record.evaluation(hook), torch.no_grad():
                    logp(v)
    with torch.no_grad():
        c = torch.distributions.MultivariateNormal(x.mean(0), torch.cov(x.T))
        score(logp(v).mean(), c.log_prob(v).mean())


@healthy
def flow_negative_nll(record, seed):
    """Coupling flow on small-scale data: the NLL turns negative, with spikes."""
    flow(record, seed)


@pair(cause="sign of the log-determinant is wrong", severity="gross")
def flow_logdet_sign(record, seed, faulty):
    """Contracts all points to zero."""
    flow(record, seed, "logdet" if faulty else None)


# meta-learning -------------------------------------------------------------------------------


def reptile(record, seed, fault=None):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))

    def task():
        a, p = 1 + 2 * torch.rand(1), 0.8 * torch.rand(1)
        return lambda t: a * torch.sin(t + p)

    def adapt(m, f, n=10, steps=5):
        o = torch.optim.SGD(m.parameters(), 0.03)
        t = torch.rand(n, 1) * 8 - 4
        for _ in range(steps):
            o.zero_grad()
            F.mse_loss(m(t), f(t)).backward()
            o.step()

    o = torch.optim.SGD(net.parameters(), 1e-6 if fault == "lr" else 0.5)
    with record(net, o) as hook:
        for k in range(400):
            fast = copy.deepcopy(net)
            f = task()
            adapt(fast, f, 20, 8)
            o.zero_grad()
            for p, q in zip(net.parameters(), fast.parameters()):
                p.grad = (q - p).detach() if fault == "sign" else (p - q).detach()
            net(torch.zeros(1, 1))
            if fault == "sign":
                nn.utils.clip_grad_norm_(net.parameters(), 0.3)
            o.step()
            if k % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    net(torch.linspace(-4, 4, 20)[:, None])
    e, e0 = [], []
    tt = torch.linspace(-4, 4, 60)[:, None]
    for _ in range(30):
        f = task()
        m = copy.deepcopy(net)
        adapt(m, f)
        with torch.no_grad():
            e.append(F.mse_loss(m(tt), f(tt)))
            e0.append((f(tt) ** 2).mean())
    score(-torch.stack(e).mean(), -torch.stack(e0).mean())


@healthy
def meta_reptile(record, seed):
    """Reptile on sine tasks: the outer gradients are weight differences."""
    reptile(record, seed)


@pair(cause="outer step of Reptile has the wrong sign", severity="gross")
def meta_reptile_sign(record, seed, faulty):
    """Moves away from adapted weights."""
    reptile(record, seed, "sign" if faulty else None)


# reinforcement -------------------------------------------------------------------------------


def bandit(record, seed, fault=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(6, 5, generator=g)
    pol = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 5))
    val = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
    model = nn.ModuleDict({"policy": pol, "value": val})
    o = torch.optim.Adam(model.parameters(), 6e-3)
    vs = torch.randn(400, 6, generator=g)
    best = (vs @ W).argmax(1)
    with record(model, o) as hook:
        for k in range(350):
            s = torch.randn(48, 6)
            d = torch.distributions.Categorical(logits=pol(s))
            a = d.sample()
            r = ((s @ W).argmax(1) == a).float() + 0.3 * torch.randn(48) - 2.0
            v = val(s)
            if fault != "broadcast":
                v = v[:, 0]
            adv = r - v.detach()
            lp = d.log_prob(a)
            if fault == "prob_of_fresh":
                lp = d.log_prob(d.sample())
            pg = -(lp * adv).mean()
            if fault == "sign":
                pg = -pg
            ent = d.entropy().mean()
            l = (
                pg
                + 0.5 * ((r - val(s)[:, 0]) ** 2).mean()
                - (3.0 if fault == "entropy" else 0.01) * ent
            )
            o.zero_grad()
            l.backward()
            o.step()
            if k % 70 == 69:
                with record.evaluation(hook), torch.no_grad():
                    pol(vs)
    with torch.no_grad():
        score((pol(vs).argmax(1) == best).float().mean(), 0.2)


@healthy
def rl_actor_critic_noisy(record, seed):
    """Actor and critic with noisy rewards; the loss says little."""
    bandit(record, seed)


@pair(cause="log probability of a fresh sample and not of the action taken", severity="gross")
def rl_other_action(record, seed, faulty):
    """Reward and action do not belong together."""
    bandit(record, seed, "prob_of_fresh" if faulty else None)


def dqn(record, seed, fault=None):
    torch.manual_seed(seed)
    N = 5
    g = torch.Generator().manual_seed(seed)
    moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])
    cells = torch.cartesian_prod(torch.arange(N), torch.arange(N))
    enc = lambda c: F.one_hot(c[:, 0] * N + c[:, 1], N * N).float()
    goal = torch.tensor([N - 1, N - 1])
    s = cells[torch.randint(N * N - 1, (4000,), generator=g)]
    a = torch.randint(4, (4000,), generator=g)
    s2 = (s + moves[a]).clamp(0, N - 1)
    done = (s2 == goal).all(1).float()
    r = done - 0.02
    q = nn.Sequential(nn.Linear(N * N, 48), nn.ReLU(), nn.Linear(48, 4))
    tq = copy.deepcopy(q)
    o = torch.optim.Adam(q.parameters(), 3e-3)
    crit = nn.SmoothL1Loss()
    with record(q, o, crit) as hook:
        for k in range(500):
            b = torch.randint(4000, (64,))
            with torch.no_grad():
                nx = tq(enc(s2[b]))
                nx = nx.min(1).values if fault == "min" else nx.max(1).values
                d = done[b]
                y = r[b] + 0.9 * nx * (d if fault == "done" else 1 - d)
            qa = q(enc(s[b]))
            p = qa.max(1).values if fault == "max_q" else qa.gather(1, a[b][:, None])[:, 0]
            l = crit(p, y)
            o.zero_grad()
            l.backward()
            o.step()
            if k % 20 == 0 and fault != "never_synced":
                tq.load_state_dict(q.state_dict())
            if k % 100 == 99:
                with record.evaluation(hook), torch.no_grad():
                    q(enc(cells))
    tot = 0.0
    with torch.no_grad():
        pos = cells[:-1].clone()
        alive = torch.ones(len(pos), dtype=torch.bool)
        for t in range(10):
            pos[alive] = (
                (pos[alive] + moves[q(enc(pos[alive])).argmax(1)]).clamp(0, N - 1)
                if alive.any()
                else pos[alive]
            )
            alive &= ~(pos == goal).all(1)
        tot = 1 - alive.float().mean()
    score(tot, 0.15)


@healthy
def rl_dqn_rising_loss(record, seed):
    """DQN from a fixed buffer: the loss jumps whenever the target is synced."""
    dqn(record, seed)


@pair(cause="done mask inverted: bootstraps at the end only", severity="middling")
def rl_done_inverted(record, seed, faulty):
    """done for 1 - done."""
    dqn(record, seed, "done" if faulty else None)


@pair(cause="target network never synced", severity="gross")
def rl_target_never_synced(record, seed, faulty):
    """Stale targets from a random network."""
    dqn(record, seed, "never_synced" if faulty else None)


@pair(cause="max over actions for the taken action's value", severity="gross")
def rl_max_for_gather(record, seed, faulty):
    """Wrong gather."""
    dqn(record, seed, "max_q" if faulty else None)
