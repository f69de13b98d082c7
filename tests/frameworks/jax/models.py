"""A plain network, as scripts without a layer library write it."""

import jax
import jax.numpy as jnp
import numpy as np


def init(seed=0, sizes=(3, 8, 2), dtype=jnp.float32):
    """Returns the parameters: a dict of layers, each with a kernel and a bias."""
    keys = jax.random.split(jax.random.key(seed), len(sizes))
    return {
        f"layer{i}": {
            "kernel": jax.random.normal(key, (inputs, outputs), dtype) / np.sqrt(inputs),
            "bias": jnp.zeros(outputs, dtype),
        }
        for i, (key, inputs, outputs) in enumerate(zip(keys, sizes, sizes[1:], strict=False))
    }


def predict(params, x):
    *hidden, last = params.values()
    for layer in hidden:
        x = jax.nn.relu(x @ layer["kernel"] + layer["bias"])
    return x @ last["kernel"] + last["bias"]


def loss_of(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


def descend(params, gradients, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients)


def batches(count, size=4, seed=0):
    """Returns inputs, and the labels that a network should predict."""
    random = np.random.RandomState(seed)
    for _ in range(count):
        x = random.randn(size, 3).astype(np.float32)
        yield x, np.stack([x.sum(axis=1), x.prod(axis=1)], axis=1)
