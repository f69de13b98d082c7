"""Reinforcement learning on small worlds."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from common import mlp
from registry import healthy, pair, score


class Line:
    """Many walkers on a line of nine cells: +1 at the right end, +0.1 at the left one."""

    def __init__(self, count: int, slip: float = 0.1) -> None:
        self.count, self.slip, self.limit = count, slip, 24
        self.place = torch.full((count,), 4)
        self.age = torch.zeros(count, dtype=torch.long)

    def see(self) -> Tensor:
        return F.one_hot(self.place, 9).float()

    def act(self, action: Tensor) -> tuple[Tensor, Tensor]:
        slips = torch.rand(self.count) < self.slip
        move = torch.where(slips, 1 - action, action) * 2 - 1
        self.place = (self.place + move).clamp(0, 8)
        self.age = self.age + 1
        reward = 1.0 * (self.place == 8) + 0.1 * (self.place == 0)
        done = (self.place == 8) | (self.place == 0) | (self.age >= self.limit)
        self.place = torch.where(done, 4, self.place)
        self.age = torch.where(done, 0, self.age)
        return reward, done.float()


@torch.no_grad()
def mean_reward(policy: nn.Module, sampled: bool = False) -> float:
    """The mean reward per episode of the greedy or the sampled policy."""
    world, total, ends = Line(200), 0.0, 0.0
    for _ in range(60):
        wish = policy(world.see())[:, :2]
        draw = torch.multinomial(wish.softmax(-1), 1)[:, 0] if sampled else wish.argmax(1)
        reward, done = world.act(draw)
        total, ends = total + reward.sum().item(), ends + done.sum().item()
    return total / max(ends, 1.0)


def q_learning(
    record: Any, steps: int, rate: float = 2e-3, refresh: int = 25, sign: float = 1.0,
    ends: bool = True, double: bool = True, gamma: float = 0.95,
) -> nn.Module:  # fmt: skip
    """DQN with replay and a target network."""
    model = mlp(9, 64, 64, 2)
    target = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    world, memory = Line(16), []
    with record(model, optimizer) as hook:
        for step in range(steps):
            with torch.no_grad():
                seen = world.see()
                greedy = model(seen).argmax(1)
            explore = torch.rand(16) < max(0.1, 1 - step / 150)
            action = torch.where(explore, torch.randint(0, 2, (16,)), greedy)
            reward, done = world.act(action)
            hook.record_tensor_value("reward", reward.mean())
            memory.append((seen, action, sign * reward, done, world.see()))
            picks = torch.randint(0, len(memory), (8,)).tolist()
            s, a, r, d, after = (torch.cat(c) for c in zip(*(memory[i] for i in picks)))
            with torch.no_grad():
                best = (model if double else target)(after).argmax(1, keepdim=True)
                value = target(after).gather(1, best)[:, 0]
                wanted = r + gamma * value * (1 - d if ends else 1)
            loss = F.smooth_l1_loss(model(s).gather(1, a[:, None])[:, 0], wanted)
            hook.record_tensor_value("loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.end_step()
            if step % refresh == refresh - 1:
                target.load_state_dict(model.state_dict())
    return model


@healthy
def dqn_target_network(record: Any, seed: int) -> None:
    """Double DQN: the loss rises as values grow and jumps when the target is renewed."""
    torch.manual_seed(seed)
    score(mean_reward(q_learning(record, 350)), 0.5)


@pair(cause="reward sign wrong", severity="gross")
def reward_sign(record: Any, seed: int, faulty: bool) -> None:
    """DQN. Fault: a cost is returned as the reward, so that the goal is avoided."""
    torch.manual_seed(seed)
    score(mean_reward(q_learning(record, 300, sign=-1.0 if faulty else 1.0)), 0.5)


@pair(cause="target network never updated", severity="middling")
def target_never_updated(record: Any, seed: int, faulty: bool) -> None:
    """DQN. Fault: the target network keeps its random weights, so no value travels back."""
    torch.manual_seed(seed)
    score(mean_reward(q_learning(record, 300, refresh=10**9 if faulty else 25)), 0.5)


@pair(cause="bootstrapping beyond the end of episodes with discount above one", severity="gross")
def values_explode(record: Any, seed: int, faulty: bool) -> None:
    """DQN. Fault: done flags ignored and gamma 1.05: values grow without bound."""
    torch.manual_seed(seed)
    ends, gamma = (False, 1.05) if faulty else (True, 0.95)
    model = q_learning(record, 350, refresh=5, ends=ends, gamma=gamma)
    with torch.no_grad():  # no true value is above one
        score(-(model(torch.eye(9)) - 0.5).abs().max(), -1.0)


def rollout(model: nn.Module, world: Line, steps: int) -> tuple[Tensor, ...]:
    """States, actions, log-probabilities, values, rewards and ends, each (T, N)."""
    rows = []
    for _ in range(steps):
        seen = world.see()
        with torch.no_grad():
            out = model(seen)
        choice = torch.distributions.Categorical(logits=out[:, :2])
        action = choice.sample()
        reward, done = world.act(action)
        rows.append((seen, action, choice.log_prob(action), out[:, 2], reward, done))
    return tuple(torch.stack(column) for column in zip(*rows, strict=True))


def advantages(values: Tensor, rewards: Tensor, ends: Tensor) -> Tensor:
    """Generalised advantage estimates."""
    result, running = torch.zeros_like(values), torch.zeros(values.shape[1])
    for t in reversed(range(len(values))):
        following = values[t + 1] if t + 1 < len(values) else values[t]
        delta = rewards[t] + 0.97 * following * (1 - ends[t]) - values[t]
        running = delta + 0.97 * 0.95 * (1 - ends[t]) * running
        result[t] = running
    return result


def proximal(
    record: Any, sign: float = 1.0, entropy: float = 0.01, rate: float = 3e-3
) -> None:
    """PPO with clipped ratios, four passes for each rollout."""
    model = mlp(9, 64, 64, 3, activation=nn.Tanh)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, eps=1e-5)
    world = Line(32)
    with record(model, optimizer) as hook:
        for _ in range(40):
            seen, action, old, value, reward, end = rollout(model, world, 12)
            hook.record_tensor_value("reward", reward.mean())
            gain = advantages(value, reward, end)
            wanted = gain + value
            gain = sign * (gain - gain.mean()) / (gain.std() + 1e-8)
            for _ in range(4):
                out = model(seen)
                choice = torch.distributions.Categorical(logits=out[..., :2])
                ratio = (choice.log_prob(action) - old).exp()
                clipped = ratio.clamp(0.8, 1.2)
                actor = -torch.minimum(ratio * gain, clipped * gain).mean()
                critic = F.mse_loss(out[..., 2], wanted)
                spread = choice.entropy().mean()
                hook.record_tensor_value("actor_loss", actor)
                hook.record_tensor_value("critic_loss", critic)
                optimizer.zero_grad()
                (actor + 0.5 * critic - entropy * spread).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
                hook.end_step()
    score(mean_reward(model, sampled=True), 0.5)


@healthy
def ppo_line(record: Any, seed: int) -> None:
    """PPO: the actor's loss hovers about zero all along."""
    torch.manual_seed(seed)
    proximal(record)


@pair(cause="advantage sign flipped", severity="gross")
def advantage_sign(record: Any, seed: int, faulty: bool) -> None:
    """PPO. Fault: value minus return in place of return minus value."""
    torch.manual_seed(seed)
    proximal(record, sign=-1.0 if faulty else 1.0)


@pair(cause="entropy bonus a thousand times too large", severity="middling")
def entropy_too_large(record: Any, seed: int, faulty: bool) -> None:
    """PPO. Fault: an entropy coefficient of 10, the policy stays uniform."""
    torch.manual_seed(seed)
    proximal(record, entropy=10.0 if faulty else 0.01)


@healthy
def reinforce_baseline(record: Any, seed: int) -> None:
    """REINFORCE on a bandit whose best arm changes at half time: returns fall, then recover."""
    torch.manual_seed(seed)
    model = mlp(4, 32, 6)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    maps, average = torch.randint(0, 6, (2, 4)), 0.0
    with record(model, optimizer) as hook:
        for step in range(300):
            kind = torch.randint(0, 4, (64,))
            choice = torch.distributions.Categorical(logits=model(F.one_hot(kind, 4).float()))
            action = choice.sample()
            reward = (action == maps[step // 150][kind]).float() + 0.1 * torch.randn(64)
            loss = -(choice.log_prob(action) * (reward - average)).mean()
            loss = loss - 0.15 * choice.entropy().mean()
            average = 0.9 * average + 0.1 * reward.mean().item()
            hook.record_tensor_value("policy_loss", loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hook.end_step()
    score(average, 1 / 6)


@healthy
def actor_critic_continuous(record: Any, seed: int) -> None:
    """Soft actor-critic style with two optimizers and Polyak averaging on a pointing task."""
    torch.manual_seed(seed)
    actor, critic = mlp(2, 32, 4), mlp(4, 64, 64, 1)
    model = nn.ModuleDict({"actor": actor, "critic": critic})
    optimizers = [torch.optim.Adam(actor.parameters(), lr=3e-3),
                  torch.optim.Adam(critic.parameters(), lr=3e-3)]  # fmt: skip

    def play(seen: Tensor) -> tuple[Tensor, Tensor]:
        mean, scale = actor(seen).chunk(2, 1)
        spread = torch.distributions.Normal(mean, scale.clamp(-4, 1).exp())
        action = spread.rsample()
        return action, spread.log_prob(action).sum(1)

    with record(model, optimizers) as hook:
        for _ in range(300):
            seen = torch.randn(128, 2)
            with torch.no_grad():
                action = play(seen)[0]
                reward = -(action - torch.sin(seen)).square().sum(1)
            value_loss = F.mse_loss(critic(torch.cat([seen, action], 1))[:, 0], reward)
            hook.record_tensor_value("critic_loss", value_loss)
            optimizers[1].zero_grad()
            value_loss.backward()
            optimizers[1].step()
            action, log_prob = play(seen)
            actor_loss = (0.05 * log_prob - critic(torch.cat([seen, action], 1))[:, 0]).mean()
            hook.record_tensor_value("actor_loss", actor_loss)
            optimizers[0].zero_grad()
            actor_loss.backward()
            optimizers[0].step()
            hook.end_step()
    seen = torch.randn(500, 2)
    with torch.no_grad():
        score(-(actor(seen)[:, :2] - torch.sin(seen)).square().sum(1).mean(), -0.9)
