"""Rules spare GANs as tutorials write them: one loss module for both, images from -1 to 1."""

from __future__ import annotations

from typing import Any, Tuple

import pytest
import smdebug
import smdebug.pytorch as smd
import torch
from smdebug.rules import Level, RuleSet
from torch import nn

COUNT = 64


def networks() -> Tuple[nn.Module, nn.Module]:
    generator = nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    discriminator = nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 1, 4, bias=False), nn.Flatten(),
    )  # fmt: skip
    for each in (*generator, *discriminator):
        if isinstance(each, (nn.Conv2d, nn.ConvTranspose2d)):
            nn.init.normal_(each.weight, 0, 0.02)
    return generator, discriminator


def images() -> torch.Tensor:
    """Bright discs on black: as of MNIST, their mean is far from 0."""
    line = torch.linspace(-1, 1, 16)
    x, y = (torch.rand(COUNT, 1, 1) - 0.5 for _ in range(2))
    distances = ((line[None, :, None] - x) ** 2 + (line[None, None, :] - y) ** 2).sqrt()
    return (2 * (distances < 0.2 + 0.3 * torch.rand(COUNT, 1, 1)).float() - 1)[:, None]


class Adversaries:
    def __init__(self, hook: Any, are_optimizers_known: bool) -> None:
        self.generator, self.discriminator = networks()
        self.loss = nn.BCEWithLogitsLoss()
        self.optimizers = [
            torch.optim.Adam(each.parameters(), 2e-4, (0.5, 0.999))
            for each in (self.generator, self.discriminator)
        ]
        hook.register_module(self.generator, "G")
        hook.register_module(self.discriminator, "D")
        hook.register_loss(self.loss)
        if are_optimizers_known:
            hook.register_optimizer(*self.optimizers)

    def judge(self, given: torch.Tensor, is_real: bool) -> torch.Tensor:
        return self.loss(self.discriminator(given), torch.full((COUNT, 1), float(is_real)))

    def discriminator_first(self) -> None:
        self.discriminator.zero_grad()
        self.judge(images(), True).backward()
        made = self.generator(torch.randn(COUNT, 16, 1, 1))
        self.judge(made.detach(), False).backward()
        self.optimizers[1].step()
        self.generator.zero_grad()
        self.judge(made, True).backward()
        self.optimizers[0].step()

    def generator_first(self) -> None:
        self.optimizers[0].zero_grad()
        made = self.generator(torch.randn(COUNT, 16, 1, 1))
        self.judge(made, True).backward()
        self.optimizers[0].step()
        self.optimizers[1].zero_grad()
        both = self.judge(images(), True) + self.judge(made.detach(), False)
        (both / 2).backward()
        self.optimizers[1].step()


@pytest.mark.parametrize("are_optimizers_known", [False, True])
@pytest.mark.parametrize("order", ["discriminator_first", "generator_first"])
def test_adversaries_are_spared(order: str, are_optimizers_known: bool, out_dir: str) -> None:
    torch.manual_seed(7)
    hook = smd.Hook(
        out_dir, save_config=smdebug.SaveConfig(save_interval=1), raise_errors=True,
        include_collections=["weights", "gradients", "losses"],
    )  # fmt: skip
    hook.attach(RuleSet().add_all())
    pair = Adversaries(hook, are_optimizers_known)
    for _ in range(100):
        getattr(pair, order)()
    hook.close()
    found = hook.take_findings()
    assert [each for each in found if each.level is Level.FINDING] == []
    assert {(each.rule, each.tensor) for each in found} <= {("CheckInputImages", "D_input_0")}
