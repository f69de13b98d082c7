"""Reinforcement learning in small vectorised worlds."""

import copy
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score


class Grid:
    """5 x 5 cells; a goal shown to the agent; reward 1 at the goal, a small cost per step; 16 steps at most."""

    MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, n, size=5, reward=1.0, slip=0.05):
        self.n, self.size, self.reward, self.slip = n, size, reward, slip
        self.a = torch.randint(0, size, (n, 2))
        self.g = torch.randint(0, size, (n, 2))
        self.t = torch.zeros(n)

    def obs(self):
        return torch.cat([self.a, self.g], 1).float() / (self.size - 1) * 2 - 1

    def step(self, act):
        act = torch.where(torch.rand(self.n) < self.slip, torch.randint(0, 4, (self.n,)), act)
        self.a = (self.a + self.MOVES[act]).clamp(0, self.size - 1)
        self.t += 1
        hit = (self.a == self.g).all(1)
        r = torch.where(hit, self.reward, -0.05 * self.reward)
        nxt = self.obs()
        over = hit | (self.t >= 16)
        k = int(over.sum())
        self.a[over], self.g[over] = torch.randint(0, self.size, (k, 2)), torch.randint(
            0, self.size, (k, 2)
        )
        self.t[over] = 0
        return nxt, r, hit.float(), over.float()


@torch.no_grad()
def evaluate(policy, n=200, steps=48):
    """Mean reward per step of the greedy policy."""
    e = Grid(n)
    tot = 0.0
    for _ in range(steps):
        tot += e.step(policy(e.obs()))[1].mean().item()
    return tot / steps


def chance():
    return evaluate(lambda o: torch.randint(0, 4, (len(o),)))


def q_net(h=64, out=4):
    return nn.Sequential(nn.Linear(4, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, out))


def dqn(
    record,
    seed,
    *,
    steps=700,
    sync=25,
    gamma=0.9,
    done_mask=True,
    reward=1.0,
    double=False,
    eps_end=0.1,
    soft=None,
    replay=4000,
    lr=2e-3,
    tau_bug=False,
    wrong_action=False,
    min_bug=False,
    warm=5,
    greedy=False,
    terminal_all=False,
    grad_target=False,
    net=None,
):
    torch.manual_seed(seed)
    q = net() if net else q_net()
    tgt = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr)
    env = Grid(16, reward=reward)
    O, N = torch.zeros(replay, 4), torch.zeros(replay, 4)
    A, R, D = torch.zeros(replay, dtype=torch.long), torch.zeros(replay), torch.zeros(replay)
    fill = 0
    crit = nn.SmoothL1Loss()
    with record(q, opt, crit) as hook:
        for i in range(steps + warm):
            o = env.obs()
            eps = max(eps_end, 1 - i / (steps * 0.5))
            with torch.no_grad():
                a = q(o).argmax(1)
            a = torch.where(
                torch.rand(16) < (0.0 if greedy else eps), torch.randint(0, 4, (16,)), a
            )
            n, r, d, _ = env.step(a)
            j = torch.arange(fill, fill + 16) % replay
            O[j], A[j], R[j], N[j], D[j] = o, a, r, n, d
            fill += 16
            if i < warm:
                continue
            b = torch.randint(0, min(fill, replay), (64,))
            with torch.no_grad():
                if double:
                    nq = tgt(N[b]).gather(1, q(N[b]).argmax(1, keepdim=True))[:, 0]
                elif min_bug:
                    nq = tgt(N[b]).min(1)[0]
                else:
                    nq = tgt(N[b]).max(1)[0]
                y = R[b] + gamma * nq * ((1 - D[b]) if done_mask else 1.0)
            act = torch.randint(0, 4, (64,)) if wrong_action else A[b]
            loss = crit(q(O[b]).gather(1, act[:, None])[:, 0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if soft:
                for p, w in zip(tgt.parameters(), q.parameters()):
                    p.data.lerp_(w.data, soft)
            elif sync and i % sync == 0:
                tgt.load_state_dict(q.state_dict())
            hook.record_tensor_value("td_loss", loss)
            hook.end_step()
    score(evaluate(lambda o: q(o).argmax(1)), chance())


@healthy
def rl_dqn_target_network(record, seed):
    dqn(record, seed)


def returns(r, over, gamma, last, forward=False):
    g, out = last, []
    idx = range(len(r)) if forward else range(len(r) - 1, -1, -1)
    for t in idx:
        g = r[t] + gamma * g * (1 - over[t])
        out.append(g)
    return torch.stack(out if forward else out[::-1])


def a2c(
    record,
    seed,
    *,
    steps=300,
    sign=1.0,
    ent=0.01,
    gamma=0.9,
    forward=False,
    resample=False,
    adv_detach=True,
    norm=False,
    baseline=True,
    lr=3e-3,
    vcoef=0.5,
    plain=False,
    n=32,
    T=8,
    softmax_twice=False,
    epochs_ppo=0,
    clip=0.2,
    old_bug=False,
):
    torch.manual_seed(seed)
    body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    m = nn.ModuleDict(dict(body=body, pi=nn.Linear(64, 4), v=nn.Linear(64, 1)))
    opt = torch.optim.Adam(m.parameters(), lr)
    env = Grid(n)
    with record(m, opt) as hook:
        i = 0
        while i < steps:
            O, A, R, D = [], [], [], []
            with torch.no_grad():
                for _ in range(T):
                    o = env.obs()
                    a = torch.distributions.Categorical(logits=m["pi"](body(o))).sample()
                    _, r, _, over = env.step(a)
                    O.append(o), A.append(a), R.append(r), D.append(over)
                last = m["v"](body(env.obs()))[:, 0]
                G = returns(torch.stack(R), torch.stack(D), gamma, last, forward).flatten()
            O, A = torch.cat(O), torch.cat(A)
            with torch.no_grad():
                old = torch.distributions.Categorical(logits=m["pi"](body(O))).log_prob(A)
            for _ in range(max(1, epochs_ppo)):
                h = body(O)
                dist = torch.distributions.Categorical(logits=m["pi"](h))
                v = m["v"](h)[:, 0]
                adv = G - v.detach() if baseline else G
                if norm:
                    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                lp = dist.log_prob(dist.sample() if resample else A)
                if epochs_ppo:
                    ratio = (lp - old).exp()
                    pl = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
                else:
                    pl = -(lp * adv).mean()
                loss = sign * pl + vcoef * F.mse_loss(v, G) - ent * dist.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(m.parameters(), 0.5)
                opt.step()
                hook.record_tensor_value("policy_loss", pl)
                hook.record_tensor_value("loss", loss)
                hook.end_step()
                i += 1
    score(evaluate(lambda o: m["pi"](body(o)).argmax(1)), chance())


@healthy
def rl_a2c(record, seed):
    a2c(record, seed)


@healthy
def rl_ppo(record, seed):
    a2c(record, seed, epochs_ppo=4, norm=True, steps=480, T=16)


@healthy
def rl_behaviour_cloning(record, seed):
    """Imitation of a noisy expert."""
    torch.manual_seed(seed)
    o = (torch.rand(3000, 4) * 4).round()
    d = o[:, 2:] - o[:, :2]
    a = torch.where(d[:, 1] != 0, (d[:, 1] < 0).long(), 2 + (d[:, 0] < 0).long())
    a = torch.where(torch.rand(3000) < 0.1, torch.randint(0, 4, (3000,)), a)
    o = o / 2 - 1
    net = q_net()
    opt = torch.optim.AdamW(net.parameters(), 3e-3)
    with record(net, opt, nn.CrossEntropyLoss()) as hook:
        for ep in range(8):
            p = torch.randperm(3000)
            for j in p.split(60):
                loss = F.cross_entropy(net(o[j]), a[j])
                opt.zero_grad()
                loss.backward()
                opt.step()
                hook.record_tensor_value("bc", loss)
                hook.end_step()
    score(evaluate(lambda o: net(o).argmax(1)), chance())


@pair("the target network is never synchronised", "gross")
def rl_dqn_target_never(record, seed, faulty):
    dqn(record, seed, sync=None if faulty else 25)


@pair("policy loss with the sign of ascent missing", "gross")
def rl_pg_sign(record, seed, faulty):
    a2c(record, seed, sign=-1.0 if faulty else 1.0)


@pair("entropy bonus seventy times too large: the policy stays random", "middling")
def rl_pg_entropy(record, seed, faulty):
    a2c(record, seed, ent=0.7 if faulty else 0.01)
