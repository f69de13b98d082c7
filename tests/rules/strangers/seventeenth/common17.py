"""Data and small helpers that the trainings share."""

import numpy as np
from sklearn import datasets


def split(x, y, seed, part=0.75):
    order = np.random.default_rng(seed).permutation(len(x))
    a, b = np.split(order, [int(part * len(x))])
    return x[a], y[a], x[b], y[b]


def standard(x):
    return ((x - x.mean(0)) / (x.std(0) + 1e-8)).astype("float32")


def digits(seed, flat=False):
    x, y = datasets.load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    return split(x if flat else x.reshape(-1, 8, 8, 1), y.astype("int32"), seed)


def cancer(seed):
    x, y = datasets.load_breast_cancer(return_X_y=True)
    return split(standard(x), y.astype("float32"), seed)


def wine(seed):
    x, y = datasets.load_wine(return_X_y=True)
    return split(standard(x), y.astype("int32"), seed)


def diabetes(seed):
    x, y = datasets.load_diabetes(return_X_y=True)
    return split(standard(x), standard(y), seed)


def friedman(seed, count=1500):
    x, y = datasets.make_friedman1(count, n_features=8, noise=0.5, random_state=seed)
    return split(standard(x), standard(y), seed)


def classes(seed, count=1600, k=4, **more):
    given = dict(n_features=16, n_informative=8, class_sep=1.5, n_classes=k, random_state=seed)
    x, y = datasets.make_classification(count, **(given | more))
    return split(standard(x), y.astype("int32"), seed)


def moons(seed, count=1200, noise=0.15):
    x, y = datasets.make_moons(count, noise=noise, random_state=seed)
    return split(standard(x), y.astype("int32"), seed)


def waves(seed, length=24, count=1200):
    """Windows of a noisy seasonal series and the next value."""
    rng = np.random.default_rng(seed)
    t = np.arange(count + length)
    series = np.sin(t / 3) + 0.6 * np.sin(t / 7.3) + 0.1 * rng.normal(size=len(t))
    x = np.stack([series[i : i + length] for i in range(count)])[..., None].astype("float32")
    y = series[length : length + count].astype("float32")
    cut = int(0.8 * count)
    return x[:cut], y[:cut], x[cut:], y[cut:]


def sentences(seed, count=1600, length=24, vocab=30):
    """Padded token rows (0 pads); the label says whether the last word is a high one."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, vocab, (count, length))
    size = rng.integers(4, length // 2, count)
    x[np.arange(length) >= size[:, None]] = 0
    y = x[np.arange(count), size - 1] > vocab // 2
    return split(x.astype("int32"), y.astype("float32"), seed)


def reviews(seed, count=1600, length=20, vocab=200):
    """Padded token rows whose words carry a sentiment."""
    rng = np.random.default_rng(seed)
    value = np.random.default_rng(5).normal(size=vocab)
    value[0] = 0
    x = rng.integers(1, vocab, (count, length))
    x[np.arange(length) >= rng.integers(5, length, count)[:, None]] = 0
    y = value[x].sum(1) > 0
    return split(x.astype("int32"), y.astype("float32"), seed)


def ratings(seed, users=80, items=60, count=5000):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(users, 3)), rng.normal(size=(items, 3))
    pairs = np.stack([rng.integers(users, size=count), rng.integers(items, size=count)], 1)
    y = (u[pairs[:, 0]] * v[pairs[:, 1]]).sum(1) / 1.7 + 0.2 * rng.normal(size=count)
    return split(pairs.astype("int32"), y.astype("float32"), seed)


def graph(seed, nodes=240, k=3):
    """A stochastic block model: edges, weak features, labels and the mask of known nodes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=nodes)
    chance = np.where(y[:, None] == y[None], 0.08, 0.01)
    edges = np.triu(rng.random((nodes, nodes)) < chance, 1)
    edges = (edges | edges.T).astype("float32")
    x = np.eye(k)[y] + 1.2 * rng.normal(size=(nodes, k))
    return edges, x.astype("float32"), y.astype("int32"), rng.random(nodes) < 0.4


def normalised(edges):
    edges = edges + np.eye(len(edges), dtype="float32")
    root = 1 / np.sqrt(edges.sum(1))
    return edges * root[:, None] * root[None]


def chain(seed, count=400, length=20, vocab=12):
    """Sequences of a sparse Markov chain of second order (in effect a tiny language)."""
    rules = np.random.default_rng(3).integers(vocab, size=(vocab, vocab))
    rng = np.random.default_rng(seed)
    x = rng.integers(vocab, size=(count, length))
    for t in range(2, length):
        follow = rng.random(count) < 0.9
        x[:, t] = np.where(follow, rules[x[:, t - 1], x[:, t - 2]], x[:, t])
    return x.astype("int32")


def batches(rng, count, size, epochs):
    """Index arrays of shuffled batches, epoch by epoch."""
    for epoch in range(epochs):
        order = rng.permutation(count)
        yield [order[i : i + size] for i in range(0, count - size + 1, size)]


def fit(record, model, x, y=None, epochs=8, batch=32, also=(), **more):
    callbacks = [record.callback("keras"), *also]
    return model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0, callbacks=callbacks, **more)


def accuracy(model, x, y):
    """Accuracy of a Keras model with one output for each class, or one logit."""
    out = np.asarray(model.predict(x, verbose=0), "float32")
    found = out.argmax(-1) if out.shape[-1] > 1 else out[..., 0] > 0
    return (found == y).mean()


def r2(found, y):
    found, y = np.asarray(found, "float64").reshape(-1), np.asarray(y).reshape(-1)
    return 1 - ((found - y) ** 2).mean() / y.var()
