"""Reinforcement learning, preferences, reward models, bandits."""

import copy
import random
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


def mlp(*d, act=nn.Tanh):
    layers = []
    for a, b in zip(d[:-1], d[1:]):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class Point:
    """A batch of points on [-1, 1]^2; the reward is higher near the centre; 3 or 5 discrete pushes, or continuous ones."""

    MOVES = torch.tensor([[0.0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])

    def __init__(self, n, length=20):
        self.n, self.length = n, length
        self.reset()

    def reset(self):
        self.t = 0
        self.p = torch.rand(self.n, 2) * 2 - 1
        self.v = torch.zeros(self.n, 2)
        return self.obs()

    def obs(self):
        return torch.cat([self.p, self.v * 4], 1)

    def step(self, a):
        push = self.MOVES[a] if a.dtype == torch.long else a.clamp(-1, 1)
        self.v = 0.7 * self.v + 0.1 * push
        self.p = (self.p + self.v).clamp(-1.5, 1.5)
        self.t += 1
        r = 1 - self.p.norm(dim=1)
        return self.obs(), r, self.t >= self.length


@torch.no_grad()
def evaluate(policy, n=200):
    e = Point(n)
    o, tot = e.reset(), 0
    done = False
    while not done:
        o, r, done = e.step(policy(o))
        tot = tot + r
    q = (tot.mean() / 20).item()
    return q if q == q else -1.0


def random_return():
    return evaluate(lambda o: torch.randint(0, 5, (len(o),)))


def train_dqn(
    record,
    seed,
    sync=100,
    gamma=0.9,
    no_target_detach=False,
    eps_end=0.05,
    mask_action=True,
    steps=2000,
    lr=1e-3,
    copy_bug=False,
    loss_reward_sign=1.0,
):
    torch.manual_seed(seed)
    random.seed(seed)
    q = mlp(4, 64, 64, 5, act=nn.ReLU)
    tgt = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr)
    crit = nn.SmoothL1Loss()
    env = Point(4)
    o = env.reset()
    buf = []
    with record(q, opt, crit) as hook:
        for s in range(steps):
            eps = max(eps_end, 1 - s / 800)
            with torch.no_grad():
                a = torch.where(torch.rand(4) < eps, torch.randint(0, 5, (4,)), q(o).argmax(1))
            o2, r, done = env.step(a)
            buf.append((o, a, r, o2))
            o = env.reset() if done else o2
            if len(buf) > 2000:
                buf.pop(0)
            if s < 50:
                continue
            b = random.sample(buf, 16)
            bo, ba, br, b2 = (torch.cat(t) for t in zip(*b))
            with torch.no_grad():
                y = loss_reward_sign * br + gamma * tgt(b2).max(1).values
            pred = (
                q(bo).gather(1, ba[:, None]) if mask_action else q(bo).max(1, keepdim=True).values
            )
            loss = crit(pred, y[:, None])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q.parameters(), 10.0)
            opt.step()
            if sync and s % sync == 0:
                tgt.load_state_dict(q.state_dict())
        with record.evaluation(hook):
            ret = evaluate(lambda o: q(o).argmax(1))
    score(ret, random_return())


@healthy
def dqn_point(record, seed):
    """The Q loss rises as the values grow: normal."""
    train_dqn(record, seed)


@pair("the max over actions is regressed instead of the Q value of the action taken", "gross")
def dqn_max_instead_of_gather(record, seed, faulty):
    train_dqn(record, seed, mask_action=not faulty)


@pair("the discount is 1.2, values grow without bound", "gross")
def dqn_discount_above_one(record, seed, faulty):
    train_dqn(record, seed, gamma=1.2 if faulty else 0.9, sync=20)


def train_reinforce(
    record,
    seed,
    sign=1.0,
    baseline=True,
    reset_bug=False,
    steps=150,
    rev=False,
    ent=0.0,
    lr=1e-2,
    sampled_again=False,
):
    torch.manual_seed(seed)
    pi = mlp(4, 32, 5)
    opt = torch.optim.Adam(pi.parameters(), lr)
    with record(pi, opt, None) as hook:
        for s in range(steps):
            e = Point(32)
            o, done, lps, rs, ents = e.reset(), False, [], [], []
            while not done:
                d = torch.distributions.Categorical(logits=pi(o))
                a = d.sample()
                lps.append(d.log_prob(d.sample() if sampled_again else a))
                ents.append(d.entropy())
                o, r, done = e.step(a)
                rs.append(r)
            R, g = [], 0
            for r in (rs if rev else reversed(rs)):
                g = r + 0.9 * g
                R.append(g)
            R = torch.stack(R if rev else R[::-1])
            adv = R - R.mean(1, keepdim=True) if baseline else R
            adv = adv / (adv.std() + 1e-6)
            loss = -sign * (torch.stack(lps) * adv).mean() - ent * torch.stack(ents).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook):
            ret = evaluate(lambda o: pi(o).argmax(1))
    score(ret, random_return())


@healthy
def reinforce_noisy_loss(record, seed):
    """The loss of REINFORCE hovers about zero and says nothing: normal."""
    train_reinforce(record, seed)


@pair("the log-probability is that of a freshly sampled action, not of the one taken", "gross")
def reinforce_resample(record, seed, faulty):
    train_reinforce(record, seed, sampled_again=faulty)


@pair("an entropy bonus 10 times the size of the objective keeps the policy uniform", "mild")
def reinforce_entropy(record, seed, faulty):
    train_reinforce(record, seed, ent=10.0 if faulty else 0.01)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = mlp(4, 48, 2), mlp(4, 48, 1)
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, o):
        return torch.distributions.Normal(self.pi(o), self.log_std.exp())


def train_ppo(record, seed, iters=40, stale=True, lr=3e-3, clip=0.2, adv_bug=False):
    torch.manual_seed(seed)
    ac = AC()
    opt = torch.optim.Adam(ac.parameters(), lr, eps=1e-5)
    with record(ac, opt, None) as hook:
        for it in range(iters):
            e = Point(24)
            o, done, O, A, L, R = e.reset(), False, [], [], [], []
            with torch.no_grad():
                while not done:
                    d = ac.dist(o)
                    a = d.sample()
                    O.append(o), A.append(a), L.append(d.log_prob(a).sum(1))
                    o, r, done = e.step(a)
                    R.append(r)
                val = torch.stack([ac.v(t).squeeze(1) for t in O] + [ac.v(o).squeeze(1)])
                adv, g = [], 0
                for t in reversed(range(20)):
                    g = R[t] + 0.9 * val[t + 1] - val[t] + 0.9 * 0.9 * g
                    adv.append(g)
                adv = torch.stack(adv[::-1])
            O, A, L = torch.cat(O), torch.cat(A), torch.cat(L)
            ret = (adv + val[:-1]).flatten()
            adv = adv.T.flatten() if adv_bug else adv.flatten()
            for _ in range(4):
                for i in torch.randperm(len(O)).split(160):
                    d = ac.dist(O[i])
                    ratio = (d.log_prob(A[i]).sum(1) - L[i]).exp()
                    ad = (adv[i] - adv[i].mean()) / (adv[i].std() + 1e-8)
                    pl = -torch.min(ratio * ad, ratio.clamp(1 - clip, 1 + clip) * ad).mean()
                    vl = F.mse_loss(ac.v(O[i]).squeeze(1), ret[i])
                    loss = pl + 0.5 * vl - 0.001 * d.entropy().mean()
                    opt.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
                    opt.step()
        with record.evaluation(hook):
            ret = evaluate(lambda o: ac.pi(o))
    score(ret, random_return())


@healthy
def ppo_continuous(record, seed):
    train_ppo(record, seed)


@pair(
    "the advantages are flattened as (environment, time) while the observations are (time, environment)",
    "gross",
)
def ppo_advantages_layout(record, seed, faulty):
    train_ppo(record, seed, adv_bug=faulty)


@pair("the learning rate of PPO is 300 times too large", "gross")
def ppo_lr_huge(record, seed, faulty):
    train_ppo(record, seed, lr=1.0 if faulty else 3e-3)


def train_sac(record, seed, tau=0.02, alpha=0.05, actor_sign=1.0, steps=1200):
    torch.manual_seed(seed)
    random.seed(seed)
    actor, q1, q2 = (mlp(i, 48, o, act=nn.ReLU) for i, o in ((4, 4), (6, 1), (6, 1)))
    t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
    model = nn.ModuleDict({"actor": actor, "q1": q1, "q2": q2})
    oa = torch.optim.Adam(actor.parameters(), 1e-3)
    oq = torch.optim.Adam([*q1.parameters(), *q2.parameters()], 2e-3)

    def act(o):
        m, ls = actor(o).chunk(2, 1)
        d = torch.distributions.Normal(m, ls.clamp(-4, 1).exp())
        u = d.rsample()
        a = torch.tanh(u)
        return a, (d.log_prob(u) - torch.log(1 - a**2 + 1e-6)).sum(1, keepdim=True)

    env = Point(4)
    o, buf = env.reset(), []
    with record(model, [oa, oq], None) as hook:
        for s in range(steps):
            with torch.no_grad():
                a = act(o)[0] if s > 100 else torch.rand(4, 2) * 2 - 1
            o2, r, done = env.step(a)
            buf.append((o, a, r[:, None], o2))
            o = env.reset() if done else o2
            if s < 40:
                continue
            bo, ba, br, b2 = (torch.cat(t) for t in zip(*random.sample(buf, 24)))
            with torch.no_grad():
                a2, lp = act(b2)
                x2 = torch.cat([b2, a2], 1)
                y = br + 0.9 * (torch.min(t1(x2), t2(x2)) - alpha * lp)
            x = torch.cat([bo, ba], 1)
            lq = F.mse_loss(q1(x), y) + F.mse_loss(q2(x), y)
            oq.zero_grad()
            lq.backward()
            oq.step()
            a, lp = act(bo)
            xa = torch.cat([bo, a], 1)
            la = (alpha * lp - actor_sign * torch.min(q1(xa), q2(xa))).mean()
            oa.zero_grad()
            la.backward()
            oa.step()
            with torch.no_grad():
                for t, q in ((t1, q1), (t2, q2)):
                    for p, w in zip(t.parameters(), q.parameters()):
                        p.lerp_(w, tau)
        with record.evaluation(hook):
            ret = evaluate(lambda o: torch.tanh(actor(o)[:, :2]))
    score(ret, random_return())


@healthy
def sac_two_critics(record, seed):
    """The actor's loss goes ever more negative: normal."""
    train_sac(record, seed)


@pair("the entropy temperature is 30 times too large", "mild")
def sac_alpha_large(record, seed, faulty):
    train_sac(record, seed, alpha=1.5 if faulty else 0.05)


@pair("the actor minimizes the critic's value, a sign error", "gross")
def sac_actor_sign(record, seed, faulty):
    train_sac(record, seed, actor_sign=-1.0 if faulty else 1.0)


def prefs(n, seed, noise=0.3):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(16, generator=torch.Generator().manual_seed(3))
    a, b = torch.randn(2, n, 16, generator=g)
    f = lambda x: x @ w + 1.5 * (x[:, 0] * x[:, 1]) - x[:, 2] ** 2
    win = f(a) - f(b) + noise * torch.randn(n, generator=g) > 0
    return torch.where(win[:, None], a, b), torch.where(win[:, None], b, a)


@pair("the reward model's chosen and rejected are swapped in 40 % of the pairs", "middling")
def reward_model_swapped(record, seed, faulty):
    torch.manual_seed(seed)
    c, r = prefs(3000, seed)
    vc, vr = prefs(1000, seed + 40)
    if faulty:
        m = (torch.rand(3000) < 0.4)[:, None]
        c, r = torch.where(m, r, c), torch.where(m, c, r)
    model = mlp(16, 64, 64, 1, act=nn.GELU)
    opt = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05)
    with record(model, opt, None) as hook:
        for epoch in range(12):
            for i in torch.randperm(3000).split(64):
                loss = -F.logsigmoid(model(c[i]) - model(r[i])).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with record.evaluation(hook), torch.no_grad():
                a = (model(vc) > model(vr)).float().mean()
    score(a, 0.5)


def train_dpo(record, seed, beta=0.5, ref_same=False, lr=2e-3, steps=500):
    """Prompts and answers of one token out of 12; the reference is a copy."""
    torch.manual_seed(seed)
    w = torch.randn(8, 12)

    def data(n):
        x = torch.randn(n, 8)
        a, b = torch.rand(n, 12).topk(2, 1).indices.unbind(1)
        u = x @ w
        win = u.gather(1, a[:, None]) > u.gather(1, b[:, None])
        return x, torch.where(win[:, 0], a, b), torch.where(win[:, 0], b, a)

    model = mlp(8, 48, 12, act=nn.ReLU)
    o0 = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(50):  # "supervised" stage with noise
        x = torch.randn(64, 8)
        o0.zero_grad()
        F.cross_entropy(model(x), torch.randint(0, 12, (64,))).backward()
        o0.step()
    ref = copy.deepcopy(model).eval().requires_grad_(False)
    opt = torch.optim.RMSprop(model.parameters(), lr)
    lp = lambda m, x, y: m(x).log_softmax(-1).gather(1, y[:, None]).squeeze(1)
    with record(model, opt, None) as hook:
        for s in range(steps):
            x, c, r = data(64)
            rf = model if ref_same else ref
            h = (lp(model, x, c) - lp(model, x, r)) - (lp(rf, x, c) - lp(rf, x, r))
            loss = -F.logsigmoid(beta * h).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with record.evaluation(hook), torch.no_grad():
            x, c, r = data(2000)
            a = (lp(model, x, c) > lp(model, x, r)).float().mean()
    score(a, 0.5)


@healthy
def dpo_single_token(record, seed):
    train_dpo(record, seed)


@pair("the reference is the policy itself: the margin is always zero", "gross")
def dpo_reference_is_policy(record, seed, faulty):
    train_dpo(record, seed, ref_same=faulty)


@healthy
def contextual_bandit_epsilon(record, seed):
    """One Q head per arm, only the pulled arm gets a gradient."""
    torch.manual_seed(seed)
    w = torch.randn(10, 6)
    model = mlp(10, 64, 6, act=nn.ReLU)
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    crit = nn.MSELoss(reduction="none")
    with record(model, opt, crit) as hook:
        for s in range(1500):
            x = torch.randn(32, 10)
            q = model(x)
            a = torch.where(
                torch.rand(32) < max(0.1, 1 - s / 800), torch.randint(0, 6, (32,)), q.argmax(1)
            )
            rew = (
                (torch.sin(x @ w)).gather(1, a[:, None]).squeeze(1) * 0.5
                + (x @ w).gather(1, a[:, None]).squeeze(1) * 0.3
                + 0.2 * torch.randn(32)
            )
            loss = crit(q.gather(1, a[:, None]).squeeze(1), rew).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        x = torch.randn(3000, 10)
        r = torch.sin(x @ w) * 0.5 + (x @ w) * 0.3
        with record.evaluation(hook), torch.no_grad():
            got = r.gather(1, model(x).argmax(1, keepdim=True)).mean()
    score(got / r.max(1).values.mean(), 0.0)
