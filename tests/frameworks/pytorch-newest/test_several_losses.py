"""Rules spare trainings with several losses, of which some need not fall."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

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


def hook_of(out_dir: str) -> Any:
    return smd.Hook(
        out_dir, save_config=smdebug.SaveConfig(save_interval=1), raise_errors=True,
        include_collections=["weights", "gradients", "losses"],
    )  # fmt: skip


def findings_of(out_dir: str) -> List[Any]:
    rules = RuleSet()
    for name in RULES:
        rules.add(name)
    return list(rules.evaluate(create_trial(out_dir)))


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
    hook = hook_of(out_dir)
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
    assert findings_of(out_dir) == []


class Autoencoder(nn.Module):
    """A variational one."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = network(2, 4, nn.ReLU), network(2, 2, nn.ReLU)

    def forward(self, x: torch.Tensor) -> Any:
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(z), mean, log_variance


def test_a_variational_autoencoder_is_spared(out_dir: str) -> None:
    """Its divergence rises from nearly nothing."""
    torch.manual_seed(6)
    model = Autoencoder()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    hook = hook_of(out_dir)
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    for _ in range(200):
        x = circle(128)
        decoded, mean, log_variance = model(x)
        error = ((decoded - x) ** 2).sum(1).mean()
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
        hook.record_tensor_value("error_loss", error)
        hook.record_tensor_value("divergence_loss", divergence)
        optimizer.zero_grad()
        (error + 0.05 * divergence).backward()
        optimizer.step()
    hook.close()
    loss = create_trial(out_dir).tensor("divergence_loss_output_0")
    assert loss.value(199) > 2 * loss.value(0)
    assert findings_of(out_dir) == []
