"""Teaches a network of plain JAX which of two spirals a point is on, and evaluates the training.

python train_spirals.py [FOLDER]    the folder of the trial; "spirals" if not given
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import smdebug.jax as smd
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import BuiltinRule, Rule, invoke_rule

STEPS, BATCH, RATE, SIZES = 1000, 64, 0.1, (2, 32, 32, 2)


def spirals(count, seed):
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, count)
    turn = np.sqrt(random.uniform(0.05, 1, count)) * 2 * np.pi
    angle = turn + np.pi * label
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / 3
    return points + random.normal(0, 0.4, points.shape), label


def init(key):
    keys = jax.random.split(key, len(SIZES) - 1)
    return [{"kernel": jax.random.normal(key, (inputs, outputs)) * (2 / inputs) ** 0.5,
             "bias": jnp.zeros(outputs)} for key, inputs, outputs in zip(keys, SIZES, SIZES[1:])]


def predict(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["kernel"] + layer["bias"])
    return x @ params[-1]["kernel"] + params[-1]["bias"]


def loss_of(params, x, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(params, x)), y[:, None], 1))


def train_step(params, x, y, record):
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    if record:  # a second program, which runs only at saved steps
        hook.save_tree("gradient/params", gradients)
    return jax.tree.map(lambda p, g: p - RATE * g, params, gradients), loss


class Plateau(Rule):
    """Holds if the loss of the last 30 saved steps is hardly less than that of the 30 before."""

    def invoke_at_step(self, step):
        loss = self.base_trial.tensor("loss")
        past = [loss.value(s).item() for s in loss.prev_steps(step, 60)]
        return len(past) == 60 and sum(past[30:]) > 0.9 * sum(past[:30])


folder = sys.argv[1] if len(sys.argv) > 1 else "spirals"
hook = smd.Hook(folder, include_collections=["weights", "gradients"],
                save_config=smd.SaveConfig(save_interval=10))  # fmt: skip
params, jitted_step = init(jax.random.key(0)), jax.jit(train_step, static_argnames="record")
for step in range(STEPS):
    with hook.step(smd.modes.TRAIN):
        params, loss = jitted_step(params, *spirals(BATCH, step), record=hook.saves_step)
        hook.save("loss", loss)
        hook.save_tree("params", params)
hook.close()

trial = smd.create_trial(folder)
print(f"recorded {len(trial.steps())} steps of {len(trial.tensor_names())} tensors")
for rule in (Plateau(trial), BuiltinRule(trial, "VanishingGradient")):
    try:
        invoke_rule(rule, raise_eval_cond=True)
    except RuleEvaluationConditionMet as met:
        print(f"{met.rule_name}: met at step {met.step}")
    except NoMoreData:
        print(f"{rule.rule_name}: never met")
