"""A small training with all calibrated rules, for tests to vary."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import smdebug.pytorch as smd
import torch
from torch import Tensor, nn

from smdebug.rules import RuleSet

FEATURES, CLASSES, BATCH = 20, 5, 32


class Job:
    """A training: what is trained, how, and what of it is recorded."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.centres = torch.randn(CLASSES, FEATURES)
        self.model: nn.Module = mlp()
        self.loss: nn.Module = nn.CrossEntropyLoss()
        self.optimizer: Callable[[List[Any]], Any] = lambda of: torch.optim.Adam(of, lr=3e-3)
        self.factor: Callable[[int], float] = lambda step: 1.0
        self.steps, self.steps_before, self.batches = 150, 0, 1
        self.registers = bool(seed % 2)
        self.batch: Callable[[], Any] = self.clusters
        self.backward: Callable[[Tensor], None] = lambda value: value.backward()
        self.value: Callable[[Any], Tensor] = lambda pair: self.loss(self.model(pair[0]), pair[1])
        self.update: Callable[[Any], None] = lambda optimizer: optimizer.step()
        self.after: Callable[[smd.Hook], None] = lambda hook: None
        self.losses: List[float] = []
        self.settings: Dict[str, Any] = {"save_config": smd.SaveConfig(save_interval=10**6)}

    def clusters(self) -> Any:
        y = torch.randint(CLASSES, (BATCH,))
        return self.centres[y] + torch.randn(BATCH, FEATURES), y

    def step(self, optimizer: Any) -> float:
        optimizer.zero_grad()
        total = 0.0
        for _ in range(self.batches):
            value = self.value(self.batch())
            self.backward(value / self.batches if self.batches > 1 else value)
            total += value.item() / self.batches
        self.update(optimizer)
        return total

    def run(self, folder: Any) -> List[Any]:
        """Trains, and returns the findings of all calibrated rules."""
        optimizer = self.optimizer([each for each in self.model.parameters() if each.requires_grad])
        before = [self.step(optimizer) for _ in range(self.steps_before)]
        rules = RuleSet().add_all()
        hook = smd.Hook(str(folder), **self.settings)
        hook.register_module(self.model)
        hook.register_loss(self.loss)
        hook.attach(rules)
        if self.registers:
            hook.register_optimizer(optimizer)
        rates = [group["lr"] for group in optimizer.param_groups]
        losses = []
        for step in range(self.steps):
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate * self.factor(step)
            losses.append(self.step(optimizer))
            self.after(hook)
        hook.close()
        self.losses = before + losses
        return list(hook.take_findings())

    def has_learned(self) -> bool:
        return sum(self.losses[-10:]) < 0.8 * sum(self.losses[:10])


def mlp(width: int = 48, activation: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(FEATURES, width), activation(), nn.Linear(width, width), activation(),
        nn.Linear(width, CLASSES),
    )  # fmt: skip
