"""The practice of large models, made small: adapters, preferences, experts, precision."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import data
from common import Batches, TinyGPT, accuracy, mlp, next_token, run, tensors
from registry import healthy, pair, score


def pretrained(seed: int, steps: int = 120) -> TinyGPT:
    """A small GPT that knows some text."""
    (tokens,) = tensors(data.markov(1500, 20, 32, seed))
    model, draw = TinyGPT(32, width=32), Batches(seed, 16, tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = next_token(model, *draw())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


class LoRA(nn.Module):
    """A frozen linear layer with a low-rank correction."""

    def __init__(self, base: nn.Linear, rank: int = 4, zero_both: bool = False) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        if zero_both:
            nn.init.zeros_(self.down)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2 * (x @ self.down.T @ self.up.T)


def adapted(seed: int, zero_both: bool = False) -> TinyGPT:
    """A pretrained model with adapters on its attention and its MLPs."""
    model = pretrained(seed).requires_grad_(False)
    for block in model.blocks:
        block.attention.qkv = LoRA(block.attention.qkv, zero_both=zero_both)
        block.mlp[0] = LoRA(block.mlp[0], zero_both=zero_both)
        block.mlp[2] = LoRA(block.mlp[2], zero_both=zero_both)
    return model


def finetune(record: Any, seed: int, model: TinyGPT, trained: list[Tensor]) -> None:
    """Finetune on text whose tokens are permuted."""
    text = data.markov(1500, 20, 32, seed)
    (tokens,) = tensors((text * 7 + 3) % 32)
    optimizer = torch.optim.AdamW(trained, lr=1e-2, weight_decay=0.0)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 20)
    draw = Batches(seed, 16, tokens)
    run(record, model, optimizer, 200, lambda: next_token(model, *draw()), schedule=warm, clip=1.0)
    with torch.no_grad():
        score(-next_token(model, tokens[:200]), -math.log(32))


@healthy
def lora_finetune(record: Any, seed: int) -> None:
    """LoRA on a frozen model: most parameters never get a gradient, `down` gets none at first."""
    torch.manual_seed(seed)
    model = adapted(seed)
    finetune(record, seed, model, [p for p in model.parameters() if p.requires_grad])


@pair(cause="adapters not given to the optimizer", severity="gross")
def adapters_not_optimised(record: Any, seed: int, faulty: bool) -> None:
    """LoRA. Fault: the optimizer was built from the base's norms before adapters were put in."""
    torch.manual_seed(seed)
    model = adapted(seed)
    trained = [p for p in model.parameters() if p.requires_grad]
    if faulty:
        trained = [model.norm.bias.requires_grad_()]
    finetune(record, seed, model, trained)


@pair(cause="both factors of the adapters start at zero", severity="gross")
def adapters_zero(record: Any, seed: int, faulty: bool) -> None:
    """LoRA. Fault: down and up are both zero, so neither ever gets a gradient."""
    torch.manual_seed(seed)
    model = adapted(seed, zero_both=faulty)
    finetune(record, seed, model, [p for p in model.parameters() if p.requires_grad])


def answers(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Prompts, and a liked and a disliked answer: rising and falling tokens."""
    prompt = torch.randint(0, 32, (count, 4))
    up = torch.arange(1, 7)
    noise = torch.randint(0, 2, (count, 6))
    return prompt, (prompt[:, -1:] + up + noise) % 32, (prompt[:, -1:] - up - noise) % 32


def log_prob(model: nn.Module, prompt: Tensor, answer: Tensor) -> Tensor:
    """The summed log-probability of the answers."""
    text = torch.cat([prompt, answer], 1)
    each = model(text[:, :-1]).log_softmax(-1).gather(2, text[:, 1:, None])[..., 0]
    return each[:, prompt.shape[1] - 1 :].sum(1)


def preference(record: Any, seed: int, mixed: bool, shared: bool, beta: float = 0.1) -> None:
    """DPO from a pretrained model."""
    policy = pretrained(seed, 60)
    reference = policy if shared else copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=5e-4)

    def loss_of() -> Tensor:
        prompt, liked, disliked = answers(16)
        if mixed:
            swap = torch.rand(len(liked), 1) < 0.5
            liked, disliked = torch.where(swap, disliked, liked), torch.where(swap, liked, disliked)
        gain = log_prob(policy, prompt, liked) - log_prob(reference, prompt, liked)
        loss = log_prob(policy, prompt, disliked) - log_prob(reference, prompt, disliked)
        return -F.logsigmoid(beta * (gain - loss)).mean()

    run(record, policy, optimizer, 150, loss_of, clip=1.0)
    prompt, liked, disliked = answers(300)
    with torch.no_grad():
        better = log_prob(policy, prompt, liked) - log_prob(policy, prompt, disliked)
        score((better > 0).float().mean(), 0.5)


@healthy
def dpo_preferences(record: Any, seed: int) -> None:
    """DPO: starts at log 2 exactly and falls."""
    torch.manual_seed(seed)
    preference(record, seed, mixed=False, shared=False)


@pair(cause="reference model is the policy itself", severity="gross")
def reference_shared(record: Any, seed: int, faulty: bool) -> None:
    """DPO. Fault: the reference is not a copy, so the loss is log 2 for ever."""
    torch.manual_seed(seed)
    preference(record, seed, mixed=False, shared=faulty)


@pair(cause="chosen and rejected answers mixed up", severity="gross")
def preferences_mixed_up(record: Any, seed: int, faulty: bool) -> None:
    """DPO. Fault: the answers come in the order shown to annotators, their choice is lost."""
    torch.manual_seed(seed)
    preference(record, seed, mixed=faulty, shared=False)


def sample(model: nn.Module, prompt: Tensor, steps: int) -> Tensor:
    """Continue prompts."""
    for _ in range(steps):
        with torch.no_grad():
            share = model(prompt)[:, -1].softmax(-1)
        prompt = torch.cat([prompt, torch.multinomial(share, 1)], 1)
    return prompt


def group_policy(record: Any, seed: int, kl_sign: float = 1.0, weight: float = 0.05) -> None:
    """GRPO: groups of eight answers; the reward is the share of even tokens."""
    policy = pretrained(seed, 60)
    reference = copy.deepcopy(policy).requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)

    def reward(text: Tensor) -> Tensor:
        return (text[:, 4:] % 2 == 0).float().mean(1)

    with record(policy, optimizer) as hook:
        for _ in range(130):
            prompt = torch.randint(0, 32, (6, 4)).repeat_interleave(8, 0)
            text = sample(policy, prompt, 6)
            gain = reward(text).view(6, 8)
            gain = (gain - gain.mean(1, keepdim=True)) / (gain.std(1, keepdim=True) + 1e-4)
            picked = text[:, 4:, None]
            new = policy(text[:, :-1])[:, 3:].log_softmax(-1).gather(2, picked)[..., 0]
            with torch.no_grad():
                old = reference(text[:, :-1])[:, 3:].log_softmax(-1).gather(2, picked)[..., 0]
            far = (old - new).exp() - (old - new) - 1
            ratio = (new - new.detach()).exp()
            loss = (-ratio * gain.view(-1, 1) + kl_sign * weight * far).mean()
            hook.record_tensor_value("loss", loss)
            hook.record_tensor_value("reward", gain.new_tensor(reward(text).mean().item()))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            hook.end_step()
    text = sample(policy, torch.randint(0, 32, (200, 4)), 6)
    with torch.no_grad():
        picked = text[:, 4:, None]
        new = policy(text[:, :-1])[:, 3:].log_softmax(-1).gather(2, picked).mean()
        old = reference(text[:, :-1])[:, 3:].log_softmax(-1).gather(2, picked).mean()
    score(reward(text).mean().item() - weight * (new - old).item(), 0.5)


@healthy
def grpo_groups(record: Any, seed: int) -> None:
    """GRPO: the loss is about zero from start to end while the reward grows."""
    torch.manual_seed(seed)
    group_policy(record, seed)


@pair(cause="sign of the KL penalty wrong", severity="middling")
def kl_sign_wrong(record: Any, seed: int, faulty: bool) -> None:
    """GRPO. Fault: the distance from the reference is rewarded."""
    torch.manual_seed(seed)
    group_policy(record, seed, kl_sign=-1.0 if faulty else 1.0, weight=0.3)


class Experts(nn.Module):
    """Top-1 routing over eight small experts."""

    def __init__(self, features: int, kinds: int, biased: bool) -> None:
        super().__init__()
        self.router = nn.Linear(features, 8)
        if biased:
            nn.init.constant_(self.router.bias[:1], 6.0)
        self.experts = nn.ModuleList(mlp(features, 6, kinds) for _ in range(8))
        self.balance = torch.zeros(())

    def forward(self, x: Tensor) -> Tensor:
        share = self.router(x).softmax(-1)
        best, index = share.max(-1)
        load = F.one_hot(index, 8).float().mean(0)
        self.balance = 8 * (load * share.mean(0)).sum()
        out = torch.stack([expert(x) for expert in self.experts], 1)
        return out[torch.arange(len(x)), index] * best[:, None]


def mixture(record: Any, seed: int, balanced: bool) -> None:
    """A mixture of experts on many clusters."""
    x, y = tensors(*data.classes(3000, 8, 12, seed))
    model = Experts(8, 12, biased=not balanced)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    draw = Batches(seed, 128, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        loss = F.cross_entropy(model(rows), labels)
        return loss + 0.02 * model.balance if balanced else loss

    run(record, model, optimizer, 300, loss_of)
    score(accuracy(model, x, y), 1 / 12)


@healthy
def mixture_of_experts(record: Any, seed: int) -> None:
    """Top-1 routing with a balance loss: an expert that gets no rows has no gradient."""
    torch.manual_seed(seed)
    mixture(record, seed, balanced=True)


@pair(cause="router collapsed onto one expert", severity="middling")
def router_collapse(record: Any, seed: int, faulty: bool) -> None:
    """A mixture of experts. Fault: no balance loss, and a router that starts biased."""
    torch.manual_seed(seed)
    mixture(record, seed, balanced=not faulty)


@healthy
def bf16_accumulation(record: Any, seed: int) -> None:
    """bfloat16 autocast with four micro-batches per step, divided properly."""
    torch.manual_seed(seed)
    (tokens,) = tensors(data.markov(1500, 17, 48, seed))
    model = TinyGPT(48, width=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.95))
    draw = Batches(seed, 8, tokens)
    with record(model, optimizer) as hook:
        for _ in range(120):
            total = 0.0
            for _ in range(4):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = next_token(model, *draw()) / 4
                loss.backward()
                total += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            hook.record_tensor_value("loss", total)
            hook.end_step()
    with torch.no_grad():
        score(-next_token(model, tokens[:200]), -math.log(48))


@healthy
def distillation(record: Any, seed: int) -> None:
    """A student learns a teacher's soft targets; the loss can't get to zero."""
    torch.manual_seed(seed)
    x, y, test_x, test_y = tensors(*data.digits(seed))
    x, test_x = x.flatten(1), test_x.flatten(1)
    teacher, student = mlp(64, 128, 10), mlp(64, 16, 10)
    early = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(60):
        loss = F.cross_entropy(teacher(x), y)
        early.zero_grad()
        loss.backward()
        early.step()
    teacher.requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    draw = Batches(seed, 64, x, y)

    def loss_of() -> Tensor:
        rows, labels = draw()
        logits, soft = student(rows), (teacher(rows) / 4).softmax(-1)
        return 0.3 * F.cross_entropy(logits, labels) + 0.7 * 16 * F.cross_entropy(logits / 4, soft)

    run(record, nn.ModuleDict({"teacher": teacher, "student": student}), optimizer, 250, loss_of)
    score(accuracy(student, test_x, test_y), 0.1)
