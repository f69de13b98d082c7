"""The hook as a callback of Keras 3, with any backend."""

import os
import sys

import keras
import numpy as np
import pytest
import smdebug.tensorflow as smd
from profiled import configure, steps_in
from smdebug.rules import RuleSet
from trainings import (
    BATCH,
    BATCHES,
    EVAL,
    EVERY_STEP,
    EVERYTHING,
    PREDICT,
    TRAIN,
    X,
    Y,
    Weights,
    assert_holds,
    batch,
    fit,
    network,
    recorded,
    seen_inside,
)

BACKEND = os.environ["KERAS_BACKEND"]
VARIABLES = {
    "dense/weights/dense/kernel:0": 0,
    "dense/weights/dense/bias:0": 1,
    "dense_1/weights/dense_1/kernel:0": 2,
    "dense_1/weights/dense_1/bias:0": 3,
}


def test_it_is_a_callback(out_dir):
    assert keras.config.backend() == BACKEND
    assert isinstance(smd.KerasHook(out_dir), keras.callbacks.Callback)
    if BACKEND != "tensorflow":
        assert sys.modules["tensorflow"] is None


def test_names_and_steps_are_those_of_keras_2(out_dir):
    model = network()
    every_second = smd.SaveConfig(save_interval=2)
    hook = smd.KerasHook(out_dir, save_config=every_second, include_collections=EVERYTHING)
    hook.wrap_optimizer(model.optimizer)
    fit(model, hook, epochs=2, validation_data=(X, Y), validation_batch_size=BATCH)
    model.evaluate(X, Y, batch_size=BATCH, callbacks=[hook], verbose=0)
    model.predict(X, batch_size=BATCH, callbacks=[hook], verbose=0)
    hook.close()

    training, evaluation = [0, 2, 4, 6], [0, 2, 4, 6, 8, 10]
    ends = {TRAIN: [0, 2, 3, 4, 6, 7], EVAL: [0, 2, 3, 4, 6, 7, 8, 10]}
    in_both = {TRAIN: training, EVAL: evaluation}
    everywhere = {**in_both, PREDICT: [0, 2]}
    plain = ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]
    sgd = model.optimizer.name
    of_optimizer = [f"{sgd}/iteration:0", f"{sgd}/learning_rate:0"]
    of_optimizer += [f"{sgd}/sequential_{name.replace('/', '_')}_momentum:0" for name in plain]
    expected = {
        "loss": ends,
        "mae": ends,
        "batch": {**ends, PREDICT: [0, 2]},
        "val_loss": {EVAL: [3, 7]},
        "val_mae": {EVAL: [3, 7]},
        **dict.fromkeys(VARIABLES, everywhere),
        **dict.fromkeys([f"{layer}/inputs" for layer in ("dense", "dense_1")], everywhere),
        **dict.fromkeys([f"{layer}/outputs" for layer in ("dense", "dense_1")], everywhere),
        **dict.fromkeys([f"gradients/{name}Grad" for name in plain], {TRAIN: training}),
        **dict.fromkeys(of_optimizer, {TRAIN: training}),
        "inputs_0": everywhere,
        "labels_0": in_both,
        "predictions_0": everywhere,
    }
    trial = smd.create_trial(out_dir)

    def steps(name):
        tensor = trial.tensor(name)
        return {mode: tensor.steps(mode) for mode in trial.modes() if tensor.steps(mode)}

    assert {name: steps(name) for name in trial.tensor_names()} == expected


@pytest.mark.parametrize(
    "compiling",
    # JAX compiles without being told.
    [{}, {"run_eagerly": True}, *([{"jit_compile": True}] if BACKEND == "tensorflow" else [])],
    ids=str,
)
def test_values_are_those_of_the_step(out_dir, compiling):
    model, weights = network(**compiling), Weights()
    trial = recorded(
        out_dir, model, include_collections=EVERYTHING, training={"callbacks": [weights]}
    )
    for step in range(BATCHES):
        assert_holds(trial, seen_inside(weights.before[step], *batch(step)), step)
        for name, index in VARIABLES.items():
            saved = trial.tensor(name).value(step, TRAIN)
            np.testing.assert_array_equal(saved, weights.after[step][index])
    loss = np.mean((trial.tensor("predictions_0").value(0, TRAIN) - batch(0)[1]) ** 2)
    np.testing.assert_allclose(trial.tensor("loss").value(0, TRAIN).item(), loss, rtol=1e-5)
    moved = trial.tensor(f"{model.optimizer.name}/sequential_dense_kernel_momentum:0")
    np.testing.assert_allclose(
        moved.value(0, TRAIN),
        -0.1 * trial.tensor("gradients/dense/kernelGrad").value(0, TRAIN),
        rtol=1e-5,
    )


def test_variables_alone_need_no_look_inside(out_dir):
    """With JAX, variables are not in the model while it trains; the hook must fetch them."""
    model, weights = network(), Weights()
    trial = recorded(
        out_dir,
        model,
        epochs=2,
        save_config=smd.SaveConfig(save_interval=3),
        include_collections=["weights", "biases", "optimizer_variables"],
        training={"callbacks": [weights]},
    )
    for step in (0, 3, 6):
        for name, index in VARIABLES.items():
            saved = trial.tensor(name).value(step, TRAIN)
            np.testing.assert_array_equal(saved, weights.after[step][index])
        assert trial.tensor(f"{model.optimizer.name}/iteration:0").value(step, TRAIN) == step + 1
    assert not trial.tensor_names(collection="gradients")


def test_losses_and_metrics_are_those_of_the_history(out_dir):
    with smd.KerasHook(out_dir) as hook:
        history = fit(network(), hook, epochs=2, validation_data=(X, Y)).history
        assert hook.has_default_hook_configuration()
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == trial.steps(EVAL) == [0, 3, 7]
    for name in ("loss", "mae"):
        saved = [trial.tensor(name).value(step, TRAIN).item() for step in (3, 7)]
        np.testing.assert_allclose(saved, history[name], rtol=1e-6)
        saved = [trial.tensor(f"val_{name}").value(step, EVAL).item() for step in (3, 7)]
        np.testing.assert_allclose(saved, history[f"val_{name}"], rtol=1e-6)


def test_a_training_is_not_changed_by_being_recorded(out_dir):
    model = network()
    before = model.get_weights()
    model.fit(X, Y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0)
    alone = model.get_weights()
    keras.utils.clear_session()
    model = network()
    model.set_weights(before)
    recorded(out_dir, model, epochs=2, save_config=smd.SaveConfig(save_interval=3), save_all=True)
    for mine, other in zip(model.get_weights(), alone, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-7)
    for thing in (model, model.optimizer, *model.layers):
        assert not {"call", "apply", "compute_loss"} & set(vars(thing))


def test_a_loop_with_train_on_batch(out_dir):
    """A model that a loop registers, then `fit`: both record what a step of Keras contains."""
    model = network()
    weights = [model.get_weights()]
    options = {"save_config": EVERY_STEP, "include_collections": EVERYTHING}
    with smd.KerasHook(out_dir, **options) as hook:
        hook.register_model(model)
        for number in range(2):
            with hook.step(TRAIN):
                model.train_on_batch(*batch(number))
            weights.append(model.get_weights())
        fit(model, hook)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == list(range(2 + BATCHES))
    for step, number in enumerate([0, 1, 0]):
        assert_holds(trial, seen_inside(weights[step], *batch(number)), step)


def test_evaluation_and_prediction_alone(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        scores = model.evaluate(X, Y, batch_size=BATCH, callbacks=[hook], verbose=0)
        predicted = model.predict(X, batch_size=BATCH, callbacks=[hook], verbose=0)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("loss").value(3, EVAL).item() == pytest.approx(scores[0], rel=1e-5)
    saved = [trial.tensor("predictions_0").value(step, PREDICT) for step in range(BATCHES)]
    np.testing.assert_array_equal(np.concatenate(saved), predicted)
    expected = seen_inside(model.get_weights(), *batch(2))
    inside = {name: value for name, value in expected.items() if "Grad" not in name}
    assert_holds(trial, inside, 2, EVAL)


def test_settings_of_collections(out_dir):
    model = network()
    hook = smd.KerasHook(
        out_dir,
        save_config=EVERY_STEP,
        reduction_config=smd.ReductionConfig(reductions=["max"]),
        include_regex="dense_1/outputs",
        include_collections=["kernels", "gradients", "hidden"],
    )
    hook.get_collection("kernels").add([layer.kernel for layer in model.layers])
    hidden = smd.Collection("hidden", reduction_config=smd.ReductionConfig(save_raw_tensor=True))
    hidden.add_keras_layer(model.layers[0])
    hook.add_collection(hidden)
    hook.get_collection("gradients").save_config = smd.SaveConfig(save_interval=2)
    with hook:
        fit(model, hook)
    trial = smd.create_trial(out_dir)
    kernel = trial.tensor("dense/weights/dense/kernel:0")
    assert kernel.reduction_value(3, "max", TRAIN) == model.get_weights()[0].max()
    assert trial.tensor_names(collection="kernels") == [
        "dense/weights/dense/kernel:0",
        "dense_1/weights/dense_1/kernel:0",
    ]
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == [0, 2]
    assert trial.tensor("dense/outputs").value(3, TRAIN).shape == (8, 4)
    assert trial.tensor("dense_1/outputs").reduction_value(3, "max", TRAIN) is not None
    assert "dense/inputs" not in trial.tensor_names()


def test_convolutions_and_several_inputs(out_dir):
    image, size = keras.Input((8, 8, 1), name="image"), keras.Input((1,), name="size")
    seen = keras.layers.Conv2D(2, 3, activation="relu", name="eye")(image)
    seen = keras.layers.BatchNormalization(name="norm")(seen)
    seen = keras.layers.Dropout(0.5, name="drop")(keras.layers.Flatten()(seen))
    joined = keras.layers.Concatenate(name="joined")([seen, size])
    output = keras.layers.Dense(3, activation="softmax", name="class")(joined)
    model = keras.Model({"image": image, "size": size}, output)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    rng = np.random.default_rng(1)
    images, sizes = rng.random((16, 8, 8, 1), dtype="float32"), np.ones((16, 1), "float32")
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        model.fit(
            {"image": images, "size": sizes},
            np.arange(16) % 3,
            batch_size=8,
            shuffle=False,
            verbose=0,
            callbacks=[hook],
        )
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradients/eye/kernelGrad").value(1, TRAIN).shape == (3, 3, 1, 2)
    assert trial.tensor("joined/inputs_0").value(1, TRAIN).shape == (8, 72)
    assert trial.tensor("joined/inputs_1").value(1, TRAIN).shape == (8, 1)
    dropped = trial.tensor("drop/outputs").value(1, TRAIN)
    assert 0.2 < (dropped == 0).mean() < 0.9
    np.testing.assert_array_equal(trial.tensor("inputs_0").value(1, TRAIN), images[8:])
    mean = trial.tensor("norm/weights/norm/moving_mean:0").value(1, TRAIN)
    np.testing.assert_allclose(mean, model.get_layer("norm").moving_mean, rtol=1e-6)
    assert 0 <= trial.tensor("accuracy").value(1, TRAIN).item() <= 1


@pytest.mark.parametrize("rate", [0.01, 0.0])
def test_batches_that_are_summed_up(rate, out_dir):
    optimizer = keras.optimizers.SGD(rate, gradient_accumulation_steps=12)
    model = network(optimizer=keras.optimizers.LossScaleOptimizer(optimizer))
    trial = recorded(out_dir, model, 60, include_collections=["weights", "gradients"])
    batches = trial.tensor("batches_per_update").values().values()
    assert {each.item() for each in batches} == {12} and len(batches) == 60 * BATCHES
    assert "batches_per_update" in trial.tensor_names(collection="metrics")
    found = {each.check for each in RuleSet().add_all().evaluate(trial)}
    assert ("nothing_updated" in found) is (rate == 0)
    assert rate == 0 or not found


def test_half_precision(out_dir):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        trial = recorded(out_dir, network(), include_collections=EVERYTHING)
    finally:
        keras.config.set_dtype_policy("float32")
    outputs = trial.tensor("dense/outputs")
    assert outputs.value(1, TRAIN, raw=True).dtype.name == "bfloat16"
    assert outputs.value(1, TRAIN).dtype == np.float32
    assert trial.tensor("dense/weights/dense/kernel:0").value(1, TRAIN).dtype == np.float32


def test_a_model_is_saved_meanwhile(out_dir, tmp_path):
    model = network()
    keeper = keras.callbacks.ModelCheckpoint(str(tmp_path / "model.keras"), save_freq=1)
    trial = recorded(out_dir, model, save_all=True, training={"callbacks": [keeper]})
    assert trial.tensor("dense/outputs").steps(TRAIN) == list(range(BATCHES))
    again = keras.models.load_model(str(tmp_path / "model.keras"))
    for mine, other in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, other)


class Failing(smd.KerasHook):
    """Fails in every method that Keras or a model calls."""

    def _begin_batch(self, mode):
        super()._begin_batch(mode)
        raise RuntimeError("at the batch's beginning")

    def _save(self, name, value):
        raise RuntimeError("on saving")


def test_its_failures_never_stop_a_training(out_dir, monkeypatch):
    monkeypatch.delenv("SMDEBUG_RAISE_ERRORS")
    with Failing(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        history = fit(network(), hook, epochs=2, validation_data=(X, Y))
    assert len(history.history["val_loss"]) == 2
    assert hook.failures > 2 * BATCHES


def test_the_steps_of_a_profiled_training(out_dir, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    model = network()
    hook = smd.KerasHook(out_dir, raise_errors=True)
    fit(model, hook, epochs=2, validation_data=(X, Y))
    hook.close()
    steps = steps_in(profile)
    assert len(steps["Step:ModeKeys.TRAIN"]) == 2 * BATCHES
    assert len(steps["Step:ModeKeys.EVAL"]) > 0
    assert sorted(sum(steps.values(), [])) == list(range(sum(map(len, steps.values()))))
