"""Datasets whose length Keras does not know, and predictions within a training."""

import keras
import numpy as np
import pytest
import smdebug.tensorflow as smd
from smdebug.integrations import KerasCallback
from stopping import stopping
from trainings import BATCH, BATCHES, EVAL, EVERY_STEP, PREDICT, TRAIN, X, Y, batch, fit, network

try:
    import tensorflow as tf
except ImportError:
    tf = None

# Without TensorFlow the data are a Python generator, which has one epoch.
EPOCHS = 3 if tf is not None else 1


def endless(epochs):
    """Yields the batches, without a length."""
    for _ in range(epochs):
        for number in range(BATCHES):
            yield batch(number)


def one_epoch():
    """Returns the batches of an epoch, as a dataset of unknown length."""
    if tf is None:
        return endless(1)
    signature = (tf.TensorSpec((None, 3)), tf.TensorSpec((None, 1)))
    return tf.data.Dataset.from_generator(lambda: endless(1), output_signature=signature)


def numbers(trial, name, mode=TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode).item() for step in tensor.steps(mode)]


class Seen(keras.callbacks.Callback):
    """Keeps the batches that Keras ended."""

    def __init__(self):
        super().__init__()
        self.losses, self.evaluated = [], []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))

    def on_test_batch_end(self, batch, logs=None):
        self.evaluated.append(float(logs["loss"]))


class Predicting(keras.callbacks.Callback):
    """Runs the model in other modes, after each batch."""

    def on_train_batch_end(self, batch, logs=None):
        self.model.predict(np.full((3, 3), 7, "float32"), verbose=0)
        self.model.evaluate(X[:2], Y[:2], verbose=0)


INSIDE = ["gradients", "inputs", "outputs", "layers", "learning_rate"]


@pytest.mark.parametrize("included", [[], INSIDE], ids=["logs", "inside"])
def test_a_dataset_of_unknown_length(out_dir, included):
    seen = Seen()
    with smd.KerasHook(
        out_dir, save_config=EVERY_STEP, include_collections=included or None
    ) as hook:
        history = network().fit(
            one_epoch(), epochs=EPOCHS, validation_data=one_epoch(), callbacks=[hook, seen], verbose=0
        ).history  # fmt: skip
    trial = smd.create_trial(out_dir)
    assert len(seen.losses) == len(seen.evaluated) == EPOCHS * BATCHES
    assert trial.steps(TRAIN) == trial.steps(EVAL) == list(range(EPOCHS * BATCHES))
    assert numbers(trial, "batch") == numbers(trial, "batch", EVAL) == [0, 1, 2, 3] * EPOCHS
    np.testing.assert_allclose(numbers(trial, "loss"), seen.losses, rtol=1e-6)
    np.testing.assert_allclose(numbers(trial, "loss", EVAL), seen.evaluated, rtol=1e-6)
    assert trial.tensor("val_loss").steps(EVAL) == [3, 7, 11][:EPOCHS]
    np.testing.assert_allclose(numbers(trial, "val_loss", EVAL), history["val_loss"], rtol=1e-6)
    if included:
        assert numbers(trial, "learning_rate") == pytest.approx([0.1] * EPOCHS * BATCHES)
        for step in range(EPOCHS * BATCHES):
            for mode in (TRAIN, EVAL):
                saved = trial.tensor("inputs_0").value(step, mode)
                np.testing.assert_array_equal(saved, batch(step % BATCHES)[0])
        gradient = trial.tensor("gradients/dense/kernelGrad")
        assert gradient.steps(TRAIN) == list(range(EPOCHS * BATCHES))


def test_intervals_and_evaluation_alone(out_dir):
    every_third = smd.SaveConfig(save_interval=3)
    with smd.KerasHook(out_dir, save_config=every_third, include_collections=INSIDE) as hook:
        model = network()
        model.fit(one_epoch(), epochs=EPOCHS, callbacks=[hook], verbose=0)
        model.evaluate(one_epoch(), callbacks=[hook], verbose=0)
        model.predict(one_epoch(), callbacks=[hook], verbose=0)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("loss").steps(TRAIN) == ([0, 3, 6, 7, 9, 11] if EPOCHS == 3 else [0, 3])
    for name in ("inputs_0", "dense/outputs", "gradients/dense/kernelGrad"):
        assert trial.tensor(name).steps(TRAIN) == list(range(0, EPOCHS * BATCHES, 3))
    assert trial.steps(EVAL) == trial.steps(PREDICT) == [0, 3]
    for step in (0, 3):
        saved = trial.tensor("inputs_0").value(step, PREDICT)
        np.testing.assert_array_equal(saved, batch(step)[0])


def test_rules_stop_a_training_of_unknown_length(out_dir):
    callback = KerasCallback(out_dir, rules=stopping(), save_config=EVERY_STEP)
    seen = Seen()
    network().fit(one_epoch(), epochs=3, callbacks=[callback, seen], verbose=0)
    assert callback.hook.stop_finding.step == 1 and len(seen.losses) == 3
    assert smd.create_trial(out_dir).steps(TRAIN) == [0, 1, 2]


def test_a_generator_of_unknown_length(out_dir):
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=INSIDE) as hook:
        network().fit(endless(1), callbacks=[hook], verbose=0)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == trial.tensor("inputs_0").steps(TRAIN) == list(range(BATCHES))


def test_a_callback_that_predicts_does_not_change_the_step(out_dir):
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=INSIDE) as hook:
        fit(network(), hook, callbacks=[Predicting()])
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == list(range(BATCHES)) and not trial.steps(PREDICT)
    for step in range(BATCHES):
        saved = trial.tensor("inputs_0").value(step, TRAIN)
        np.testing.assert_array_equal(saved, batch(step)[0])
        assert trial.tensor("dense/outputs").value(step, TRAIN).shape == (BATCH, 4)
