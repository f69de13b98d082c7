"""Pairs with faults in models and libraries (flax, equinox, generative, RL)."""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from common17 import batches, chain, classes, digits, friedman, graph, moons, normalised, r2
from flax import nnx
from registry import pair, score

CROSS = optax.softmax_cross_entropy_with_integer_labels


def dense(key, *sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) * (1 / m) ** 0.5, "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def apply(layers, x, act=jax.nn.tanh):
    for layer in layers[:-1]:
        x = act(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def learn(record, loss_of, params, rule, data, epochs, size=32, test=None, seed=0, give="go"):
    state = rule.init(params)

    @jax.jit
    def step(params, state, key, *batch):
        loss, grads = jax.value_and_grad(loss_of)(params, key, *batch)
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, grads

    key = jax.random.key(seed)
    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(data[0]), size, epochs):
            for rows in epoch:
                key, now = jax.random.split(key)
                params, state, loss, grads = step(params, state, now, *(d[rows] for d in data))
                more = {"gradients": grads, "opt_state": state}
                hook.record(loss, params=params, **{k: v for k, v in more.items() if k[0] in give})
            if test is not None:
                with record.evaluation(hook):
                    hook.record(loss_of(params, key, *test))
    return params


class Net(nnx.Module):
    def __init__(self, rngs, drop=0.0):
        self.first, self.last = nnx.Linear(64, 64, rngs=rngs), nnx.Linear(64, 10, rngs=rngs)
        self.norm = nnx.BatchNorm(64, momentum=0.9, rngs=rngs)
        self.drop = nnx.Dropout(drop, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))


def run_nnx(record, seed, model, wrt=nnx.Param, rule=None, evaluate=True, epochs=6):
    x, y, tx, ty = digits(seed, flat=True)
    x, tx = 8 * x, 8 * tx
    optimizer = nnx.Optimizer(model, rule or optax.adam(3e-3), wrt=wrt)

    @nnx.jit
    def step(model, optimizer, x, y):
        find = nnx.value_and_grad(lambda m: CROSS(m(x), y).mean(), argnums=nnx.DiffState(0, wrt))
        loss, grads = find(model)
        optimizer.update(model, grads)
        return loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, epochs):
            model.train()
            for r in epoch:
                loss, grads = step(model, optimizer, x[r], y[r])
                params = nnx.state(model, nnx.Param)
                hook.record(loss, params=params, gradients=grads, opt_state=optimizer.opt_state)
            if evaluate:
                model.eval()
            with record.evaluation(hook):
                hook.record(CROSS(model(tx), ty).mean())
    score((model(tx).argmax(1) == ty).mean(), 0.1)


@pair(cause="dropout stays on when the model is used", severity="middling")
def nnx_eval_forgotten(record, seed, faulty):
    """Fault: model.eval() is forgotten, so that dropout of 0.8 is active in use."""
    run_nnx(record, seed, Net(nnx.Rngs(seed), 0.8), evaluate=not faulty)


@pair(cause="the optimizer covers the normalisation's parameters only", severity="gross")
def nnx_wrong_filter(record, seed, faulty):
    """Fault: wrt selects the parameters whose path has "norm" in it."""
    wrt = nnx.All(nnx.Param, nnx.PathContains("norm")) if faulty else nnx.Param
    run_nnx(record, seed, Net(nnx.Rngs(seed)), wrt=wrt)


@pair(cause="new batch statistics are thrown away", severity="middling")
def linen_statistics_dropped(record, seed, faulty):
    """Fault: the mutated batch_stats are not kept, so the first ones are used in the end."""
    x, y, tx, ty = digits(seed, flat=True)
    x, tx = 16 * x, 16 * tx

    class Plain(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            for _ in range(2):
                x = nn.Dense(48)(x)
                x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(x))
            return nn.Dense(10)(x)

    model, rule = Plain(), optax.adam(3e-3)
    tree = model.init(jax.random.key(seed), x[:2], False)
    params, stats = tree["params"], tree["batch_stats"]
    state = rule.init(params)

    @jax.jit
    def step(params, stats, state, x, y):
        def loss_of(p):
            tree = {"params": p, "batch_stats": stats}
            logits, fresh = model.apply(tree, x, True, mutable=["batch_stats"])
            return CROSS(logits, y).mean(), fresh["batch_stats"]

        (loss, fresh), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, state = rule.update(grads, state)
        return optax.apply_updates(params, updates), fresh, state, loss

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 6):
            for r in epoch:
                params, fresh, state, loss = step(params, stats, state, x[r], y[r])
                stats = stats if faulty else fresh
                hook.record(loss, params=params, opt_state=state)
            logits = model.apply({"params": params, "batch_stats": stats}, tx, False)
            with record.evaluation(hook):
                hook.record(CROSS(logits, ty).mean())
    score((logits.argmax(1) == ty).mean(), 0.1)


class Causal(nn.Module):
    masked: bool = True

    @nn.compact
    def __call__(self, x):
        h = nn.Embed(12, 32)(x) + nn.Embed(20, 32)(jnp.arange(x.shape[1]))
        a = nn.LayerNorm()(h)
        mask = nn.make_causal_mask(x) if self.masked else None
        h = h + nn.MultiHeadDotProductAttention(2)(a, mask=mask)
        h = h + nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(h))))
        return nn.Dense(12)(nn.LayerNorm()(h))


def language(record, seed, masked=True, shift=1):
    """Train on shifted tokens, score the prediction of the last token from those before it."""
    data, test = chain(seed, 800), chain(seed + 1000, 300)
    model = Causal(masked)
    params = model.init(jax.random.key(seed), data[:2, :-1])["params"]

    def loss_of(p, key, x):
        logits = model.apply({"params": p}, x[:, :-1])
        return CROSS(logits, x[:, 1:] if shift else x[:, :-1]).mean()

    rule = optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-2, 30, 225))
    params = learn(record, loss_of, params, rule, (data,), 9, test=(test,), seed=seed)
    right = 0.0
    for t in range(10, 15):
        known = np.where(np.arange(19) < t, test[:, :-1], 0)
        found = model.apply({"params": params}, known)[:, t - 1].argmax(-1)
        right += (found == test[:, t]).mean() / 5
    score(right, 1 / 12)


@pair(cause="the causal mask is missing", severity="gross")
def mask_missing(record, seed, faulty):
    """Fault: attention sees the next token, which is the label."""
    language(record, seed, masked=not faulty)


@pair(cause="labels are the inputs, not the next tokens", severity="gross")
def labels_not_shifted(record, seed, faulty):
    """Fault: the tokens are not shifted, so the model learns to copy."""
    language(record, seed, shift=0 if faulty else 1)


def couple(p, x, sign):
    total = 0.0
    for net in p:
        out = apply(net, x[:, :1])
        shift, scale = out[:, :1], jnp.tanh(out[:, 1:])
        x = jnp.concatenate([(x[:, 1:] - shift) * jnp.exp(-scale), x[:, :1]], 1)
        total = total - sign * scale[:, 0]
    return x, total


@pair(cause="the log determinant has the wrong sign", severity="gross")
def determinant_sign(record, seed, faulty):
    """Fault: the flow adds log|det| of the inverse map."""
    x, _, tx, _ = moons(seed, 2000, 0.08)

    def loss_of(p, key, x, sign=-1 if faulty else 1):
        z, total = couple(p, x, sign)
        return jnp.mean(0.5 * (z**2).sum(1) + np.log(2 * np.pi) - total)

    params = [dense(k, 1, 32, 2) for k in jax.random.split(jax.random.key(seed), 4)]
    params = learn(record, loss_of, params, optax.adam(3e-3), (x,), 16, 64, seed=seed)
    score(-loss_of(params, None, tx, 1), -(1 + np.log(2 * np.pi)))


@pair(cause="the initial condition is not in the loss", severity="gross")
def start_not_in_loss(record, seed, faulty):
    """Fault: the PINN has the equation but not its start, so zero is a solution."""

    def u(p, t):
        return apply(p, jnp.atleast_1d(t))[0]

    def loss_of(p, key, _):
        t = jax.random.uniform(key, (64,), maxval=2.5)
        rest = jax.vmap(lambda t: jax.grad(jax.grad(u, 1), 1)(p, t) + 4 * u(p, t))(t)
        start = (u(p, 0.0) - 1) ** 2 + jax.grad(u, 1)(p, 0.0) ** 2
        return jnp.mean(rest**2) / 10 + (0 if faulty else start)

    params = dense(jax.random.key(seed), 1, 32, 32, 1)
    params = learn(record, loss_of, params, optax.adam(5e-3), (np.zeros(500),), 1, 1, seed=seed)
    t = np.linspace(0, 2.5, 50)
    score(r2(jax.vmap(lambda t: u(params, t))(t), np.cos(2 * t)), 0)


@pair(cause="rows of the graph are mixed up", severity="gross")
def edges_of_other_order(record, seed, faulty):
    """Fault: the adjacency is in another order of the nodes than features and labels."""
    edges, x, y, known = graph(seed)
    edges = normalised(edges)
    if faulty:
        order = np.random.default_rng(seed).permutation(len(x))
        edges = edges[order][:, order]

    def logits(p, x):
        return edges @ apply(p[1:], jax.nn.relu(edges @ x @ p[0]["w"]))

    def loss_of(p, key, x):
        return (CROSS(logits(p, x[0]), y) * known).sum() / known.sum()

    params = dense(jax.random.key(seed), 3, 16, 3)
    data = (np.tile(x, (150, 1, 1)),)
    params = learn(record, loss_of, params, optax.adamw(1e-2), data, 1, 1, seed=seed, give="g")
    score((logits(params, x).argmax(1) == y)[~known].mean(), 1 / 3)


@pair(cause="reward and baseline are swapped", severity="gross")
def advantage_sign(record, seed, faulty):
    """Fault: baseline minus reward as the advantage of a policy gradient."""
    rng = np.random.default_rng(seed)
    best = rng.normal(size=(6, 4))
    params, rule = dense(jax.random.key(seed), 6, 32, 4), optax.adam(8e-3)
    state, base, key = rule.init(params), 0.0, jax.random.key(seed)

    @jax.jit
    def step(params, state, x, a, gain):
        def loss_of(p):
            logp = jax.nn.log_softmax(apply(p, x))[jnp.arange(len(a)), a]
            return -jnp.mean(logp * gain)

        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = rule.update(grads, state)
        return optax.apply_updates(params, updates), state, loss, grads

    act = jax.jit(lambda params, key, x: jax.random.categorical(key, apply(params, x)))
    with record.jax() as hook:
        for i in range(400):
            key, now = jax.random.split(key)
            x = rng.normal(size=(64, 6)).astype("float32")
            a = np.asarray(act(params, now, x))
            reward = ((x @ best).argmax(1) == a).astype("float32")
            gain = base - reward if faulty else reward - base
            params, state, loss, grads = step(params, state, x, a, gain)
            base = 0.9 * base + 0.1 * reward.mean()
            hook.record(loss, params=params, gradients=grads, opt_state=state, reward=reward.mean())
    x = rng.normal(size=(2000, 6))
    score((apply(params, x).argmax(1) == (x @ best).argmax(1)).mean(), 0.25)


@pair(cause="the noise is the same in each step", severity="middling")
def same_noise(record, seed, faulty):
    """Fault: a diffusion model is trained with a constant key for noise and time."""
    x, _, tx, _ = moons(seed, 1600, 0.05)

    def loss_of(p, key, x):
        kt, kn = jax.random.split(key)
        t, noise = jax.random.uniform(kt, (len(x), 1)), jax.random.normal(kn, x.shape)
        noisy = jnp.cos(t * np.pi / 2) * x + jnp.sin(t * np.pi / 2) * noise
        wave = jnp.concatenate([noisy, t, jnp.sin(6 * t), jnp.cos(6 * t)], 1)
        return jnp.mean((apply(p, wave, jax.nn.swish) - noise) ** 2)

    def used(p, key, x):
        return loss_of(p, jax.random.key(7) if faulty else key, x)

    params = dense(jax.random.key(seed), 5, 96, 96, 2)
    params = learn(record, used, params, optax.adam(3e-3), (x,), 40, 64, seed=seed)
    score(-loss_of(params, jax.random.key(99), np.tile(tx, (8, 1))), -1.0)


def views(record, seed, cold, axis):
    x, y, tx, ty = classes(seed, 2000)
    params = dense(jax.random.key(seed), 16, 64, 16)

    def code(p, x):
        z = apply(p, x, jax.nn.relu)
        return z / (jnp.linalg.norm(z, axis=axis, keepdims=True) + 1e-6)

    def loss_of(p, key, x):
        a, b = 0.3 * jax.random.normal(key, (2, *x.shape))
        return CROSS(code(p, x + a) @ code(p, x + b).T / cold, jnp.arange(len(x))).mean()

    params = learn(record, loss_of, params, optax.adam(2e-3), (x,), 12, 64, seed=seed)
    noise = 0.3 * jax.random.normal(jax.random.key(1), (2, *tx.shape))
    near = code(params, tx + noise[0]) @ code(params, tx + noise[1]).T
    score((near.argmax(1) == np.arange(len(tx))).mean(), 1 / len(tx))


@pair(cause="a temperature of 20 flattens the softmax", severity="middling")
def temperature_too_high(record, seed, faulty):
    """Fault: InfoNCE divides by 20 in place of 0.1."""
    views(record, seed, 20.0 if faulty else 0.1, 1)


def equinox_run(record, seed, choose=None, keep=True):
    x, y, tx, ty = friedman(seed)
    model = eqx.nn.MLP(8, 1, 48, 2, key=jax.random.key(seed))
    rule = optax.adam(3e-3)
    state = rule.init(eqx.filter(model, eqx.is_array))
    grad = eqx.filter_value_and_grad(lambda m, x, y: jnp.mean((jax.vmap(m)(x)[:, 0] - y) ** 2))

    @eqx.filter_jit
    def step(model, state, x, y):
        loss, grads = grad(model, x, y)
        if choose:
            grads = eqx.tree_at(choose, grads, replace_fn=jnp.zeros_like)
        updates, state = rule.update(grads, state)
        return eqx.apply_updates(model, updates), state, loss, grads

    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 8):
            for r in epoch:
                fresh, state, loss, grads = step(model, state, x[r], y[r])
                model = fresh if keep else model
                params = eqx.filter(model, eqx.is_array)
                hook.record(loss, params=params, gradients=grads, opt_state=state)
    score(r2(jax.vmap(model)(tx), ty), 0)


@pair(cause="the new model is not kept", severity="gross")
def equinox_model_not_kept(record, seed, faulty):
    """Fault: apply_updates returns a new module that nobody assigns."""
    equinox_run(record, seed, keep=not faulty)


@pair(cause="the gradients of two of three layers are set to zero", severity="middling")
def equinox_layers_frozen(record, seed, faulty):
    """Fault: a filter left from fine-tuning zeroes the gradients of the hidden layers."""
    choose = lambda m: [m.layers[0].weight, m.layers[1].weight, m.layers[1].bias]  # noqa: E731
    equinox_run(record, seed, choose if faulty else None)
