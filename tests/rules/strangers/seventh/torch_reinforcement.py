"""Reinforcement learning, recommending, several tasks, fine-tuning, events in a run."""

import copy
import io
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from data import housing, blobs, r2, acc
from registry import healthy, pair, score


class Corridor:
    """Walk on a 6 x 6 grid from a random place to a fixed goal, past a wall; 25 steps at most."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.pos, self.t = rng.integers(0, 6, (n, 2)), np.zeros(n, int)

    def obs(self):
        return F.one_hot(torch.tensor(self.pos[:, 0] * 6 + self.pos[:, 1]), 36).float()

    def step(self, a):
        new = (self.pos + np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])[a]).clip(0, 5)
        wall = (new[:, 0] == 3) & (new[:, 1] < 4)
        self.pos = np.where(wall[:, None], self.pos, new)
        self.t += 1
        won = (self.pos == 5).all(1)
        done = won | (self.t >= 25)
        again = np.where(done)[0]
        last = self.obs()
        self.pos[again], self.t[again] = self.rng.integers(0, 6, (len(again), 2)), 0
        return last, np.where(won, 1.0, -0.02).astype(np.float32), done, won


def returns_of(policy, seed):
    env = Corridor(200, np.random.default_rng(seed + 999))
    wins = ends = 0
    for _ in range(50):
        _, _, done, won = env.step(policy(env.obs()))
        wins, ends = wins + won.sum(), ends + done.sum()
    return wins / max(ends, 1)


def train_reinforce(record, seed, sign=-1.0, steps=250):
    torch.manual_seed(seed)
    env = Corridor(16, np.random.default_rng(seed))
    net = nn.Sequential(nn.Linear(36, 64), nn.Tanh())
    pi, v = nn.Linear(64, 4), nn.Linear(64, 1)
    model = nn.ModuleDict({"net": net, "pi": pi, "v": v})
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    with record(model, opt) as hook:
        for s in range(steps):
            logps, values, rewards, dones, ents = [], [], [], [], []
            for _ in range(12):
                h = net(env.obs())
                d = torch.distributions.Categorical(logits=pi(h))
                a = d.sample()
                _, r, done, _ = env.step(a.numpy())
                logps.append(d.log_prob(a))
                values.append(v(h)[:, 0])
                ents.append(d.entropy())
                rewards.append(torch.tensor(r))
                dones.append(torch.tensor(done).float())
            with torch.no_grad():
                ret = v(net(env.obs()))[:, 0]
            out = []
            for r, d in zip(reversed(rewards), reversed(dones)):
                ret = r + 0.95 * ret * (1 - d)
                out.insert(0, ret)
            ret, val, lp = torch.stack(out), torch.stack(values), torch.stack(logps)
            adv = (ret - val).detach()
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
            policy_loss = sign * (lp * adv).mean()
            value_loss = F.mse_loss(val, ret)
            loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(ents).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            opt.step()
            hook.record_tensor_value("loss", loss.item())
            hook.record_tensor_value("value_loss", value_loss.item())
            hook.record_tensor_value("reward", torch.stack(rewards).mean().item())
            hook.end_step()
    act = lambda o: torch.distributions.Categorical(logits=pi(net(o))).sample().numpy()
    score(returns_of(act, seed), returns_of(lambda o: np.random.randint(0, 4, len(o)), seed))


@healthy
def a2c_grid(record, seed):
    train_reinforce(record, seed, steps=300)


@pair("sign of the policy loss is wrong: the policy is made worse", "gross")
def policy_gradient_wrong_sign(record, seed, faulty):
    train_reinforce(record, seed + 40, sign=1.0 if faulty else -1.0)


def train_dqn(record, seed, bootstrap_done=False, target_every=50):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = Corridor(8, rng)
    q = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 4))
    target = copy.deepcopy(q)
    opt = torch.optim.RMSprop(q.parameters(), lr=1e-3)
    buf = []
    with record(q, opt) as hook:
        for s in range(900):
            o = env.obs()
            with torch.no_grad():
                a = q(o).argmax(1).numpy()
            eps = max(0.1, 1 - s / 400)
            a = np.where(rng.random(8) < eps, rng.integers(0, 4, 8), a)
            o2, r, d, w = env.step(a)
            end = torch.ones(8) if bootstrap_done else torch.tensor(w).float()
            buf.append((o, torch.tensor(a), torch.tensor(r), o2, end))
            if s < 20:
                continue
            b = [torch.cat(t) for t in zip(*random.sample(buf, min(8, len(buf))))]
            with torch.no_grad():
                y = b[2] + 0.95 * (1 - b[4]) * target(b[3]).max(1).values
            loss = F.smooth_l1_loss(q(b[0]).gather(1, b[1][:, None])[:, 0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if s % target_every == 0:
                target.load_state_dict(q.state_dict())
            hook.record_tensor_value("td_loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        score(
            returns_of(lambda o: q(o).argmax(1).numpy(), seed),
            returns_of(lambda o: np.random.randint(0, 4, len(o)), seed),
        )


@healthy
def dqn_grid(record, seed):
    train_dqn(record, seed)


@pair("every transition counted as the end of an episode: no bootstrapping", "gross")
def dqn_always_done(record, seed, faulty):
    train_dqn(record, seed + 41, bootstrap_done=faulty)


class MF(nn.Module):
    def __init__(self, users, items, d=12):
        super().__init__()
        self.u, self.i = nn.Embedding(users, d), nn.Embedding(items, d)
        self.ub, self.ib = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.ub, self.ib):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1) + (self.ub(u) + self.ib(i))[:, 0]


@healthy
def recommender_bpr_adagrad(record, seed):
    torch.manual_seed(seed)
    U, I = 300, 200
    aff = torch.randn(U, 4) @ torch.randn(4, I) + torch.randn(I) * 0.7
    pos = (aff + torch.randn(U, I) > 2.0).nonzero()
    p = pos[torch.randperm(len(pos))]
    train, test = p[:-1500], p[-1500:]
    model = MF(U, I)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1, weight_decay=1e-5)
    with record(model, opt) as hook:
        for s in range(600):
            b = train[torch.randint(0, len(train), (256,))]
            neg = torch.randint(0, I, (256,))
            loss = -F.logsigmoid(model(b[:, 0], b[:, 1]) - model(b[:, 0], neg)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            hook.record_tensor_value("bpr", loss.item())
            hook.end_step()
    with torch.no_grad():
        score(
            (model(test[:, 0], test[:, 1]) > model(test[:, 0], torch.randint(0, I, (1500,))))
            .float()
            .mean(),
            0.5,
        )


@healthy
def resumed_from_checkpoint(record, seed):
    """Trained for 200 steps outside, saved, loaded, and trained on with its optimizer's state."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 42, n=4000, per=6, spread=0.9)
    make = lambda: nn.Sequential(
        nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 6)
    )

    def step(m, o):
        i = torch.randint(0, 3200, (64,))
        loss = F.cross_entropy(m(x[i]), y[i])
        o.zero_grad()
        loss.backward()
        o.step()
        return loss

    m = make()
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)
    for _ in range(200):
        step(m, o)
    f = io.BytesIO()
    torch.save({"m": m.state_dict(), "o": o.state_dict()}, f)
    f.seek(0)
    ck = torch.load(f)
    m = make()
    m.load_state_dict(ck["m"])
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)
    o.load_state_dict(ck["o"])
    with record(m, o) as hook:
        for _ in range(300):
            hook.record_tensor_value("loss", step(m, o).item())
            hook.end_step()
    score(acc(m, x[3200:], y[3200:]), 1 / 6)


@healthy
def finetune_good_model_low_lr(record, seed):
    """Fine-tuning of a model that is already good on nearly the same task, body frozen at first, then unfrozen."""
    torch.manual_seed(seed)
    x, y = blobs(seed + 43, n=4000)
    m = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
    o = torch.optim.Adam(m.parameters(), lr=2e-3)
    for s in range(400):
        i = torch.randint(0, 3000, (64,))
        o.zero_grad()
        F.cross_entropy(m(x[i]), y[i]).backward()
        o.step()
    x = x + 0.15 * torch.randn(20)
    m[:4].requires_grad_(False)
    o = torch.optim.AdamW(
        [{"params": m[:4].parameters(), "lr": 5e-5}, {"params": m[4].parameters(), "lr": 3e-4}]
    )
    crit = nn.CrossEntropyLoss()
    with record(m, o, crit) as hook:
        for s in range(300):
            if s == 150:
                m[:4].requires_grad_(True)
            i = torch.randint(0, 3000, (32,))
            loss = crit(m(x[i]), y[i])
            o.zero_grad()
            loss.backward()
            o.step()
            hook.record_tensor_value("loss", loss)
            hook.end_step()
    score(acc(m, x[3000:], y[3000:]), 1 / 6)


@healthy
def multitask_uncertainty_weights(record, seed):
    """A regression and a classification with learnt weights (Kendall): the total goes below zero."""
    torch.manual_seed(seed)
    x, r = housing(seed + 44, n=4000, noise=0.1)
    c = (x[:, 7] * x[:, 0] + x[:, 8] > 0).long()
    body = nn.Sequential(nn.Linear(12, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU())
    m = nn.ModuleDict(
        {
            "body": body,
            "reg": nn.Linear(96, 1),
            "cls": nn.Linear(96, 2),
            "w": nn.ParameterList([torch.zeros(2)]),
        }
    )
    o = torch.optim.Adam(m.parameters(), lr=3e-3)
    with record(m, o) as hook:
        for s in range(700):
            i = torch.randint(0, 3200, (64,))
            h = body(x[i])
            lr_, lc = F.mse_loss(m["reg"](h)[:, 0], r[i]), F.cross_entropy(m["cls"](h), c[i])
            w = m["w"][0]
            loss = 0.5 * (-w[0]).exp() * lr_ + (-w[1]).exp() * lc + 0.5 * w.sum()
            o.zero_grad()
            loss.backward()
            o.step()
            for k, v in (("loss", loss), ("regression", lr_), ("classification", lc)):
                hook.record_tensor_value(k, v.item())
            hook.end_step()
    with torch.no_grad():
        h = body(x[3200:])
        score(
            r2(m["reg"](h)[:, 0], r[3200:])
            + (m["cls"](h).argmax(1) == c[3200:]).float().mean().item(),
            0.5,
        )
