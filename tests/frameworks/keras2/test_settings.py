"""Settings select what is saved, when, and in what form."""

import numpy as np
import pytest
import smdebug.tensorflow as smd
import tensorflow as tf
from smdebug.exceptions import InvalidCollectionConfiguration
from trainings import BATCHES, EVAL, EVERY_STEP, EVERYTHING, TRAIN, X, Y, fit, network, recorded


def test_each_mode_has_its_own_steps(out_dir):
    config = {
        smd.modes.TRAIN: smd.SaveConfigMode(save_interval=3),
        smd.modes.EVAL: smd.SaveConfigMode(save_steps=[2], save_interval=100),
    }
    trial = recorded(
        out_dir,
        network(),
        epochs=2,
        save_config=smd.SaveConfig(config),
        include_collections=EVERYTHING,
        training={"validation_data": (X, Y)},
    )
    kernel = trial.tensor("dense/weights/dense/kernel:0")
    assert kernel.steps(TRAIN) == [0, 3, 6]
    assert kernel.steps(EVAL) == [0, 2]
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == [0, 3, 6]
    assert trial.tensor("dense/outputs").steps(EVAL) == [0, 2]


def test_each_collection_has_its_own_steps(out_dir):
    model = network()
    hook = smd.KerasHook(
        out_dir, save_config=EVERY_STEP, include_collections=["gradients", "layers"]
    )
    hook.get_collection("layers").save_config = smd.SaveConfig(save_interval=2)
    with hook:
        fit(model, hook)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradients/dense/kernelGrad").steps(TRAIN) == [0, 1, 2, 3]
    assert trial.tensor("dense/outputs").steps(TRAIN) == [0, 2]


def test_reductions_are_saved_in_place_of_tensors(out_dir):
    reductions = smd.ReductionConfig(reductions=["mean"], abs_reductions=["max"], norms=["l2"])
    trial = recorded(
        out_dir, network(), reduction_config=reductions, include_collections=EVERYTHING
    )
    for name in ("dense/weights/dense/kernel:0", "gradients/dense/kernelGrad", "dense/outputs"):
        tensor = trial.tensor(name)
        assert set(tensor.reduction_values(3, TRAIN)) == {
            ("mean", False),
            ("max", True),
            ("l2", False),
        }
    # Losses and metrics are saved unreduced.
    assert trial.tensor("loss").value(3, TRAIN).size == 1


def test_reductions_are_those_of_the_values(out_dir):
    model = network()
    reductions = smd.ReductionConfig(reductions=["min", "max", "mean", "std"], norms=["l1", "l2"])
    trial = recorded(out_dir, model, reduction_config=reductions, include_collections=["weights"])
    kernel = model.get_weights()[0].astype("float64")
    expected = {
        "min": kernel.min(),
        "max": kernel.max(),
        "mean": kernel.mean(),
        "std": kernel.std(),
        "l1": np.abs(kernel).sum(),
        "l2": np.sqrt((kernel**2).sum()),
    }
    tensor = trial.tensor("dense/weights/dense/kernel:0")
    for reduction, value in expected.items():
        assert tensor.reduction_value(3, reduction, TRAIN) == pytest.approx(value, rel=1e-5)


def test_all_is_saved_on_demand(out_dir):
    trial = recorded(out_dir, network(), save_all=True)
    assert set(trial.tensor_names()) >= {
        "loss",
        "mae",
        "dense/weights/dense/kernel:0",
        "dense_1/weights/dense_1/bias:0",
        "gradients/dense/kernelGrad",
        "SGD/learning_rate:0",
        "dense/outputs",
        "inputs_0",
        "labels_0",
        "predictions_0",
    }
    assert trial.steps(TRAIN) == list(range(BATCHES))


def test_tensors_are_asked_for_by_name(out_dir):
    trial = recorded(out_dir, network(), include_regex=["dense_1/outputs", "kernelGrad$"])
    assert set(trial.tensor_names(collection="default")) == {
        "dense_1/outputs",
        "gradients/dense/kernelGrad",
        "gradients/dense_1/kernelGrad",
    }
    for name in trial.tensor_names(collection="default"):
        assert trial.tensor(name).steps(TRAIN) == list(range(BATCHES))


def test_layers_are_picked_by_name(out_dir):
    model = network()
    hook = smd.KerasHook(out_dir, save_config=EVERY_STEP, include_collections=["layers"])
    hook.get_collection("layers").include("^dense_1")
    with hook:
        fit(model, hook)
    names = smd.create_trial(out_dir).tensor_names(regex="puts$")
    assert names == ["dense_1/inputs", "dense_1/outputs"]


def test_a_collection_of_the_models_own_objects(out_dir):
    model = network()
    hook = smd.KerasHook(
        out_dir, save_config=EVERY_STEP, include_collections=["kernels", "hidden", "last"]
    )
    rate = tf.Variable(0.5, name="rate")
    hook.get_collection("kernels").add([layer.kernel for layer in model.layers])
    hook.add_to_collection("last", model.layers[1])
    hook.get_collection("last").add(rate)
    hook.get_collection("last").add("text")
    hidden = smd.Collection("hidden")
    hidden.add_keras_layer(model.layers[0], inputs=True, outputs=True)
    hook.add_collection(hidden)
    with hook:
        fit(model, hook)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="kernels") == [
        "dense/weights/dense/kernel:0",
        "dense_1/weights/dense_1/kernel:0",
    ]
    assert trial.tensor_names(collection="last") == [
        "dense_1/weights/dense_1/bias:0",
        "dense_1/weights/dense_1/kernel:0",
        "rate:0",
    ]
    assert trial.tensor_names(collection="hidden") == ["dense/inputs", "dense/outputs"]
    assert trial.tensor("rate:0").value(3, TRAIN) == 0.5


def test_a_collection_that_includes_nothing_is_the_users_to_mend(out_dir):
    hook = smd.KerasHook(out_dir, include_collections=["mine"])
    hook.get_collection("mine")
    with pytest.raises(InvalidCollectionConfiguration):
        fit(network(), hook)


def test_biases_do_not_bring_what_an_optimizer_keeps_of_them(out_dir):
    trial = recorded(out_dir, network(), include_collections=["biases"])
    assert trial.tensor_names(collection="biases") == [
        "dense/weights/dense/bias:0",
        "dense_1/weights/dense_1/bias:0",
    ]


def test_a_dry_run_writes_nothing(out_dir, tmp_path):
    with smd.KerasHook(out_dir, save_config=EVERY_STEP, save_all=True, dry_run=True) as hook:
        fit(network(), hook)
        assert hook.failures == 0
    assert not list(tmp_path.rglob("*.tfevents"))


def test_scalars_and_tensors_of_the_scripts_own(out_dir):
    model = network()

    class Own(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            hook.save_scalar("batch_number", batch)
            hook.save_tensor("mine", tf.constant([float(batch)]), "inputs")

    with smd.KerasHook(
        out_dir, save_config=smd.SaveConfig(save_interval=1), include_collections=["inputs"]
    ) as hook:
        fit(model, hook, callbacks=[Own()])
    trial = smd.create_trial(out_dir)
    assert trial.tensor("scalar/batch_number").value(2, TRAIN).item() == 2
    assert trial.tensor("mine").value(2, TRAIN).tolist() == [2.0]
    assert "mine" in trial.tensor_names(collection="inputs")
