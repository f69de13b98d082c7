"""Custom training loops, with JAX."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import smdebug.tensorflow as smd
from trainings import (
    BATCHES,
    EVAL,
    EVERYTHING,
    TRAIN,
    X,
    Y,
    assert_holds,
    batch,
    fit,
    network,
    seen_inside,
)

EVERY_SECOND = smd.SaveConfig(save_interval=2)


def test_a_compiled_step(out_dir):
    model = network()
    optimizer = model.optimizer
    optimizer.build(model.trainable_variables)

    def loss_of(trainable, x, y):
        output, _ = model.stateless_call(trainable, [], x)
        return jnp.mean((output - y) ** 2)

    @jax.jit
    def train_step(trainable, of_optimizer, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(trainable, x, y)
        hook.save_scalar("inside", loss)
        return (loss, *optimizer.stateless_apply(of_optimizer, gradients, trainable))

    trainable = [variable.value for variable in model.trainable_variables]
    of_optimizer = [variable.value for variable in optimizer.variables]
    hook = smd.KerasHook(out_dir, save_config=EVERY_SECOND, include_collections=EVERYTHING)
    hook.register_model(model)
    hook.wrap_optimizer(optimizer)
    weights, losses = [], []
    # The compiled step is not saved, but later steps are.
    hook.begin_step(TRAIN)
    hook.end_step()
    with hook:
        for number in range(BATCHES):
            weights.append([np.asarray(value) for value in trainable])
            with hook.step(TRAIN):
                loss, trainable, of_optimizer = train_step(
                    trainable, of_optimizer, *batch(number)
                )
                for variable, value in zip(model.trainable_variables, trainable, strict=True):
                    variable.assign(value)
            losses.append(float(loss))
    trial = smd.create_trial(out_dir)
    for number in (1, 3):
        expected = seen_inside(weights[number], *batch(number))
        del expected["labels_0"]  # the step computes its own loss
        assert_holds(trial, expected, number + 1)
        after = trial.tensor("dense/weights/dense/kernel:0").value(number + 1, TRAIN)
        moved = trial.tensor("gradients/dense/kernelGrad").value(number + 1, TRAIN)
        assert np.abs(after - weights[number][0]).max() > 0
        assert moved.shape == after.shape
        saved = trial.tensor("scalar/inside").value(number + 1, TRAIN)
        np.testing.assert_allclose(saved, losses[number], rtol=1e-6)


def test_what_the_loop_hands_over(out_dir):
    model = network()
    x, y = batch(0)
    with smd.KerasHook(out_dir, save_config=EVERY_SECOND, include_collections=EVERYTHING) as hook:
        hook.register_model(model)
        with hook.step(TRAIN):
            hook.set_gradients([jnp.full(v.shape, 2.0) for v in model.trainable_variables])
            hook.save_tape_logs(model_inputs=jnp.asarray(x), outputs=jnp.asarray(y))
            hook.record_tensor_value("metric", jnp.float32(3))
        with hook.step(EVAL):
            output = model(x)
    trial = smd.create_trial(out_dir)
    assert (trial.tensor("gradients/dense/kernelGrad").value(0, TRAIN) == 2).all()
    np.testing.assert_array_equal(trial.inputs(0, TRAIN)[0], x)
    assert trial.tensor("metric").value(0, TRAIN) == 3
    np.testing.assert_array_equal(trial.tensor("dense_1/outputs").value(0, EVAL), output)
    np.testing.assert_array_equal(
        trial.tensor("dense/weights/dense/kernel:0").value(0, EVAL), model.get_weights()[0]
    )


def test_two_devices(out_dir):
    devices = keras.distribution.list_devices("cpu")
    assert len(devices) == 2
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    try:
        model = network()
        with smd.KerasHook(
            out_dir, save_config=EVERY_SECOND, include_collections=EVERYTHING
        ) as hook:
            before = model.get_weights()
            fit(model, hook)
            predicted = model.predict(X, batch_size=8, callbacks=[hook], verbose=0)
    finally:
        keras.distribution.set_distribution(None)
    trial = smd.create_trial(out_dir)
    # Batches are complete, although each device has half of one.
    assert_holds(trial, seen_inside(before, *batch(0)), 0)
    np.testing.assert_allclose(
        trial.tensor("predictions_0").value(2, smd.modes.PREDICT), predicted[16:24], rtol=1e-6
    )
    assert trial.workers() == ["worker_0"]
    assert Y.shape == (32, 1)
