"""The hook as a callback: names, steps and values."""

import numpy as np
import pytest
import smdebug.tensorflow as smd
import tensorflow as tf
from trainings import (
    BATCH,
    BATCHES,
    EVAL,
    EVERY_SECOND,
    EVERY_STEP,
    EVERYTHING,
    PREDICT,
    TRAIN,
    Values,
    X,
    Y,
    batch,
    fit,
    network,
    recorded,
    steps,
)

VARIABLES = {
    "dense/weights/dense/kernel:0": 0,
    "dense/weights/dense/bias:0": 1,
    "dense_1/weights/dense_1/kernel:0": 2,
    "dense_1/weights/dense_1/bias:0": 3,
}
PLAIN = ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]


def test_names_and_steps_are_those_of_the_original(out_dir):
    """Those up to "what it adds" are what 1.0.34 wrote of this training, with the same steps.

    Two differences: it has no epoch's end in TRAIN where there is a validation, and it calls
    the training's loss and metrics those of the validation's last step.
    """
    model = network()
    hook = smd.KerasHook(out_dir, save_config=EVERY_SECOND, include_collections=EVERYTHING)
    hook.wrap_optimizer(model.optimizer)
    fit(model, hook, epochs=2, validation_data=(X, Y), validation_batch_size=BATCH)
    model.evaluate(X, Y, batch_size=BATCH, callbacks=[hook], verbose=0)
    model.predict(X, batch_size=BATCH, callbacks=[hook], verbose=0)
    hook.close()

    training, evaluation = [0, 2, 4, 6], [0, 2, 4, 6, 8, 10]
    ends = {"TRAIN": [0, 2, 3, 4, 6, 7], "EVAL": [0, 2, 3, 4, 6, 7, 8, 10]}
    in_training = {"TRAIN": training}
    in_both = {"TRAIN": training, "EVAL": evaluation}
    everywhere = {**in_both, "PREDICT": [0, 2]}
    expected = {
        "loss": ends,
        "mae": ends,
        "batch": {**ends, "PREDICT": [0, 2]},
        "val_loss": {"EVAL": [3, 7]},
        "val_mae": {"EVAL": [3, 7]},
        **dict.fromkeys(VARIABLES, everywhere),
        **dict.fromkeys([f"SGD/{name}:0" for name in ("iter", "decay")], in_training),
        **dict.fromkeys([f"SGD/{name}:0" for name in ("learning_rate", "momentum")], in_training),
        **dict.fromkeys([f"{layer}/inputs" for layer in ("dense", "dense_1")], everywhere),
        **dict.fromkeys([f"{layer}/outputs" for layer in ("dense", "dense_1")], everywhere),
        # Tensors that we add: the original records these only in a patched TensorFlow, or never.
        **dict.fromkeys([f"SGD/{variable}/momentum:0" for variable in PLAIN], in_training),
        **dict.fromkeys([f"gradients/{variable}Grad" for variable in PLAIN], in_training),
        "inputs_0": everywhere,
        "labels_0": in_both,
        "predictions_0": everywhere,
    }
    trial = smd.create_trial(out_dir)
    assert {name: steps(trial, name) for name in trial.tensor_names()} == expected
    assert trial.workers() == ["worker_0"]


def test_each_tensor_is_in_its_collection(out_dir):
    trial = recorded(out_dir, network(), include_collections=EVERYTHING)
    collections = {name: set(it.tensor_names) for name, it in trial.collections().items()}
    kernels = {name for name in VARIABLES if "kernel" in name}
    assert collections["weights"] == kernels
    assert collections["biases"] >= set(VARIABLES) - kernels
    assert collections["gradients"] == {f"gradients/{variable}Grad" for variable in PLAIN}
    assert collections["losses"] == {"loss"}
    assert collections["metrics"] == {"mae", "batch"}
    assert collections["inputs"] == {"inputs_0"}
    assert collections["outputs"] == {"labels_0", "predictions_0"}
    assert collections["layers"] == {
        f"{layer}/{what}" for layer in ("dense", "dense_1") for what in ("inputs", "outputs")
    }
    assert collections["all"] == collections["default"] == collections["sm_metrics"] == set()


@pytest.mark.parametrize(
    "compiling", [{}, {"run_eagerly": True}, {"jit_compile": True}], ids=["graph", "eager", "xla"]
)
def test_values_are_those_of_the_step(out_dir, compiling):
    model, values = network(**compiling), Values()
    trial = recorded(
        out_dir, model, include_collections=EVERYTHING, training={"callbacks": [values]}
    )
    assert trial.steps(TRAIN) == list(range(BATCHES))
    for step in range(BATCHES):
        x, y = batch(step)
        for name, index in VARIABLES.items():
            np.testing.assert_array_equal(
                trial.tensor(name).value(step, TRAIN), values.after[step][index]
            )
        model.set_weights(values.before[step])
        with tf.GradientTape() as tape:
            hidden = model.layers[0](x)
            output = model.layers[1](hidden)
            loss = tf.reduce_mean((output - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        expected = {
            "inputs_0": x,
            "labels_0": y,
            "predictions_0": output,
            "dense/inputs": x,
            "dense/outputs": hidden,
            "dense_1/inputs": hidden,
            "dense_1/outputs": output,
            **{
                f"gradients/{variable.name[:-2]}Grad": gradient
                for variable, gradient in zip(model.trainable_variables, gradients, strict=True)
            },
        }
        for name, value in expected.items():
            np.testing.assert_allclose(
                trial.tensor(name).value(step, TRAIN), value, rtol=1e-4, atol=1e-6, err_msg=name
            )
        if step == 0:
            np.testing.assert_allclose(trial.tensor("loss").value(0, TRAIN), loss, rtol=1e-5)


def test_losses_and_metrics_are_those_of_the_history(out_dir):
    model = network()
    with smd.KerasHook(out_dir) as hook:
        history = fit(model, hook, epochs=3, validation_data=(X, Y)).history
    trial = smd.create_trial(out_dir)
    # Every 500th step, and the last step of each epoch.
    assert trial.steps(TRAIN) == trial.steps(EVAL) == [0, 3, 7, 11]
    for name in ("loss", "mae"):
        saved = [trial.tensor(name).value(step, TRAIN) for step in (3, 7, 11)]
        np.testing.assert_allclose(saved, history[name], rtol=1e-6)
        for seen in (name, f"val_{name}"):
            saved = [trial.tensor(seen).value(step, EVAL).item() for step in (3, 7, 11)]
            np.testing.assert_allclose(saved, history[f"val_{name}"], rtol=1e-6)
    assert set(trial.tensor_names()) == {"loss", "mae", "batch", "val_loss", "val_mae"}


def test_a_hook_by_default_leaves_the_model_alone(out_dir):
    model = network()

    class Looks(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            assert "call" not in model.layers[0].__dict__
            assert "make_train_function" not in model.__dict__
            assert "apply_gradients" not in model.optimizer.__dict__

    with smd.KerasHook(out_dir) as hook:
        fit(model, hook, callbacks=[Looks()])
        assert hook.has_default_hook_configuration()


def test_a_training_is_not_changed_by_being_recorded(out_dir):
    model = network()
    before = model.get_weights()
    model.fit(X, Y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    alone = model.get_weights()
    tf.keras.backend.clear_session()
    model = network()
    model.set_weights(before)
    recorded(out_dir, model, epochs=2, save_all=True)
    for mine, other in zip(model.get_weights(), alone, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_only_steps_that_are_saved_are_looked_into(out_dir):
    told = []

    class Hook(smd.KerasHook):
        def _see(self, collection, named):
            told.append(self.mode_steps[TRAIN])
            super()._see(collection, named)

    model = network(run_eagerly=True)
    with Hook(out_dir, save_config=EVERY_SECOND, include_collections=["layers"]) as hook:
        fit(model, hook, epochs=2)
    assert set(told) == {0, 2, 4, 6}
    assert smd.create_trial(out_dir).tensor("dense/outputs").steps(TRAIN) == [0, 2, 4, 6]


def test_the_model_is_left_as_it_was(out_dir):
    model = network()
    things = [model, model.optimizer, *model.layers]
    before = [set(vars(thing)) for thing in things]
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        fit(model, hook)
        model.evaluate(X, Y, callbacks=[hook], verbose=0)
        for thing, names in zip(things, before, strict=True):
            assert not {"call", "compute_loss", "apply_gradients"} & set(vars(thing))
            assert not {name for name in set(vars(thing)) - names if name.startswith("make_")}
    assert "StepFunction" not in repr(model.train_function) + repr(model.test_function)


def test_compiled_steps_are_compiled_once_for_each_use(out_dir):
    traces = []

    class Layer(tf.keras.layers.Dense):
        def call(self, inputs):
            traces.append(1)
            return super().call(inputs)

    model = tf.keras.Sequential([Layer(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    traces.clear()
    hook = smd.KerasHook(out_dir, save_config=EVERY_SECOND, include_collections=["gradients"])
    with hook:
        fit(model, hook, epochs=2)
        # One more trace, because TensorFlow traces again after a function creates variables.
        assert len(traces) == 3
        fit(model, hook, epochs=2)
        assert len(traces) == 3


def test_evaluation_and_prediction_alone(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        scores = model.evaluate(X, Y, batch_size=BATCH, callbacks=[hook], verbose=0)
        predicted = model.predict(X, batch_size=BATCH, callbacks=[hook], verbose=0)
    trial = smd.create_trial(out_dir)
    assert trial.steps(EVAL) == trial.steps(PREDICT) == list(range(BATCHES))
    assert trial.steps() == list(range(2 * BATCHES))
    np.testing.assert_allclose(trial.tensor("loss").value(3, EVAL), scores[0], rtol=1e-6)
    np.testing.assert_allclose(trial.tensor("mae").value(3, EVAL), scores[1], rtol=1e-6)
    saved = [trial.tensor("predictions_0").value(step, PREDICT) for step in range(BATCHES)]
    np.testing.assert_array_equal(np.concatenate(saved), predicted)
    np.testing.assert_array_equal(trial.inputs(2, PREDICT)[0], batch(2)[0])
    np.testing.assert_array_equal(trial.labels(2, EVAL)[0], batch(2)[1])
    assert not trial.tensor_names(collection="gradients")


def test_a_second_training_after_compiling_anew(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        fit(model, hook)
        model.compile("adam", "mae")
        fit(model, hook)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradients/dense/kernelGrad").steps() == list(range(2 * BATCHES))
    assert trial.tensor("SGD/momentum:0").steps() == list(range(BATCHES))
    assert trial.tensor("Adam/m/dense/kernel:0").steps() == list(range(BATCHES, 2 * BATCHES))


def test_several_steps_at_once(out_dir):
    model = network(steps_per_execution=2)
    trial = recorded(out_dir, model, include_collections=EVERYTHING)
    assert trial.steps(TRAIN) == [0, 1]
    for step in range(2):
        # The last of the batches that Keras runs at once.
        np.testing.assert_array_equal(
            trial.tensor("inputs_0").value(step, TRAIN), batch(2 * step + 1)[0]
        )
