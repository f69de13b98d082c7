"""Sound trainings on tables, text, series and graphs with Keras."""

import keras
import numpy as np
from common17 import accuracy, cancer, chain, classes, diabetes, fit, friedman, graph, moons
from common17 import normalised, r2, ratings, reviews, sentences, waves
from keras import layers, ops
from registry import healthy, score

SPARSE = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def mlp(seed, inputs, *widths, out=1, act="relu"):
    keras.utils.set_random_seed(seed)
    hidden = [layers.Dense(width, act) for width in widths]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(out)])


@healthy
def cancer_stopped_early(record, seed):
    """Class weights and early stopping that brings the best weights back."""
    x, y, tx, ty = cancer(seed)
    model = mlp(seed, 30, 32)
    model.compile(keras.optimizers.Adam(1e-3), BINARY, metrics=["accuracy"])
    stop = keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)
    weight = {0: (y == 1).mean() * 2, 1: (y == 0).mean() * 2}
    fit(
        record,
        model,
        x,
        y,
        epochs=30,
        batch=16,
        also=[stop],
        validation_split=0.2,
        class_weight=weight,
    )
    score(accuracy(model, tx, ty), ty.mean())


@healthy
def friedman_plateau(record, seed):
    """Regression with Huber loss and ReduceLROnPlateau."""
    x, y, tx, ty = friedman(seed)
    model = mlp(seed, 8, 64, 64)
    model.compile(keras.optimizers.Adam(1e-2), keras.losses.Huber(), metrics=["mae"])
    plateau = keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.3)
    fit(record, model, x, y, epochs=15, also=[plateau], validation_data=(tx, ty))
    score(r2(model.predict(tx, verbose=0), ty), 0)


@healthy
def diabetes_noisy(record, seed):
    """Much noise in the nature of the data: half the variance cannot be explained."""
    x, y, tx, ty = diabetes(seed)
    keras.utils.set_random_seed(seed)
    decay = keras.regularizers.L2(1e-3)
    model = keras.Sequential([keras.Input((10,))])
    model.add(layers.Dense(16, "relu", kernel_regularizer=decay))
    model.add(layers.Dense(1, kernel_regularizer=decay))
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
    fit(record, model, x, y, epochs=20, batch=16, validation_data=(tx, ty))
    score(r2(model.predict(tx, verbose=0), ty), 0)


@healthy
def labels_flipped_by_nature(record, seed):
    """A quarter of the labels is wrong, as raters disagree; accuracy ends near 0.75."""
    x, y, tx, ty = classes(seed, 3000, 2, flip_y=0.0)
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(len(y)) < 0.25, 1 - y, y).astype("float32")
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((16,)), layers.Dense(32, "relu"), layers.Dropout(0.3)])
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(2e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=8, validation_split=0.15)
    score(accuracy(model, tx, ty), 0.5)


@healthy
def rare_class_focal(record, seed):
    """Five percent of positives with the focal loss; the loss is small from the start."""
    x, y, tx, ty = classes(seed, 4000, 2, weights=[0.95], flip_y=0.005, class_sep=2.0)
    keras.utils.set_random_seed(seed)
    out = layers.Dense(1, "sigmoid", bias_initializer=keras.initializers.Constant(-3.0))
    model = keras.Sequential([keras.Input((16,)), layers.Dense(48, "relu"), out])
    loss = keras.losses.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.8)
    model.compile(keras.optimizers.Adam(3e-3), loss, metrics=[keras.metrics.AUC(name="auc")])
    fit(record, model, x, y, epochs=8, batch=64, validation_data=(tx, ty))
    found = model.predict(tx, verbose=0)[:, 0] > 0.5
    score((found[ty == 1].mean() + 1 - found[ty == 0].mean()) / 2, 0.5)


@healthy
def moons_batch_of_four(record, seed):
    """Small batches of four, plain SGD: a jumpy loss."""
    x, y, tx, ty = moons(seed, 1000)
    model = mlp(seed, 2, 24, 24, act="tanh")
    model.compile(keras.optimizers.SGD(0.05, momentum=0.5), BINARY, metrics=["accuracy"])
    fit(record, model, x, y.astype("float32"), epochs=6, batch=4, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.5)


@healthy
def parity_plateau(record, seed):
    """The parity of four bits: a long plateau before it falls."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.0, 1.0], size=(1600, 8)).astype("float32")
    y = (x[:, :4].prod(1) > 0).astype("float32")
    model = mlp(seed, 8, 96)
    model.compile(keras.optimizers.Adam(2e-3), BINARY, metrics=["accuracy"])
    fit(record, model, x[:1200], y[:1200], epochs=18, validation_data=(x[1200:], y[1200:]))
    score(accuracy(model, x[1200:], y[1200:]), 0.5)


@healthy
def many_labels(record, seed):
    """Several labels at once with sigmoids."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1600, 12)).astype("float32")
    y = (np.tanh(x @ rng.normal(size=(12, 12))) @ rng.normal(size=(12, 6)) > 0).astype("float32")
    model = mlp(seed, 12, 64, out=6)
    model.compile("adam", BINARY, metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)])
    fit(record, model, x[:1200], y[:1200], epochs=14, batch=32, validation_split=0.1)
    score(((model.predict(x[1200:], verbose=0) > 0) == y[1200:]).mean(), 0.55)


@healthy
def heteroscedastic(record, seed):
    """Predicts mean and variance by the Gaussian likelihood; the loss goes below zero."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (1600, 1)).astype("float32")
    y = (np.sin(2 * x) + (0.05 + 0.1 * (x > 0)) * rng.normal(size=x.shape)).astype("float32")

    def nll(y, out):
        mean, logvar = out[:, :1], ops.clip(out[:, 1:], -8, 5)
        return 0.5 * ops.mean(logvar + (y - mean) ** 2 * ops.exp(-logvar), -1)

    model = mlp(seed, 1, 48, 48, out=2, act="tanh")
    model.compile(keras.optimizers.Adam(5e-3), nll)
    fit(record, model, x[:1200], y[:1200], epochs=14, validation_data=(x[1200:], y[1200:]))
    score(r2(model.predict(x[1200:], verbose=0)[:, 0], y[1200:]), 0)


@healthy
def quantiles(record, seed):
    """The pinball loss for three quantiles at once."""
    x, y, tx, ty = friedman(seed)
    q = np.array([0.1, 0.5, 0.9], "float32")

    def pinball(y, out):
        gap = y - out
        return ops.mean(ops.maximum(q * gap, (q - 1) * gap), -1)

    model = mlp(seed, 8, 64, 64, out=3)
    model.compile(keras.optimizers.Adam(3e-3), pinball)
    fit(record, model, x, y[:, None], epochs=12, validation_split=0.1)
    score(r2(model.predict(tx, verbose=0)[:, 1], ty), 0)


@healthy
def counts_poisson(record, seed):
    """Counts by the Poisson loss with an exponential output."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 6)).astype("float32")
    rate = np.exp(0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3])
    y = rng.poisson(rate).astype("float32")
    keras.utils.set_random_seed(seed)
    out = layers.Dense(1, "exponential")
    model = keras.Sequential([keras.Input((6,)), layers.Dense(32, "relu"), out])
    model.compile(keras.optimizers.Adam(3e-3), "poisson")
    fit(record, model, x[:1500], y[:1500], epochs=10, validation_split=0.1)
    score(r2(np.log(model.predict(x[1500:], verbose=0)[:, 0]), np.log(rate[1500:])), 0)


@healthy
def lstm_forecast(record, seed):
    """An LSTM forecasts the next value of a seasonal series; not shuffled validation."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = waves(seed)
    model = keras.Sequential([keras.Input((24, 1)), layers.LSTM(24), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(5e-3, clipnorm=1.0), "mse", metrics=["mae"])
    fit(record, model, x, y, epochs=10, validation_split=0.15)
    score(r2(model.predict(tx, verbose=0), ty), 0)


@healthy
def dilated_convolutions(record, seed):
    """A causal TCN on the same kind of series with exponential decay of the rate."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = waves(seed)
    model = keras.Sequential([keras.Input((24, 1))])
    for dilation in (1, 2, 4):
        model.add(layers.Conv1D(24, 3, padding="causal", dilation_rate=dilation, activation="relu"))
    model.add(layers.Lambda(lambda z: z[:, -1]))
    model.add(layers.Dense(1))
    rate = keras.optimizers.schedules.ExponentialDecay(5e-3, 30, 0.85)
    model.compile(keras.optimizers.Nadam(rate), "mse")
    fit(record, model, x, y, epochs=10, validation_data=(tx, ty))
    score(r2(model.predict(tx, verbose=0), ty), 0)


@healthy
def bag_of_words(record, seed):
    """Embeddings with masks, averaged; rare words hardly get a gradient."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = reviews(seed)
    model = keras.Sequential([keras.Input((20,), dtype="int32")])
    model.add(layers.Embedding(200, 8, mask_zero=True))
    model.add(layers.GlobalAveragePooling1D())
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(2e-2), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=10, validation_split=0.1)
    score(accuracy(model, tx, ty), 0.5)


@healthy
def gru_masked(record, seed):
    """A GRU that must remember the last word of padded sentences."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = sentences(seed)
    model = keras.Sequential([keras.Input((24,), dtype="int32")])
    model.add(layers.Embedding(30, 12, mask_zero=True))
    model.add(layers.GRU(24))
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.Adam(1e-2), BINARY, metrics=["accuracy"])
    fit(record, model, x, y, epochs=5, validation_data=(tx, ty))
    score(accuracy(model, tx, ty), 0.5)


class Block(layers.Layer):
    """A transformer block (causal, pre-norm)."""

    def __init__(self, width):
        super().__init__()
        self.attend = layers.MultiHeadAttention(2, width // 2, dropout=0.05)
        self.feed = keras.Sequential([layers.Dense(2 * width, "gelu"), layers.Dense(width)])
        self.norms = [layers.LayerNormalization(), layers.LayerNormalization()]

    def call(self, x, training=False):
        h = self.norms[0](x)
        x = x + self.attend(h, h, use_causal_mask=True, training=training)
        return x + self.feed(self.norms[1](x))


class TinyLM(keras.Model):
    """A subclassed language model with a tied output table."""

    def __init__(self, vocab, length, width=32):
        super().__init__()
        self.table = layers.Embedding(vocab, width)
        self.place = layers.Embedding(length, width)
        self.blocks = [Block(width)]
        self.norm = layers.LayerNormalization()

    def call(self, x, training=False):
        h = self.table(x) + self.place(ops.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h, training=training)
        return ops.matmul(self.norm(h), ops.transpose(self.table.embeddings))


@healthy
def tiny_lm(record, seed):
    """A subclassed causal transformer with a tied embedding learns a Markov language."""
    keras.utils.set_random_seed(seed)
    data, test = chain(seed, 700), chain(seed + 1000, 100)
    model = TinyLM(12, 19)
    model.compile(keras.optimizers.AdamW(1e-2, weight_decay=0.01), SPARSE, metrics=["accuracy"])
    check = test[:, :-1], test[:, 1:]
    fit(record, model, data[:, :-1], data[:, 1:], epochs=9, validation_data=check)
    score((model.predict(test[:, :-1], verbose=0).argmax(-1) == test[:, 1:]).mean(), 1 / 12)


@healthy
def recommender(record, seed):
    """Matrix factorisation with biases; the validation is harder than the training."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = ratings(seed)
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    small = keras.regularizers.L2(1e-5)
    u = layers.Embedding(80, 6, embeddings_regularizer=small)(user)
    v = layers.Embedding(60, 6, embeddings_regularizer=small)(item)
    bias = layers.Add()([layers.Embedding(80, 1)(user), layers.Embedding(60, 1)(item)])
    model = keras.Model([user, item], layers.Add()([layers.Dot(-1)([u, v]), bias]))
    model.compile(keras.optimizers.Adam(2e-2), "mse")
    fit(record, model, [x[:, 0], x[:, 1]], y, epochs=8, batch=128, validation_split=0.1)
    score(r2(model.predict([tx[:, 0], tx[:, 1]], verbose=0), ty), 0)


class GraphConv(layers.Layer):
    """Dense graph convolution with a fixed adjacency."""

    def __init__(self, edges, width, act=None):
        super().__init__()
        self.edges, self.dense = edges, layers.Dense(width, act)

    def call(self, x):
        return self.dense(ops.matmul(self.edges, x))


@healthy
def graph_nodes(record, seed):
    """A GCN on all nodes at once; unknown labels have the weight zero."""
    keras.utils.set_random_seed(seed)
    edges, x, y, known = graph(seed)
    edges = normalised(edges)
    model = keras.Sequential([keras.Input((240, 3)), GraphConv(edges, 16, "relu")])
    model.add(layers.Dropout(0.3))
    model.add(GraphConv(edges, 3))
    model.compile(keras.optimizers.Adam(3e-2), SPARSE)
    fit(record, model, x[None], y[None], epochs=80, sample_weight=known[None].astype("float32"))
    found = model.predict(x[None], verbose=0)[0].argmax(-1)
    score((found == y)[~known].mean(), 1 / 3)


@healthy
def wide_and_deep(record, seed):
    """Numbers and two categorical columns, joined; one embedding has many unused rows."""
    keras.utils.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(2400, 5)).astype("float32")
    shop, town = rng.integers(12, size=2400), rng.integers(30, size=2400)
    effect, lift = rng.normal(size=12), rng.normal(size=30)
    y = (numbers[:, 0] * effect[shop] + lift[town] + 0.3 * rng.normal(size=2400)).astype("float32")
    a, b, c = keras.Input((5,)), keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    parts = [a, layers.Embedding(12, 6)(b), layers.Embedding(200, 6)(c)]
    h = layers.Dense(64, "relu")(layers.Concatenate()(parts))
    model = keras.Model([a, b, c], layers.Dense(1)(layers.Dense(32, "relu")(h)))
    model.compile(keras.optimizers.Adam(5e-3), "mse")
    data = [numbers, shop, town]
    fit(record, model, [d[:2000] for d in data], y[:2000], epochs=8, validation_split=0.1)
    score(r2(model.predict([d[2000:] for d in data], verbose=0), y[2000:]), 0)


@healthy
def contrastive_views(record, seed):
    """InfoNCE between two noisy views of each row, in a batch of 64."""
    keras.utils.set_random_seed(seed)
    x, y, tx, ty = classes(seed, 2000)
    rng = np.random.default_rng(seed)
    views = [x + 0.3 * rng.normal(size=x.shape).astype("float32") for _ in range(2)]
    tower = keras.Sequential([keras.Input((16,)), layers.Dense(64, "relu"), layers.Dense(16)])
    tower.add(layers.UnitNormalization())
    a, b = keras.Input((16,)), keras.Input((16,))
    model = keras.Model([a, b], layers.Concatenate()([tower(a), tower(b)]))

    def info_nce(_, out):
        logits = ops.matmul(out[:, :16], ops.transpose(out[:, 16:])) / 0.2
        own = ops.arange(ops.shape(logits)[0])
        return keras.losses.sparse_categorical_crossentropy(own, logits, from_logits=True)

    model.compile(keras.optimizers.Adam(1e-3), info_nce)
    keep = len(x) // 64 * 64
    fit(record, model, [v[:keep] for v in views], np.zeros(keep), epochs=12, batch=64)
    z = tower.predict(tx, verbose=0)
    w = tower.predict(tx + 0.3 * rng.normal(size=tx.shape), verbose=0)
    score(((z @ w.T).argmax(1) == np.arange(len(z))).mean(), 1 / len(z))
