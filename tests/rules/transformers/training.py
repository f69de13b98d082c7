"""Trains a small transformer with a hook, to which the rules for large trainings are attached."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path
from typing import Any, Callable, List, Optional

import smdebug.pytorch as smd
import torch
from torch import Tensor, distributed, nn
from torch.nn import functional

from smdebug.core.singleton_utils import del_hook
from smdebug.rules import Finding, RuleSet
from smdebug.trials import create_trial

__all__ = ["Training"]

TOKENS, LENGTH = 32, 16
WORKERS = 2


class Attention(nn.Module):
    def __init__(self, name: str, width: int, heads: int) -> None:
        super().__init__()
        self.name, self.heads, self.scale, self.normalises = name, heads, 1.0, False
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.normalises:
            q, k = (functional.normalize(each, dim=-1) * each.shape[-1] ** 0.5 for each in (q, k))
        logits = self.scale * q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        logits = smd.tap(logits.masked_fill(mask, float("-inf")), f"{self.name}_attention_logits")
        probabilities = smd.tap(logits.softmax(-1), f"{self.name}_attention_probs")
        return self.out((probabilities @ v).transpose(1, 2).reshape(batch, length, width))


class Experts(nn.Module):
    """A mixture of experts, one for each token."""

    def __init__(self, name: str, width: int, count: int = 4) -> None:
        super().__init__()
        self.name, self.count = name, count
        self.router = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(count)
        )
        self.balance = torch.zeros(())

    def forward(self, x: Tensor) -> Tensor:
        weights = self.router(x).softmax(-1)
        chosen = weights.argmax(-1)
        loads = torch.stack([(chosen == i).sum() for i in range(self.count)])
        smd.tap(loads, f"{self.name}_router_load")
        self.balance = self.count * (
            loads / loads.sum() * weights.reshape(-1, self.count).mean(0)
        ).sum()
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = ((chosen == i) * weights[..., i]).unsqueeze(-1)
            result = result + share * expert(x)
        return result


class Block(nn.Module):
    def __init__(self, name: str, width: int, heads: int, is_mixture: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(name, width, heads)
        self.mlp: nn.Module = (
            Experts(name, width)
            if is_mixture
            else nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, is_mixture: bool, ties: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, width)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, width))
        self.blocks = nn.ModuleList(
            Block(f"block{i}", width, heads, is_mixture) for i in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, TOKENS, bias=False)
        for each in self.modules():
            if isinstance(each, (nn.Linear, nn.Embedding)):
                nn.init.normal_(each.weight, std=0.06)
        if ties:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits


class Training:
    """A correct training, drawn from a seed.  Faults change its attributes before it runs."""

    def __init__(self, seed: int, is_mixture: Optional[bool] = None) -> None:
        chance = random.Random(seed)
        torch.manual_seed(seed)
        self.seed, self.chance = seed, chance
        self.is_mixture = chance.random() < 0.3 if is_mixture is None else is_mixture
        self.make_model: Callable[..., Transformer] = Transformer
        self.shape = (chance.choice((32, 48, 64)), chance.choice((1, 2, 3)), chance.choice((2, 4)))
        self.ties = chance.random() < 0.3
        self.batch = chance.choice((8, 16, 32))
        self.rate = chance.choice((1e-3, 2e-3, 3e-3))
        self.decay = chance.choice((0.0, 0.01, 0.1))
        self.betas = (0.9, chance.choice((0.95, 0.99, 0.999)))
        self.steps = 150
        self.workers, self.rank = 1, 0
        self.clips, self.resets, self.averages = chance.random() < 0.5, True, True
        self.micro_batches = 1
        self.make_optimizer: Callable[[List[Any]], Any] = lambda parameters: torch.optim.AdamW(
            parameters, lr=self.rate, betas=self.betas, weight_decay=self.decay
        )
        self.trained: Callable[[nn.Module], List[Any]] = lambda model: [
            each for each in model.parameters() if each.requires_grad
        ]
        self.factor: Callable[[int], float] = lambda step: 1.0
        self.prepare: List[Callable[[Transformer], None]] = []
        self.before_step: List[Callable[[int, Any, Any], None]] = []
        self.after_backward: List[Callable[[int, Any], None]] = []
        self.batch_of: Callable[[int], int] = lambda step: step
        self.shard_of: Callable[[int, int], int] = lambda step, rank: rank
        self.loss_factor: Callable[[int], float] = lambda step: 1.0
        self.labels: Callable[[int, Tensor], Tensor] = lambda step, labels: labels
        self.loss_of: Callable[[Tensor, Tensor], Tensor] = functional.cross_entropy
        self.added_loss: Callable[[int, Tensor], Any] = lambda step, logits: 0.0
        self.rarity = 0.0  # of token i: in proportion to 1 / (i + 1) ** rarity
        self.earlier_steps = 0  # trained before the hook, as by the job that this one resumes
        self.balance = 0.2  # less lets experts of so small a mixture die
        self.recomputed: Optional[Callable[[int, Tensor], Tensor]] = None
        self.losses: List[float] = []
        self.model: Any = None

    def tokens(self, number: int, rank: int) -> Tensor:
        """Returns a batch of sequences in which each token mostly follows from the last."""
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + 7919 * number + rank)
        tokens = torch.randint(TOKENS, (self.batch, LENGTH + 1), generator=generator)
        if self.rarity:
            weights = torch.arange(1.0, TOKENS + 1) ** -self.rarity
            drawn = torch.multinomial(weights, tokens.numel(), True, generator=generator)
            return drawn.reshape(tokens.shape)
        for i in range(1, LENGTH + 1):
            follows = torch.rand(self.batch, generator=generator) < 0.8
            tokens[:, i] = torch.where(follows, (5 * tokens[:, i - 1] + 3) % TOKENS, tokens[:, i])
        return tokens

    def run(self, folder: Path, rules: RuleSet) -> List[Finding]:
        """Trains and returns the findings of the rules."""
        if self.workers == 1:
            return self._train(folder, rules)
        meeting = f"file://{folder.resolve()}.meeting"
        processes = [
            multiprocessing.get_context("fork").Process(
                target=self._work, args=(folder, meeting, rank)
            )
            for rank in range(self.workers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(100)
            assert process.exitcode == 0
        return list(rules.evaluate(create_trial(str(folder)), wait=False))

    def _work(self, folder: Path, meeting: str, rank: int) -> None:
        distributed.init_process_group("gloo", meeting, rank=rank, world_size=self.workers)
        self.rank = rank
        self._train(folder, None)
        distributed.barrier()
        distributed.destroy_process_group()

    def _train(self, folder: Path, rules: Optional[RuleSet]) -> List[Finding]:
        torch.manual_seed(self.seed)
        model = self.model = self.make_model(*self.shape, self.is_mixture, self.ties)
        for prepare in self.prepare:
            prepare(model)
        optimizer = self.make_optimizer(self.trained(model))
        for step in range(-self.earlier_steps, 0):
            self._step(None, model, optimizer, step)
        hook = smd.Hook(
            str(folder),
            include_collections=["optimizer_state"],
            include_regex=["."] if rules is None else None,
            save_config=smd.SaveConfig(save_interval=1 if rules is None else 1_000_000),
            include_workers="all" if self.workers > 1 else "one",
        )
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        if rules is not None:
            hook.attach(rules)
        for step in range(self.steps):
            self._step(hook, model, optimizer, step)
        hook.close()
        del_hook()
        assert hook.failures == 0
        return hook.take_findings()

    def _step(self, hook: Any, model: Any, optimizer: Any, step: int) -> None:
        for group in optimizer.param_groups:
            group["lr"] = self.rate * self.factor(step)
        for call in self.before_step:
            call(step, model, optimizer)
        if self.resets:
            optimizer.zero_grad()
        total = 0.0
        for micro in range(self.micro_batches):
            number = self.batch_of(step) * self.micro_batches + micro
            tokens = self.tokens(number, self.shard_of(step, self.rank))
            logits = model(tokens[:, :-1]).float()
            loss = self.loss_of(
                logits.reshape(-1, TOKENS), self.labels(step, tokens[:, 1:]).reshape(-1)
            )
            loss = loss * self.loss_factor(step)
            total += loss.item() / self.micro_batches
            balance = sum(each.balance for each in model.modules() if isinstance(each, Experts))
            loss = loss + self.balance * balance + self.added_loss(step, logits)
            (loss / self.micro_batches).backward()
        if hook is not None:
            self._record(hook, step, total)
        if self.workers > 1 and self.averages:
            for parameter in model.parameters():
                if parameter.grad is not None:
                    distributed.all_reduce(parameter.grad)
                    parameter.grad /= self.workers
        for call in self.after_backward:
            call(step, model)
        if self.clips:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    def _record(self, hook: Any, step: int, loss: float) -> None:
        self.losses.append(loss)
        hook.record_tensor_value("loss", torch.tensor(loss))
        if self.recomputed is not None:
            with torch.no_grad():
                again = self.recomputed(step, torch.tensor(loss))
            hook.record_tensor_value("recomputed_loss", again)
