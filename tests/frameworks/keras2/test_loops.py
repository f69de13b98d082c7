"""Custom training loops."""

import numpy as np
import pytest
import smdebug.tensorflow as smd
import tensorflow as tf
from trainings import BATCHES, EVAL, EVERY_SECOND, EVERY_STEP, EVERYTHING, TRAIN, batch, network

VARIABLES = ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0"]


def train(hook, model, optimizer, epochs=1, compiled=False, jit_compile=None):
    """Trains on the batches in order; returns the weights and gradients of each step."""

    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        hook.save_scalar("inside", loss)
        return loss, gradients

    if compiled:
        step = tf.function(step, jit_compile=jit_compile)
    seen = []
    for number in range(epochs * BATCHES):
        before = model.get_weights()
        loss, gradients = step(*map(tf.constant, batch(number % BATCHES)))
        seen.append((before, loss.numpy(), [gradient.numpy() for gradient in gradients]))
    return seen


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_a_gradient_tape(out_dir, compiled):
    model, optimizer = network(), tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)
    with smd.KerasHook(
        out_dir, save_config=EVERY_SECOND, include_collections=EVERYTHING
    ) as hook:
        hook.register_model(model)
        seen = train(hook, model, hook.wrap_optimizer(optimizer), epochs=2, compiled=compiled)
    trial = smd.create_trial(out_dir)
    # Scalars of the last step, which is not saved, are recorded in a step of their own.
    assert trial.steps(TRAIN) == [0, 2, 4, 6, 7]
    assert trial.tensor_names(mode=TRAIN, step=7) == ["scalar/inside"]
    for step in (0, 2, 4, 6):
        before, loss, gradients = seen[step]
        assert trial.tensor("loss").value(step, TRAIN) == loss
        assert trial.tensor("scalar/inside").value(step, TRAIN) == loss
        for name, weights, gradient in zip(VARIABLES, before, gradients, strict=True):
            saved = trial.tensor(f"weights/{name}").value(step, TRAIN)
            np.testing.assert_array_equal(saved, weights)
            saved = trial.tensor(f"gradients/{name[:-2]}Grad").value(step, TRAIN)
            np.testing.assert_array_equal(saved, gradient)
        np.testing.assert_array_equal(
            trial.tensor("dense/inputs").value(step, TRAIN), batch(step % BATCHES)[0]
        )
    assert trial.tensor("SGD/iter:0").value(6, TRAIN) == 6
    assert trial.tensor("predictions_0").steps(TRAIN) == [0, 2, 4, 6]


def test_collections_of_a_tape_are_those_of_the_original(out_dir):
    model, optimizer = network(), tf.keras.optimizers.legacy.SGD(0.1)
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        train(hook, model, hook.wrap_optimizer(optimizer))
    collections = smd.create_trial(out_dir).collections()
    assert collections["weights"].include_regex == ["^weights/.*/((?!bias).)*$"]
    assert collections["gradients"].include_regex == ["^gradient"]
    assert collections["losses"].include_regex == [".*loss.*"]
    assert collections["biases"].include_regex == ["^(?!gradient).*bias"]
    assert sorted(collections["weights"].tensor_names) == [
        "weights/dense/kernel:0",
        "weights/dense_1/kernel:0",
    ]
    assert sorted(collections["biases"].tensor_names) == [
        "weights/dense/bias:0",
        "weights/dense_1/bias:0",
    ]
    assert sorted(collections["losses"].tensor_names) == ["loss"]


def test_only_what_was_wrapped_is_recorded(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        train(hook, model, tf.keras.optimizers.SGD(0.1))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch(0)[0]))
        tape.gradient(loss, model.trainable_variables)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == list(range(BATCHES))
    assert not trial.tensor_names(collection="optimizer_variables")
    assert not trial.tensor_names(collection="layers")


def test_what_is_no_tape_or_optimizer_is_given_back(out_dir):
    with smd.KerasHook(out_dir) as hook:
        thing = object()
        assert hook.wrap_tape(thing) is thing
        assert hook.wrap_optimizer(thing) is thing
        tape = tf.GradientTape(persistent=True)
        assert hook.wrap_tape(tape) is tape
        assert isinstance(tape, tf.GradientTape)


def test_two_tapes_and_several_targets(out_dir):
    first, second = tf.Variable(2.0, name="first"), tf.Variable(3.0, name="second")
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        with hook.wrap_tape(tf.GradientTape(persistent=True)) as tape:
            losses = [first * second, first + second]
        gradients = tape.gradient(losses, {"b": first, "a": second})
        assert gradients["b"] == 4
        # If a target does not depend on a variable, it has no gradient for it.
        tape.gradient(tf.constant(1.0), [first])
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = first * first
        tape.gradient(loss, first)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == [0, 1]
    assert trial.tensor("gradients/firstGrad").values() == {0: 4, 1: 4}
    assert trial.tensor("gradients/secondGrad").values() == {0: 3}
    assert [trial.tensor(f"loss_{i}").value(0) for i in (0, 1)] == [6, 5]


def test_a_loop_without_a_tape(out_dir):
    model, optimizer = network(), tf.keras.optimizers.SGD(0.1)
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        hook.register_model(model)
        hook.wrap_optimizer(optimizer)
        for number in range(2):
            x, y = batch(number)
            with hook.step(smd.modes.TRAIN):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((model(x) - y) ** 2)
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            with hook.step(smd.modes.EVAL):
                model(x)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == trial.steps(EVAL) == [0, 1]
    np.testing.assert_array_equal(
        trial.tensor("gradients/dense/kernelGrad").value(1, TRAIN), gradients[0]
    )
    np.testing.assert_array_equal(
        trial.tensor("dense/weights/dense/kernel:0").value(1, TRAIN), model.get_weights()[0]
    )
    assert trial.tensor("dense/outputs").steps(EVAL) == [0, 1]
    assert trial.tensor("iteration:0").steps() == [0, 2]


def test_evaluation_after_a_tape(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=["layers"]) as hook:
        hook.register_model(model)
        train(hook, model, tf.keras.optimizers.SGD(0.1))
        with hook.step(smd.modes.EVAL):
            model(batch(0)[0])
        train(hook, model, tf.keras.optimizers.SGD(0.1))
    trial = smd.create_trial(out_dir)
    assert trial.steps(EVAL) == [0]
    assert trial.steps(TRAIN) == list(range(2 * BATCHES))
    assert trial.tensor("dense/outputs").steps(EVAL) == [0]


def test_what_xla_compiles_is_left_alone(out_dir, monkeypatch):
    monkeypatch.delenv("SMDEBUG_RAISE_ERRORS")
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        hook.register_model(model)
        said = []
        monkeypatch.setattr(hook.logger, "warning", lambda *words: said.append(words))
        optimizer = tf.keras.optimizers.legacy.SGD(0.1)
        seen = train(hook, model, optimizer, compiled=True, jit_compile=True)
    assert len(seen) == BATCHES
    assert hook.failures == 0
    assert ["jit_compile=True" in str(words) for words in said] == [True]


def test_what_was_compiled_goes_on_without_the_hook(out_dir):
    model, optimizer = network(), tf.keras.optimizers.legacy.SGD(0.1)
    hook = smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True)
    hook.register_model(model)

    @tf.function
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    step(*batch(0))
    hook.close()
    assert "call" not in vars(model.layers[0])
    before = model.get_weights()
    step(*batch(1))
    assert (before[0] != model.get_weights()[0]).any()
    assert hook.failures == 0
    assert smd.create_trial(out_dir).steps() == [0]


def test_a_registered_model_may_be_exported(out_dir, tmp_path):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True) as hook:
        hook.register_model(model)
        train(hook, model, tf.keras.optimizers.SGD(0.1))
        model.save(str(tmp_path / "model"))
        train(hook, model, tf.keras.optimizers.SGD(0.1))
    saved = (tmp_path / "model" / "saved_model.pb").read_bytes()
    assert b"EagerPyFunc" not in saved
    assert smd.create_trial(out_dir).tensor("dense/outputs").steps() == list(range(2 * BATCHES))


def test_gradients_that_the_script_has_computed(out_dir):
    model = network()
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        hook.register_model(model)
        with hook.step(TRAIN):
            x, y = batch(0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            hook.set_gradients(gradients)
            hook.record_tensor_value("metric", loss)
            hook.set_optimizer_variables(tf.Variable(7.0, name="own"))
            assert hook.should_save_layer("dense")
        with hook.step(TRAIN):
            hook.set_gradients(gradients_and_variables=[(gradients[0], model.weights[0])])
            hook.save_tape_logs(model_inputs=tf.constant(x), outputs=[tf.constant(y)])
    trial = smd.create_trial(out_dir)
    for name, gradient in zip(VARIABLES, gradients, strict=True):
        saved = trial.tensor(f"gradients/{name[:-2]}Grad").value(0, TRAIN)
        np.testing.assert_array_equal(saved, gradient)
    assert trial.tensor("gradients/dense/kernelGrad").steps() == [0, 1]
    assert trial.tensor_names(collection="metrics") == ["metric"]
    assert trial.tensor("own:0").value(0) == 7
    np.testing.assert_array_equal(trial.inputs(1, TRAIN)[0], x)
    np.testing.assert_array_equal(trial.predictions(1, TRAIN)[0], y)


def test_replicas_of_a_strategy(out_dir):
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        optimizer = tf.keras.optimizers.SGD(0.1)
    x, y = batch(0)
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat(3)
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=EVERYTHING) as hook:
        hook.register_model(model)

        def replica(x, y):
            with hook.wrap_tape(tf.GradientTape()) as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        step = tf.function(lambda x, y: strategy.run(replica, (x, y)))
        before = model.get_weights()[0]
        for part in strategy.experimental_distribute_dataset(data):
            step(*part)
    trial = smd.create_trial(out_dir)
    assert trial.steps(TRAIN) == [0, 1, 2]
    np.testing.assert_array_equal(trial.tensor("weights/dense/kernel:0").value(0), before)
    np.testing.assert_array_equal(trial.tensor("dense/inputs").value(0), x[:4])
    error = x[:4] @ before - y[:4]
    np.testing.assert_allclose(
        trial.tensor("gradients/dense/kernelGrad").value(0), x[:4].T @ error * 2 / 4, rtol=1e-4
    )
