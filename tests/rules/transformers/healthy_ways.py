"""Healthy ways to train, which rules must not take for faults."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any, Callable, Dict

import smdebug.pytorch as smd
import torch
from eight_bits import use_eight_bits
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from training import Training

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from optimizers import Lion  # noqa: E402

__all__ = ["HEALTHY"]


def uses(make: Callable[[Any, Training], Any], rate: float) -> Callable[[Training], None]:
    def change(t: Training) -> None:
        t.rate = rate
        t.make_optimizer = lambda parameters: make(parameters, t)

    return change


def sets(**values: Any) -> Callable[[Training], None]:
    def change(t: Training) -> None:
        for name, value in values.items():
            setattr(t, name, value)

    return change


def cosine(step: int) -> float:
    return 0.5 + 0.5 * math.cos(math.pi * step / 150)


def loss_scaling(t: Training) -> None:
    """Gradients of some steps overflow, and these steps are skipped."""
    t.clips = False
    t.added_loss = lambda step, logits: logits.sum() * (math.inf if step % 40 == 13 else 0.0)

    def skip(step: int, model: Any) -> None:
        for parameter in model.parameters():
            if step % 40 == 13:
                parameter.grad = None

    t.after_backward.append(skip)


def stochastic_rounding(t: Training) -> None:
    t.rate = 1e-3
    t.prepare.append(lambda model: model.bfloat16() and None)

    class Rounded(torch.optim.Optimizer):
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {"lr": t.rate})
            self.fine = {id(each): each.detach().float() for each in parameters}
            self.inner = torch.optim.AdamW(list(self.fine.values()), lr=t.rate, weight_decay=0.0)

        @torch.no_grad()
        def step(self) -> None:  # type: ignore[override]
            for each in self.param_groups[0]["params"]:
                fine = self.fine[id(each)]
                fine.copy_(each.float())
                fine.grad = None if each.grad is None else each.grad.float()
            self.inner.step()
            for each in self.param_groups[0]["params"]:
                bits = self.fine[id(each)].view(torch.int32)
                noise = torch.randint_like(bits, 1 << 16)
                each.copy_(((bits + noise) & -65536).view(torch.float32))

    t.make_optimizer = Rounded


def pure_bfloat16(t: Training) -> None:
    t.rate = 3e-3
    t.prepare.append(lambda model: model.bfloat16() and None)


def master_weights(t: Training) -> None:
    t.rate = 3e-4
    t.prepare.append(lambda model: model.bfloat16() and None)

    class Master(torch.optim.Optimizer):
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {"lr": t.rate})
            self.fine = [each.detach().float() for each in parameters]
            self.inner = torch.optim.AdamW(self.fine, lr=t.rate)

        @torch.no_grad()
        def step(self) -> None:  # type: ignore[override]
            for fine, each in zip(self.fine, self.param_groups[0]["params"]):
                fine.grad = None if each.grad is None else each.grad.float()
            self.inner.step()
            for fine, each in zip(self.fine, self.param_groups[0]["params"]):
                each.copy_(fine)

    t.make_optimizer = Master


class _Lora(nn.Module):
    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(0.1 * torch.randn(4, base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, 4))

    def forward(self, x: Any) -> Any:
        return self.base(x) + x @ self.a.T @ self.b.T


def lora(t: Training) -> None:
    def adapt(model: Any) -> None:
        model.requires_grad_(False)
        for block in model.blocks:
            block.attention.qkv = _Lora(block.attention.qkv)
            block.attention.out = _Lora(block.attention.out)

    t.is_mixture, t.rate = False, 3e-3
    t.prepare.append(adapt)


def frozen_embedding(t: Training) -> None:
    t.ties = False
    t.prepare.append(lambda model: model.embedding.requires_grad_(False) and None)


def moving_average(t: Training) -> None:
    """Keeps an average of the weights, as for evaluation, and records it."""
    means: Dict[str, Any] = {}

    def average(step: int, model: Any, optimizer: Any) -> None:
        for name, each in model.named_parameters():
            mean = means.setdefault(name, each.detach().clone()).lerp_(each.detach(), 0.01)
            smd.get_hook().record_tensor_value(f"ema/{name}", mean)

    t.before_step.append(average)


def two_ranks(t: Training) -> None:
    t.workers, t.is_mixture, t.steps = 2, False, 100


def epochs(t: Training) -> None:
    t.batch_of = lambda step: step % 50


def zero_init_outputs(t: Training) -> None:
    def clear(model: Any) -> None:
        for block in model.blocks:
            nn.init.zeros_(block.attention.out.weight)

    t.prepare.append(clear)


def no_decay_on_norms(t: Training) -> None:
    def groups(model: Any) -> Any:
        parts = ([], [])  # type: ignore
        for each in model.parameters():
            parts[each.dim() > 1].append(each)
        return [{"params": parts[0], "weight_decay": 0.0}, {"params": parts[1]}]

    t.trained = groups


def dropout(t: Training) -> None:
    def drop(model: Any) -> None:
        for block in model.blocks:
            block.mlp = nn.Sequential(block.mlp, nn.Dropout(0.1))

    t.prepare.append(drop)


def checkpointing(t: Training) -> None:
    """Computes activations again in the backward pass."""

    def wrap(block: Any) -> None:
        forward = block.forward
        block.forward = lambda x: checkpoint(forward, x, use_reentrant=False)

    t.is_mixture = False
    t.prepare.append(lambda model: [wrap(block) for block in model.blocks] and None)


def normalised_queries(t: Training) -> None:
    def normalise(model: Any) -> None:
        for block in model.blocks:
            block.attention.normalises = True

    t.prepare.append(normalise)


def rms_norms(t: Training) -> None:
    def replace(model: Any) -> None:
        width = model.norm.normalized_shape
        for block in model.blocks:
            block.norm1, block.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        model.norm = nn.RMSNorm(width)

    t.prepare.append(replace)


def smoothed(logits: Any, labels: Any) -> Any:
    return functional.cross_entropy(logits, labels, label_smoothing=0.1)


def z_loss(t: Training) -> None:
    t.added_loss = lambda step, logits: 1e-4 * logits.logsumexp(-1).square().mean()


def clips_hard(t: Training) -> None:
    def clip(step: int, model: Any) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)

    t.clips = False
    t.after_backward.append(clip)


SGD = uses(lambda p, t: torch.optim.SGD(p, lr=t.rate, momentum=0.9), 0.05)
HEALTHY: Dict[str, Callable[[Training], None]] = {
    "plain": lambda t: None,
    "mixture": sets(is_mixture=True),
    "flat_auxiliary_loss": sets(is_mixture=True, balance=0.5),
    "strong_balance": sets(is_mixture=True, balance=1.0),
    "loss_scaling_skips": loss_scaling,
    "stochastic_rounding": stochastic_rounding,
    "master_weights": master_weights,
    "pure_bfloat16": pure_bfloat16,
    "lion": uses(lambda p, t: Lion(p, lr=t.rate), 3e-4),
    "sgd": SGD,
    "plain_sgd": uses(lambda p, t: torch.optim.SGD(p, lr=t.rate), 0.2),
    "rmsprop": uses(lambda p, t: torch.optim.RMSprop(p, lr=t.rate), 1e-3),
    "adam": uses(lambda p, t: torch.optim.Adam(p, lr=t.rate), 2e-3),
    "adamax": uses(lambda p, t: torch.optim.Adamax(p, lr=t.rate), 3e-3),
    "amsgrad": uses(lambda p, t: torch.optim.AdamW(p, lr=t.rate, amsgrad=True), 2e-3),
    "warm_up": sets(factor=lambda step: min(1.0, step / 40)),
    "cosine": sets(factor=cosine),
    "warm_restarts": sets(factor=lambda step: cosine(3 * (step % 50))),
    "step_decay": sets(factor=lambda step: 0.1 ** (step // 60)),
    "warm_up_decay_stable": sets(factor=lambda s: min(1.0, s / 20, (150 - s) / 40)),
    "accumulation": sets(micro_batches=2, steps=100),
    "clipped": sets(clips=True),
    "not_clipped": sets(clips=False),
    "tied": sets(ties=True),
    "not_tied": sets(ties=False),
    "decay_on_all": sets(decay=0.1),
    "no_decay_on_norms": no_decay_on_norms,
    "lora": lora,
    "frozen_embedding": frozen_embedding,
    "moving_average": moving_average,
    "two_ranks": two_ranks,
    "epochs_in_order": epochs,
    "zero_init_outputs": zero_init_outputs,
    "label_noise": sets(labels=lambda s, y: torch.where(torch.rand(y.shape) < 0.1, y * 0 + 1, y)),
    "small_batches": sets(batch=2),
    "dropout": dropout,
    "label_smoothing": sets(loss_of=smoothed),
    "checkpointing": checkpointing,
    "z_loss": z_loss,
    "normalised_queries": normalised_queries,
    "rms_norms": rms_norms,
    "long_tail": sets(rarity=1.2, ties=False),
    "resumed": sets(earlier_steps=150),
    "clipped_hard": clips_hard,
    "eight_bits": use_eight_bits,
    "large_batches": sets(batch=64, steps=100),
    "high_beta2": sets(betas=(0.9, 0.9999)),
    "recomputed_alike": sets(recomputed=lambda step, loss: loss.clone()),
}  # fmt: skip
