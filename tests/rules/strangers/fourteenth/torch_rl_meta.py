"""Reinforcement learning, meta-learning, federated averaging, curricula, continual learning, metric learning, self-supervision."""

import copy
import math
import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

from kit import accuracy, batches, digits, gratings, mlp, moons, r2, seed_all, small_cnn, tabular
from registry import healthy, pair, score


class Corridor:
    """Batched: walk on a line of 9 to the end that a flag shows; reward 1 there, small cost per step."""

    def __init__(self, n):
        self.n = n
        self.reset()

    def reset(self):
        self.at = torch.full((self.n,), 4)
        self.goal = torch.randint(2, (self.n,)) * 8
        self.done = torch.zeros(self.n, dtype=torch.bool)
        return self.observe()

    def observe(self):
        return torch.stack([self.at / 4 - 1, self.goal / 4 - 1, self.at * 0.0 + 1], 1)

    def step(self, action):
        move = torch.where(torch.rand(self.n) < 0.1, 1 - action, action) * 2 - 1
        self.at = torch.where(self.done, self.at, (self.at + move).clamp(0, 8))
        end = ((self.at == 0) | (self.at == 8)) & ~self.done
        reward = torch.where(
            end, torch.where(self.at == self.goal, 1.0, -1.0), torch.where(self.done, 0.0, -0.02)
        )
        alive = ~self.done
        self.done = self.done | end
        return self.observe(), reward, alive


@torch.no_grad()
def play(act, n=200, steps=20):
    env = Corridor(n)
    o, total = env.reset(), torch.zeros(n)
    for _ in range(steps):
        o, r, _ = env.step(act(o))
        total += r
    return total.mean().item()


def reinforce(
    record,
    seed,
    sign=-1.0,
    baseline=True,
    gamma=0.97,
    entropy=0.01,
    lr=4e-3,
    iterations=100,
    future=True,
):
    seed_all(seed)
    policy = mlp(3, 32, 2, act=nn.Tanh)
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
    env = Corridor(32)
    with record(policy, optimizer) as hook:
        for it in range(iterations):
            o, logs, rewards, alive, ent = env.reset(), [], [], [], 0.0
            for _ in range(16):
                d = torch.distributions.Categorical(logits=policy(o))
                a = d.sample()
                o, r, live = env.step(a)
                logs.append(d.log_prob(a) * live)
                ent = ent + (d.entropy() * live).mean()
                rewards.append(r)
            g, returns = torch.zeros(32), []
            for r in reversed(rewards):
                g = r + gamma * g
                returns.insert(0, g)
            returns = torch.stack(returns)
            if not future:
                returns = torch.stack(rewards).cumsum(0)
            if baseline:
                returns = (returns - returns.mean()) / (returns.std() + 1e-6)
            loss = sign * (torch.stack(logs) * returns).sum(0).mean() - entropy * ent / 16
            hook.record_tensor_value("policy_loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    score(
        play(lambda o: torch.distributions.Categorical(logits=policy(o)).sample()),
        play(lambda o: torch.randint(2, (len(o),))),
    )


@pair("the policy gradient has the wrong sign", "gross")
def reinforce_sign(record, seed, faulty):
    reinforce(record, seed, sign=1.0 if faulty else -1.0)


@pair("the entropy bonus is two thousand times too strong", "middling")
def reinforce_entropy(record, seed, faulty):
    reinforce(record, seed, entropy=20.0 if faulty else 0.01)


def dqn(
    record,
    seed,
    target_every=25,
    mask_done=True,
    reward_scale=1.0,
    stop_target=True,
    lr=2e-3,
    steps=500,
    epsilon=True,
):
    seed_all(seed)
    q = mlp(3, 48, 48, 2)
    frozen = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=lr)
    criterion = nn.SmoothL1Loss()
    memory = deque(maxlen=4000)
    env = Corridor(16)
    o, t = env.reset(), 0
    with record(q, optimizer, criterion):
        for step in range(steps):
            with torch.no_grad():
                a = q(o).argmax(1)
            e = max(0.1, 1 - step / 200) if epsilon else 0.0
            a = torch.where(torch.rand(16) < e, torch.randint(2, (16,)), a)
            o2, r, alive = env.step(a)
            for k in range(16):
                if alive[k]:
                    memory.append((o[k], a[k], r[k], o2[k], env.done[k]))
            o, t = o2, t + 1
            if t == 16:
                o, t = env.reset(), 0
            if len(memory) < 64:
                continue
            s, b, r, s2, d = (torch.stack(z) for z in zip(*random.sample(memory, 48)))
            with torch.no_grad():
                nxt = (frozen if stop_target else q)(s2).max(1).values
                goal = reward_scale * r + 0.97 * nxt * ((~d).float() if mask_done else 1.0)
            loss = criterion(q(s).gather(1, b[:, None]).squeeze(1), goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % target_every == 0:
                frozen.load_state_dict(q.state_dict())
    score(play(lambda o: q(o).argmax(1)), play(lambda o: torch.randint(2, (len(o),))))


@pair("the Q-network's learning rate is 150 times too high", "gross")
def dqn_hot(record, seed, faulty):
    dqn(record, seed, lr=0.3 if faulty else 2e-3)


def ppo(
    record,
    seed,
    ratio_detached=False,
    advantage_norm=True,
    lr=3e-3,
    clip=0.2,
    iterations=30,
    value_weight=0.5,
):
    seed_all(seed)
    body = mlp(3, 32, 3, act=nn.Tanh)
    optimizer = torch.optim.Adam(body.parameters(), lr=lr)
    env = Corridor(32)
    with record(body, optimizer) as hook:
        for it in range(iterations):
            o, data = env.reset(), []
            with torch.no_grad():
                for _ in range(14):
                    out = body(o)
                    d = torch.distributions.Categorical(logits=out[:, :2])
                    a = d.sample()
                    o2, r, alive = env.step(a)
                    data.append(
                        (o, a, d.log_prob(a), out[:, 2], r, alive.float(), env.done.float())
                    )
                    o = o2
                g, adv = torch.zeros(32), []
                nxt = torch.zeros(32)
                for ob, a, lp, v, r, alive, done in reversed(data):
                    delta = r + 0.97 * nxt * (1 - done) - v
                    g = (delta + 0.97 * 0.95 * (1 - done) * g) * alive
                    adv.insert(0, g)
                    nxt = v
                adv = torch.stack(adv).flatten()
                ob, a, lp, v, r, alive, done = (torch.cat(z) for z in zip(*data))
                target = adv + v
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            keep = alive.nonzero().squeeze(1)
            for _ in range(3):
                for i in keep[torch.randperm(len(keep))].split(96):
                    out = body(ob[i])
                    d = torch.distributions.Categorical(logits=out[:, :2])
                    new = d.log_prob(a[i])
                    ratio = torch.exp((new.detach() if ratio_detached else new) - lp[i])
                    held = ratio.clamp(1 - clip, 1 + clip) * adv[i]
                    loss = -torch.minimum(ratio * adv[i], held).mean()
                    loss = loss + value_weight * (out[:, 2] - target[i]).pow(2).mean()
                    loss = loss - 0.005 * d.entropy().mean()
                    hook.record_tensor_value("loss", loss)
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(body.parameters(), 0.5)
                    optimizer.step()
    score(
        play(lambda o: torch.distributions.Categorical(logits=body(o)[:, :2]).sample()),
        play(lambda o: torch.randint(2, (len(o),))),
    )


@pair("new log-probabilities are detached in the ratio: only the value head learns", "gross")
def ppo_detached(record, seed, faulty):
    ppo(record, seed, ratio_detached=faulty)


# ---- meta-learning ----
def maml(record, seed, inner_lr=0.1, second_order=True, cut=False, steps=300):
    seed_all(seed)
    net = mlp(1, 32, 32, 1, act=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

    def task():
        amp, phase = 0.5 + 1.5 * torch.rand(()), math.pi * torch.rand(())
        x = torch.rand(20, 1) * 6 - 3
        return x, amp * torch.sin(x + phase)

    def adapt(x, y, create):
        params = dict(net.named_parameters())
        loss = F.mse_loss(torch.func.functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create)
        return {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}

    with record(net, optimizer) as hook:
        for step in range(steps):
            total = 0.0
            for _ in range(4):
                x, y = task()
                fast = adapt(x[:10], y[:10], second_order)
                if cut:
                    fast = {k: v.detach().requires_grad_() for k, v in fast.items()}
                total = (
                    total + F.mse_loss(torch.func.functional_call(net, fast, (x[10:],)), y[10:]) / 4
                )
            hook.record_tensor_value("outer", total)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    errors = []
    for _ in range(60):
        x, y = task()
        fast = adapt(x[:10], y[:10], False)
        with torch.no_grad():
            errors.append(
                F.mse_loss(torch.func.functional_call(net, fast, (x[10:],)), y[10:]).item()
            )
    score(-sum(errors) / 60, -0.8)


@healthy
def maml_sines(record, seed):
    """One outer loss per task, noisy by nature."""
    maml(record, seed)


@pair("the inner step is a tenth of a thousandth of what it should be: no adaptation", "middling")
def maml_inner(record, seed, faulty):
    maml(record, seed, inner_lr=1e-5 if faulty else 0.1)


# ---- federated ----
def federated(
    record, seed, weighted=True, wrong_average=False, rounds=14, lr=0.15, local=12, one_client=False
):
    seed_all(seed)
    x, y = digits(1700, noise=0.3)
    model = small_cnn(classes=10, bn=False)
    order = torch.argsort(y[:1400] * 2 + torch.randint(0, 6, (1400,)))
    shares = order.split([200, 400, 500, 300])
    criterion = nn.CrossEntropyLoss()
    with record(model, None, criterion):
        for r in range(rounds):
            start, states = copy.deepcopy(model.state_dict()), []
            for s in shares:
                model.load_state_dict(start)
                optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.8)
                for _ in range(local):
                    i = s[torch.randint(len(s), (32,))]
                    optimizer.zero_grad()
                    criterion(model(x[i]), y[i]).backward()
                    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                    optimizer.step()
                states.append(copy.deepcopy(model.state_dict()))
            if one_client:
                model.load_state_dict(states[0])
            else:
                w = [0.25] * 4 if wrong_average else [len(s) / 1400 for s in shares]
                model.load_state_dict({k: sum(a * z[k] for a, z in zip(w, states)) for k in start})
    score(accuracy(model, x[1400:], y[1400:]), 0.1)


@pair(
    "the server keeps one client's weights instead of the mean, and that client lacks most classes",
    "gross",
)
def fed_one_client(record, seed, faulty):
    federated(record, seed, one_client=faulty)


# ---- curriculum, continual ----
@healthy
def curriculum_noise(record, seed):
    """Ever noisier images: the loss rises by design from stage to stage."""
    seed_all(seed)
    x, y = digits(1600, noise=0.0)
    model = small_cnn(classes=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    with record(model, optimizer, criterion):
        for noise in (0.1, 0.3, 0.6):
            for epoch in range(4):
                for i in batches(1300, 40):
                    loss = criterion(model(x[i] + noise * torch.randn_like(x[i])), y[i])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
    score(accuracy(model, x[1300:] + 0.6 * torch.randn_like(x[1300:]), y[1300:]), 0.1)


def continual(record, seed, replay=True):
    seed_all(seed)
    x, y = digits(1800, noise=0.25)
    model = small_cnn(classes=10, bn=False, width=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    train = torch.arange(1500)
    with record(model, optimizer, criterion):
        for phase in range(3):
            lo, hi = [(0, 4), (4, 7), (7, 10)][phase]
            now = train[(y[:1500] >= lo) & (y[:1500] < hi)]
            old = train[y[:1500] < lo]
            for step in range(170):
                i = now[torch.randint(len(now), (24,))]
                if replay and len(old):
                    i = torch.cat([i, old[torch.randint(len(old), (24,))]])
                loss = criterion(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    score(accuracy(model, x[1500:], y[1500:]), 0.1)


@pair("the replay buffer of a continual learner stays empty", "gross")
def continual_no_replay(record, seed, faulty):
    continual(record, seed, replay=not faulty)


# ---- metric learning and self-supervision ----
def nearest(f, x, y, n):
    with torch.no_grad():
        z = F.normalize(f(x), dim=1)
        return (y[:n][(z[n:] @ z[:n].T).argmax(1)] == y[n:]).float().mean()


def triplet(record, seed, margin=0.5, swap=False, norm=True, steps=300):
    seed_all(seed)
    x, y = digits(1000, noise=0.5)
    model = nn.Sequential(small_cnn(classes=16, bn=False))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.TripletMarginLoss(margin=margin)
    pools = [torch.nonzero(y[:700] == c).squeeze(1) for c in range(10)]
    with record(model, optimizer, criterion) as hook:
        for step in range(steps):
            c = [random.sample(range(10), 2) for _ in range(32)]
            pick = lambda k: pools[k][torch.randint(len(pools[k]), ())]
            a, p, n = (torch.stack(v) for v in zip(*[(pick(s), pick(s), pick(t)) for s, t in c]))
            za, zp, zn = (F.normalize(model(x[i]), dim=1) for i in (a, p, n))
            loss = criterion(za, zn, zp) if swap else criterion(za, zp, zn)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 75 == 74:
                with record.evaluation(hook):
                    nearest(model, x, y, 700)
    score(nearest(model, x, y, 700), 0.1)


@pair("positives and negatives are swapped in the triplet loss", "gross")
def triplet_swapped(record, seed, faulty):
    triplet(record, seed, swap=faulty)


def simclr(record, seed, temperature=0.2, mask_self=True, stop=True, predictor=True, byol=False):
    seed_all(seed)
    x, y = digits(900, noise=0.3)
    encoder = small_cnn(classes=24)
    head = mlp(24, 32, 16)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=2e-3)
    view = lambda v: torch.roll(v, (random.randint(-2, 2), random.randint(-2, 2)), (2, 3)) * (
        0.7 + 0.6 * torch.rand(len(v), 1, 1, 1)
    ) + 0.2 * torch.randn_like(v)
    with record([encoder, head], optimizer) as hook:
        for epoch in range(14):
            for i in batches(700, 50):
                z = F.normalize(head(encoder(torch.cat([view(x[i]), view(x[i])]))), dim=1)
                s = z @ z.T / temperature
                if mask_self:
                    s = s.masked_fill(torch.eye(100, dtype=torch.bool), -1e9)
                target = torch.cat([torch.arange(50, 100), torch.arange(50)])
                loss = F.cross_entropy(s, target)
                hook.record_tensor_value("nt_xent", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    encoder.eval()
    z = encoder(x).detach()
    z = (z - z[:700].mean(0)) / (z[:700].std(0) + 1e-3)
    probe = nn.Linear(24, 10)
    o = torch.optim.Adam(probe.parameters(), lr=0.03, weight_decay=1e-3)
    for _ in range(150):
        o.zero_grad()
        F.cross_entropy(probe(z[:700]), y[:700]).backward()
        o.step()
    score((probe(z[700:]).argmax(1) == y[700:]).float().mean(), 0.1)


@healthy
def simclr_digits(record, seed):
    simclr(record, seed)


def siamese(record, seed, stop=True):
    """SimSiam: negative cosine; collapses without stop-gradient."""
    seed_all(seed)
    x, y = gratings(900, classes=8, noise=0.3)
    encoder = nn.Sequential(small_cnn(classes=32), nn.BatchNorm1d(32, affine=False))
    predictor = nn.Sequential(
        nn.Linear(32, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 32)
    )
    if not stop:
        encoder = nn.Sequential(small_cnn(classes=32))
        predictor = nn.Sequential(nn.Identity())
    optimizer = torch.optim.SGD(
        [*encoder.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9, weight_decay=1e-4
    )
    view = lambda v: torch.roll(
        v, (random.randint(0, 15), random.randint(0, 15)), (2, 3)
    ) + 0.5 * torch.randn_like(v)
    with record([encoder, predictor], optimizer) as hook:
        for epoch in range(10):
            for i in batches(700, 50):
                a, b = encoder(view(x[i])), encoder(view(x[i]))
                loss = (
                    -(
                        F.cosine_similarity(predictor(a), b.detach() if stop else b).mean()
                        + F.cosine_similarity(predictor(b), a.detach() if stop else a).mean()
                    )
                    / 2
                )
                hook.record_tensor_value("loss", loss)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    encoder.eval()
    score(nearest(encoder, x, y, 700), 1 / 8)


@healthy
def simsiam_gratings(record, seed):
    siamese(record, seed)
