"""Loops with JAX and Optax that one line records."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import smdebug.jax as smd
from smdebug.exceptions import SMDebugTypeError, TrainingStopped
from smdebug.integrations import jax_recording
from smdebug.rules import RuleSet
from stopping import imported_by, stopping

EVERY_STEP = smd.SaveConfig(save_interval=1)
TRAIN, EVAL = smd.modes.TRAIN, smd.modes.EVAL
X = jax.random.normal(jax.random.key(0), (16, 3))
Y = X.sum(axis=1, keepdims=True)


def loss_of(params, x, y):
    return jnp.mean((x @ params["kernel"] + params["bias"] - y) ** 2)


def plain_loss(params):
    x, y = np.asarray(X), np.asarray(Y)
    return np.mean((x @ np.asarray(params["kernel"]) + np.asarray(params["bias"]) - y) ** 2)


class Loop:
    """A loop that keeps the parameters of each step."""

    def __init__(self, optimizer):
        self.params = {"kernel": jnp.zeros((3, 1)), "bias": jnp.zeros(1)}
        self.state = optimizer.init(self.params)
        self.losses = []

        @jax.jit
        def step(params, state):
            loss, gradients = jax.value_and_grad(loss_of)(params, X, Y)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state, loss, gradients

        self._step = step

    def run(self, hook, steps):
        for _ in range(steps):
            self.losses.append(plain_loss(self.params))
            self.params, self.state, loss, gradients = self._step(self.params, self.state)
            hook.record(loss, params=self.params, gradients=gradients, opt_state=self.state)
            if hook.stop_finding is not None:
                break


def rated():
    rates = optax.linear_schedule(0.1, 0.05, 2)
    return optax.inject_hyperparams(optax.sgd)(learning_rate=rates)


def values(trial, name, mode=TRAIN):
    return list(trial.tensor(name).values(mode).values())


def test_a_loop(out_dir):
    loop = Loop(rated())
    with jax_recording(
        out_dir, include_collections=["weights", "gradients"], save_config=EVERY_STEP
    ) as hook:
        loop.run(hook, 3)
        hook.record(loss_of(loop.params, X, Y), mode=EVAL)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps(TRAIN) == [0, 1, 2]
    np.testing.assert_allclose(values(trial, "loss"), loop.losses, rtol=1e-5)
    np.testing.assert_allclose(values(trial, "loss", EVAL), [plain_loss(loop.params)], rtol=1e-5)
    np.testing.assert_allclose(np.ravel(values(trial, "learning_rate")), [0.1, 0.075, 0.05])
    x, y = np.asarray(X), np.asarray(Y)
    gradient = values(trial, "gradient/params/kernel")
    np.testing.assert_allclose(gradient[0], 2 / 16 * x.T @ -y, rtol=1e-5)
    kernels = values(trial, "params/kernel")
    np.testing.assert_allclose(kernels[1] - kernels[0], -0.075 * gradient[1], rtol=1e-5)
    assert not trial.tensor_names(collection="optimizer_variables")
    assert hook.failures == 0


@pytest.mark.parametrize(
    ("wrap", "names"),
    [
        (lambda: optax.chain(optax.clip(1.0), rated()), ["learning_rate"]),
        (lambda: optax.chain(optax.scale(1.0), rated()), ["learning_rate"]),
        (
            lambda: optax.multi_transform(
                {"a": rated(), "b": rated()}, {"kernel": "a", "bias": "b"}
            ),
            ["learning_rate_0", "learning_rate_1"],
        ),
        (lambda: optax.adam(0.1), []),
    ],
)
def test_learning_rates_in_states(out_dir, wrap, names):
    with jax_recording(out_dir, save_config=EVERY_STEP) as hook:
        Loop(wrap()).run(hook, 1)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names() == [*names, "loss"]
    for name in names:
        np.testing.assert_allclose(np.ravel(values(trial, name)), [0.1])


@pytest.mark.parametrize("updates", [True, False])
def test_batches_that_are_summed_up(updates, out_dir):
    rate = 0.1 if updates else 0.0
    rules = RuleSet().add_all()
    with jax_recording(
        out_dir, include_collections=["weights", "gradients"], rules=rules, save_config=EVERY_STEP
    ) as hook:
        Loop(optax.MultiSteps(optax.sgd(rate), 16)).run(hook, 190)
        found = {each.rule for each in hook.take_findings()}
    trial = smd.create_trial(out_dir)
    batches = np.ravel(values(trial, "batches_per_update"))
    assert list(batches) == [*range(2, 17), *[16] * 175]
    assert trial.tensor_names(collection="metrics") == ["batches_per_update"]
    # The training learns all there is, and then loss and gradients stay near 0.
    assert found & {"UpdateNotApplied", "WeightUpdateRatio"} == (
        set() if updates else {"UpdateNotApplied", "WeightUpdateRatio"}
    )
    with jax_recording(f"{out_dir}_of_each", save_config=EVERY_STEP) as hook:
        Loop(optax.MultiSteps(rated(), 1)).run(hook, 2)
    assert smd.create_trial(f"{out_dir}_of_each").tensor_names() == ["learning_rate", "loss"]


@jax.tree_util.register_dataclass
@dataclass
class Wrapped:
    """A variable as Flax NNX keeps it in the state of an optimizer."""

    value: Any


def test_a_learning_rate_that_is_wrapped(out_dir):
    state = rated().init({"kernel": jnp.zeros(1)})
    state.hyperparams["learning_rate"] = Wrapped(jnp.float32(0.5))
    with jax_recording(out_dir, save_config=EVERY_STEP) as hook:
        hook.record(1.0, opt_state=state)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="learning_rate") == ["learning_rate"]
    assert values(trial, "learning_rate")[0] == 0.5


def test_a_learning_rate_of_the_caller(out_dir):
    with jax_recording(out_dir, save_config=EVERY_STEP) as hook:
        hook.record(1.5, learning_rate=0.25)
    trial = smd.create_trial(out_dir)
    assert [values(trial, name)[0].item() for name in ("loss", "learning_rate")] == [1.5, 0.25]


def test_a_loop_reads_the_finding(out_dir):
    loop = Loop(rated())
    with jax_recording(out_dir, rules=stopping(), save_config=EVERY_STEP) as hook:
        loop.run(hook, 20)
        assert hook.stop_finding.tensor == "loss"
        with hook.step(EVAL):
            hook.save("loss", 1.0)
    assert len(loop.losses) == 2
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps(TRAIN) == [0, 1] and trial.steps(EVAL) == [0]


def test_without_a_recording_the_hook_raises(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_STEP) as hook:
        hook.attach(stopping())
        for loss in (2.0, 1.9):
            hook.record(loss)
        with pytest.raises(TrainingStopped):
            hook.record(1.8)


def test_an_exception_finishes_the_trial(out_dir):
    with pytest.raises(ZeroDivisionError):
        with jax_recording(out_dir, save_config=EVERY_STEP) as hook:
            Loop(rated()).run(hook, 2)
            raise ZeroDivisionError
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps(TRAIN) == [0, 1]


def test_record_inside_of_jit_is_refused(out_dir):
    with jax_recording(out_dir) as hook:

        @jax.jit
        def step(x):
            hook.record(x.sum())
            return x

        with pytest.raises(SMDebugTypeError, match="outside of jit"):
            step(X)
        assert hook.step == -1


def test_jax_is_imported_when_it_is_used():
    program = "import smdebug.integrations as i; i.jax_recording"
    assert imported_by(program, "jax", "optax", "numpy") == "[]"
