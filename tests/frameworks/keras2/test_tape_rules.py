"""What rules see of a loop with a tape."""

import numpy as np
import pytest
import smdebug.tensorflow as smd
import tensorflow as tf
from smdebug.rules import RuleSet

layers = tf.keras.layers


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_an_optimizer_that_changes_nothing(rate, out_dir):
    random = np.random.default_rng(0)
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([
        layers.Dense(32, activation="relu", input_shape=(8,)), layers.Dense(3),
    ])  # fmt: skip
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.SGD(rate)
    hook = smd.KerasHook(out_dir)
    hook.attach(RuleSet().add("UpdateNotApplied").add("WeightUpdateRatio"))
    hook.register_model(model)
    for _ in range(60):
        x = random.normal(size=(32, 8)).astype("float32")
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_of(x[:, :3].argmax(axis=1), model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    hook.close()
    assert hook.failures == 0
    found = {(each.rule, each.check) for each in hook.take_findings()}
    expected = {("UpdateNotApplied", "nothing_updated"), ("WeightUpdateRatio", "small")}
    assert found == (set() if rate else expected)
