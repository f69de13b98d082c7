"""Trainings of Keras that one line records."""

import copy
import gc
import os
import weakref

import keras
import numpy as np
import pytest
import smdebug.tensorflow as smd
from smdebug.exceptions import SMDebugValueError
from smdebug.integrations import KerasCallback
from stopping import imported_by, stopping
from trainings import BATCH, EVAL, EVERY_STEP, TRAIN, X, Y, fit, network


class Epochs(keras.callbacks.Callback):
    """Keeps what Keras logs after each batch, and the learning rate before it."""

    def __init__(self):
        super().__init__()
        self.losses, self.rates = [], []

    def on_train_batch_begin(self, batch, logs=None):
        rate = self.model.optimizer.learning_rate
        if not hasattr(rate, "assign") and callable(rate):
            rate = rate(self.model.optimizer.iterations)
        self.rates.append(float(rate))

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))


class Failing(keras.callbacks.Callback):
    """Raises after two batches."""

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2:
            raise ZeroDivisionError


def numbers(trial, name, mode=TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode).item() for step in tensor.steps(mode)]


def scheduled():
    return keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)


@pytest.mark.parametrize("make_rate", [lambda: 0.1, scheduled])
def test_a_training(out_dir, make_rate):
    model = network(optimizer=keras.optimizers.SGD(make_rate()))
    callback, reference = KerasCallback(out_dir, save_config=EVERY_STEP), Epochs()
    assert callback.hook is None
    history = fit(
        model, callback, epochs=2, callbacks=[reference], validation_data=(X, Y),
        validation_batch_size=BATCH,
    ).history  # fmt: skip
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps(TRAIN) == list(range(8)) and trial.steps(EVAL) == list(range(8))
    np.testing.assert_allclose(numbers(trial, "loss"), reference.losses, rtol=1e-6)
    np.testing.assert_allclose(numbers(trial, "learning_rate"), reference.rates, rtol=1e-6)
    assert trial.tensor("learning_rate").steps(EVAL) == []
    np.testing.assert_allclose(
        numbers(trial, "val_loss", EVAL), history["val_loss"], rtol=1e-6
    )
    assert trial.tensor_names(collection="learning_rate") == ["learning_rate"]
    assert callback.hook.failures == 0


def test_gradients_are_those_of_the_hook(out_dir):
    model = network(optimizer=keras.optimizers.SGD(0.5))
    before = [np.array(each) for each in model.get_weights()]
    callback = KerasCallback(out_dir, save_config=EVERY_STEP, include_collections=["gradients"])
    fit(model, callback, steps_per_epoch=1)
    trial = smd.create_trial(out_dir)
    gradient = trial.tensor("gradients/dense/kernelGrad").value(0, TRAIN)
    np.testing.assert_allclose(gradient, (before[0] - model.get_weights()[0]) / 0.5, atol=1e-6)


def test_a_rule_stops_fit(out_dir):
    callback = KerasCallback(out_dir, rules=stopping(), save_config=EVERY_STEP)
    history = fit(network(), callback, epochs=3)
    assert callback.hook.stop_finding.tensor == "loss"
    assert callback.hook.stop_finding.step == 1
    assert len(history.history["loss"]) == 1
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps(TRAIN) == [0, 1, 2]


def test_a_finding_of_the_last_batch_stops_fit(out_dir):
    model = network()
    callback = KerasCallback(out_dir, rules=stopping(), save_config=EVERY_STEP)
    history = model.fit(X, Y, batch_size=16, epochs=3, callbacks=[callback], verbose=0)
    assert len(history.history["loss"]) == 1
    assert smd.create_trial(out_dir).steps(TRAIN) == [0, 1]


def test_a_second_training_is_not_recorded(out_dir, caplog):
    model, callback = network(), KerasCallback(out_dir, save_config=EVERY_STEP)
    fit(model, callback)
    assert len(fit(model, callback, epochs=2).history["loss"]) == 2
    assert "holds a finished trial: this training is not recorded" in caplog.text
    assert smd.create_trial(out_dir).steps(TRAIN) == [0, 1, 2, 3]


def test_evaluations_before_the_training_are_recorded(out_dir, caplog):
    model, callback = network(), KerasCallback(out_dir, save_config=EVERY_STEP)
    loss, _ = model.evaluate(X, Y, batch_size=32, callbacks=[callback], verbose=0)
    model.predict(X, batch_size=32, callbacks=[callback], verbose=0)
    fit(model, callback)
    assert "not recorded" not in caplog.text
    model.evaluate(X, Y, callbacks=[callback], verbose=0)
    assert "not recorded" in caplog.text
    trial = smd.create_trial(out_dir)
    assert trial.steps(EVAL) == [0] and trial.steps(TRAIN) == [0, 1, 2, 3]
    np.testing.assert_allclose(numbers(trial, "loss", EVAL), [loss], rtol=1e-6)


def test_an_exception_finishes_the_trial(out_dir):
    with pytest.raises(ZeroDivisionError):
        with KerasCallback(out_dir, save_config=EVERY_STEP) as callback:
            fit(network(), callback, callbacks=[Failing()])
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.tensor("loss").steps(TRAIN) == [0, 1]


def test_a_deleted_callback_finishes_the_trial(out_dir):
    with pytest.raises(ZeroDivisionError) as raised:
        fit(network(), KerasCallback(out_dir), callbacks=[Failing()])
    del raised
    gc.collect()
    assert smd.create_trial(out_dir).loaded_all_steps


def test_a_training_after_an_exception_is_not_recorded(out_dir, caplog):
    model, callback = network(), KerasCallback(out_dir, save_config=EVERY_STEP)
    with pytest.raises(ZeroDivisionError):
        fit(model, callback, callbacks=[Failing()])
    fit(model, callback)
    assert "this training is not recorded" in caplog.text
    assert smd.create_trial(out_dir).tensor("loss").steps(TRAIN) == [0, 1]


def test_a_copy_records_nothing(out_dir, caplog):
    callback = copy.deepcopy(KerasCallback(out_dir))
    assert len(fit(network(), callback, epochs=2).history["loss"]) == 2
    assert callback.hook is None and not os.path.exists(out_dir)
    assert not caplog.text


def test_a_hook_instead_of_a_folder(out_dir):
    hook = smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=["weights"])
    fit(network(), KerasCallback(hook=hook))
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and len(trial.tensor_names(collection="weights")) >= 2
    assert not trial.has_tensor("learning_rate")


def test_wrong_arguments(out_dir):
    with pytest.raises(SMDebugValueError, match="either out_dir or hook"):
        KerasCallback()
    with pytest.raises(SMDebugValueError, match="settings of a hook that exists"):
        KerasCallback(hook=smd.KerasHook(out_dir), save_all=True)


def test_keras_is_imported_when_it_is_used():
    program = "import smdebug.integrations"
    assert imported_by(program, "keras", "tensorflow", "jax", "numpy") == "[]"
    assert imported_by(f"{program} as i; i.KerasCallback", "keras") == "['keras']"


def weakly(out_dir):
    """Trains with a hook, and returns a weak reference to a layer."""
    model = network()
    collections = ["weights", "gradients", "layers"]
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=collections) as hook:
        fit(model, hook)
    assert smd.get_hook() is hook
    return weakref.ref(model.layers[0])


def test_a_closed_hook_does_not_keep_the_model(out_dir):
    layer = weakly(out_dir)
    keras.backend.clear_session()
    gc.collect()
    gc.collect()
    assert layer() is None
