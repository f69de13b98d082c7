"""Gradients that an optimizer waits for in vain are found; those that nobody needs are not."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Tuple

import pytest
import smdebug.pytorch as smd
import torch
from torch import Tensor, nn

from smdebug.rules import RuleSet

STEPS = 20


class Encoded(nn.Module):
    """A head on an encoder that has most of the parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(*(nn.Linear(8, 8) for _ in range(4)))
        self.head = nn.Linear(8, 2)
        self.encode: Callable[[Tensor], Tensor] = lambda x: self.encoder(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encode(x))


def detached(model: Encoded) -> List[Any]:
    model.encode = lambda x: model.encoder(x).detach()
    return list(model.parameters())


def without_graph(model: Encoded) -> List[Any]:
    model.encode = torch.no_grad()(lambda x: model.encoder(x))
    return list(model.parameters())


def frozen(model: Encoded) -> List[Any]:
    model.encoder.requires_grad_(False)
    return list(model.parameters())


def only_the_head_is_trained(model: Encoded) -> List[Any]:
    model.encode = torch.no_grad()(lambda x: model.encoder(x))
    return list(model.head.parameters())


def adapted(model: Encoded) -> List[Any]:
    """As LoRA does: each frozen layer has a small trained one beside it."""
    model.encoder.requires_grad_(False)
    model.adapters = nn.ModuleList(nn.Linear(8, 8, bias=False) for _ in model.encoder)

    def encode(x: Tensor) -> Tensor:
        for layer, adapter in zip(model.encoder, model.adapters):
            x = layer(x) + adapter(x)
        return x

    model.encode = encode
    return list(model.parameters())


def whole(model: Encoded) -> List[Any]:
    return list(model.parameters())


def scaler_of(is_scaled: bool) -> Any:
    """A scaler; PyTorch 1.13 has one for GPUs only, which without any scales nothing."""
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cpu", init_scale=8.0, enabled=is_scaled)
    return torch.cuda.amp.GradScaler(init_scale=8.0, enabled=is_scaled)


def missing(rules: RuleSet) -> Dict[str, int]:
    (result,) = rules.results()
    return {result.first.tensor: result.finding_count} if result.first else {}


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize(
    ("vary", "is_fault"),
    [
        (detached, True), (without_graph, True), (frozen, False), (adapted, False),
        (only_the_head_is_trained, False), (whole, False),
    ],
)  # fmt: skip
def test_an_encoder_that_an_optimizer_is_to_train_has_gradients(
    vary: Callable[[Encoded], List[Any]], is_fault: bool, is_scaled: bool, out_dir: str
) -> None:
    torch.manual_seed(1)
    model, loss = Encoded(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(vary(model), lr=0.01)
    scaler = scaler_of(is_scaled)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), save_all=True)
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(STEPS):
        optimizer.zero_grad()
        x = torch.randn(16, 8)
        scaler.scale(loss(model(x), (x[:, 0] > 0).long())).backward()
        scaler.step(optimizer)
        scaler.update()
    hook.close()
    expected = {"Encoded_encoder.0.bias": 1} if is_fault else {}
    assert missing(rules) == expected
    stored = RuleSet().add("UpdateNotApplied")
    trial = smd.create_trial(out_dir)
    list(stored.evaluate(trial))
    assert missing(stored) == expected
    for collection in ("weights", "biases", "gradients"):
        names = trial.tensor_names(collection=collection)
        assert not [name for name in names if name.startswith("missing_gradient/")]


def test_a_network_that_waits_for_its_turn_is_spared(out_dir: str) -> None:
    """As the generator of a WGAN, which is updated after five updates of its critic."""
    torch.manual_seed(1)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.Linear(16, 2))
    critic = nn.Linear(2, 1)
    optimizers = [torch.optim.RMSprop(each.parameters(), 1e-3) for each in (generator, critic)]
    hook = smd.Hook(out_dir)
    for each, name in ((generator, "generator"), (critic, "critic")):
        hook.register_module(each, name=name)
    hook.register_optimizer(optimizers)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for step in range(STEPS):
        real, fake = torch.randn(16, 2), generator(torch.randn(16, 4))
        is_turn = step % 6 == 5
        for each in optimizers:
            each.zero_grad()
        if is_turn:
            (-critic(fake).mean()).backward()
            optimizers[0].step()
        else:
            (critic(fake.detach()).mean() - critic(real).mean()).backward()
            optimizers[1].step()
    hook.close()
    assert missing(rules) == {}


def opponents(out_dir: str) -> Tuple[smd.Hook, nn.Module, nn.Module, List[Any]]:
    """Returns a hook of a generator and a critic, and the optimizer of each."""
    torch.manual_seed(1)
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizers = [torch.optim.Adam(each.parameters(), 1e-3) for each in (generator, critic)]
    hook = smd.Hook(out_dir)
    for each, name in ((generator, "generator"), (critic, "critic")):
        hook.register_module(each, name=name)
    return hook, generator, critic, optimizers


@pytest.mark.parametrize("is_registered", [False, True])
def test_the_last_bias_of_a_critic_need_not_change(is_registered: bool, out_dir: str) -> None:
    """Its gradients for real and for false samples cancel; without an optimizer, both are seen."""
    hook, generator, critic, optimizers = opponents(out_dir)
    if is_registered:
        hook.register_optimizer(optimizers)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(2 * STEPS):
        optimizers[1].zero_grad()
        (-critic(torch.randn(16, 2)).mean()).backward()
        critic(generator(torch.randn(16, 4))).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        (-critic(generator(torch.randn(16, 4))).mean()).backward()
        optimizers[0].step()
    hook.close()
    assert missing(rules) == {}


@pytest.mark.parametrize("is_detached", [False, True])
def test_a_generator_whose_optimizer_nobody_registered_has_gradients(is_detached: bool, out_dir: str) -> None:
    """Each call of a model is a step, so its weights and gradients of the other one are of two."""
    hook, generator, critic, optimizers = opponents(out_dir)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(2 * STEPS):
        fake = generator(torch.randn(16, 4))
        optimizers[1].zero_grad()
        (critic(fake.detach()) - critic(torch.randn(16, 2))).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        fake = generator(torch.randn(16, 4))
        (-critic(fake.detach() if is_detached else fake)).mean().backward()
        optimizers[0].step()
    hook.close()
    # PyTorch 1 tells nobody of an optimizer that was not registered.
    is_told = hasattr(inspect.getmodule(torch.optim.Optimizer), "register_optimizer_step_pre_hook")
    assert missing(rules) == ({"generator_0.bias": 1} if is_detached and is_told else {})


def test_the_last_bias_of_an_energy_needs_no_gradient(out_dir: str) -> None:
    """The loss takes the energy's derivative, which does not depend on it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    rules = RuleSet().add("UpdateNotApplied")
    hook.attach(rules)
    for _ in range(STEPS):
        x = torch.randn(16, 2, requires_grad=True)
        (score,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        optimizer.zero_grad()
        ((score + x) ** 2).mean().backward()
        assert model[2].bias.grad is None
        optimizer.step()
    hook.close()
    assert not hook.take_findings()
