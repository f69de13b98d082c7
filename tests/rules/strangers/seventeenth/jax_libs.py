"""Sound trainings with flax (nnx and linen) and equinox."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from common17 import batches, chain, classes, digits, friedman, r2, waves
from flax import nnx
from registry import healthy, score

CROSS = optax.softmax_cross_entropy_with_integer_labels


class Cnn(nnx.Module):
    """A small CNN with batch normalisation and dropout."""

    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 12, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(12, momentum=0.9, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.head = nnx.Linear(192, 10, rngs=rngs)

    def __call__(self, x):
        h = nnx.relu(self.norm(self.conv(x)))
        h = nnx.max_pool(h, (2, 2), (2, 2))
        return self.head(self.drop(h.reshape(len(x), -1)))


@healthy
def nnx_cnn(record, seed):
    """flax.nnx: batch statistics and dropout, train() and eval() used as they should."""
    x, y, tx, ty = digits(seed)
    model = Cnn(nnx.Rngs(seed))
    optimizer = nnx.Optimizer(model, optax.adamw(4e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(lambda m: CROSS(m(x), y).mean())(model)
        optimizer.update(model, grads)
        return loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 64, 6):
            model.train()
            for r in epoch:
                loss, grads = step(model, optimizer, x[r], y[r])
                params = nnx.state(model, nnx.Param)
                hook.record(loss, params=params, gradients=grads, opt_state=optimizer.opt_state)
            model.eval()
            with record.evaluation(hook):
                hook.record(CROSS(model(tx), ty).mean())
    score((model(tx).argmax(1) == ty).mean(), 0.1)


@healthy
def nnx_gru(record, seed):
    """flax.nnx GRU forecasts a series; only loss and parameters are recorded."""
    x, y, tx, ty = waves(seed, 16)

    class Forecast(nnx.Module):
        def __init__(self, rngs):
            self.rnn = nnx.RNN(nnx.GRUCell(1, 24, rngs=rngs))
            self.out = nnx.Linear(24, 1, rngs=rngs)

        def __call__(self, x):
            return self.out(self.rnn(x)[:, -1])[:, 0]

    model = Forecast(nnx.Rngs(seed))
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(8e-3))
    optimizer = nnx.Optimizer(model, rule, wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x, y):
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
        optimizer.update(model, grads)
        return loss

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 8):
            for r in epoch:
                loss = step(model, optimizer, x[r], y[r])
                hook.record(loss, params=nnx.state(model, nnx.Param))
    score(r2(model(tx), ty), 0)


class Transformer(nn.Module):
    """A causal transformer with one block."""

    @nn.compact
    def __call__(self, x):
        h = nn.Embed(12, 32)(x) + nn.Embed(20, 32)(jnp.arange(x.shape[1]))
        a = nn.LayerNorm()(h)
        h = h + nn.MultiHeadDotProductAttention(2)(a, mask=nn.make_causal_mask(x))
        a = nn.LayerNorm()(h)
        h = h + nn.Dense(32)(nn.gelu(nn.Dense(64)(a)))
        return nn.Dense(12)(nn.LayerNorm()(h))


@healthy
def linen_lm(record, seed):
    """flax.linen language model with warm-up; labels are the next tokens."""
    data, test = chain(seed, 800), chain(seed + 1000, 100)
    model = Transformer()
    params = model.init(jax.random.key(seed), data[:2, :-1])["params"]
    rule = optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-2, 30, 225))
    state = rule.init(params)

    def loss_of(p, x):
        logits = model.apply({"params": p}, x[:, :-1])
        return CROSS(logits, x[:, 1:]).mean(), (logits.argmax(-1) == x[:, 1:])[:, 2:].mean()

    @jax.jit
    def step(params, state, x):
        (loss, right), grads = jax.value_and_grad(loss_of, has_aux=True)(params, x)
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, right, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(data), 32, 9):
            for r in epoch:
                params, state, loss, right, grads = step(params, state, data[r])
                hook.record(loss, params=params, gradients=grads, opt_state=state, accuracy=right)
            with record.evaluation(hook):
                hook.record(loss_of(params, test)[0])
    score(loss_of(params, test)[1], 1 / 12)


@healthy
def linen_bfloat16(record, seed):
    """flax.linen with bfloat16 computation and float32 parameters, TrainState style."""
    from flax.training.train_state import TrainState

    x, y, tx, ty = classes(seed, 2400)

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for _ in range(2):
                x = nn.relu(nn.Dense(64, dtype=jnp.bfloat16)(x))
            return nn.Dense(4)(x.astype(jnp.float32))

    model = Net()
    params = model.init(jax.random.key(seed), x[:2])["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.lion(3e-4))

    @jax.jit
    def step(state, x, y):
        loss_of = lambda p: CROSS(state.apply_fn({"params": p}, x), y).mean()  # noqa: E731
        loss, grads = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=grads), loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 8):
            for r in epoch:
                state, loss, grads = step(state, x[r], y[r])
                hook.record(loss, params=state.params, gradients=grads, opt_state=state.opt_state)
    score((model.apply({"params": state.params}, tx).argmax(1) == ty).mean(), 0.25)


@healthy
def equinox_mlp(record, seed):
    """equinox MLP for regression, filtered gradients and updates."""
    x, y, tx, ty = friedman(seed)
    model = eqx.nn.MLP(8, 1, 48, 2, key=jax.random.key(seed))
    rule = optax.adam(3e-3)
    state = rule.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_value_and_grad
    def loss_of(model, x, y):
        return jnp.mean((jax.vmap(model)(x)[:, 0] - y) ** 2)

    @eqx.filter_jit
    def step(model, state, x, y):
        loss, grads = loss_of(model, x, y)
        updates, state = rule.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 10):
            for r in epoch:
                model, state, loss, grads = step(model, state, x[r], y[r])
                params = eqx.filter(model, eqx.is_array)
                hook.record(loss, params=params, gradients=grads, opt_state=state)
            with record.evaluation(hook):
                hook.record(loss_of(model, tx, ty)[0])
    score(r2(jax.vmap(model)(tx), ty), 0)


@healthy
def equinox_vae(record, seed):
    """equinox VAE with a KL weight that grows; the loss rises while it does."""
    x, _, tx, _ = digits(seed, flat=True)
    keys = jax.random.split(jax.random.key(seed))
    nets = eqx.nn.MLP(64, 12, 64, 1, key=keys[0]), eqx.nn.MLP(6, 64, 64, 1, key=keys[1])
    rule = optax.adam(3e-3)
    state = rule.init(eqx.filter(nets, eqx.is_array))

    def loss_of(nets, x, key, weight):
        mean, logvar = jnp.split(jax.vmap(nets[0])(x), 2, -1)
        z = mean + jnp.exp(logvar / 2) * jax.random.normal(key, mean.shape)
        error = ((jax.vmap(nets[1])(z) - x) ** 2).sum(-1).mean()
        kl = -0.5 * (1 + logvar - mean**2 - jnp.exp(logvar)).sum(-1).mean()
        return error + weight * kl, (error, kl)

    @eqx.filter_jit
    def step(nets, state, x, key, weight):
        find = eqx.filter_value_and_grad(loss_of, has_aux=True)
        (loss, parts), grads = find(nets, x, key, weight)
        updates, state = rule.update(grads, state)
        return eqx.apply_updates(nets, updates), state, loss, parts

    key, count = jax.random.key(seed), 0
    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 10):
            for r in epoch:
                key, now = jax.random.split(key)
                weight, count = jnp.minimum(count / 2000, 0.1), count + 1
                nets, state, loss, (error, kl) = step(nets, state, x[r], now, weight)
                params = eqx.filter(nets, eqx.is_array)
                hook.record(loss, params=params, opt_state=state, error=error, kl=kl)
    mean = jax.vmap(nets[0])(tx)[:, :6]
    score(r2(jax.vmap(nets[1])(mean), tx), 0.45)
