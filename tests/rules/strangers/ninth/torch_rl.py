"""Reinforcement learning on small vectorised worlds."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from kit import mlp, start
from registry import healthy, pair, score

MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Grid:
    """Many 5 x 5 worlds at once: a goal in a corner, a pit in the middle."""

    def __init__(self, n, limit=20):
        self.n, self.limit = n, limit
        self.pos, self.age = torch.zeros(n, 2, dtype=torch.long), torch.zeros(n, dtype=torch.long)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        self.pos[which] = torch.randint(0, 3, (int(which.sum()), 2)) * torch.tensor([1, 0])
        self.age[which] = 0

    def see(self):
        return F.one_hot(self.pos[:, 0] * 5 + self.pos[:, 1], 25).float()

    def step(self, action):
        self.pos = (self.pos + MOVES[action]).clamp(0, 4)
        self.age += 1
        goal, pit = (self.pos == 4).all(1), (self.pos == 2).all(1)
        end = goal | pit
        reward = goal.float() - pit.float() - 0.03
        return reward, end, self.age >= self.limit


def grid_return(policy, n=200):
    world, alive, total = Grid(n), torch.ones(n), torch.zeros(n)
    with torch.no_grad():
        for _ in range(20):
            r, end, _ = world.step(policy(world.see()))
            total += r * alive
            alive = alive * (~end).float()
    return total.mean().item()


def random_return():
    return grid_return(lambda s: torch.randint(4, (len(s),)))


def rollout(policy, n=24):
    """Whole episodes: log-probabilities, rewards, aliveness, entropies, states; each (steps, n)."""
    world, alive, rows = Grid(n), torch.ones(n), []
    for _ in range(20):
        s = world.see()
        d = torch.distributions.Categorical(logits=policy(s))
        a = d.sample()
        r, end, _ = world.step(a)
        rows.append((d.log_prob(a), r * alive, alive, d.entropy(), s))
        alive = alive * (~end).float()
    return [torch.stack(c) for c in zip(*rows)]


def to_go(r, gamma=0.97):
    out, total = [], torch.zeros(r.shape[1])
    for x in r.flip(0):
        total = x + gamma * total
        out.append(total)
    return torch.stack(out).flip(0)


def best(net):
    return lambda s: net(s).argmax(1)


@healthy
def reinforce_with_baseline(record, seed):
    start(seed)
    net = mlp(25, 32, 4)
    opt = torch.optim.Adam(net.parameters(), 0.01)
    with record(net, opt) as hook:
        for _ in range(150):
            logp, r, alive, ent, _ = rollout(net)
            g = to_go(r)
            adv = (g - g.mean(1, keepdim=True)) * alive
            loss = -(logp * adv).sum() / alive.sum() - 0.01 * (ent * alive).sum() / alive.sum()
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(grid_return(best(net)), random_return())


def q_learning(
    record, updates=600, sync=25, explore=0.3, double=False, name="loss", rate=3e-3, scale=1.0
):
    net = mlp(25, 48, 4)
    target = copy.deepcopy(net)
    opt = torch.optim.Adam(net.parameters(), rate)
    world, store = Grid(8), []
    with record(net, opt) as hook:
        for k in range(updates):
            s = world.see()
            with torch.no_grad():
                a = net(s).argmax(1)
            eps = explore and max(explore, 1 - 2.5 * k / updates)
            a = torch.where(torch.rand(8) < eps, torch.randint(4, (8,)), a)
            r, end, late = world.step(a)
            store.extend(zip(s, a, r * scale, end.float(), world.see()))
            del store[:-3000]
            if (end | late).any():
                world.reset(end | late)
            if len(store) < 64:
                continue
            batch = [store[j] for j in np.random.randint(len(store), size=48)]
            s, a, r, end, s2 = (torch.stack(c) for c in zip(*batch))
            with torch.no_grad():
                nxt = target(s2)
                nxt = nxt.gather(1, net(s2).argmax(1)[:, None])[:, 0] if double else nxt.max(1)[0]
                y = r + 0.97 * nxt * (1 - end)
            loss = F.smooth_l1_loss(net(s).gather(1, a[:, None])[:, 0], y)
            hook.record_tensor_value(name, loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if sync and k % sync == 0:
                target.load_state_dict(net.state_dict())
    score(grid_return(best(net)), random_return())


@healthy
def double_q_learning_with_replay(record, seed):
    start(seed)
    q_learning(record, 900, double=True)


@healthy
def actor_critic_balances_a_pole(record, seed):
    start(seed)

    class Pole:
        def __init__(self, n):
            self.s = 0.1 * torch.randn(n, 2)

        def step(self, a):
            w, v = self.s.unbind(1)
            v = v + 0.25 * w + 0.15 * (2.0 * a - 1)
            self.s = torch.stack([w + 0.2 * v, v], 1)
            down = self.s[:, 0].abs() > 1
            self.s[down] = 0.1 * torch.randn(int(down.sum()), 2)
            return 1.0 - down.float(), down

    actor, critic = mlp(2, 32, 2, act=nn.Tanh), mlp(2, 32, 1, act=nn.Tanh)
    model = nn.ModuleDict({"actor": actor, "critic": critic})
    opt = torch.optim.Adam(model.parameters(), 5e-3)
    world = Pole(32)

    def falls(policy):
        w, n = Pole(100), 0
        for _ in range(100):
            n += w.step(policy(w.s))[1].sum().item()
        return -n / 100

    with record(model, opt) as hook:
        for _ in range(250):
            rows = []
            for _ in range(8):
                s = world.s.clone()
                d = torch.distributions.Categorical(logits=actor(s))
                a = d.sample()
                r, down = world.step(a)
                rows.append(
                    (d.log_prob(a), critic(s)[:, 0], r - 2 * down, 1 - down.float(), d.entropy())
                )
            with torch.no_grad():
                g = critic(world.s)[:, 0]
            loss = 0
            for logp, v, r, on, ent in reversed(rows):
                g = r + 0.95 * g * on
                loss = (
                    loss
                    - (logp * (g - v).detach()).mean()
                    + 0.5 * (g - v).pow(2).mean()
                    - 0.01 * ent.mean()
                )
            loss = loss / 8
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    with torch.no_grad():
        score(falls(lambda s: actor(s).argmax(1)), falls(lambda s: torch.randint(2, (len(s),))))


@pair("target network is never synchronised", "gross")
def target_network_never_synchronised(record, seed, faulty):
    start(seed)
    q_learning(record, 700, sync=0 if faulty else 20, name="td_loss", rate=2e-3)


@pair("no exploration at all", "gross")
def q_learning_without_exploration(record, seed, faulty):
    start(seed)
    q_learning(record, 750, explore=0 if faulty else 0.3, double=True, scale=2.0, name="huber_loss")


@pair("the entropy bonus weighs far too much", "middling")
def entropy_bonus_far_too_large(record, seed, faulty):
    start(seed)
    actor, critic = mlp(25, 32, 4), mlp(25, 32, 1)
    model = nn.ModuleList([actor, critic])
    opt = torch.optim.Adam(model.parameters(), 0.01)
    with record(model, opt) as hook:
        for _ in range(130):
            logp, r, alive, ent, s = rollout(actor)
            g, v = to_go(r), critic(s)[..., 0]
            n = alive.sum()
            bonus = (ent * alive).sum() / n
            loss = (
                -(logp * (g - v).detach() * alive).sum() / n
                + 0.5 * ((g - v) ** 2 * alive).sum() / n
            )
            loss = loss - (0.3 if faulty else 0.01) * bonus
            hook.record_tensor_value("loss", loss)
            opt.zero_grad()
            loss.backward()
            opt.step()
    score(
        grid_return(lambda s: torch.distributions.Categorical(logits=actor(s)).sample()),
        random_return(),
    )


@pair("advantages flattened as (worlds, steps), actions as (steps, worlds)", "gross")
def advantages_out_of_order(record, seed, faulty):
    start(seed)
    actor = mlp(25, 48, 4)
    opt = torch.optim.Adam(actor.parameters(), 4e-3)
    with record(actor, opt) as hook:
        for _ in range(60):
            world, alive, rows = Grid(32), torch.ones(32), []
            with torch.no_grad():
                for _ in range(20):
                    s = world.see()
                    d = torch.distributions.Categorical(logits=actor(s))
                    a = d.sample()
                    r, end, _ = world.step(a)
                    rows.append((s, a, d.log_prob(a), r * alive, alive))
                    alive = alive * (~end).float()
            s, a, old, r, alive = (torch.stack(c) for c in zip(*rows))
            g = to_go(r)
            adv = (g - g[alive > 0].mean()) / (g[alive > 0].std() + 1e-6)
            if faulty:
                adv = adv.T
            s, a, old, w = s.reshape(-1, 25), a.reshape(-1), old.reshape(-1), alive.reshape(-1)
            adv = adv.reshape(-1)
            for _ in range(4):
                d = torch.distributions.Categorical(logits=actor(s))
                ratio = (d.log_prob(a) - old).exp()
                gain = torch.minimum(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
                loss = -((gain + 0.01 * d.entropy()) * w).sum() / w.sum()
                hook.record_tensor_value("loss", loss)
                opt.zero_grad()
                loss.backward()
                opt.step()
    score(grid_return(best(actor)), random_return())
