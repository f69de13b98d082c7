"""Pairs with faults in the update step of plain JAX and optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from common17 import batches, cancer, classes, digits, friedman, moons, r2
from registry import pair, score


def dense(key, *sizes, scale=1.0):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": scale * jax.random.normal(k, (m, n)) * (2 / m) ** 0.5, "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def apply(layers, x, act=jax.nn.relu):
    for layer in layers[:-1]:
        x = act(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def cross(logits, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


def classify(p, key, x, y):
    return cross(apply(p, x), y)


def regress(p, key, x, y):
    return jnp.mean((apply(p, x)[:, 0] - y) ** 2)


def usual(rule):
    def update(grads, state, params):
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    return update


def loop(record, loss_of, params, state, update, data, epochs, seed, size=32, give="go", test=None):
    """Train with `update(grads, state, params)` and return the parameters."""

    @jax.jit
    def step(params, state, key, *batch):
        loss, grads = jax.value_and_grad(loss_of)(params, key, *batch)
        return *update(grads, state, params), loss, grads

    key, rng = jax.random.key(seed), np.random.default_rng(seed)
    with record.jax() as hook:
        for epoch in batches(rng, len(data[0]), size, epochs):
            for rows in epoch:
                key, now = jax.random.split(key)
                params, state, loss, grads = step(params, state, now, *(d[rows] for d in data))
                more = {"gradients": grads, "opt_state": state}
                hook.record(loss, params=params, **{k: v for k, v in more.items() if k[0] in give})
            if test is not None:
                with record.evaluation(hook):
                    hook.record(loss_of(params, key, *test))
    return params


def digit_run(record, seed, rule, update=None, epochs=6, loss_of=classify, params=None, **more):
    x, y, tx, ty = digits(seed, flat=True)
    if params is None:
        params = dense(jax.random.key(seed), 64, 48, 48, 10)
    update = update or usual(rule)
    state = rule.init(params)
    more["test"] = tx, ty
    params = loop(record, loss_of, params, state, update, (x, y), epochs, seed, **more)
    score((apply(params, tx).argmax(1) == ty).mean(), 0.1)


def table_run(record, seed, rule, update=None, epochs=8, loss_of=regress, params=None, **more):
    x, y, tx, ty = friedman(seed)
    if params is None:
        params = dense(jax.random.key(seed), 8, 48, 48, 1)
    update = update or usual(rule)
    state = rule.init(params)
    params = loop(record, loss_of, params, state, update, (x, y), epochs, seed, **more)
    score(r2(apply(params, tx), ty), 0)


@pair(cause="the updated parameters are not kept", severity="gross")
def updates_not_kept(record, seed, faulty):
    """Fault: apply_updates is called, but its result is dropped."""
    rule = optax.adam(2e-3)

    def update(grads, state, params):
        updates, state = rule.update(grads, state, params)
        fresh = optax.apply_updates(params, updates)
        return params if faulty else fresh, state

    digit_run(record, seed, rule, update)


@pair(cause="the updates are added twice", severity="mild")
def updates_added_twice(record, seed, faulty):
    """Fault: apply_updates is called twice in each step."""
    rule = optax.sgd(0.03, momentum=0.9)

    def update(grads, state, params):
        updates, state = rule.update(grads, state, params)
        for _ in range(2 if faulty else 1):
            params = optax.apply_updates(params, updates)
        return params, state

    table_run(record, seed, rule, update)


@pair(cause="each step makes a new state of the optimizer", severity="mild")
def state_made_anew(record, seed, faulty):
    """Fault: rule.init(params) within the step, so Adam takes sign steps."""
    rule = optax.adam(2e-2)

    def update(grads, state, params):
        updates, state = rule.update(grads, rule.init(params) if faulty else state, params)
        return optax.apply_updates(params, updates), state

    digit_run(record, seed, rule, update)


@pair(cause="the old optimizer state is passed on", severity="middling")
def schedule_never_advances(record, seed, faulty):
    """Fault: the new state is dropped, so the warm-up never gets past its first steps."""
    rule = optax.sgd(optax.linear_schedule(1e-3, 0.1, 100), momentum=0.9)

    def update(grads, state, params):
        updates, fresh = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state if faulty else fresh

    table_run(record, seed, rule, update, give="g")


@pair(cause="gradients are added, not subtracted", severity="gross")
def ascent(record, seed, faulty):
    """Fault: p + rate * g in a hand-written step."""
    sign = 1 if faulty else -1

    def update(grads, state, params):
        return jax.tree.map(lambda p, g: p + sign * 0.05 * g, params, grads), state

    digit_run(record, seed, optax.identity(), update, give="g")


@pair(cause="a scale without its minus sign in the chain", severity="gross")
def chain_without_minus(record, seed, faulty):
    """Fault: chain(scale_by_adam(), scale(rate)) climbs."""
    rule = optax.chain(optax.scale_by_adam(), optax.scale(3e-3 if faulty else -3e-3))
    table_run(record, seed, rule)


@pair(cause="optax.masked passes the other gradients on as they are", severity="gross")
def masked_passes_gradients(record, seed, faulty):
    """Fault: Adam is masked to the first layers; the raw gradients of the last one are added."""
    params = dense(jax.random.key(seed), 64, 48, 48, 10)
    mask = [True, True, not faulty]
    mask = [{"w": m, "b": m} for m in mask]
    digit_run(record, seed, optax.masked(optax.adam(2e-3), mask), params=params)


@pair(cause="a typo in the labels of multi_transform freezes most of the model", severity="gross")
def labels_freeze_most(record, seed, faulty):
    """Fault: all but the last bias are labelled as frozen."""

    def label(path, leaf):
        last = path[0].idx == 2 and path[1].key == "b"
        return "train" if last or not faulty else "frozen"

    params = dense(jax.random.key(seed), 64, 48, 48, 10)
    rules = {"train": optax.adam(2e-3), "frozen": optax.set_to_zero()}
    rule = optax.multi_transform(rules, jax.tree_util.tree_map_with_path(label, params))
    digit_run(record, seed, rule, params=params)


@pair(cause="one layer is left out of the optimizer", severity="middling")
def layer_left_out(record, seed, faulty):
    """Fault: the first layer is labelled as frozen and keeps its random weights."""
    names = ["frozen" if faulty else "train", "train"]
    labels = [{"w": n, "b": n} for n in names]
    rules = {"train": optax.adam(4e-3), "frozen": optax.set_to_zero()}
    params = dense(jax.random.key(seed), 8, 24, 1)
    table_run(record, seed, optax.multi_transform(rules, labels), params=params)


@pair(cause="the clipping comes after Adam", severity="gross")
def clipped_after_adam(record, seed, faulty):
    """Fault: clip_by_global_norm(5e-4) in the chain behind Adam in place of before it."""
    parts = optax.adam(3e-3), optax.clip_by_global_norm(5e-4)
    table_run(record, seed, optax.chain(*(parts if faulty else parts[::-1])))


@pair(cause="weight decay behind the scaling makes the weights grow", severity="middling")
def decay_behind_scaling(record, seed, faulty):
    """Fault: add_decayed_weights stands behind the scaling by -rate, so the weights grow."""
    tail = [optax.add_decayed_weights(0.03)] if faulty else []
    head = [] if faulty else [optax.add_decayed_weights(1e-3)]
    rule = optax.chain(optax.scale_by_adam(), *head, optax.scale(-3e-3), *tail)
    digit_run(record, seed, rule)


@pair(cause="softmax over the batch axis", severity="middling")
def softmax_over_batch(record, seed, faulty):
    """Fault: log_softmax(axis=0)."""

    def loss_of(p, key, x, y):
        logp = jax.nn.log_softmax(apply(p, x), axis=0 if faulty else 1)
        return -jnp.take_along_axis(logp, y[:, None], 1).mean()

    digit_run(record, seed, optax.adam(2e-3), loss_of=loss_of, epochs=4)


@pair(cause="(n, 1) minus (n,) broadcasts to (n, n)", severity="gross")
def broadcast_targets(record, seed, faulty):
    """Fault: the output keeps its last axis."""

    def loss_of(p, key, x, y):
        out = apply(p, x)
        return jnp.mean(((out if faulty else out[:, 0]) - y) ** 2)

    table_run(record, seed, optax.adam(3e-3), loss_of=loss_of, give="")


@pair(cause="the same key draws the same batch in each step", severity="gross")
def same_batch(record, seed, faulty):
    """Fault: the key is not split, so that one batch is seen again and again."""
    x, y, tx, ty = classes(seed, 2000)
    params, rule = dense(jax.random.key(seed), 16, 64, 4), optax.adam(3e-3)
    state, key = rule.init(params), jax.random.key(seed)
    all_x, all_y = jnp.asarray(x), jnp.asarray(y)

    @jax.jit
    def step(params, state, key):
        rows = jax.random.randint(key, (16,), 0, len(x))
        loss, grads = jax.value_and_grad(classify)(params, None, all_x[rows], all_y[rows])
        return *usual(rule)(grads, state, params), loss, grads

    with record.jax() as hook:
        for i in range(400):
            now = key
            if not faulty:
                key, now = jax.random.split(key)
            params, state, loss, grads = step(params, state, now)
            hook.record(loss, params=params, gradients=grads, opt_state=state)
            if i % 50 == 49:
                with record.evaluation(hook):
                    hook.record(classify(params, None, tx, ty))
    score((apply(params, tx).argmax(1) == ty).mean(), 0.25)


@pair(cause="the same dropout mask in each step", severity="middling")
def same_dropout(record, seed, faulty):
    """Fault: a constant key for the dropout; the dropped units never learn."""

    def loss_of(p, key, x, y):
        key = jax.random.key(0) if faulty else key
        h = jax.nn.relu(x @ p[0]["w"] + p[0]["b"])
        h = h * jax.random.bernoulli(key, 0.7, h.shape[1:]) / 0.7
        return jnp.mean((apply(p[1:], h)[:, 0] - y) ** 2)

    params = dense(jax.random.key(seed), 8, 64, 32, 1)
    table_run(record, seed, optax.adam(3e-3), loss_of=loss_of, params=params)


@pair(cause="stop_gradient cuts the encoder off", severity="middling")
def encoder_cut_off(record, seed, faulty):
    """Fault: stop_gradient on the features in front of the head."""

    def loss_of(p, key, x, y):
        h = jax.nn.relu(apply(p[:2], x))
        return jnp.mean((apply(p[2:], jax.lax.stop_gradient(h) if faulty else h)[:, 0] - y) ** 2)

    params = dense(jax.random.key(seed), 8, 32, 12, 1)

    x, y, tx, ty = friedman(seed)
    rule = optax.adam(4e-3)
    params = loop(record, loss_of, params, rule.init(params), usual(rule), (x, y), 9, seed)
    score(r2(apply(params[2:], jax.nn.relu(apply(params[:2], tx))), ty), 0)


@pair(cause="the gradients of micro-batches are summed without a mean", severity="gross")
def sum_not_mean(record, seed, faulty):
    """Fault: the loss is summed over the batch, the rate is meant for a mean."""

    def loss_of(p, key, x, y):
        return regress(p, key, x, y) * (len(x) if faulty else 1)

    table_run(record, seed, optax.sgd(0.05, momentum=0.9), loss_of=loss_of)


@pair(cause="small updates are rounded away in bfloat16", severity="mild")
def bfloat16_weights(record, seed, faulty):
    """Fault: the parameters themselves are kept in bfloat16, with SGD at a small rate."""
    params = dense(jax.random.key(seed), 8, 48, 48, 1)
    if faulty:
        params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    table_run(record, seed, optax.sgd(0.01), params=params, epochs=12)


@pair(cause="gradient of a norm at zero is NaN", severity="gross")
def norm_at_zero(record, seed, faulty):
    """Fault: jnp.linalg.norm of weights that start at zero as a penalty."""

    def loss_of(p, key, x, y):
        norms = sum(jnp.sqrt((v["b"] ** 2).sum() + (0 if faulty else 1e-8)) for v in p)
        return classify(p, key, x, y) + 1e-3 * norms

    digit_run(record, seed, optax.adam(2e-3), loss_of=loss_of)


@pair(cause="softmax by hand overflows", severity="gross")
def softmax_by_hand(record, seed, faulty):
    """Fault: log(exp(z) / sum(exp(z))) of cosine similarities with a temperature of 0.01."""
    x, y, tx, ty = classes(seed, 2000)

    def logits(p, x):
        h = apply(p[:2], x)
        unit = [v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (h, p[2]["w"].T)]
        return unit[0] @ unit[1].T / 0.01

    def loss_of(p, key, x, y):
        z = logits(p, x)
        byhand = jnp.log(jnp.exp(z) / jnp.exp(z).sum(1, keepdims=True))
        logp = byhand if faulty else jax.nn.log_softmax(z)
        return -jnp.take_along_axis(logp, y[:, None], 1).mean()

    rule, params = optax.adam(2e-3), dense(jax.random.key(seed), 16, 64, 16, 4)
    params = loop(record, loss_of, params, rule.init(params), usual(rule), (x, y), 8, seed)
    score((logits(params, tx).argmax(1) == ty).mean(), 0.25)


@pair(cause="inputs are cut to integers", severity="gross")
def inputs_cast_to_int(record, seed, faulty):
    """Fault: a cast to int32 leaves little of features between -1 and 1."""
    x, y, tx, ty = friedman(seed)
    x, tx = (a / 3 for a in (x, tx))
    if faulty:
        x, tx = (a.astype("int32").astype("float32") for a in (x, tx))
    rule, params = optax.adam(4e-3), dense(jax.random.key(seed), 8, 48, 48, 1)
    params = loop(record, regress, params, rule.init(params), usual(rule), (x, y), 8, seed)
    score(r2(apply(params, tx), ty), 0)


@pair(cause="the average of the weights is never updated", severity="gross")
def average_never_updated(record, seed, faulty):
    """Fault: the evaluation uses an average whose new value is not kept."""
    x, y, tx, ty = moons(seed)
    params = mean = dense(jax.random.key(seed), 2, 32, 32, 2)
    rule = optax.adam(5e-3)
    state = rule.init(params)
    step = jax.jit(jax.value_and_grad(classify))
    with record.jax() as hook:
        for epoch in batches(np.random.default_rng(seed), len(x), 32, 10):
            for r in epoch:
                loss, grads = step(params, None, x[r], y[r])
                params, state = usual(rule)(grads, state, params)
                fresh = optax.incremental_update(params, mean, 0.05)
                mean = mean if faulty else fresh
                hook.record(loss, params=params, opt_state=state)
            with record.evaluation(hook):
                hook.record(classify(mean, None, tx, ty))
    score((apply(mean, tx).argmax(1) == ty).mean(), 0.5)


@pair(cause="all weights start equal", severity="gross")
def equal_weights(record, seed, faulty):
    """Fault: jnp.ones * 0.02 as the initial value of all weights."""
    params = dense(jax.random.key(seed), 64, 48, 48, 10)
    if faulty:
        params = jax.tree.map(lambda p: 0.02 * jnp.ones_like(p), params)
    digit_run(record, seed, optax.sgd(0.05, momentum=0.9), params=params, epochs=5)


@pair(cause="labels of the wrong kind for a sigmoid", severity="gross")
def labels_from_one(record, seed, faulty):
    """Fault: the classes are numbered 1 and 2 in a binary cross-entropy."""
    x, y, tx, ty = cancer(seed)
    rule, params = optax.adam(5e-3), dense(jax.random.key(seed), 30, 16, 1)

    def loss_of(p, key, x, y):
        return optax.sigmoid_binary_cross_entropy(apply(p, x)[:, 0], y).mean()

    target = y + 1 if faulty else y
    data, state = (x, target), rule.init(params)
    params = loop(record, loss_of, params, state, usual(rule), data, 14, seed, 16)
    score(((apply(params, tx)[:, 0] > 0) == ty).mean(), ty.mean())
