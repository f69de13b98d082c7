"""Scripts that switch eager execution off, as scripts for TensorFlow 1 do."""

import subprocess
import sys

SCRIPT = """
import logging, sys
import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
import smdebug.tensorflow as smd

logging.basicConfig(level=logging.WARNING, format="%(message)s")
out_dir = sys.argv[1]
x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
layers = [tf.keras.layers.Dense(4, input_shape=(3,)), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile(tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9), "mse", metrics=["mae"])
collections = ["weights", "biases", "gradients", "layers", "optimizer_variables"]
every_step = smd.SaveConfig(save_interval=1)
with smd.KerasHook(out_dir, save_config=every_step, include_collections=collections) as hook:
    model.fit(x, x.sum(1), batch_size=8, epochs=2, verbose=0, callbacks=[hook])
assert hook.failures == 0, hook.failures
trial = smd.create_trial(out_dir)
assert trial.steps() == list(range(8))
kernel = trial.tensor("dense/weights/dense/kernel:0")
np.testing.assert_array_equal(kernel.value(7), model.get_weights()[0])
assert not np.array_equal(kernel.value(0), kernel.value(7))
assert len(trial.tensor_names(collection="optimizer_variables")) >= 4
assert trial.has_tensor("dense/weights/dense/bias:0")
assert trial.tensor("loss").steps() == list(range(8))
"""


def test_variables_losses_and_metrics_are_recorded(out_dir):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, out_dir],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("eager execution is switched off") == 1
