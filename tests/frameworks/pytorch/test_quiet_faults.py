"""Faults with which the loss falls as it should, each beside the script without it."""

from __future__ import annotations

from typing import Any, Tuple

import pytest
import smdebug.pytorch as smd
import torch
from test_common_mistakes import train
from test_targets_given import LENGTH, TOKENS, texts
from torch import Tensor, nn
from torch.nn import functional as F

from smdebug import modes
from smdebug.rules import RuleSet


class Attention(nn.Module):
    """Scores the next token by the tokens that it may see."""

    def __init__(self, is_causal: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, 32), nn.Embedding(LENGTH, 32)
        self.mixed, self.scores = nn.Linear(32, 3 * 32), nn.Linear(32, TOKENS)
        self.last = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(dropout), nn.Linear(64, 32))
        self.is_causal = is_causal

    def forward(self, x: Tensor) -> Tensor:
        states = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        query, key, value = self.mixed(states).chunk(3, 2)
        logits = query @ key.transpose(1, 2) / 32**0.5
        if self.is_causal:
            hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            logits = logits.masked_fill(hidden, -1e9)
        states = states + logits.softmax(2) @ value
        return self.scores(states + self.last(states)).flatten(0, 1)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("is_causal", [True, False])
def test_a_model_of_the_next_token_that_reads_it(is_causal: bool, dropout: float, out_dir: str) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        text = texts(32, LENGTH + 1)
        return text[:, :-1], text[:, 1:].flatten()

    torch.manual_seed(1)
    model = Attention(is_causal, dropout)
    found, causes = train(out_dir, model, nn.CrossEntropyLoss(), batch, steps=250)
    assert (("LossInput", "ahead") in found) == (not is_causal)
    assert causes == ([] if is_causal else ["targets_given"])


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Identity])
def test_layers_without_an_activation(activation: type, out_dir: str) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(32, 8)
        return x, x[:, :1] * x[:, 1:2]

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), activation(), nn.Linear(32, 32), activation(), nn.Linear(32, 1))
    found, causes = train(out_dir, model, nn.MSELoss(), batch, steps=40)
    assert (("MissingActivation", "") in found) == (activation is nn.Identity)
    assert causes == (["activation_missing"] if activation is nn.Identity else [])


class InPlace(nn.Module):
    """Its activation overwrites what a layer returned."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 32), nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.relu_(self.first(x)))


def test_an_activation_in_place_is_one(out_dir: str) -> None:
    torch.manual_seed(1)
    found, _ = train(out_dir, InPlace(), nn.MSELoss(), lambda: (torch.randn(32, 8), torch.randn(32, 1)), steps=10)
    assert ("MissingActivation", "") not in found


class Variational(nn.Module):
    """Encodes 16 numbers that depend on two, and decodes them."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decode = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        mean, logarithm = self.encode(x).chunk(2, 1)
        return self.decode(mean + torch.randn_like(mean) * (logarithm / 2).exp()), mean, logarithm


@pytest.mark.parametrize("is_averaged", [True, False])
def test_a_posterior_that_collapses(is_averaged: bool, out_dir: str) -> None:
    """The reconstruction is a mean where it should be a sum, so the divergence outweighs it."""
    torch.manual_seed(1)
    model = Variational()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    rules = RuleSet().add_all()
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    made = torch.randn(2, 16)
    for _ in range(200):
        x = torch.randn(64, 2) @ made
        again, mean, logarithm = model(x)
        divergence = -0.5 * (1 + logarithm - mean**2 - logarithm.exp()).sum(1).mean()
        error = (again - x) ** 2
        loss = (0.1 * error.mean() if is_averaged else error.sum(1).mean()) + divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hook.record_tensor_value("loss", loss)
    hook.close()
    found = {each.rule for each in rules.results() if each.first is not None}
    assert ("CollapsedOutput" in found) == is_averaged
    assert [each.id for each in rules.diagnose()] == (["outputs_collapsed"] if is_averaged else [])


@pytest.mark.parametrize("decay", [1e-4, 2.0])
def test_weights_that_decay_to_nothing(decay: float, out_dir: str) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 5e-3, weight_decay=decay)
    found = trained(model, optimizer, out_dir, steps=300)
    assert (("WeightUpdateRatio", "shrunk") in found) == (decay == 2.0)


@pytest.mark.parametrize("is_registered", [True, False])
@pytest.mark.parametrize("each_batch", [True, False])
def test_a_schedule_that_counts_batches_for_epochs(each_batch: bool, is_registered: bool, out_dir: str) -> None:
    if not (is_registered or hasattr(torch.optim.Optimizer, "register_step_pre_hook")):
        return  # This PyTorch tells nobody the rates of others.
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)

    def each_step(step: int) -> None:
        if each_batch or step % 50 == 49:
            schedule.step()

    found = trained(model, optimizer, out_dir, 240, each_step, is_registered)
    assert (("WeightUpdateRatio", "faded") in found) == each_batch


def trained(model, optimizer, out_dir, steps, each_step=lambda step: None, is_registered=True):  # type: ignore[no-untyped-def]
    """Trains a regression, and returns the rules and checks that found something."""
    rules = RuleSet().add_all()
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    hook.register_module(model)
    if is_registered:
        hook.register_optimizer(optimizer)
    hook.set_mode(modes.TRAIN)
    for step in range(steps):
        x = torch.randn(32, 8)
        loss = F.mse_loss(model(x), x[:, :1] * x[:, 1:2] + x[:, 2:3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hook.record_tensor_value("loss", loss)
        each_step(step)
    hook.close()
    return {(each.rule, each.first.check) for each in rules.results() if each.first is not None}


@pytest.mark.parametrize("sign", [1, -1])
def test_the_sign_of_a_policy(sign: int, out_dir: str) -> None:
    """An agent that should go to the right, where the reward is."""
    torch.manual_seed(1)
    policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), 2e-2)
    rules = RuleSet().add_all()
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    hook.register_module(policy)
    hook.register_optimizer(optimizer)
    for _ in range(150):
        seen = torch.randn(64, 2)
        actions = torch.distributions.Categorical(logits=policy(seen))
        taken = actions.sample()
        reward = (taken == (seen[:, 0] > 0)).float()
        loss = -sign * (actions.log_prob(taken) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hook.record_tensor_value("policy_loss", loss)
        hook.record_tensor_value("reward", reward.mean())
    hook.close()
    found = {each.rule for each in rules.results() if each.first is not None}
    assert ("RewardAtLowest" in found) == (sign == -1)
    if sign == -1:
        assert rules.diagnose()[0].id == "loss_sign"


class Listed(nn.Module):
    """Its layers stand in a list, which hides them from the model, or in one of PyTorch's."""

    def __init__(self, is_plain: bool) -> None:
        super().__init__()
        layers = [nn.Linear(8, 16), nn.Linear(16, 16)]
        self.layers = layers if is_plain else nn.ModuleList(layers)
        self.last = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return self.last(x)


@pytest.mark.parametrize("is_registered", [True, False])
@pytest.mark.parametrize("is_plain", [True, False])
def test_layers_in_a_plain_list(is_plain: bool, is_registered: bool, out_dir: str) -> None:
    torch.manual_seed(1)
    model = Listed(is_plain)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    found = trained(model, optimizer, out_dir, 60, is_registered=is_registered)
    assert (("UpdateNotApplied", "not_updated") in found) == is_plain


def test_layers_in_a_plain_list_that_the_optimizer_has(out_dir: str) -> None:
    torch.manual_seed(1)
    model = Listed(True)
    hidden = [each for layer in model.layers for each in layer.parameters()]
    found = trained(model, torch.optim.Adam([*hidden, *model.parameters()], 1e-2), out_dir, 60)
    assert ("UpdateNotApplied", "not_updated") not in found


def test_parameters_that_are_made_anew(out_dir: str) -> None:
    """Nobody keeps them, and neither does the hook."""

    class Forgetful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(x * nn.Parameter(torch.ones(8)))

    torch.manual_seed(1)
    model = Forgetful()
    found = trained(model, torch.optim.Adam(model.parameters(), 1e-2), out_dir, 60)
    assert ("UpdateNotApplied", "not_updated") not in found


def test_layers_in_a_plain_list_of_a_model_that_returns_containers(out_dir: str) -> None:
    class Nested(Listed):
        def forward(self, x: Tensor) -> Any:
            return {"scores": [(super().forward(x), None)]}

    torch.manual_seed(1)
    model = Nested(True)
    rules = RuleSet().add_all()
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    hook.register_module(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    hook.register_optimizer(optimizer)
    for _ in range(40):
        optimizer.zero_grad()
        model(torch.randn(32, 8))["scores"][0][0].square().mean().backward()
        optimizer.step()
    hook.close()
    assert "UpdateNotApplied" in {each.rule for each in rules.results() if each.first is not None}


class Sequences(nn.Module):
    """Classifies sequences by a layer that takes samples along the first axis, or the second."""

    def __init__(self, kind: str, batch_first: bool) -> None:
        super().__init__()
        if kind == "attention":
            self.layer: nn.Module = nn.TransformerEncoderLayer(8, 2, 16, batch_first=batch_first)
        else:
            self.layer = nn.LSTM(8, 8, batch_first=batch_first)
        self.last = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        states = self.layer(x)
        return self.last((states[0] if isinstance(states, tuple) else states).mean(1))


@pytest.mark.parametrize("kind", ["attention", "recurrent"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_samples_along_another_axis(batch_first: bool, kind: str, out_dir: str) -> None:
    def batch() -> Tuple[Tensor, Tensor]:
        x = torch.randn(16, 10, 8)
        return x, (x[:, 0, 0] > 0).long() + (x[:, 0, 1] > 0).long()

    torch.manual_seed(1)
    found, causes = train(out_dir, Sequences(kind, batch_first), nn.CrossEntropyLoss(), batch, steps=40)
    assert (("LossInput", "axes") in found) == (not batch_first)
    assert causes == ([] if batch_first else ["axes_swapped"])
