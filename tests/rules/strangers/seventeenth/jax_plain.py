"""Sound trainings with plain JAX and optax."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
from common17 import batches, cancer, classes, digits, friedman, graph, moons, normalised, r2
from common17 import ratings
from registry import healthy, score


def dense(key, *sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    shapes = zip(keys, sizes[:-1], sizes[1:])
    return [
        {"w": jax.random.normal(k, (m, n)) * (2 / m) ** 0.5, "b": jnp.zeros(n)}
        for k, m, n in shapes
    ]


def apply(layers, x, act=jax.nn.relu):
    for layer in layers[:-1]:
        x = act(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def cross(logits, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def classify(p, key, x, y):
    return cross(apply(p, x), y)


def some(give, grads, state):
    return {k: v for k, v in (("gradients", grads), ("opt_state", state)) if k[0] in give}


def learn(record, loss_of, params, rule, data, epochs, size=32, give="go", test=None, seed=0):
    """Train by `loss_of(params, key, *batch)` and return the parameters."""
    state = rule.init(params)

    @jax.jit
    def step(params, state, key, *batch):
        loss, grads = jax.value_and_grad(loss_of)(params, key, *batch)
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, grads

    key, rng = jax.random.key(seed), np.random.default_rng(seed)
    with record.jax() as hook:
        for epoch in batches(rng, len(data[0]), size, epochs):
            for rows in epoch:
                key, now = jax.random.split(key)
                params, state, loss, grads = step(params, state, now, *(d[rows] for d in data))
                hook.record(loss, params=params, **some(give, grads, state))
            if test is not None:
                with record.evaluation(hook):
                    hook.record(loss_of(params, jax.random.key(1), *test))
    return params


@healthy
def logistic_by_hand(record, seed):
    """Logistic regression by hand-written gradient descent, no optimizer state at all."""
    x, y, tx, ty = cancer(seed)
    params = {"w": jnp.zeros(30), "b": jnp.zeros(())}

    def loss_of(p, x, y):
        return optax.sigmoid_binary_cross_entropy(x @ p["w"] + p["b"], y).mean()

    step = jax.jit(jax.value_and_grad(loss_of))
    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 12):
            for rows in epoch:
                loss, grads = step(params, x[rows], y[rows])
                params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
                hook.record(loss, params=params, gradients=grads)
    score((((tx @ params["w"] + params["b"]) > 0) == ty).mean(), ty.mean())


@healthy
def mlp_warmup_cosine(record, seed):
    """Digits with AdamW, warm-up, cosine decay and clipping."""
    x, y, tx, ty = digits(seed, flat=True)
    rate = optax.warmup_cosine_decay_schedule(0, 5e-3, 30, 420, 1e-5)
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=1e-3))
    params = dense(jax.random.key(seed), 64, 64, 10)
    params = learn(record, classify, params, rule, (x, y), 10, test=(tx, ty))
    score((apply(params, tx).argmax(1) == ty).mean(), 0.1)


@healthy
def dropout_keys(record, seed):
    """Regression with hand-written dropout and a new key at each step."""
    x, y, tx, ty = friedman(seed)

    def loss_of(p, key, x, y):
        h = jax.nn.relu(x @ p[0]["w"] + p[0]["b"])
        h = h * jax.random.bernoulli(key, 0.9, h.shape) / 0.9
        return jnp.mean((apply(p[1:], h)[:, 0] - y) ** 2)

    params = dense(jax.random.key(seed), 8, 64, 48, 1)
    params = learn(record, loss_of, params, optax.adam(3e-3), (x, y), 10, give="o")
    score(r2(apply(params, tx), ty), 0)


@healthy
def accumulated_multisteps(record, seed):
    """optax.MultiSteps: the parameters change at every fourth call only."""
    x, y, tx, ty = classes(seed, 2400)
    rule = optax.MultiSteps(optax.adam(1e-2), every_k_schedule=4)
    params = dense(jax.random.key(seed), 16, 48, 4)
    params = learn(record, classify, params, rule, (x, y), 5, size=16)
    score((apply(params, tx).argmax(1) == ty).mean(), 0.25)


@healthy
def frozen_base_multi_transform(record, seed):
    """Fine-tuning: the base, pretrained on digits 0 to 6, is frozen by multi_transform."""
    x, y, tx, ty = digits(seed, flat=True)
    loss_of = lambda p, k, x, y: cross(apply(p["base"] + p["head"], x), y)  # noqa: E731
    keys = jax.random.split(jax.random.key(seed), 3)
    params = {"base": dense(keys[0], 64, 64, 48), "head": dense(keys[1], 48, 7)}
    low = y < 7
    params = learn(record, loss_of, params, optax.adam(3e-3), (x[low], y[low]), 6)
    params["head"] = dense(keys[2], 48, 10)
    rules = {"base": optax.set_to_zero(), "head": optax.adam(5e-3)}
    rule = optax.multi_transform(rules, {"base": "base", "head": "head"})
    params = learn(record, loss_of, params, rule, (x, y), 6, test=(tx, ty))
    score((apply(params["base"] + params["head"], tx).argmax(1) == ty).mean(), 0.1)


@healthy
def averaged_weights(record, seed):
    """An exponential average of the parameters is used for evaluation."""
    x, y, tx, ty = moons(seed)
    params = mean = dense(jax.random.key(seed), 2, 32, 32, 1)
    rule = optax.sgd(0.2, momentum=0.9)
    state = rule.init(params)

    def loss_of(p, x, y):
        return optax.sigmoid_binary_cross_entropy(apply(p, x)[:, 0], y).mean()

    @jax.jit
    def step(params, mean, state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, state = rule.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, mean, 0.05), state, loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 10):
            for r in epoch:
                params, mean, state, loss, grads = step(params, mean, state, x[r], y[r])
                hook.record(loss, params=params, gradients=grads, opt_state=state)
            with record.evaluation(hook):
                hook.record(loss_of(mean, tx, ty))
    score(((apply(mean, tx)[:, 0] > 0) == ty).mean(), 0.5)


@healthy
def resumed_from_pickle(record, seed):
    """Parameters and optimizer state are written half-way and read again."""
    x, y, tx, ty = digits(seed, flat=True)
    rule = optax.adam(2e-3)
    params = dense(jax.random.key(seed), 64, 48, 10)
    state = rule.init(params)
    grad = jax.jit(jax.value_and_grad(lambda p, x, y: cross(apply(p, x), y)))
    for part in range(2):
        with record.jax() as hook:
            for epoch in batches(np.random.default_rng(seed + part), len(x), 32, 4):
                for r in epoch:
                    loss, grads = grad(params, x[r], y[r])
                    updates, state = rule.update(grads, state)
                    params = optax.apply_updates(params, updates)
                    hook.record(loss, params=params, opt_state=state)
        params, state = pickle.loads(pickle.dumps((params, state)))
    score((apply(params, tx).argmax(1) == ty).mean(), 0.1)


@healthy
def gan_in_two_dimensions(record, seed):
    """A GAN learns a ring in the plane: two optimizers, losses that do not fall."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 4000)
    real = np.stack([np.cos(angle), np.sin(angle)], 1) * 2 + 0.1 * rng.normal(size=(4000, 2))
    keys = jax.random.split(jax.random.key(seed), 3)
    gen, dis = dense(keys[0], 4, 48, 48, 2), dense(keys[1], 2, 48, 48, 1)
    rules = optax.adam(1e-3, b1=0.5), optax.adam(2e-3, b1=0.5)
    states = rules[0].init(gen), rules[1].init(dis)
    bce = lambda logits, y: optax.sigmoid_binary_cross_entropy(logits, y).mean()  # noqa: E731

    def judge(dis, gen, x, z):
        true, false = apply(dis, x), apply(dis, apply(gen, z))
        return bce(true, jnp.ones_like(true)) + bce(false, jnp.zeros_like(false))

    def fool(gen, dis, z):
        out = apply(dis, apply(gen, z))
        return bce(out, jnp.ones_like(out))

    @jax.jit
    def step(gen, dis, states, x, z):
        loss_d, grad_d = jax.value_and_grad(judge)(dis, gen, x, z)
        up, state_d = rules[1].update(grad_d, states[1])
        dis = optax.apply_updates(dis, up)
        loss_g, grad_g = jax.value_and_grad(fool)(gen, dis, z)
        up, state_g = rules[0].update(grad_g, states[0])
        gen, states, grads = optax.apply_updates(gen, up), (state_g, state_d), (grad_g, grad_d)
        return gen, dis, states, loss_g, loss_d, grads

    with record.jax() as hook:
        for i in range(600):
            x, z = real[rng.integers(4000, size=128)], rng.normal(size=(128, 4))
            gen, dis, states, loss, loss_d, grads = step(gen, dis, states, x, z)
            named = {"gen": gen, "dis": dis}, {"gen": grads[0], "dis": grads[1]}
            hook.record(loss, params=named[0], gradients=named[1], opt_state=states, loss_d=loss_d)
    away = np.linalg.norm(apply(gen, rng.normal(size=(1000, 4))), axis=1) - 2
    score(-np.abs(away).mean(), -1.5)


@healthy
def diffusion_in_two_dimensions(record, seed):
    """A denoiser for the two moons; the loss has a high floor since it predicts noise."""
    x, _, tx, _ = moons(seed, 2000, 0.05)

    def loss_of(p, key, x):
        kt, kn = jax.random.split(key)
        t = jax.random.uniform(kt, (len(x), 1))
        noise = jax.random.normal(kn, x.shape)
        noisy = jnp.cos(t * np.pi / 2) * x + jnp.sin(t * np.pi / 2) * noise
        wave = jnp.concatenate([noisy, t, jnp.sin(6 * t), jnp.cos(6 * t)], 1)
        return jnp.mean((apply(p, wave, jax.nn.swish) - noise) ** 2)

    params = dense(jax.random.key(seed), 5, 96, 96, 2)
    params = learn(record, loss_of, params, optax.adam(3e-3), (x,), 16, 64, test=(tx,))
    score(-loss_of(params, jax.random.key(9), np.tile(tx, (8, 1))), -1.0)


@healthy
def bandit_policy_gradient(record, seed):
    """REINFORCE with a running baseline on a contextual bandit; the loss says little."""
    rng = np.random.default_rng(seed)
    best = rng.normal(size=(6, 4))
    params = dense(jax.random.key(seed), 6, 32, 4)
    rule = optax.adam(5e-3)
    state, base, key = rule.init(params), 0.0, jax.random.key(seed)

    @jax.jit
    def act(params, key, x):
        return jax.random.categorical(key, apply(params, x))

    @jax.jit
    def step(params, state, x, a, gain):
        def loss_of(p):
            logp = jax.nn.log_softmax(apply(p, x))[jnp.arange(len(a)), a]
            return -jnp.mean(logp * gain)

        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = rule.update(grads, state)
        return optax.apply_updates(params, updates), state, loss, grads

    with record.jax() as hook:
        for i in range(500):
            key, now = jax.random.split(key)
            x = rng.normal(size=(64, 6)).astype("float32")
            a = np.asarray(act(params, now, x))
            gain = (((x @ best).argmax(1) == a) + 0.3 * rng.normal(size=64)).astype("float32")
            params, state, loss, grads = step(params, state, x, a, gain - base)
            base = 0.9 * base + 0.1 * gain.mean()
            hook.record(loss, params=params, gradients=grads, opt_state=state, reward=gain.mean())
    x = rng.normal(size=(2000, 6))
    score((apply(params, x).argmax(1) == (x @ best).argmax(1)).mean(), 0.25)


def couple(p, x):
    """Two affine coupling layers: the latent value and the log determinant."""
    total = 0.0
    for net in p:
        out = apply(net, x[:, :1], jnp.tanh)
        shift, scale = out[:, :1], jnp.tanh(out[:, 1:])
        x = jnp.concatenate([(x[:, 1:] - shift) * jnp.exp(-scale), x[:, :1]], 1)
        total = total - scale[:, 0]
    return x, total


@healthy
def coupling_flow(record, seed):
    """A small RealNVP on the two moons by maximum likelihood."""
    x, _, tx, _ = moons(seed, 2000, 0.08)

    def loss_of(p, key, x):
        z, total = couple(p, x)
        return jnp.mean(0.5 * (z**2).sum(1) + np.log(2 * np.pi) - total)

    params = [dense(k, 1, 32, 2) for k in jax.random.split(jax.random.key(seed), 6)]
    params = jax.tree.map(lambda p: 0.5 * p, params)
    params = learn(record, loss_of, params, optax.adam(4e-3), (x,), 16, 64, give="g", test=(tx,))
    score(-loss_of(params, None, tx), -(1 + np.log(2 * np.pi)))


@healthy
def pinn_oscillator(record, seed):
    """A PINN for u'' = -4u, u(0)=1, u'(0)=0 with new points at each step."""

    def u(p, t):
        return apply(p, jnp.atleast_1d(t), jnp.tanh)[0]

    def loss_of(p, key, _):
        t = jax.random.uniform(key, (64,), maxval=2.5)
        rest = jax.vmap(lambda t: jax.grad(jax.grad(u, 1), 1)(p, t) + 4 * u(p, t))(t)
        start = (u(p, 0.0) - 1) ** 2 + jax.grad(u, 1)(p, 0.0) ** 2
        return jnp.mean(rest**2) / 10 + start

    params = jax.tree.map(lambda p: p * 0.7, dense(jax.random.key(seed), 1, 32, 32, 1))
    rule = optax.adam(optax.exponential_decay(1e-2, 200, 0.6))
    params = learn(record, loss_of, params, rule, (np.zeros(600),), 1, size=1)
    t = np.linspace(0, 2.5, 50)
    score(r2(jax.vmap(lambda t: u(params, t))(t), np.cos(2 * t)), 0)


@healthy
def graph_by_hand(record, seed):
    """Full-batch GCN on a block model; few labels, so training and validation differ."""
    edges, x, y, known = graph(seed)
    edges = normalised(edges)

    def logits(p, x):
        return edges @ apply(p[1:], jax.nn.relu(edges @ x @ p[0]["w"]))

    def loss_of(p, key, x):
        each = optax.softmax_cross_entropy_with_integer_labels(logits(p, x[0]), y)
        return (each * known).sum() / known.sum()

    params = dense(jax.random.key(seed), 3, 16, 3)
    rule = optax.adamw(1e-2, weight_decay=1e-2)
    params = learn(record, loss_of, params, rule, (np.tile(x, (150, 1, 1)),), 1, size=1, give="")
    score((logits(params, x).argmax(1) == y)[~known].mean(), 1 / 3)


@healthy
def factors_of_ratings(record, seed):
    """Matrix factorisation; each batch touches some rows only, decay through the loss."""
    x, y, tx, ty = ratings(seed)
    keys = jax.random.split(jax.random.key(seed))
    params = {"user": 0.3 * jax.random.normal(keys[0], (80, 5))}
    params["item"] = 0.3 * jax.random.normal(keys[1], (60, 5))
    found = lambda p, x: (p["user"][x[:, 0]] * p["item"][x[:, 1]]).sum(1)  # noqa: E731

    def loss_of(p, key, x, y):
        return jnp.mean((found(p, x) - y) ** 2) + 1e-5 * optax.global_norm(p) ** 2

    params = learn(record, loss_of, params, optax.adam(2e-2), (x, y), 8, 64, test=(tx, ty))
    score(r2(found(params, tx), ty), 0)
