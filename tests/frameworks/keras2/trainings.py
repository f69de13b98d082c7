"""Small models, data, and the expected content of their trials."""

import numpy as np
import smdebug.tensorflow as smd
import tensorflow as tf

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
EVERY_SECOND = smd.SaveConfig(save_interval=2)
TRAIN, EVAL, PREDICT = smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT


def network(**compiling):
    """A perceptron of 3, 4 and 1 neurons."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(4, activation="relu", input_shape=(3,)),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile(
        **{
            "optimizer": tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9),
            "loss": "mse",
            "metrics": ["mae"],
            **compiling,
        }
    )
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


def steps(trial, name):
    """Returns the steps of a tensor, by the names of their modes."""
    tensor = trial.tensor(name)
    return {mode.name: tensor.steps(mode) for mode in trial.modes() if tensor.steps(mode)}


class Values(tf.keras.callbacks.Callback):
    """Records the model's weights before and after each batch."""

    def __init__(self):
        super().__init__()
        self.before, self.after = [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.before.append(self.model.get_weights())

    def on_train_batch_end(self, batch, logs=None):
        self.after.append(self.model.get_weights())
