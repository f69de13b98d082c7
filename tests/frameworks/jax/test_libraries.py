"""Parameters as the libraries of today hold them."""

import equinox as eqx
import jax
import numpy as np
import optax
import pytest
import smdebug.jax as smd
from flax import linen, nnx
from smdebug.integrations import jax_recording

from smdebug.rules import RuleSet

WEIGHTS = ["first/kernel", "second/kernel"]
BIASES = ["first/bias", "second/bias"]


class OfNnx(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(4, 8, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(jax.nn.relu(self.first(x)))


class OfLinen(linen.Module):
    def setup(self):
        self.first, self.second = linen.Dense(8), linen.Dense(1)

    def __call__(self, x):
        return self.second(jax.nn.relu(self.first(x)))


class OfEquinox(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __init__(self):
        first, second = jax.random.split(jax.random.key(0))
        self.first, self.second = eqx.nn.Linear(4, 8, key=first), eqx.nn.Linear(8, 1, key=second)

    def __call__(self, x):
        return jax.vmap(lambda row: self.second(jax.nn.relu(self.first(row))))(x)


def steps_of_nnx(batches):
    model = OfNnx()
    optimizer = nnx.Optimizer(model, optax.adam(0.01), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, gradients = nnx.value_and_grad(lambda model: ((model(x) - y) ** 2).mean())(model)
        optimizer.update(model, gradients)
        return loss, gradients

    for x, y in batches:
        loss, gradients = step(model, optimizer, x, y)
        yield loss, nnx.state(model, nnx.Param), gradients, optimizer.opt_state


def steps_of_trees(params, predict, batches):
    optimizer = optax.adam(0.01)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        compute = jax.value_and_grad(lambda params: ((predict(params, x) - y) ** 2).mean())
        loss, gradients = compute(params)
        updates, state = optimizer.update(gradients, state, params)
        return loss, optax.apply_updates(params, updates), gradients, state

    for x, y in batches:
        loss, params, gradients, state = step(params, state, x, y)
        yield loss, params, gradients, state


def steps_of_linen(batches):
    model = OfLinen()
    params = model.init(jax.random.key(0), np.zeros((1, 4)))["params"]
    return steps_of_trees(params, lambda params, x: model.apply({"params": params}, x), batches)


def steps_of_equinox(batches):
    params, static = eqx.partition(OfEquinox(), eqx.is_array)
    return steps_of_trees(params, lambda params, x: eqx.combine(params, static)(x), batches)


@pytest.mark.parametrize("steps_of", [steps_of_nnx, steps_of_linen, steps_of_equinox])
def test_a_healthy_training(steps_of, out_dir):
    random = np.random.default_rng(0)
    inputs = [random.normal(size=(32, 4)).astype("f") for _ in range(60)]
    batches = [(x, x.sum(axis=1, keepdims=True)) for x in inputs]
    rules = RuleSet().add_all()
    every = smd.SaveConfig(save_interval=20)
    with jax_recording(out_dir, rules=rules, save_all=True, save_config=every) as hook:
        for loss, params, gradients, state in steps_of(batches):
            hook.record(loss, params=params, gradients=gradients, opt_state=state)
        assert hook.failures == 0
    assert not [each.message for each in rules.results() if each.first]
    trial = smd.create_trial(out_dir)
    kernel = "weight" if steps_of is steps_of_equinox else "kernel"
    weights = [f"params/{name.replace('kernel', kernel)}" for name in WEIGHTS]
    assert trial.tensor_names(collection="weights") == weights
    assert trial.tensor_names(collection="biases") == [f"params/{name}" for name in BIASES]
    gradients = sorted(f"gradient/{name}" for name in [*weights, *(f"params/{b}" for b in BIASES)])
    assert trial.tensor_names(collection="gradients") == gradients
    assert f"opt_state/0/mu/first/{kernel}" in trial.tensor_names(collection="optimizer_variables")


def test_a_value_of_the_scripts_own(out_dir):
    with jax_recording(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.record(1.0, params={"a": {"value": np.ones(2)}, "b": np.ones(2)}, value=np.ones(1))
    names = smd.create_trial(out_dir).tensor_names()
    assert names == ["loss", "params/a/value", "params/b", "value"]


def test_a_variable_alone_and_beside_an_array(out_dir):
    variable = nnx.Param(np.ones(2))
    with jax_recording(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.record(1.0, params={"w": variable, "b": np.ones(2)}, alone=variable)
    assert smd.create_trial(out_dir).tensor_names() == ["alone", "loss", "params/b", "params/w"]
