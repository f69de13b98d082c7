"""Reinforcement learning as the tutorials and CleanRL do it."""

import collections, random, numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical, Normal
from registry import healthy, pair, score
import kit


class Cart:
    """Vectorised cart-pole, at most 100 steps."""

    def __init__(self, n, seed=None):
        self.n, self.r = n, np.random.RandomState(seed)
        self.s, self.t = self.new(n), np.zeros(n)

    def new(self, n):
        return self.r.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)

    def obs(self):
        return torch.from_numpy(self.s.copy())

    def step(self, a):
        x, v, th, w = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        q = (f + 0.05 * w * w * s) / 1.1
        tha = (9.8 * s - c * q) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = q - 0.05 * tha * c / 1.1
        self.s = np.stack([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * tha], 1).astype(
            np.float32
        )
        self.t += 1
        term = (abs(self.s[:, 0]) > 2.4) | (abs(self.s[:, 2]) > 0.2095)
        trunc = (self.t >= 100) & ~term
        nxt = self.obs()
        d = term | trunc
        self.s[d] = self.new(d.sum())
        self.t[d] = 0
        return nxt, torch.ones(self.n), torch.from_numpy(term), torch.from_numpy(d)


@torch.no_grad()
def cart_length(act, seed, n=24):
    e = Cart(n, seed + 77)
    alive = np.ones(n, bool)
    total = 0
    for _ in range(100):
        total += alive.sum()
        *_, d = e.step(act(e.obs()).numpy())
        alive &= ~d.numpy()
    return total / n


CHANCE = 22.0


def net(i, o, h=64, act=nn.Tanh):
    return nn.Sequential(nn.Linear(i, h), act(), nn.Linear(h, h), act(), nn.Linear(h, o))


def reinforce(record, seed, wrong_returns=False, whiten=True, sign=1, updates=60):
    kit.seed_all(seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Dropout(p=0.1), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    with record(policy, optimizer, None) as hook:
        for ep in range(updates):
            policy.train()
            e = Cart(8)
            alive = torch.ones(8, dtype=torch.bool)
            logs, rews, lives = [], [], []
            while alive.any() and len(logs) < 100:
                d = Categorical(logits=policy(e.obs()))
                a = d.sample()
                logs.append(d.log_prob(a))
                lives.append(alive.float())
                rews.append(alive.float())
                *_, done = e.step(a.numpy())
                alive = alive & ~done
            R, out = torch.zeros(8), []
            for r in (rews if wrong_returns else rews[::-1]):
                R = r + 0.99 * R
                out.append(R)
            R = torch.stack(out if wrong_returns else out[::-1])
            m = torch.stack(lives)
            if whiten:
                R = (R - R[m > 0].mean()) / (R[m > 0].std() + 1e-6)
            loss = -sign * (torch.stack(logs) * R * m).sum() / 8
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    policy.eval()
    score(cart_length(lambda s: policy(s).argmax(1), seed), CHANCE)


@healthy
def reinforce_pytorch_example(record, seed):
    reinforce(record, seed, updates=45)


@pair("returns are accumulated from the first reward on, not backwards from the last", "gross")
def reinforce_returns_forward(record, seed, faulty):
    reinforce(record, seed, wrong_returns=faulty)


def dqn(
    record,
    seed,
    double=False,
    target=True,
    done_mask=True,
    detach=True,
    steps=900,
    soft=0.02,
    gamma=0.97,
    wrong_pick=False,
):
    kit.seed_all(seed)
    q, t = net(4, 2, 64, nn.ReLU), net(4, 2, 64, nn.ReLU)
    t.load_state_dict(q.state_dict())
    opt = torch.optim.AdamW(q.parameters(), lr=1e-3, amsgrad=True)
    crit = nn.SmoothL1Loss()
    env, mem = Cart(8, seed), collections.deque(maxlen=1500)
    with record(q, opt, crit) as hook:
        for step in range(steps):
            s = env.obs()
            eps = max(0.05, 1 - step / 300)
            with torch.no_grad():
                a = torch.where(torch.rand(8) < eps, torch.randint(0, 2, (8,)), q(s).argmax(1))
            n, r, term, done = env.step(a.numpy())
            mem.append((s, a, r, n, term.float()))
            if len(mem) < 20:
                continue
            S, A, R, N, D = map(torch.cat, zip(*random.sample(mem, 12)))
            pred = q(S).max(1)[0] if wrong_pick else q(S).gather(1, A[:, None])[:, 0]
            with torch.set_grad_enabled(not detach):
                boot = t if target else q
                nxt = (
                    boot(N).gather(1, q(N).argmax(1, keepdim=True))[:, 0]
                    if double
                    else boot(N).max(1)[0]
                )
                y = R + gamma * nxt * ((1 - D) if done_mask else 1)
            loss = crit(pred, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(q.parameters(), 100)
            opt.step()
            for a_, b_ in zip(t.parameters(), q.parameters()):
                a_.data.lerp_(b_.data, soft)
    score(cart_length(lambda s: q(s).argmax(1), seed), CHANCE)


@healthy
def dqn_tutorial(record, seed):
    dqn(record, seed)


@healthy
def double_dqn(record, seed):
    dqn(record, seed, double=True, steps=1200)


@pair("the bootstrapped value is not cut off at terminal states", "gross")
def dqn_no_done_mask(record, seed, faulty):
    dqn(record, seed, done_mask=not faulty)


def ppo(
    record,
    seed,
    clip=True,
    norm=True,
    lam=0.95,
    swap=False,
    old_in_graph=False,
    updates=16,
    done_ok=True,
    ent=0.01,
    lr=2.5e-3,
):
    kit.seed_all(seed)
    actor, critic = net(4, 2), net(4, 1)
    for m in list(actor) + list(critic):
        if isinstance(m, nn.Linear):
            nn.init.orthogonal_(m.weight, 2**0.5)
            nn.init.zeros_(m.bias)
    nn.init.orthogonal_(actor[-1].weight, 0.01)
    nn.init.orthogonal_(critic[-1].weight, 1.0)
    agent = nn.ModuleList([actor, critic])
    opt = torch.optim.Adam(agent.parameters(), lr=lr, eps=1e-5)
    env, N, L = Cart(16, seed), 16, 32
    with record(agent, opt, None) as hook:
        for up in range(updates):
            opt.param_groups[0]["lr"] = (1 - up / updates) * lr
            S, A, P, V, R, D = [], [], [], [], [], []
            with torch.no_grad():
                for _ in range(L):
                    s = env.obs()
                    d = Categorical(logits=actor(s))
                    a = d.sample()
                    S.append(s)
                    A.append(a)
                    P.append(d.log_prob(a))
                    V.append(critic(s)[:, 0])
                    _, r, term, done = env.step(a.numpy())
                    R.append(r)
                    D.append(done.float())
                nv, g, adv = critic(env.obs())[:, 0], 0, [None] * L
                for t in reversed(range(L)):
                    live = 1 - D[t] if done_ok else torch.ones(N)
                    g = R[t] + 0.98 * nv * live - V[t] + 0.98 * lam * live * g
                    adv[t] = g
                    nv = V[t]
            S, A, P, V, G = (torch.cat(z) for z in (S, A, P, V, adv))
            ret = G + V
            for ep in range(4):
                for i in torch.randperm(N * L).split(128):
                    d = Categorical(logits=actor(S[i]))
                    ratio = (d.log_prob(A[i]) - P[i]).exp()
                    a = (G[i] - G[i].mean()) / (G[i].std() + 1e-8) if norm else G[i]
                    un, cl = -a * ratio, -a * ratio.clamp(0.8, 1.2)
                    pg = (torch.min(un, cl) if swap else torch.max(un, cl)).mean()
                    vl = 0.5 * ((critic(S[i])[:, 0] - ret[i]) ** 2).mean()
                    loss = pg - ent * d.entropy().mean() + 0.5 * vl
                    opt.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                    opt.step()
    score(cart_length(lambda s: actor(s).argmax(1), seed), CHANCE)


@healthy
def ppo_cleanrl(record, seed):
    ppo(record, seed)


@pair("the advantage estimate runs on over the ends of episodes", "gross")
def ppo_gae_ignores_done(record, seed, faulty):
    ppo(record, seed, done_ok=not faulty, updates=14)


class Point:
    """Push a point with friction to the origin; 25 steps."""

    def __init__(self, n):
        self.n = n
        self.reset()

    def reset(self):
        self.s = torch.cat([torch.rand(self.n, 1) * 4 - 2, torch.zeros(self.n, 1)], 1)
        self.t = 0

    def step(self, a):
        v = 0.8 * self.s[:, 1:] + 0.3 * a.clamp(-1, 1)
        self.s = torch.cat([(self.s[:, :1] + v).clamp(-3, 3), v], 1)
        self.t += 1
        return self.s, -0.3 * (self.s[:, 0] ** 2) - 0.02 * a[:, 0] ** 2


@torch.no_grad()
def point_return(act, seed):
    torch.manual_seed(seed + 5)
    e, tot = Point(64), 0
    for _ in range(25):
        _, r = e.step(act(e.s))
        tot += r.mean().item()
    return tot


def replay(record, seed, policy, learn, models, opts, steps=450):
    e, mem = Point(4), collections.deque(maxlen=1000)
    with record(models, opts, None) as hook:
        for step in range(steps):
            s = e.s
            with torch.no_grad():
                a = torch.rand(4, 1) * 2 - 1 if step < 30 else policy(s)
            n, r = e.step(a)
            mem.append((s, a, r[:, None], n))
            if e.t >= 25:
                e.reset()
            if step >= 20:
                learn(step, *map(torch.cat, zip(*random.sample(mem, 16))))


def td3(record, seed, twin=True, delay=2, noise=0.1, tau=0.02, sign=-1, frozen=True):
    kit.seed_all(seed)
    mk = lambda: net(3, 1, 48, nn.ReLU)
    A, q1, q2 = nn.Sequential(net(2, 1, 48, nn.ReLU), nn.Tanh()), mk(), mk()
    At, t1, t2 = nn.Sequential(net(2, 1, 48, nn.ReLU), nn.Tanh()), mk(), mk()
    for a, b in ((At, A), (t1, q1), (t2, q2)):
        a.load_state_dict(b.state_dict())
    oa = torch.optim.Adam(A.parameters(), lr=1e-3)
    oq = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=2e-3)

    def learn(step, s, a, r, n):
        with torch.no_grad():
            na = (
                (At(n) + (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)).clamp(-1, 1)
                if twin
                else At(n)
            )
            z = torch.cat([n, na], 1)
            y = r + 0.95 * (torch.min(t1(z), t2(z)) if twin else t1(z))
        z = torch.cat([s, a], 1)
        lq = F.mse_loss(q1(z), y) + (F.mse_loss(q2(z), y) if twin else 0)
        oq.zero_grad()
        lq.backward()
        oq.step()
        if step % delay == 0:
            la = sign * q1(torch.cat([s, A(s)], 1)).mean()
            oa.zero_grad()
            la.backward()
            oa.step()
            for u, v in ((At, A), (t1, q1), (t2, q2)):
                for p, k in zip(u.parameters(), v.parameters()):
                    p.data.mul_(1 - tau).add_(tau * k.data)

    replay(
        record,
        seed,
        lambda s: (A(s) + noise * torch.randn(4, 1)).clamp(-1, 1),
        learn,
        nn.ModuleList([A, q1] + ([q2] if twin else [])),
        [oa, oq],
    )
    score(point_return(A, seed), point_return(lambda s: torch.zeros(64, 1), seed))


@healthy
def td3_point(record, seed):
    td3(record, seed)


@healthy
def ddpg_point(record, seed):
    td3(record, seed, twin=False, delay=1)


@pair("the actor minimises the critic's value", "gross")
def ddpg_actor_sign(record, seed, faulty):
    td3(record, seed, twin=False, delay=1, sign=1 if faulty else -1, noise=0.2)


@healthy
def sac_point(record, seed):
    kit.seed_all(seed)
    actor, q1, q2 = net(2, 2, 48, nn.ReLU), net(3, 1, 48, nn.ReLU), net(3, 1, 48, nn.ReLU)
    t1, t2 = net(3, 1, 48, nn.ReLU), net(3, 1, 48, nn.ReLU)
    t1.load_state_dict(q1.state_dict())
    t2.load_state_dict(q2.state_dict())
    log_alpha = nn.Parameter(torch.zeros(1) - 1.5)
    oa = torch.optim.Adam(actor.parameters(), lr=1e-3)
    oq = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=2e-3)
    ol = torch.optim.Adam([log_alpha], lr=3e-3)

    def pi(s):
        mu, ls = actor(s).chunk(2, 1)
        d = Normal(mu, ls.clamp(-5, 2).exp())
        u = d.rsample()
        a = torch.tanh(u)
        return a, d.log_prob(u) - torch.log(1 - a**2 + 1e-6)

    def learn(step, s, a, r, n):
        al = log_alpha.exp().detach()
        with torch.no_grad():
            na, lp = pi(n)
            z = torch.cat([n, na], 1)
            y = r + 0.95 * (torch.min(t1(z), t2(z)) - al * lp)
        z = torch.cat([s, a], 1)
        loss = F.mse_loss(q1(z), y) + F.mse_loss(q2(z), y)
        oq.zero_grad()
        loss.backward()
        oq.step()
        pa, lp = pi(s)
        z = torch.cat([s, pa], 1)
        la = (al * lp - torch.min(q1(z), q2(z))).mean()
        oa.zero_grad()
        la.backward()
        oa.step()
        ll = -(log_alpha.exp() * (lp.detach() - 1.0)).mean()
        ol.zero_grad()
        ll.backward()
        ol.step()
        for u, v in ((t1, q1), (t2, q2)):
            for p, k in zip(u.parameters(), v.parameters()):
                p.data.lerp_(k.data, 0.02)

    replay(
        record, seed, lambda s: pi(s)[0], learn, nn.ModuleList([actor, q1, q2]), [oa, oq, ol], 400
    )
    score(
        point_return(lambda s: torch.tanh(actor(s)[:, :1]), seed),
        point_return(lambda s: torch.zeros(64, 1), seed),
    )
