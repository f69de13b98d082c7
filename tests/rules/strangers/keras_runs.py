"""Trainings by Keras 3 on JAX."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

from typing import Any  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers, ops  # noqa: E402

import data  # noqa: E402
from registry import healthy, pair, score  # noqa: E402


def fit(record: Any, model: keras.Model, x: Any, y: Any, epochs: int, **settings: Any) -> None:
    """Run fit quietly with the callback."""
    settings = {"batch_size": 32, "verbose": 0, **settings}
    model.fit(x, y, epochs=epochs, callbacks=[record.callback("keras")], **settings)


def images(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Digits with the channel last."""
    x, y, test_x, test_y = data.digits(seed)
    return x.transpose(0, 2, 3, 1), y, test_x.transpose(0, 2, 3, 1), test_y


def right(model: keras.Model, x: np.ndarray, y: np.ndarray) -> float:
    """The share of right answers."""
    return float((model.predict(x, verbose=0).argmax(-1) == y).mean())


def dense(features: int, *sizes: int, end: str | None = None, hidden: str = "relu") -> keras.Model:
    """A stack of dense layers."""
    stack = [layers.Dense(size, hidden) for size in sizes[:-1]]
    return keras.Sequential([keras.Input((features,)), *stack, layers.Dense(sizes[-1], end)])


@healthy
def keras_mlp_cosine(record: Any, seed: int) -> None:
    """A functional model with two inputs and a cosine schedule on diabetes-like rows."""
    keras.utils.set_random_seed(seed)
    x, y = data.regression(1600, 8, seed)
    test_x, test_y = data.regression(400, 8, seed + 1)
    first, second = keras.Input((4,)), keras.Input((4,))
    h = layers.Concatenate()([layers.Dense(32, "gelu")(first), layers.Dense(32, "gelu")(second)])
    h = layers.LayerNormalization()(layers.Dense(64, "gelu")(h))
    model = keras.Model([first, second], layers.Dense(1)(h))
    schedule = keras.optimizers.schedules.CosineDecay(1e-2, 300, warmup_target=None)
    model.compile(keras.optimizers.AdamW(schedule), "huber", metrics=["mae"])
    fit(record, model, [x[:, :4], x[:, 4:]], y, 6, validation_split=0.1)
    found = model.predict([test_x[:, :4], test_x[:, 4:]], verbose=0)[:, 0]
    score(-np.square(found - test_y).mean(), -test_y.var())


@healthy
def keras_cnn_augmented(record: Any, seed: int) -> None:
    """A CNN with dropout, augmentation and label smoothing: training looks the worse."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = images(seed)
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.GaussianNoise(0.15), layers.Conv2D(16, 3, padding="same"),
         layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
         layers.Conv2D(32, 3, activation="relu"), layers.Flatten(), layers.Dropout(0.4),
         layers.Dense(10)]
    )  # fmt: skip
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), loss, metrics=["acc"])
    hot = np.eye(10, dtype=np.float32)
    fit(record, model, x, hot[y], 6, validation_data=(test_x, hot[test_y]))
    score(right(model, test_x, test_y), 0.1)


@healthy
def keras_lstm_masked(record: Any, seed: int) -> None:
    """A bidirectional LSTM on padded texts with masking."""
    keras.utils.set_random_seed(seed)
    x, y = data.reviews(1600, 20, 60, seed)
    test_x, test_y = data.reviews(400, 20, 60, seed + 1)
    model = keras.Sequential(
        [keras.Input((20,)), layers.Embedding(60, 16, mask_zero=True),
         layers.Bidirectional(layers.LSTM(16)), layers.Dense(1, "sigmoid")]
    )  # fmt: skip
    model.compile(keras.optimizers.Adam(5e-3, clipnorm=1.0), "binary_crossentropy", metrics=["acc"])
    fit(record, model, x, y, 4)
    score(((model.predict(test_x, verbose=0)[:, 0] > 0.5) == test_y).mean(), 0.5)


@healthy
def keras_class_weights(record: Any, seed: int) -> None:
    """Four per cent positives with class weights: accuracy falls while recall gets good."""
    keras.utils.set_random_seed(seed)
    x, y = data.classes(6000, 10, 4, seed)
    keep = (y > 0) | (np.random.default_rng(seed).random(len(y)) < 0.12)
    x, y = x[keep], (y[keep] == 0).astype(np.float32)
    model = dense(10, 32, 32, 1, end="sigmoid")
    model.compile(keras.optimizers.Lion(1e-3), "binary_crossentropy", metrics=["acc"])
    weight = {0: 0.5 / (1 - y.mean()), 1: 0.5 / y.mean()}
    fit(record, model, x, y, 7, batch_size=96, class_weight=weight)
    found = model.predict(x, verbose=0)[:, 0] > 0.5
    score(min((found == y)[y == 0].mean(), (found == y)[y == 1].mean()), 0.0)


class Autoencoder(keras.Model):
    """A VAE that adds its divergence by add_loss."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight
        self.encode = keras.Sequential([layers.Dense(64, "relu"), layers.Dense(16)])
        self.decode = keras.Sequential([layers.Dense(64, "relu"), layers.Dense(64, "sigmoid")])
        self.seeds = keras.random.SeedGenerator(1)

    def call(self, x: Any) -> Any:
        mean, log_var = ops.split(self.encode(x), 2, axis=-1)
        z = mean + ops.exp(log_var / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)
        divergence = 0.5 * ops.sum(mean**2 + ops.exp(log_var) - 1 - log_var, axis=-1)
        self.add_loss(self.weight * ops.mean(divergence) / 64)
        return self.decode(z)


@healthy
def keras_vae(record: Any, seed: int) -> None:
    """A VAE of digits with add_loss: the loss has a floor."""
    keras.utils.set_random_seed(seed)
    x = data.digits(seed)[0].reshape(-1, 64)
    model = Autoencoder(0.5)
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy")
    fit(record, model, x, x, 8)
    score(-np.square(model.predict(x, verbose=0) - x).mean(), -x.var(0).mean())


@pair(cause="softmax output with a loss that takes logits", severity="middling")
def keras_from_logits(record: Any, seed: int, faulty: bool) -> None:
    """A CNN on digits. Fault: a softmax at the end and from_logits=True."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = images(seed)
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(16, 3, activation="relu"), layers.Flatten(),
         layers.Dense(10, "softmax" if faulty else None)]
    )  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), loss, metrics=["accuracy"])
    fit(record, model, x, y, 4, validation_data=(test_x, test_y))
    score(right(model, test_x, test_y), 0.1)


@pair(cause="learning rate far too high", severity="gross")
def keras_rate(record: Any, seed: int, faulty: bool) -> None:
    """An MLP on digits by RMSprop. Fault: 1.0 in place of 1e-3."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = data.digits(seed)
    model = dense(64, 64, 64, 10)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.RMSprop(1.0 if faulty else 1e-3), loss, metrics=["accuracy"])
    fit(record, model, x.reshape(-1, 64), y, 6)
    score(right(model, test_x.reshape(-1, 64), test_y), 0.1)


@pair(cause="random feature layers left untrainable", severity="middling")
def keras_untrainable(record: Any, seed: int, faulty: bool) -> None:
    """A CNN from scratch. Fault: base.trainable = False, kept from a transfer script."""
    keras.utils.set_random_seed(seed)
    x, y = data.shapes(1600, 12, seed, noise=0.7)
    test_x, test_y = data.shapes(400, 12, seed + 1, noise=0.7)
    base = keras.Sequential(
        [keras.Input((12, 12, 1)), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(),
         layers.Conv2D(16, 3, activation="relu"), layers.GlobalAveragePooling2D()]
    )  # fmt: skip
    base.trainable = not faulty
    model = keras.Sequential([base, layers.Dense(4, "softmax")])
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["acc"])
    fit(record, model, x.transpose(0, 2, 3, 1), y, 6)
    score(right(model, test_x.transpose(0, 2, 3, 1), test_y), 0.25)


@pair(cause="pixels of 0 to 255 into sigmoid layers that saturate", severity="middling")
def keras_raw_pixels(record: Any, seed: int, faulty: bool) -> None:
    """A sigmoid MLP on digits. Fault: the Rescaling layer is missing."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = data.digits(seed)
    scale = 255.0 if faulty else 1.0
    model = dense(64, 64, 64, 10, end="softmax", hidden="sigmoid")
    model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["acc"])
    fit(record, model, scale * x.reshape(-1, 64), y, 8)
    score(right(model, scale * test_x.reshape(-1, 64), test_y), 0.1)


class Ascending(keras.Model):
    """A model whose custom loss may have lost its minus."""

    def __init__(self, sign: float) -> None:
        super().__init__()
        self.sign, self.net = sign, dense(64, 64, 10)

    def call(self, x: Any) -> Any:
        return self.net(x)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, *others: Any, **more: Any
    ) -> Any:
        logs = ops.log_softmax(y_pred, axis=-1)
        return self.sign * ops.mean(ops.sum(ops.one_hot(y, 10) * logs, axis=-1))


@pair(cause="custom loss with the wrong sign", severity="gross")
def keras_loss_sign(record: Any, seed: int, faulty: bool) -> None:
    """A custom compute_loss. Fault: the log-likelihood is minimised."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = data.digits(seed)
    model = Ascending(1.0 if faulty else -1.0)
    model.compile(keras.optimizers.Adam(2e-3))
    fit(record, model, x.reshape(-1, 64), y, 5)
    score(right(model, test_x.reshape(-1, 64), test_y), 0.1)


@pair(cause="class weights inverted", severity="gross")
def keras_weights_inverted(record: Any, seed: int, faulty: bool) -> None:
    """Rare positives with class weights. Fault: the weights of the classes are exchanged."""
    keras.utils.set_random_seed(seed)
    x, y = data.classes(6000, 10, 4, seed)
    keep = (y > 0) | (np.random.default_rng(seed).random(len(y)) < 0.12)
    x, y = x[keep], (y[keep] == 0).astype(np.float32)
    model = dense(10, 16, 1, end="sigmoid")
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["acc"])
    weight = [0.5 / (1 - y.mean()), 0.5 / y.mean()]
    if faulty:
        weight = weight[::-1]
    fit(record, model, x, y, 6, batch_size=96, class_weight=dict(enumerate(weight)))
    found = model.predict(x, verbose=0)[:, 0] > 0.5
    score(min((found == y)[y == 0].mean(), (found == y)[y == 1].mean()), 0.0)


@pair(cause="validation images scaled otherwise than the training's", severity="mild")
def keras_validation_scale(record: Any, seed: int, faulty: bool) -> None:
    """A CNN on digits. Fault: validation images reach from -1 to 1, the training's from 0 to 1."""
    keras.utils.set_random_seed(seed)
    x, y, test_x, test_y = images(seed)
    if faulty:
        test_x = 2 * test_x - 1
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), layers.Conv2D(16, 3, activation="relu"), layers.Flatten(),
         layers.Dense(32, "relu"), layers.Dense(10, "softmax")]
    )  # fmt: skip
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    fit(record, model, x, y, 6, validation_data=(test_x, test_y))
    score(-model.evaluate(test_x, test_y, verbose=0)[0], -2.3)
