"""Adversarial trainings, in which no loss has to fall, are spared by the rules."""

from __future__ import annotations

from typing import Any, Callable, Dict

import pytest
import smdebug
import smdebug.pytorch as smd
import torch
from smdebug.rules import RuleSet
from smdebug.trials import create_trial
from torch import nn
from torch.nn.functional import relu, softplus

# The losses of a discriminator, by its answers to real samples and others, and of a generator.
LOSSES: Dict[str, Any] = {
    "hinge": (lambda real, fake: (relu(1 - real) + relu(1 + fake)).mean(), lambda fake: -fake.mean()),
    "least_squares": (
        lambda real, fake: ((real - 1) ** 2 + fake**2).mean(),
        lambda fake: ((fake - 1) ** 2).mean(),
    ),
    "log": (
        lambda real, fake: (softplus(-real) + softplus(fake)).mean(),
        lambda fake: softplus(-fake).mean(),
    ),
}

RULES = (
    "ExplodingTensor", "LossNotDecreasing", "StalledTrainingRule", "UnchangedTensor",
    "UpdateNotApplied", "VanishingGradient", "WeightUpdateRatio",
)  # fmt: skip


def network(inputs: int, outputs: int, activation: Callable[[], nn.Module]) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, 64), activation(), nn.Linear(64, 64), activation(), nn.Linear(64, outputs)
    )


def circle(count: int) -> torch.Tensor:
    angles = 6.283 * torch.rand(count)
    return torch.stack([angles.cos(), angles.sin()], 1) + 0.05 * torch.randn(count, 2)


@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize("kind", LOSSES)
def test_a_gan_is_spared(kind: str, updates: int, out_dir: str) -> None:
    torch.manual_seed(5)
    of_discriminator, of_generator = LOSSES[kind]
    generator, discriminator = network(4, 2, nn.ReLU), network(2, 1, nn.LeakyReLU)
    optimizers = [
        torch.optim.Adam(each.parameters(), 1e-3, betas=(0.5, 0.999))
        for each in (generator, discriminator)
    ]
    hook = smd.Hook(
        out_dir, save_config=smdebug.SaveConfig(save_interval=1), raise_errors=True,
        include_collections=["weights", "gradients", "losses"],
    )  # fmt: skip
    hook.register_module(generator, name="generator")
    hook.register_module(discriminator, name="discriminator")
    hook.register_optimizer(*optimizers)
    for _ in range(200):
        for _ in range(updates):
            fake = generator(torch.randn(128, 4)).detach()
            loss = of_discriminator(discriminator(circle(128)), discriminator(fake))
            hook.record_tensor_value("discriminator_loss", loss)
            optimizers[1].zero_grad()
            loss.backward()
            optimizers[1].step()
        loss = of_generator(discriminator(generator(torch.randn(128, 4))))
        hook.record_tensor_value("generator_loss", loss)
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
    hook.close()
    rules = RuleSet()
    for name in RULES:
        rules.add(name)
    assert list(rules.evaluate(create_trial(out_dir))) == []
