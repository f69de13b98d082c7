"""JAX computes gradients of zeros for a layer that the loss does not depend on."""

import jax
import numpy as np
import pytest
import smdebug.jax as smd
from models import descend, init

from smdebug.rules import Level, RuleSet


def layer(params, name, x):
    return x @ params[name]["kernel"] + params[name]["bias"]


def unused(params, x):
    hidden = jax.nn.gelu(layer(params, "layer1", jax.nn.gelu(layer(params, "layer0", x))))
    jax.nn.tanh(layer(params, "layer2", hidden))
    return layer(params, "layer3", hidden)


def dead(params, x):
    hidden = jax.nn.gelu(layer(params, "layer0", x))
    hidden = jax.nn.relu(layer(params, "layer1", hidden) - 100)
    return layer(params, "layer3", jax.nn.gelu(layer(params, "layer2", hidden)))


def cut(params, x):
    hidden = jax.nn.gelu(layer(params, "layer1", jax.nn.gelu(layer(params, "layer0", x))))
    hidden = jax.lax.stop_gradient(hidden)
    return layer(params, "layer3", jax.nn.gelu(layer(params, "layer2", hidden)))


@pytest.mark.parametrize(
    ("predict", "level", "check"),
    [
        (unused, Level.WORTH_A_LOOK, "unused"),
        (dead, Level.FINDING, "dead"),
        (cut, Level.FINDING, "cut"),
    ],
)
def test_an_unused_layer_is_not_taken_for_dead_units(predict, level, check, out_dir):
    rules = RuleSet().add("VanishingGradient").add("PoorWeightInitialization")
    hook = smd.Hook(out_dir)
    hook.attach(rules)
    params = init(sizes=(3, 8, 8, 8, 8))
    x = np.random.default_rng(0).normal(size=(32, 3)).astype("f")
    for _ in range(12):
        compute = jax.value_and_grad(lambda params: ((predict(params, x) - x[:, :1]) ** 2).mean())
        loss, gradients = compute(params)
        hook.record(loss, params=params, gradients=gradients)
        params = descend(params, gradients, 0.01)
    hook.close()
    vanishing, initial = rules.results()
    assert vanishing.first is not None and vanishing.first.check == check
    assert vanishing.first.level is level
    assert initial.first is None
    causes = {"cut": ["gradient_cut"], "dead": ["dead_units"]}
    assert [each.id for each in rules.diagnose()] == causes.get(check, [])
