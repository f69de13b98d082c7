"""Pairs with milder faults in set-up and data (Keras)."""

import keras
import numpy as np
from common17 import accuracy, cancer, classes, digits, fit, friedman, r2, reviews, wine
from keras import layers
from registry import pair, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def mlp(seed, inputs, *widths, out=1, act="relu"):
    keras.utils.set_random_seed(seed)
    hidden = [layers.Dense(width, act) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out)])


@pair(cause="validation_split takes the last classes of sorted rows away", severity="middling")
def split_of_sorted(record, seed, faulty):
    """Fault: rows sorted by class with validation_split, so the last classes are never seen."""
    x, y, tx, ty = digits(seed, flat=True)
    if faulty:
        order = np.argsort(y, kind="stable")
        x, y = x[order], y[order]
    model = mlp(seed, 64, 48, out=10)
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_split=0.25)
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="noise on the inputs is far too strong", severity="mild")
def noise_too_strong(record, seed, faulty):
    """Fault: GaussianNoise(1.0) as augmentation of values between 0 and 1."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    noise = layers.GaussianNoise(1.0 if faulty else 0.1)
    model = keras.Sequential([keras.Input((64,)), noise, layers.Dense(48, "relu")])
    model.add(layers.Dense(10))
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="the padding is averaged in", severity="mild")
def padding_averaged(record, seed, faulty):
    """Fault: no mask in front of the average over words."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = (np.pad(a, ((0, 0), (0, 60))) if a.ndim == 2 else a for a in reviews(seed))
    model = keras.Sequential([keras.Input((80,), dtype="int32")])
    model.add(layers.Embedding(200, 8, mask_zero=not faulty))
    model.add(layers.GlobalAveragePooling1D())
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(1e-2), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.5)


@pair(cause="missing values are coded as -999", severity="gross")
def missing_as_number(record, seed, faulty):
    """Fault: a tenth of all values is missing and filled with -999."""
    x, y, tx, ty = cancer(seed)
    rng = np.random.default_rng(seed)
    for a in (x, tx):
        a[rng.random(a.shape) < 0.1] = -999 if faulty else 0
    model = mlp(seed, 30, 24)
    model.compile(keras.optimizers.Adam(3e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=12, batch=16, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), ty.mean())


@pair(cause="half of the labels are joined by the wrong key", severity="middling")
def labels_partly_wrong(record, seed, faulty):
    """Fault: the labels of half of the rows belong to other rows."""
    x, y, tx, ty = classes(seed, 2000)
    if faulty:
        half = len(y) // 2
        y = np.concatenate([np.roll(y[:half], 7), y[half:]])
    model = mlp(seed, 16, 128, out=4)
    model.compile(keras.optimizers.Adam(5e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=14, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.25)


@pair(cause="a rate so low that the training ends while the loss falls", severity="mild")
def ended_before_done(record, seed, faulty):
    """Fault: Adam with 5e-4 in place of 5e-3 and only 16 epochs."""
    x, y, tx, ty = wine(seed)
    model = mlp(seed, 13, 24, out=3)
    model.compile(keras.optimizers.Adam(5e-4 if faulty else 5e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=16, batch=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.4)
