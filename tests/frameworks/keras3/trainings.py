"""Small models, data, and the results of their training, in numpy."""

import keras
import numpy as np
import smdebug.tensorflow as smd

X = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
BATCH, BATCHES = 8, 4

EVERYTHING = [
    "weights",
    "biases",
    "gradients",
    "optimizer_variables",
    "inputs",
    "outputs",
    "layers",
]
EVERY_STEP = smd.SaveConfig(save_interval=1)
TRAIN, EVAL, PREDICT = smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT


def network(**compiling):
    """A perceptron of 3, 4 and 1 neurons."""
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)]
    )
    sgd = keras.optimizers.SGD(0.1, momentum=0.9)
    model.compile(**{"optimizer": sgd, "loss": "mse", "metrics": ["mae"], **compiling})
    return model


def fit(model, hook, epochs=1, **options):
    """Trains on the batches in order."""
    settings = {"batch_size": BATCH, "shuffle": False, "verbose": 0, **options}
    settings["callbacks"] = [hook, *options.get("callbacks", ())]
    return model.fit(X, Y, epochs=epochs, **settings)


def batch(number):
    """Returns the data of a batch."""
    part = slice(number * BATCH, (number + 1) * BATCH)
    return X[part], Y[part]


def recorded(out_dir, model, epochs=1, **options):
    """Returns the trial of a training with a hook that has these options."""
    training = options.pop("training", {})
    with smd.KerasHook(out_dir, **{"save_config": EVERY_STEP, **options}) as hook:
        fit(model, hook, epochs, **training)
    return smd.create_trial(out_dir)


def seen_inside(weights, x, y):
    """Returns the results of the network's step, by the names of tensors in a trial."""
    kernel, bias, last_kernel, last_bias = weights
    hidden = np.maximum(x @ kernel + bias, 0)
    output = hidden @ last_kernel + last_bias
    of_output = 2 * (output - y) / len(y)
    of_hidden = (of_output @ last_kernel.T) * (hidden > 0)
    return {
        "inputs_0": x,
        "labels_0": y,
        "predictions_0": output,
        "dense/inputs": x,
        "dense/outputs": hidden,
        "dense_1/inputs": hidden,
        "dense_1/outputs": output,
        "gradients/dense/kernelGrad": x.T @ of_hidden,
        "gradients/dense/biasGrad": of_hidden.sum(axis=0),
        "gradients/dense_1/kernelGrad": hidden.T @ of_output,
        "gradients/dense_1/biasGrad": of_output.sum(axis=0),
    }


def assert_holds(trial, expected, step, mode=TRAIN):
    """Checks that the trial holds these values at a step."""
    for name, value in expected.items():
        np.testing.assert_allclose(
            trial.tensor(name).value(step, mode), value, rtol=1e-4, atol=1e-6, err_msg=name
        )


class Weights(keras.callbacks.Callback):
    """Records the model's weights before and after each batch."""

    def __init__(self):
        super().__init__()
        self.before, self.after = [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.before.append(self.model.get_weights())

    def on_train_batch_end(self, batch, logs=None):
        self.after.append(self.model.get_weights())
