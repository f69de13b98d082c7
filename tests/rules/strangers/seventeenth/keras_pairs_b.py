"""Pairs with faults in optimizers, layers and set-up (Keras)."""

import keras
import numpy as np
from common17 import accuracy, classes, diabetes, digits, fit, friedman, moons, r2, reviews
from common17 import sentences, waves
from keras import layers, ops
from registry import pair, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def mlp(seed, inputs, *widths, out=1, act="relu", last=None, **more):
    keras.utils.set_random_seed(seed)
    hidden = [layers.Dense(width, act, **more) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out, last, **more)])


def learn(record, model, rule, data, epochs=8, loss=SPARSE, **more):
    x, y, tx, ty = data
    model.compile(rule, loss, metrics=["mse" if loss == "mse" else "accuracy"])
    fit(record, model, x, y, epochs=epochs, validation_data=(tx, ty), **more)
    if loss == "mse":
        score(r2(model.predict(tx, verbose=0), ty), 0)
    else:
        score(accuracy(model, tx, ty), np.bincount(ty.astype(int)).max() / len(ty))


@pair(cause="learning rate a hundred times too high", severity="gross")
def rate_too_high(record, seed, faulty):
    """Fault: Adam with 0.5 in place of 5e-3."""
    model = mlp(seed, 64, 64, 64, out=10)
    learn(record, model, keras.optimizers.Adam(0.5 if faulty else 5e-3), digits(seed, flat=True))


@pair(cause="learning rate a hundred times too low", severity="gross")
def rate_too_low(record, seed, faulty):
    """Fault: SGD with 5e-4 in place of 5e-2."""
    rate = 5e-4 if faulty else 5e-2
    data = digits(seed, flat=True)
    learn(record, mlp(seed, 64, 64, out=10), keras.optimizers.SGD(rate, momentum=0.9), data)


@pair(cause="L2 penalty five hundred times too strong", severity="mild")
def penalty_too_strong(record, seed, faulty):
    """Fault: kernel_regularizer L2(0.05) in place of 1e-4."""
    decay = keras.regularizers.L2(0.05 if faulty else 1e-4)
    model = mlp(seed, 16, 48, 48, out=4, kernel_regularizer=decay)
    learn(record, model, keras.optimizers.Adam(3e-3), classes(seed, 2000))


@pair(cause="the base is frozen with random weights", severity="gross")
def random_base_frozen(record, seed, faulty):
    """Fault: base.trainable = False although no trained weights were loaded into it."""
    keras.utils.set_random_seed(seed)
    base = keras.Sequential([keras.Input((64,)), layers.Dense(24, "relu"), layers.Dense(8, "relu")])
    base.trainable = not faulty
    model = keras.Sequential([base, layers.Dense(10)])
    learn(record, model, keras.optimizers.Adam(3e-3), digits(seed, flat=True), 10)


def pretrained(record, seed):
    x, y, tx, ty = digits(seed)
    keras.utils.set_random_seed(seed)
    base = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(24, 3, activation="relu")])
    base.add(layers.Conv2D(24, 3, activation="relu"))
    base.add(layers.Flatten())
    model = keras.Sequential([base, layers.Dense(7)])
    model.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x[y < 7], y[y < 7], epochs=6)
    few = np.concatenate([np.flatnonzero(y == k)[:12] for k in (7, 8, 9)])
    test = ty >= 7
    return base, (x[few], y[few] - 7, tx[test], ty[test] - 7)


@pair(cause="fine-tuned with a rate that destroys the pretrained base", severity="gross")
def tuned_too_fast(record, seed, faulty):
    """Fault: the whole model learns on with a rate of 0.3."""
    base, data = pretrained(record, seed)
    model = keras.Sequential([base, layers.Dense(3)])
    learn(record, model, keras.optimizers.Adam(0.3 if faulty else 1e-3), data, 20, batch=8)


@pair(cause="running statistics hardly move (momentum 0.9999)", severity="gross")
def batchnorm_statistics_lag(record, seed, faulty):
    """Fault: BatchNormalization(momentum=0.9999) and few steps: useless outside training."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((64,)), layers.Rescaling(16.0)])
    for _ in range(3):
        model.add(layers.Dense(48, use_bias=False))
        model.add(layers.BatchNormalization(momentum=0.9999 if faulty else 0.9))
        model.add(layers.Activation("relu"))
    model.add(layers.Dense(10))
    learn(record, model, keras.optimizers.Adam(3e-3), digits(seed, flat=True), 7)


@pair(cause="dropout drops most units", severity="gross")
def dropout_confused(record, seed, faulty):
    """Fault: the rate is taken for the part that is kept (0.8 in place of 0.2)."""
    keras.utils.set_random_seed(seed)
    drop = 0.8 if faulty else 0.2
    model = keras.Sequential([keras.Input((8,))])
    for _ in range(3):
        model.add(layers.Dense(48, "relu"))
        model.add(layers.Dropout(drop))
    model.add(layers.Dense(1))
    learn(record, model, keras.optimizers.Adam(3e-3), friedman(seed), 10, "mse")


@pair(cause="initial weights so large that tanh saturates", severity="gross")
def saturated_start(record, seed, faulty):
    """Fault: RandomNormal(stddev=3) in a deep tanh network."""
    kernel = keras.initializers.RandomNormal(stddev=3.0 if faulty else 0.12, seed=seed)
    model = mlp(seed, 64, 64, 64, 64, out=10, act="tanh", kernel_initializer=kernel)
    learn(record, model, keras.optimizers.Adam(1e-3), digits(seed, flat=True))


@pair(cause="all relus are dead from the start", severity="gross")
def dead_relus(record, seed, faulty):
    """Fault: a large negative bias puts every relu below zero."""
    bias = keras.initializers.Constant(-8.0 if faulty else 0.01)
    keras.utils.set_random_seed(seed)
    hidden = layers.Dense(48, "relu", bias_initializer=bias)
    model = keras.Sequential([keras.Input((16,)), hidden, layers.Dense(4)])
    learn(record, model, keras.optimizers.SGD(0.03, momentum=0.9), classes(seed, 2000))


@pair(cause="relu on the output of a regression with negative targets", severity="gross")
def relu_on_output(record, seed, faulty):
    """Fault: the last layer has a relu, half of the targets are negative."""
    model = mlp(seed, 8, 48, last="relu" if faulty else None)
    learn(record, model, keras.optimizers.Adam(3e-3), friedman(seed), 10, "mse")


@pair(cause="gradients vanish through eight sigmoid layers", severity="gross")
def deep_sigmoids(record, seed, faulty):
    """Fault: sigmoid as the activation of eight layers."""
    model = mlp(seed, 64, *[48] * 8, out=10, act="sigmoid" if faulty else "relu")
    learn(record, model, keras.optimizers.Adam(1e-3), digits(seed, flat=True), 10)


@pair(cause="squared errors overflow in float16", severity="gross")
def float16_overflow(record, seed, faulty):
    """Fault: pure float16 for targets of several hundreds; their squares exceed 65504."""
    x, y, tx, ty = friedman(seed)
    kind = "float16" if faulty else "float32"
    model = mlp(seed, 8, 48, 48, dtype=kind)
    model.add(layers.Rescaling(500.0, dtype=kind))
    data = x, 500 * y, tx, 500 * ty
    learn(record, model, keras.optimizers.Adam(3e-3), data, 8, "mse")


@pair(cause="the schedule's steps are given in epochs", severity="gross")
def schedule_in_epochs(record, seed, faulty):
    """Fault: CosineDecay(decay_steps=epochs), so the rate is zero after ten steps."""
    data = digits(seed, flat=True)
    steps = 10 if faulty else 10 * (len(data[0]) // 32)
    rate = keras.optimizers.schedules.CosineDecay(2e-3, steps)
    learn(record, mlp(seed, 64, 48, out=10), keras.optimizers.Adam(rate), data, 10)


@pair(cause="the schedule falls each step as it should each epoch", severity="middling")
def schedule_falls_too_fast(record, seed, faulty):
    """Fault: ExponentialDecay with decay_steps=1 (meant: an epoch)."""
    data = friedman(seed)
    per_epoch = len(data[0]) // 32
    rate = keras.optimizers.schedules.ExponentialDecay(5e-3, 1 if faulty else per_epoch, 0.9)
    learn(record, mlp(seed, 8, 48, 48), keras.optimizers.Adam(rate), data, 12, "mse")


@pair(cause="no activation between the layers", severity="gross")
def no_activation(record, seed, faulty):
    """Fault: all Dense layers are linear, but the classes are not linearly separable."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 4)).astype("float32")
    y = (x[:, 0] * x[:, 1] > 0).astype("float32")
    model = mlp(seed, 4, 48, 48, act=None if faulty else "relu")
    data = x[:1500], y[:1500], x[1500:], y[1500:]
    learn(record, model, keras.optimizers.Adam(5e-3), data, 8, BINARY)


@pair(cause="a recurrent layer explodes", severity="gross")
def exploding_rnn(record, seed, faulty):
    """Fault: large random recurrent weights in a relu SimpleRNN over 60 steps."""
    keras.utils.set_random_seed(seed)
    data = waves(seed, 60)
    start = keras.initializers.RandomNormal(stddev=0.4, seed=seed) if faulty else "orthogonal"
    cell = layers.SimpleRNN(24, "relu", recurrent_initializer=start)
    model = keras.Sequential([keras.Input((60, 1)), cell, layers.Dense(1)])
    learn(record, model, keras.optimizers.Adam(3e-3), data, 6, "mse")


@pair(cause="early stopping waits for the loss to rise", severity="gross")
def stopping_mode_wrong(record, seed, faulty):
    """Fault: EarlyStopping(monitor="val_loss", mode="max") and the first weights restored."""
    x, y, tx, ty = digits(seed, flat=True)
    mode = "max" if faulty else "min"
    stop = keras.callbacks.EarlyStopping(mode=mode, patience=3, restore_best_weights=True)
    model = mlp(seed, 64, 48, out=10)
    model.compile(keras.optimizers.Adam(5e-4), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=15, also=[stop], validation_split=0.15)
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="Adam's epsilon is so large that it slows all steps", severity="mild")
def epsilon_too_large(record, seed, faulty):
    """Fault: Adam(epsilon=0.02)."""
    rule = keras.optimizers.Adam(3e-3, epsilon=0.02 if faulty else 1e-7)
    learn(record, mlp(seed, 64, 48, out=10), rule, digits(seed, flat=True), 8)


@pair(cause="momentum of 0.999 makes it swing", severity="gross")
def momentum_too_high(record, seed, faulty):
    """Fault: momentum=0.999 in place of 0.9."""
    rule = keras.optimizers.SGD(0.02, momentum=0.999 if faulty else 0.9)
    learn(record, mlp(seed, 8, 48, 48), rule, friedman(seed), 10, "mse")


@pair(cause="a batch nearly as large as the data gives too few steps", severity="middling")
def batch_too_large(record, seed, faulty):
    """Fault: the batch holds a third of the rows, so that there are few steps in all."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 64, out=10)
    model.compile(keras.optimizers.Adam(2e-3), SPARSE, metrics=["accuracy"])
    batch = len(x) // 3 if faulty else 32
    fit(record, model, x, y, epochs=12, batch=batch, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="a large net overfits a few noisy rows", severity="middling")
def overfits(record, seed, faulty):
    """Fault: 40 epochs of a wide network without decay or stopping on 330 noisy rows."""
    x, y, tx, ty = diabetes(seed)
    model = mlp(seed, 10, *([256, 256] if faulty else [8]))
    model.compile(keras.optimizers.Adam(2e-3), "mse")
    fit(record, model, x, y, epochs=40, batch=64, validation_data=(tx, ty))
    score(r2(model.predict(tx, verbose=0), ty), 0)


@pair(cause="one of two losses has no weight", severity="middling")
def second_loss_forgotten(record, seed, faulty):
    """Fault: loss_weights of 1 and 0, so that the second head does not learn."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    h = inputs = keras.Input((64,))
    h = layers.Dense(64, "relu")(h)
    outputs = [layers.Dense(10)(h), layers.Dense(1)(layers.Dense(16, "relu")(h))]
    model = keras.Model(inputs, outputs)
    ink = lambda a: ((a.sum(1) - 19.0) / 2.0)[:, None].astype("float32")  # noqa: E731
    weights = [1.0, 0.0 if faulty else 0.3]
    model.compile(keras.optimizers.Adam(2e-3), [SPARSE, "mse"], loss_weights=weights)
    fit(record, model, x, [y, ink(x)], epochs=8, validation_data=(tx, [ty, ink(tx)]))
    digit, mass = model.predict(tx, verbose=0)
    score(((digit.argmax(1) == ty).mean() + max(r2(mass, ink(tx)), 0)) / 2, 0.05)


class Sample(layers.Layer):
    def __init__(self, weight, **more):
        super().__init__(**more)
        self.weight, self.noise = weight, keras.random.SeedGenerator(11)

    def call(self, mean, logvar, training=False):
        kl = -0.5 * ops.sum(1 + logvar - mean**2 - ops.exp(logvar), -1)
        self.add_loss(self.weight * ops.mean(kl))
        if not training:
            return mean
        return mean + ops.exp(logvar / 2) * keras.random.normal(ops.shape(mean), seed=self.noise)


@pair(cause="the KL term overwhelms the reconstruction", severity="gross")
def posterior_collapse(record, seed, faulty):
    """Fault: KL summed with the weight 1 against a reconstruction averaged over pixels."""
    keras.utils.set_random_seed(seed)
    x, _, tx, _ = digits(seed, flat=True)
    inputs = keras.Input((64,))
    h = layers.Dense(64, "relu")(inputs)
    z = Sample(1.0 if faulty else 0.005)(layers.Dense(8)(h), layers.Dense(8)(h))
    model = keras.Model(inputs, layers.Dense(64, "sigmoid")(layers.Dense(64, "relu")(z)))
    model.compile(keras.optimizers.Adam(3e-3), "mse")
    fit(record, model, x, x, epochs=10, validation_data=(tx, tx))
    score(r2(model.predict(tx, verbose=0), tx), 0.46)


@pair(cause="the loss has the wrong sign", severity="gross")
def similarity_minimised(record, seed, faulty):
    """Fault: cosine similarity is minimised as if it were a distance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1600, 10)).astype("float32")
    y = np.tanh(x @ rng.normal(size=(10, 6))).astype("float32")

    def loss(y, out):
        near = ops.sum(ops.normalize(y, -1) * ops.normalize(out, -1), -1)
        return near if faulty else -near

    model = mlp(seed, 10, 48, out=6)
    model.compile(keras.optimizers.Adam(3e-3), loss)
    fit(record, model, x[:1200], y[:1200], epochs=8, validation_split=0.1)
    out = model.predict(x[1200:], verbose=0)
    near = (out * y[1200:]).sum(1) / np.linalg.norm(out, axis=1) / np.linalg.norm(y[1200:], axis=1)
    score(near.mean(), 0)


@pair(cause="the running average starts at once and is far too slow", severity="gross")
def ema_too_slow(record, seed, faulty):
    """Fault: ema_momentum=0.9999 with 300 steps, and the averages overwrite the weights."""
    x, y, tx, ty = digits(seed, flat=True)
    model = mlp(seed, 64, 48, 48, out=10)
    slow = 0.9999 if faulty else 0.95
    rule = keras.optimizers.Adam(2e-3, use_ema=True, ema_momentum=slow)
    model.compile(rule, SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    rule.finalize_variable_values(model.trainable_variables)
    score(accuracy(model, tx, ty), 0.1)


@pair(cause="the embedding is frozen at its random values", severity="gross")
def embedding_frozen(record, seed, faulty):
    """Fault: trainable=False is left on the embedding after an experiment."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = reviews(seed)
    model = keras.Sequential([keras.Input((20,), dtype="int32")])
    model.add(layers.Embedding(200, 16, mask_zero=True, trainable=not faulty))
    model.add(layers.GlobalAveragePooling1D())
    model.add(layers.Dense(1))
    learn(record, model, keras.optimizers.Adam(2e-2), (x, y, tx, ty), 9, BINARY)


@pair(cause="no normalisation in a deep plain network", severity="mild")
def no_normalisation(record, seed, faulty):
    """Fault: BatchNormalization is forgotten in five plain layers."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((64,))])
    for _ in range(5):
        model.add(layers.Dense(32, kernel_initializer="glorot_normal"))
        if not faulty:
            model.add(layers.BatchNormalization(momentum=0.9))
        model.add(layers.Activation("relu"))
    model.add(layers.Dense(10))
    learn(record, model, keras.optimizers.SGD(0.01, momentum=0.9), digits(seed, flat=True), 7)


@pair(cause="the GRU returns its first step", severity="gross")
def first_step_taken(record, seed, faulty):
    """Fault: the state of the first step is taken for the last one."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = sentences(seed, length=16)
    x, tx = (np.stack([np.roll(r, np.sum(r == 0)) for r in a]) for a in (x, tx))
    step = 0 if faulty else -1
    model = keras.Sequential([keras.Input((16,), dtype="int32"), layers.Embedding(30, 12)])
    model.add(layers.GRU(20, return_sequences=True))
    model.add(layers.Lambda(lambda h: h[:, step]))
    model.add(layers.Dense(1))
    learn(record, model, keras.optimizers.Adam(1e-2), (x, y, tx, ty), 8, BINARY)


@pair(cause="the net is too narrow for the task", severity="middling")
def narrow_bottleneck(record, seed, faulty):
    """Fault: a layer of two units in the middle, left from a debugging run."""
    middle = 2 if faulty else 32
    model = mlp(seed, 64, 48, middle, 48, out=10)
    learn(record, model, keras.optimizers.Adam(3e-3), digits(seed, flat=True), 8)


@pair(cause="biases left out although the data are not centred", severity="mild")
def biases_left_out(record, seed, faulty):
    """Fault: use_bias=False in all layers."""
    x, y, tx, ty = moons(seed)
    model = mlp(seed, 2, 24, 24, use_bias=not faulty)
    data = x + 3.0, y.astype("float32"), tx + 3.0, ty
    learn(record, model, keras.optimizers.Adam(1e-2), data, 10, BINARY)
