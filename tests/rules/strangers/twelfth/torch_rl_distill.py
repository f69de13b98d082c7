"""GRPO, policy gradients and distillation, in small."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from kit import forever, grammar, hit, images, loader, majority, pretrained, seed_all, tabular
from registry import healthy, pair, score
from torch_posttrain import TinyGPT, lm_loss


class Policy(nn.Module):
    def __init__(self, width=64, actions=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.logits = nn.Linear(width, actions)

    def forward(self, x):
        return self.logits(self.body(x))


def states(seed, n):
    return tabular(seed, n, features=8, classes=6, rule=41)


def reward_of(action, best):
    return (action == best).float() + 0.3 * ((action - best).abs() == 1).float()


def grpo(
    record,
    seed,
    steps=400,
    group=8,
    sign=1.0,
    over=1,
    kl=0.01,
    lr=3e-3,
    ratio_detached=False,
    turn_reward=False,
    shuffle=False,
    log=True,
):
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
    x_all, best_all = states(seed, 2000)
    data = forever(loader(x_all, best_all, batch=32, seed=seed))
    with record(policy, optimizer) as hook:
        for _ in range(steps):
            x, best = next(data)
            x = x[:, None].expand(-1, group, -1)
            with torch.no_grad():
                old = policy(x).log_softmax(-1)
                action = torch.distributions.Categorical(logits=old).sample()
                reward = reward_of(action, best[:, None])
                reward = 1 - reward if turn_reward else reward
                spread = reward.std(over, keepdim=True) + 1e-4
                advantage = (reward - reward.mean(over, keepdim=True)) / spread
                if shuffle:
                    advantage = advantage.flatten()[torch.randperm(advantage.numel())].view_as(
                        advantage
                    )
                old = old.gather(-1, action[..., None])[..., 0]
            for _ in range(2):
                new = policy(x).log_softmax(-1)
                chosen = new.gather(-1, action[..., None])[..., 0]
                ratio = (chosen - old).exp()
                if ratio_detached:
                    ratio = ratio.detach()
                gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
                ref = reference(x).log_softmax(-1)
                divergence = (new.exp() * (new - ref)).sum(-1)
                loss = -sign * gain.mean() + kl * divergence.mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if log:
                hook.record_tensor_value("reward", reward.mean())
    x, best = states(seed + 1, 600)
    with torch.no_grad():
        common = torch.bincount(best).argmax()
        score(reward_of(policy(x).argmax(-1), best).mean(), reward_of(common, best).mean())


@healthy
def grpo_bandit_groups(record, seed):
    seed_all(seed)
    grpo(record, seed)


@healthy
def reinforce_with_baseline_and_entropy(record, seed):
    seed_all(seed)
    policy = Policy()
    value = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    model = nn.ModuleDict({"policy": policy, "value": value})
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    data = forever(loader(*states(seed, 3000), batch=128, seed=seed))
    with record(model, optimizer) as hook:
        for _ in range(600):
            x, best = next(data)
            dist = torch.distributions.Categorical(logits=policy(x))
            action = dist.sample()
            reward = reward_of(action, best)
            base = value(x)[:, 0]
            gain = (reward - base).detach()
            loss = -(dist.log_prob(action) * gain).mean() + 0.5 * F.mse_loss(base, reward)
            loss = loss - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    x, best = states(seed + 1, 600)
    with torch.no_grad():
        common = torch.bincount(best).argmax()
        score(reward_of(policy(x).argmax(-1), best).mean(), reward_of(common, best).mean())


@pair("sign of the policy loss turned", "gross")
def grpo_sign_turned(record, seed, faulty):
    seed_all(seed)
    grpo(record, seed, 300, sign=-1.0 if faulty else 1.0)


@pair("reward is a cost and was not turned", "gross")
def grpo_reward_is_cost(record, seed, faulty):
    seed_all(seed)
    grpo(record, seed, 300, turn_reward=faulty)


@pair("weight of the KL to the reference too large", "middling")
def grpo_kl_too_strong(record, seed, faulty):
    seed_all(seed)
    grpo(record, seed, 300, kl=5.0 if faulty else 0.01)


@pair("ratio detached: only the KL is trained", "gross")
def grpo_ratio_detached(record, seed, faulty):
    seed_all(seed)
    grpo(record, seed, 300, ratio_detached=faulty)


@pair("advantages out of order with the samples", "gross")
def grpo_advantages_out_of_order(record, seed, faulty):
    seed_all(seed)
    grpo(record, seed, 300, shuffle=faulty)


class Convs(nn.Module):
    def __init__(self, width=16, classes=8, dropout=0.0):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.conv = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.drop = nn.Dropout(dropout)
        self.fc = nn.Linear(2 * width * 16, classes)

    def forward(self, x):
        x = F.max_pool2d(self.stem(x).relu(), 2)
        return self.fc(self.drop(self.conv(x).relu().flatten(1)))


@pretrained
def teacher_of(seed):
    teacher = Convs(24)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    data = forever(loader(*images(seed + 80, 3000), seed=seed))
    for _ in range(350):
        x, y = next(data)
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    return teacher.eval()


def kd_loss(student, teacher, t):
    return (
        F.kl_div((student / t).log_softmax(-1), (teacher / t).softmax(-1), reduction="batchmean")
        * t
        * t
    )


def distill(
    record,
    seed,
    steps=350,
    teach=kd_loss,
    temperature=2.0,
    trained=True,
    alpha=1.0,
    n=1200,
    teacher_scale=1.0,
    lr=2e-3,
):
    teacher = teacher_of(seed) if trained else Convs(24)
    teacher.requires_grad_(False)
    student = Convs(10)
    optimizer = torch.optim.AdamW(student.parameters(), lr=lr)
    data = forever(loader(*images(seed, n), seed=seed))
    with record(student, optimizer) as hook:
        for _ in range(steps):
            x, y = next(data)
            with torch.no_grad():
                soft = teacher(x * teacher_scale)
            out = student(x)
            loss = alpha * teach(out, soft, temperature) + (1 - alpha) * F.cross_entropy(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss)
    x, y = images(seed + 500, 500)
    student.eval()
    with torch.no_grad():
        score(hit(student(x), y), 1 / 8)


@healthy
def distill_pictures_soft_and_hard(record, seed):
    seed_all(seed)
    distill(record, seed, alpha=0.7)


@pair("teacher's checkpoint not loaded", "gross")
def distill_teacher_untrained(record, seed, faulty):
    seed_all(seed)
    distill(record, seed, 300, trained=not faulty)


@pair("kl_div is given probabilities in place of log-probabilities", "middling")
def distill_kl_without_logs(record, seed, faulty):
    seed_all(seed)

    def wrong(student, teacher, t):
        return (
            F.kl_div((student / t).softmax(-1), (teacher / t).softmax(-1), reduction="batchmean")
            * t
            * t
        )

    distill(record, seed, 300, teach=wrong if faulty else kd_loss)


@pair("teacher sees inputs that are not normalised as its own were", "gross")
def distill_teacher_input_scale(record, seed, faulty):
    seed_all(seed)
    distill(record, seed, 300, teacher_scale=0.02 if faulty else 1.0)


@healthy
def distill_language_model(record, seed):
    seed_all(seed)
    ids = grammar(seed, 2000, 16)
    teacher = TinyGPT(vocab=16, width=64)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=3e-3)
    data = forever(loader(ids, seed=seed))
    for _ in range(200):
        (x,) = next(data)
        optimizer.zero_grad()
        lm_loss(teacher(x), x).backward()
        optimizer.step()
    teacher.eval().requires_grad_(False)
    student = TinyGPT(vocab=16, width=32)
    optimizer = torch.optim.AdamW(student.parameters(), lr=4e-3)
    with record(student, optimizer) as hook:
        for _ in range(300):
            (x,) = next(data)
            loss = kd_loss(student(x).flatten(0, 1), teacher(x).flatten(0, 1), 1.0)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("kd", loss.item())
    test = grammar(seed + 500, 256, 16)
    with torch.no_grad():
        score(hit(student(test)[:, :-1], test[:, 1:]), majority(test))


@healthy
def self_training_with_ema_teacher(record, seed):
    """Mean teacher: few labels, and agreement with an averaged copy on all pictures."""
    seed_all(seed)
    student = Convs(16, dropout=0.1)
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    data = forever(loader(*images(seed, 1500), batch=48, seed=seed))
    with record(student, optimizer) as hook:
        for _ in range(300):
            x, y = next(data)
            with torch.no_grad():
                soft = teacher(x + 0.1 * torch.randn_like(x)).softmax(-1)
            out = student(x)
            loss = F.cross_entropy(out[:32], y[:32])
            loss = loss + 0.5 * F.mse_loss(out.softmax(-1), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for t, s in zip(teacher.parameters(), student.parameters()):
                    t.lerp_(s, 0.03)
            hook.record_tensor_value("loss", loss)
    x, y = images(seed + 500, 500)
    student.eval()
    with torch.no_grad():
        score(hit(teacher(x), y), 1 / 8)
