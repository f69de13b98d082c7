"""Sound trainings on images and the like with Keras."""

import tempfile

import keras
import numpy as np
from common17 import accuracy, classes, digits, fit
from keras import layers, ops
from registry import healthy, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def small_cnn(seed, norm=True, drop=0.0):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((8, 8, 1))])
    for width in (8, 16):
        model.add(layers.Conv2D(width, 3, padding="same", use_bias=not norm))
        if norm:
            model.add(layers.BatchNormalization(momentum=0.9))
        model.add(layers.Activation("relu"))
        model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    if drop:
        model.add(layers.Dropout(drop))
    model.add(layers.Dense(10))
    return model


class Shifted(keras.utils.PyDataset):
    """Batches of images, each moved by up to one pixel anew in each epoch."""

    def __init__(self, x, y, size, seed):
        super().__init__()
        self.x, self.y, self.size, self.rng = x, y, size, np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        return len(self.x) // self.size

    def __getitem__(self, i):
        rows = self.order[i * self.size : (i + 1) * self.size]
        moves = self.rng.integers(-1, 2, (len(rows), 2))
        x = np.stack([np.roll(self.x[r], move, (0, 1)) for r, move in zip(rows, moves)])
        return x, self.y[rows]

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))


@healthy
def digits_augmented(record, seed):
    """A small CNN with random shifts as augmentation; the training loss stays above."""
    x, y, tx, ty = digits(seed)
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(16, 3, activation="relu")])
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(10))
    model.compile(keras.optimizers.Adam(4e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, Shifted(x, y, 64, seed), batch=None, epochs=9, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_warmup_cosine(record, seed):
    """AdamW with warm-up and cosine decay, steps counted from the data."""
    x, y, tx, ty = digits(seed)
    epochs, per_epoch = 7, -(-len(x) // 64)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, epochs * per_epoch - 20, warmup_target=5e-3, warmup_steps=20, alpha=0.01
    )
    model = small_cnn(seed)
    model.compile(keras.optimizers.AdamW(rate, weight_decay=1e-2), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=epochs, batch=64, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_fine_tuned(record, seed):
    """Pretrain on the digits 0 to 4, freeze the base for a new head, then fine-tune gently."""
    x, y, tx, ty = digits(seed)
    base = keras.Sequential(small_cnn(seed).layers[:-1])
    low, high, test = y < 5, y >= 5, ty >= 5
    first = keras.Sequential([base, layers.Dense(5)])
    first.compile(keras.optimizers.Adam(3e-3), SPARSE, metrics=["accuracy"])
    fit(record, first, x[low], y[low], epochs=6)
    base.trainable = False
    inputs = keras.Input((8, 8, 1))
    model = keras.Model(inputs, layers.Dense(5)(base(inputs, training=False)))
    for rate, frozen in ((1e-2, True), (1e-4, False)):
        base.trainable = not frozen
        model.compile(keras.optimizers.Adam(rate), SPARSE, metrics=["accuracy"])
        fit(record, model, x[high], y[high] - 5, epochs=5, validation_split=0.1)
    score(accuracy(model, tx[test], ty[test] - 5), 0.2)


@healthy
def digits_bfloat16(record, seed):
    """Mixed precision with bfloat16 and float32 logits."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    half = keras.DTypePolicy("mixed_bfloat16")
    model = keras.Sequential(
        [keras.Input((64,)), layers.Dense(96, "relu", dtype=half)]
        + [layers.Dense(96, "relu", dtype=half), layers.Dense(10, dtype="float32")]
    )
    model.compile(keras.optimizers.Adam(2e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=10, validation_split=0.15)
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_ema(record, seed):
    """Averages of the weights (use_ema) overwrite the weights at the end."""
    x, y, tx, ty = digits(seed)
    model = small_cnn(seed)
    rule = keras.optimizers.SGD(0.05, momentum=0.9, use_ema=True, ema_momentum=0.95)
    model.compile(rule, SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_data=(tx, ty))
    rule.finalize_variable_values(model.trainable_variables)
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_accumulated(record, seed):
    """Batches of 8 with gradients accumulated over four of them."""
    x, y, tx, ty = digits(seed)
    model = small_cnn(seed, norm=False)
    rule = keras.optimizers.Adam(5e-3, gradient_accumulation_steps=4)
    model.compile(rule, SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=5, batch=8, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_two_heads(record, seed):
    """Functional model with two outputs (digit, and whether it is even) and loss weights."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    inputs = keras.Input((64,))
    body = layers.Dense(64, "gelu")(layers.Dense(64, "gelu")(inputs))
    outputs = {"digit": layers.Dense(10, name="digit")(body)}
    outputs["even"] = layers.Dense(1, "sigmoid", name="even")(body)
    model = keras.Model(inputs, outputs)
    losses = {"digit": SPARSE, "even": "binary_crossentropy"}
    model.compile("adam", losses, loss_weights={"digit": 1.0, "even": 0.3})
    fit(record, model, x, {"digit": y, "even": (y % 2 == 0).astype("float32")}, epochs=10)
    found = model.predict(tx, verbose=0)
    both = (found["digit"].argmax(1) == ty) & ((found["even"][:, 0] > 0.5) == (ty % 2 == 0))
    score(both.mean(), 0.1)


class Sample(layers.Layer):
    """The reparametrised sample; adds the KL term to the loss."""

    def __init__(self, weight, **more):
        super().__init__(**more)
        self.weight, self.noise = weight, keras.random.SeedGenerator(11)

    def call(self, mean, logvar, training=False):
        kl = -0.5 * ops.sum(1 + logvar - mean**2 - ops.exp(logvar), -1)
        self.add_loss(self.weight * ops.mean(kl))
        if not training:
            return mean
        draw = keras.random.normal(ops.shape(mean), seed=self.noise)
        return mean + ops.exp(0.5 * logvar) * draw


@healthy
def digits_vae(record, seed):
    """A VAE: the KL term comes by add_loss in the sampling layer."""
    keras.utils.set_random_seed(seed)
    x, _, tx, _ = digits(seed, flat=True)
    inputs = keras.Input((64,))
    h = layers.Dense(64, "relu")(inputs)
    z = Sample(0.01)(layers.Dense(8)(h), layers.Dense(8)(h))
    model = keras.Model(inputs, layers.Dense(64, "sigmoid")(layers.Dense(64, "relu")(z)))
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy")
    fit(record, model, x, x, epochs=12, validation_data=(tx, tx))
    score(-((model.predict(tx, verbose=0) - tx) ** 2).mean(), -((x.mean(0) - tx) ** 2).mean())


@healthy
def digits_siamese(record, seed):
    """Two inputs pass one shared tower; the contrastive loss learns a distance."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = digits(seed, flat=True)
    tower = keras.Sequential([keras.Input((64,)), layers.Dense(64, "relu"), layers.Dense(16)])
    a, b = keras.Input((64,)), keras.Input((64,))
    gap = layers.Lambda(lambda z: ops.sqrt(ops.sum(z**2, -1, keepdims=True) + 1e-6))
    model = keras.Model([a, b], gap(tower(a) - tower(b)))

    def contrastive(same, d):
        return same * d**2 + (1 - same) * ops.maximum(1.5 - d, 0) ** 2

    def pairs(x, y, rng, count):
        i, j = rng.integers(len(x), size=(2, count))
        twin = np.array([rng.choice(np.flatnonzero(y == y[k])) for k in i])
        j = np.where(rng.random(count) < 0.5, twin, j)
        return [x[i], x[j]], (y[i] == y[j]).astype("float32")[:, None]

    model.compile(keras.optimizers.Adam(2e-3), contrastive)
    rng = np.random.default_rng(seed)
    fit(record, model, *pairs(x, y, rng, 3000), epochs=6, batch=64, validation_split=0.1)
    tests, same = pairs(tx, ty, rng, 1000)
    score(((model.predict(tests, verbose=0) < 0.75) == same).mean(), 0.5)


@healthy
def digits_denoiser(record, seed):
    """A convolutional autoencoder that removes noise; fresh noise by GaussianNoise."""
    keras.utils.set_random_seed(seed)
    x, _, tx, _ = digits(seed)
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.GaussianNoise(0.3)])
    model.add(layers.Conv2D(12, 3, strides=2, padding="same", activation="relu"))
    model.add(layers.Conv2DTranspose(12, 3, strides=2, padding="same", activation="relu"))
    model.add(layers.Conv2D(1, 3, padding="same", activation="sigmoid"))
    model.compile(keras.optimizers.Adam(5e-3), "mse")
    fit(record, model, x, x, epochs=8, validation_data=(tx, tx))
    noisy = tx + 0.3 * np.random.default_rng(seed).normal(size=tx.shape)
    score(-((model.predict(noisy, verbose=0) - tx) ** 2).mean(), -tx.var())


@healthy
def digits_smoothed_labels(record, seed):
    """One-hot labels with label smoothing, so that the loss stays far above zero."""
    x, y, tx, ty = digits(seed)
    model = small_cnn(seed, drop=0.2)
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.15)
    model.compile(keras.optimizers.RMSprop(1e-3), loss, metrics=["accuracy"])
    fit(record, model, x, np.eye(10)[y], epochs=8, validation_data=(tx, np.eye(10)[ty]))
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_pretext(record, seed):
    """Self-supervised first (rows turned or not); that head is idle when digits are learned."""
    x, y, tx, ty = digits(seed)
    base = keras.Sequential(small_cnn(seed).layers[:-1])
    inputs = keras.Input((8, 8, 1))
    code = base(inputs)
    turned, digit = layers.Dense(4)(code), layers.Dense(10)(code)
    turns = np.random.default_rng(seed).integers(4, size=len(x))
    spun = np.stack([np.rot90(image, k) for image, k in zip(x, turns)])
    for head, a, b in ((turned, spun, turns), (digit, x, y)):
        model = keras.Model(inputs, head)
        model.compile(keras.optimizers.Adam(2e-3), SPARSE, metrics=["accuracy"])
        fit(record, model, a, b, epochs=5, validation_split=0.1)
    score(accuracy(model, tx, ty), 0.1)


@healthy
def digits_resumed(record, seed):
    """Trained for half the time, saved, loaded and trained on with the optimizer's state."""
    x, y, tx, ty = digits(seed, flat=True)
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((64,)), layers.Dense(64, "relu"), layers.Dense(10)])
    model.compile(keras.optimizers.Adam(2e-3), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=5)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/half.keras")
        model = keras.models.load_model(f"{folder}/half.keras")
    model.fit(x, y, epochs=10, initial_epoch=5, verbose=0, callbacks=[record.callback("keras")])
    score(accuracy(model, tx, ty), 0.1)


@healthy
def residual_layernorm(record, seed):
    """A deep residual MLP with layer normalisation on tabular classes."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = classes(seed, 2400)
    h = inputs = keras.Input((16,))
    h = layers.Dense(48)(h)
    for _ in range(3):
        h = layers.Add()([h, layers.Dense(48, "swish")(layers.LayerNormalization()(h))])
    model = keras.Model(inputs, layers.Dense(4)(layers.LayerNormalization()(h)))
    model.compile(keras.optimizers.AdamW(1e-3, clipnorm=1.0), SPARSE, metrics=["accuracy"])
    fit(record, model, x, y, epochs=7, validation_split=0.1)
    score(accuracy(model, tx, ty), 0.25)
