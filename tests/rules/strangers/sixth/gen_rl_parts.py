"""Shared parts. Generative models, reinforcement learning, self-supervised and contrastive learning, other settings."""

import copy, math, random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F
from registry import healthy, pair, score
from data_parts import *


def ring(n):
    k = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)


def mmd(a, b, s=0.5):
    """Minus squared MMD with a Gaussian kernel (higher is better)."""
    k = lambda x, y: torch.exp(-(torch.cdist(x, y) ** 2) / (2 * s * s)).mean()
    return -(k(a, a) + k(b, b) - 2 * k(a, b)).item()


def mlp(*d, act=nn.ReLU):
    l = []
    for i in range(len(d) - 1):
        l += [nn.Linear(d[i], d[i + 1])] + ([act()] if i < len(d) - 2 else [])
    return nn.Sequential(*l)


class Denoiser(nn.Module):
    def __init__(self, d=96):
        super().__init__()
        self.f = mlp(2 + 16, d, d, d, 2, act=nn.SiLU)

    def forward(self, x, t):
        w = 2 ** torch.arange(8.0)
        return self.f(torch.cat([x, torch.sin(t * w), torch.cos(t * w)], 1))


class Corridor:
    """A 6x6 grid: from a random cell to the goal in the corner, -0.05 per step, +1 at the goal."""

    def reset(self):
        self.p = [random.randrange(6), random.randrange(6)]
        if self.p == [5, 5]:
            self.p = [0, 0]
        self.t = 0
        return self.obs()

    def obs(self):
        o = torch.zeros(12)
        o[self.p[0]] = 1
        o[6 + self.p[1]] = 1
        return o

    def step(self, a):
        d = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.p = [min(5, max(0, self.p[0] + d[0])), min(5, max(0, self.p[1] + d[1]))]
        self.t += 1
        done = self.p == [5, 5]
        return self.obs(), (1.0 if done else -0.05), done, self.t >= 30


def play(policy, n=60):
    env, tot = Corridor(), 0
    for _ in range(n):
        o = env.reset()
        while True:
            o, r, d, tr = env.step(policy(o))
            tot += r
            if d or tr:
                break
    return tot / n


RANDOM_PLAY = -0.85


def dqn(record, seed, steps=700, gamma=0.95, bug="", sync=50):
    torch.manual_seed(seed)
    random.seed(seed)
    q = mlp(12, 64, 64, 4)
    tq = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    buf = deque(maxlen=5000)
    env = Corridor()
    o = env.reset()
    with record(q, opt) as hook:
        for s in range(steps):
            eps = max(0.1, 1 - s / 300)
            for _ in range(4):
                a = random.randrange(4) if random.random() < eps else int(q(o).argmax())
                n, r, d, tr = env.step(a)
                buf.append((o, a, r, o if bug == "alias" else n, float(d)))
                o = env.reset() if d or tr else n
            if len(buf) < 200:
                continue
            b = random.sample(buf, 64)
            O, N = torch.stack([t[0] for t in b]), torch.stack([t[3] for t in b])
            A, R, D = (
                torch.tensor([t[1] for t in b]),
                torch.tensor([t[2] for t in b]),
                torch.tensor([t[4] for t in b]),
            )
            with torch.no_grad():
                y = R + gamma * (1 - D) * tq(N).max(1).values
            p = q(O)
            p = p.gather(1, A[:, None]).squeeze(1) if bug != "max" else p.max(1).values
            loss = F.smooth_l1_loss(p, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if s % sync == 0:
                tq.load_state_dict(q.state_dict())
            hook.record_tensor_value("td_loss", loss.item())
            hook.end_step()
    with torch.no_grad():
        random.seed(1)
        score(play(lambda o: int(q(o).argmax())), RANDOM_PLAY)


def views(x):
    """Two random shifts, gains, noise of waves."""

    def one(x):
        x = x.roll(int(torch.randint(0, x.shape[1], ())), 1) * (0.7 + 0.6 * torch.rand(len(x), 1))
        return (x + 0.2 * torch.randn_like(x))[:, None]

    return one(x), one(x)


def encoder():
    return nn.Sequential(
        nn.Conv1d(1, 16, 17, 4, 8),
        nn.BatchNorm1d(16),
        nn.ReLU(),
        nn.Conv1d(16, 32, 9, 4, 4),
        nn.BatchNorm1d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(2),
        nn.Flatten(),
        nn.Linear(64, 64),
    )


def probe(f, x, y, xt, yt):
    """Accuracy of a nearest-centroid probe on standardised features."""
    with torch.no_grad():
        a, b = f(x[:, None]), f(xt[:, None])
        m, s = a.mean(0), a.std(0) + 1e-4
        a, b = (a - m) / s, (b - m) / s
        W = torch.linalg.solve(
            a.T @ a + 1.0 * len(a) ** 0.5 * torch.eye(a.shape[1]),
            a.T @ (F.one_hot(y, 6).float() - 1 / 6),
        )
        return acc(b @ W, yt)
