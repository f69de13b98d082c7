"""Pairs with faults in losses, labels and data (Keras)."""

import keras
import numpy as np
from common17 import accuracy, cancer, classes, digits, fit, friedman, r2, ratings, reviews
from common17 import sentences, standard, waves, wine
from keras import layers, ops
from registry import pair, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def mlp(seed, inputs, *widths, out=1, act="relu", last=None):
    keras.utils.set_random_seed(seed)
    hidden = [layers.Dense(width, act) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out, last)])


@pair(cause="logits given to a loss that expects probabilities", severity="gross")
def logits_as_probabilities(record, seed, faulty):
    """Fault: from_logits is left at False although the last layer is linear."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 64, out=10)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=not faulty)
    model.compile(keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="softmax applied twice", severity="mild")
def softmax_twice(record, seed, faulty):
    """Fault: a Softmax layer follows a Dense layer that has softmax as its activation."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 48, out=10, last="softmax")
    if faulty:
        model.add(layers.Softmax())
    loss = "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


class Squares(keras.losses.Loss):
    def call(self, y, out):
        return ops.mean((y - out) ** 2, -1)


@pair(cause="a (n,) target broadcasts against a (n, 1) output", severity="gross")
def broadcast_in_loss(record, seed, faulty):
    """Fault: the target has no last axis, so each output is compared with all targets."""
    x, y, tx, ty = friedman(seed)
    model = mlp(seed, 8, 48, 48)
    model.compile(keras.optimizers.Adam(3e-3), Squares())
    fit(record, model, x, y if faulty else y[:, None], epochs=8)
    score(r2(model.predict(tx, verbose=0), ty), 0)


@pair(cause="softmax over a single output is always one", severity="gross")
def softmax_of_one(record, seed, faulty):
    """Fault: softmax in place of sigmoid on the single output of a binary classifier."""
    x, y, tx, ty = cancer(seed)
    model = mlp(seed, 30, 16, last="softmax" if faulty else "sigmoid")
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["accuracy"])
    fit(record, model, x, y, epochs=10, batch=16, validation_data=(tx, ty))
    found = model.predict(tx, verbose=0)[:, 0] > 0.5
    score((found[ty == 1].mean() + 1 - found[ty == 0].mean()) / 2, 0.5)


@pair(cause="class numbers as targets of a mean squared error", severity="gross")
def squares_of_class_numbers(record, seed, faulty):
    """Fault: MSE between the class number and all probabilities (not one-hot)."""
    x, y, tx, ty = wine(seed)
    model = mlp(seed, 13, 24, out=3, last="softmax")
    model.compile(keras.optimizers.Adam(5e-3), "mse", metrics=["mae"])
    target = y[:, None].astype("float32") if faulty else np.eye(3, dtype="float32")[y]
    fit(record, model, x, target, epochs=25, batch=8)
    score(accuracy(model, tx, ty), 0.4)


@pair(cause="softmax for labels that are not exclusive", severity="gross")
def softmax_for_many_labels(record, seed, faulty):
    """Fault: softmax and categorical cross-entropy where several labels may hold at once."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1600, 12)).astype("float32")
    y = (np.tanh(x @ rng.normal(size=(12, 12))) @ rng.normal(size=(12, 6)) > 0).astype("float32")
    model = mlp(seed, 12, 64, out=6, last="softmax" if faulty else "sigmoid")
    loss = "categorical_crossentropy" if faulty else "binary_crossentropy"
    model.compile(keras.optimizers.Adam(3e-3), loss)
    fit(record, model, x[:1200], y[:1200], epochs=12, validation_data=(x[1200:], y[1200:]))
    score(((model.predict(x[1200:], verbose=0) > 0.5) == y[1200:]).mean(), 0.52)


@pair(cause="inputs from 0 to 255 are not scaled", severity="gross")
def pixels_not_scaled(record, seed, faulty):
    """Fault: raw pixel values up to 255 with a rate meant for 0 to 1."""
    x, y, tx, ty = digits(seed)
    raw = 255.0 if faulty else 1.0
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(16, 3, activation="relu")])
    model.add(layers.Flatten())
    model.add(layers.Dense(32, "relu"))
    model.add(layers.Dense(10))
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), SPARSE, metrics=["accuracy"])
    fit(record, model, raw * x, y, epochs=8, validation_data=(raw * tx, ty))
    score(accuracy(model, raw * tx, ty), 0.1)


@pair(cause="one column is a thousand times larger than the others", severity="mild")
def columns_not_scaled(record, seed, faulty):
    """Fault: the wine table (with values to 1700) goes in as it is."""
    from sklearn.datasets import load_wine

    x, y, tx, ty = wine(seed)
    if faulty:
        raw = load_wine().data
        x, tx = (a * raw.std(0) + raw.mean(0) for a in (x, tx))
    model = mlp(seed, 13, 24, out=3)
    model.compile(keras.optimizers.Adam(5e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=20, batch=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.4)


@pair(cause="labels are shuffled apart from the inputs", severity="gross")
def labels_shuffled(record, seed, faulty):
    """Fault: only the labels are permuted before training."""
    x, y, tx, ty = classes(seed, 2000)
    if faulty:
        y = np.random.default_rng(seed).permutation(y)
    model = mlp(seed, 16, 48, out=4)
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.25)


@pair(cause="labels lag one row behind the inputs", severity="gross")
def labels_one_row_off(record, seed, faulty):
    """Fault: a header row was dropped from the labels only (all are shifted by one)."""
    x, y, tx, ty = friedman(seed)
    model = mlp(seed, 8, 64)
    model.compile(keras.optimizers.Adam(3e-3), "mse", metrics=["mae"])
    fit(record, model, x, np.roll(y, 1) if faulty else y, epochs=10, validation_split=0.15)
    score(r2(model.predict(tx, verbose=0), ty), 0)


@pair(cause="rows sorted by class are fed without shuffling", severity="gross")
def sorted_not_shuffled(record, seed, faulty):
    """Fault: shuffle=False on data that are sorted by class."""
    x, y, tx, ty = digits(seed, flat=True)
    order = np.argsort(y, kind="stable")
    model = mlp(seed, 64, 48, out=10)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), SPARSE, metrics=["accuracy"])
    fit(record, model, x[order], y[order], epochs=6, shuffle=not faulty, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="not a number in one column of some rows", severity="gross")
def nan_in_column(record, seed, faulty):
    """Fault: missing values are left as NaN rather than filled."""
    x, y, tx, ty = cancer(seed)
    holes = np.random.default_rng(seed).random(len(x)) < 0.05
    x[holes, 3] = np.nan if faulty else 0.0
    model = mlp(seed, 30, 16)
    model.compile(keras.optimizers.Adam(3e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, batch=16, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), ty.mean())


@pair(cause="log of counts that may be zero", severity="gross")
def log_of_zero(record, seed, faulty):
    """Fault: log(y) in place of log(y + 1) in the loss, and some counts are zero."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1800, 6)).astype("float32")
    y = rng.poisson(np.exp(1.5 + 0.7 * x[:, 0] - 0.5 * x[:, 1] * x[:, 2])).astype("float32")
    more = 0.0 if faulty else 1.0

    def log_squares(y, out):
        return ops.mean((out - ops.log(y + more)) ** 2, -1)

    model = mlp(seed, 6, 32, 32)
    model.compile(keras.optimizers.Adam(3e-3), log_squares)
    fit(record, model, x[:1400], y[:1400, None], epochs=8, validation_split=0.1)
    score(r2(model.predict(x[1400:], verbose=0), np.log1p(y[1400:])), 0)


@pair(cause="padding is not masked in front of the recurrent layer", severity="gross")
def padding_not_masked(record, seed, faulty):
    """Fault: mask_zero is left off, so the GRU has to carry words over much padding."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = sentences(seed)
    x, tx = (np.pad(a, ((0, 0), (0, 40))) for a in (x, tx))
    model = keras.Sequential([keras.Input((64,), dtype="int32")])
    model.add(layers.Embedding(30, 12, mask_zero=not faulty))
    model.add(layers.GRU(16))
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(1e-2), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=4, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.5)


@pair(cause="the target is among the inputs", severity="gross")
def target_leaks(record, seed, faulty):
    """Fault: a column computed from the label stays in the table (it is not there later)."""
    x, y, tx, ty = classes(seed, 2000, 2)
    leak, none = (y * 4.0)[:, None], np.zeros((len(tx), 1))
    x = np.concatenate([x, leak if faulty else 0 * leak], 1).astype("float32")
    model = mlp(seed, 17, 48)
    model.compile(keras.optimizers.Adam(3e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x, y.astype("float32"), epochs=10, validation_split=0.15)
    found = np.asarray(model.predict(np.concatenate([tx, none], 1), verbose=0)[:, 0] > 0)
    score((found == ty).mean(), 0.5)


@pair(cause="targets in the tens of thousands are not scaled", severity="gross")
def targets_not_scaled(record, seed, faulty):
    """Fault: prices of about 30000 are predicted with Adam at 1e-3 and no scaling."""
    x, y, tx, ty = friedman(seed)
    factor, shift = (8000.0, 30000.0) if faulty else (1.0, 0.0)
    model = mlp(seed, 8, 64, 64)
    model.compile(keras.optimizers.Adam(1e-3), "mse", metrics=["mae"])
    fit(record, model, x, factor * y + shift, epochs=12, validation_split=0.1)
    score(r2((model.predict(tx, verbose=0) - shift) / factor, ty), 0)


@pair(cause="validation data are not scaled as the training data are", severity="gross")
def validation_not_scaled(record, seed, faulty):
    """Fault: new data skip the standardisation that the training data had."""
    x, y, tx, ty = classes(seed, 2000)
    if faulty:
        tx = tx * 25 + 40
    model = mlp(seed, 16, 48, out=4)
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.25)


@pair(cause="class weights are the wrong way round", severity="middling")
def class_weights_inverted(record, seed, faulty):
    """Fault: the frequent class gets the large weight."""
    x, y, tx, ty = classes(seed, 3000, 2, weights=[0.9], class_sep=1.0)
    weight = {0: 0.55, 1: 5.0} if not faulty else {0: 5.0, 1: 0.55}
    model = mlp(seed, 16, 32)
    model.compile(keras.optimizers.Adam(2e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=6, class_weight=weight, validation_data=(tx, ty))
    found = model.predict(tx, verbose=0)[:, 0] > 0
    score((found[ty == 1].mean() + 1 - found[ty == 0].mean()) / 2, 0.5)


@pair(cause="augmentation that changes the meaning of the images", severity="middling")
def flips_of_digits(record, seed, faulty):
    """Fault: the digits are turned and mirrored as if they were aerial photographs."""
    x, y, tx, ty = digits(seed)
    rng = np.random.default_rng(seed)

    def change(image):
        if faulty:
            return np.rot90(image, rng.integers(4))[:: rng.choice([-1, 1])]
        return np.roll(image, rng.integers(-1, 2), rng.integers(2))

    x = np.stack([change(image) for image in x])
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(12, 3, activation="relu")])
    model.add(layers.Flatten())
    model.add(layers.Dense(10))
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="the words fall into too few buckets", severity="gross")
def vocabulary_collapsed(record, seed, faulty):
    """Fault: the hashing of the words has 10 buckets in place of 200."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = reviews(seed)
    if faulty:
        x, tx = (np.where(a > 0, a % 10 + 1, 0) for a in (x, tx))
    model = keras.Sequential([keras.Input((20,), dtype="int32")])
    model.add(layers.Embedding(200, 8, mask_zero=True))
    model.add(layers.GlobalAveragePooling1D())
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(2e-2), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=9, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.5)


@pair(cause="users and items share one table by accident", severity="gross")
def shared_table(record, seed, faulty):
    """Fault: the embedding of the users is also used for the items."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = ratings(seed)
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    users = layers.Embedding(80, 6)
    items = users if faulty else layers.Embedding(60, 6)
    model = keras.Model([user, item], layers.Dot(-1)([users(user), items(item)]))
    model.compile(keras.optimizers.Adam(2e-2), "mse")
    fit(record, model, [x[:, 0], x[:, 1]], y, epochs=7, batch=64, validation_split=0.1)
    score(r2(model.predict([tx[:, 0], tx[:, 1]], verbose=0), ty), 0)


@pair(cause="each window is scaled by itself", severity="gross")
def windows_scaled_alone(record, seed, faulty):
    """Fault: windows are standardised one by one but the target is not, so the level is lost."""
    x, y, tx, ty = waves(seed)
    drift = np.cumsum(np.random.default_rng(seed).normal(size=len(x) + len(tx))) * 0.05
    x, y = x[..., 0] + drift[: len(x), None], y + drift[: len(x)]
    tx, ty = tx[..., 0] + drift[len(x) :, None], ty + drift[len(x) :]
    if faulty:
        x, tx = standard(x.T).T, standard(tx.T).T
    model = mlp(seed, 24, 48, 24)
    model.compile(keras.optimizers.Adam(2e-3), "mse")
    fit(record, model, x, y, epochs=10, validation_split=0.1)
    score(r2(model.predict(tx, verbose=0), ty), 0)
