"""The hook inside of jit, grad, vmap and loops."""

import logging
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import smdebug.jax as smd
from jax import lax
from models import batches, descend, init, loss_of, predict
from smdebug.exceptions import SMDebugTypeError, TrainingStopped
from smdebug.rules import RuleSet

EVERY_STEP = smd.SaveConfig(save_interval=1)
EVERY_SECOND = smd.SaveConfig(save_interval=2)


@pytest.fixture
def hook(out_dir):
    """Returns a hook that saves everything at every second step."""
    return smd.Hook(out_dir, save_all=True, save_config=EVERY_SECOND)


@pytest.fixture
def read(out_dir):
    """Closes the hook and opens its trial."""

    def close_and_open(hook):
        hook.close()
        return smd.create_trial(out_dir)

    return close_and_open


def one_step(out_dir, function, *args, **settings):
    """Returns the trial of one step that calls a jitted function with the hook."""
    hook = smd.Hook(out_dir, **{"save_all": True, "save_config": EVERY_STEP, **settings})
    with hook.step():
        jax.jit(partial(function, hook))(*args)
    hook.close()
    return smd.create_trial(out_dir)


def is_compiled_with_callback(function, *args):
    return "callback" in jax.jit(function).lower(*args).as_text()


def train(hook, train_step, steps=7):
    """Runs a training; returns its actual parameters and losses."""
    params, truth = init(), []
    for x, y in batches(steps):
        with hook.step(smd.modes.TRAIN):
            params, loss = train_step(params, x, y)
        truth.append((params["layer0"]["kernel"], loss))
    return truth


def matches(trial, truth):
    kernel, loss = trial.tensor("params/layer0/kernel"), trial.tensor("loss")
    assert kernel.steps() == loss.steps() == list(range(0, len(truth), 2))
    for step in kernel.steps():
        np.testing.assert_allclose(kernel.value(step), truth[step][0], rtol=1e-6)
        np.testing.assert_allclose(loss.value(step), truth[step][1], rtol=1e-6)


def update(hook, params, x, y):
    """Makes a training step that records itself."""
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    params = descend(params, gradients)
    hook.save("loss", loss)
    hook.save_tree("params", params)
    hook.save_tree("gradient/params", gradients)
    return params, loss


def test_a_step_that_records_itself(hook, read):
    train_step = jax.jit(partial(update, hook))
    truth = train(hook, train_step)
    trial = read(hook)
    matches(trial, truth)
    assert len(trial.tensor_names(collection="gradients")) == 4


def test_a_static_flag_compiles_the_step_without_callbacks(hook, read):
    @partial(jax.jit, static_argnames="record")
    def train_step(params, x, y, record):
        if record:
            return update(hook, params, x, y)
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        return descend(params, gradients), loss

    truth = train(hook, lambda *args: train_step(*args, record=hook.saves_step))
    matches(read(hook), truth)
    example = (init(), *next(batches(1)))
    for record in (True, False):
        assert is_compiled_with_callback(partial(train_step, record=record), *example) == record


def test_a_traced_flag_decides_on_the_device(hook, read):
    calls = []
    receive = hook._receive
    hook._receive = lambda *args: (calls.append(int(hook.step)), receive(*args))

    @jax.jit
    def train_step(params, x, y, record):
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        params = descend(params, gradients)
        tree = {"params": params, "loss": loss}
        lax.cond(record, lambda: hook.save_tree("", tree), lambda: None)
        return params, loss

    truth = train(hook, lambda *args: train_step(*args, hook.saves_step))
    matches(read(hook), truth)
    assert calls == [0, 2, 4, 6]


def test_values_that_are_late_are_not_those_of_the_next_step(hook, read):
    @jax.jit
    def slow(x, only_odd):
        for _ in range(4):
            x = x @ x / 500
        lax.cond(only_odd, lambda: hook.save("odd", x), lambda: hook.save("even", x))

    for step in range(6):
        with hook.step():
            slow(jnp.full((500, 500), 1.0), step % 2 == 1)
    trial = read(hook)
    assert trial.tensor_names() == ["even"]
    assert trial.tensor("even").steps() == [0, 2, 4]


def test_a_step_that_saves_nothing_is_not_waited_for(hook, monkeypatch):
    monkeypatch.setattr(smd.Hook, "_has_callbacks", False)  # by other tests
    waits = []
    barrier = jax.effects_barrier
    monkeypatch.setattr(jax, "effects_barrier", lambda: (waits.append(int(hook.step)), barrier()))
    for _ in range(2):
        with hook.step():
            jnp.ones(2) + 1
    assert waits == [], "nothing calls back"
    save = jax.jit(lambda x: hook.save("x", x))
    for _ in range(3):
        with hook.step():
            save(jnp.ones(2))
    assert set(waits) == {2, 4}


def test_only_what_may_be_saved_is_compiled_in(out_dir):
    hook = smd.Hook(out_dir, include_collections=["mine"], include_regex="layer1/kernel")
    hook.get_collection("mine").include("special")

    def save(name, x):
        hook.save(name, x)
        return x

    for name, is_named in (("loss", True), ("my_special", True), ("params/layer1/kernel", True),
                           ("params/layer0/kernel", False), ("gradient/x", False)):  # fmt: skip
        assert is_compiled_with_callback(partial(save, name), jnp.ones(2)) == is_named, name
    hook.close()


def test_activations_inside_of_grad(out_dir):
    def loss(hook, params, x, y):
        hidden = x @ params["layer0"]["kernel"]
        hook.save("activation/hidden", hidden)
        return loss_of(params, x, y)

    def gradient(hook, params, x, y):
        return jax.grad(partial(loss, hook))(params, x, y)

    params, (x, y) = init(), next(batches(1))
    trial = one_step(out_dir, gradient, params, x, y)
    expected = x @ params["layer0"]["kernel"]
    np.testing.assert_allclose(trial.tensor("activation/hidden").value(0), expected, rtol=1e-6)


def test_a_gradient_is_what_it_is_without_the_hook(hook):
    def loss(params, x, y, record):
        if record:
            hook.save_tree("params", params)
        return loss_of(jax.tree.map(jnp.tanh, params), x, y)

    args = (init(), *next(batches(1)))
    plain, recorded = (jax.jit(jax.grad(partial(loss, record=record)))(*args) for record in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, plain, recorded)


def test_vmap_saves_all_of_a_batch_as_one_tensor(out_dir):
    def save_one(hook, params, x):
        hook.save("activation/out", predict(params, x))
        hook.save_tree("params", params)

    def save_all(hook, params, x):
        jax.vmap(partial(save_one, hook), in_axes=(None, 0))(params, x)

    params, (x, _) = init(), next(batches(1, size=5))
    trial = one_step(out_dir, save_all, params, x)
    np.testing.assert_allclose(
        trial.tensor("activation/out").value(0), predict(params, x), rtol=1e-5
    )
    assert trial.tensor("params/layer0/kernel").value(0).shape == (3, 8)


def test_gradients_of_each_example(out_dir):
    def per_example(hook, params, x, y):
        def loss(params, x, y):
            hook.save("activation/out", predict(params, x))
            return loss_of(params, x, y)

        hook.save_tree("gradient", jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, x, y))

    trial = one_step(out_dir, per_example, init(), *next(batches(1, size=5)))
    assert trial.tensor("gradient/layer0/kernel").value(0).shape == (5, 3, 8)
    assert trial.tensor("activation/out").value(0).shape == (5, 2)


def test_of_a_loop_the_last_turn_stays(out_dir):
    def recurrent(hook, xs):
        def turn(state, x):
            state = jnp.tanh(state + x)
            hook.save("state", state)
            return state, state

        last, states = lax.scan(turn, jnp.zeros(3), xs)
        hook.save("states", states)
        hook.save("last", last)

    trial = one_step(out_dir, recurrent, jnp.ones((4, 3)))
    assert np.array_equal(trial.tensor("state").value(0), trial.tensor("last").value(0))
    assert trial.tensor("states").value(0).shape == (4, 3)


def test_rematerialisation_saves_once(out_dir):
    calls = []

    def gradient(hook, x):
        receive = hook._receive
        hook._receive = lambda names, *values: (calls.append(names), receive(names, *values))

        @jax.checkpoint
        def block(x):
            x = jnp.sin(x)
            hook.save("x", x)
            return jnp.sin(x).sum()

        return jax.grad(block)(x)

    trial = one_step(out_dir, gradient, jnp.ones(3))
    assert calls == [("x",)]
    np.testing.assert_allclose(trial.tensor("x").value(0), np.sin(np.ones(3)), rtol=1e-6)


def test_a_batch_spread_over_devices(out_dir):
    mesh = jax.make_mesh((2,), ("batch",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    x = jax.device_put(jnp.arange(12.0).reshape(4, 3), spread)
    trial = one_step(out_dir, lambda hook, x: hook.save("x", x * 2), x)
    assert np.array_equal(trial.tensor("x").value(0), x * 2)


@pytest.mark.parametrize("loop", ["fori_loop", "while_loop"])
def test_of_other_loops_too(out_dir, loop):
    def run(hook, x):
        def turn(i, x):
            hook.save("x", x)
            return x + 1

        if loop == "fori_loop":
            return lax.fori_loop(0, 3, turn, x)
        return lax.while_loop(lambda x: x[0] < 3, partial(turn, None), x)

    assert one_step(out_dir, run, jnp.zeros(2)).tensor("x").value(0).tolist() == [2, 2]


def test_each_device_of_shard_map_saves_its_part(out_dir):
    mesh = jax.make_mesh((2,), ("batch",))
    spec = jax.sharding.PartitionSpec("batch")

    def run(hook, x):
        save = lambda part: (hook.save("x", part), part)[1]  # noqa: E731
        return jax.shard_map(save, mesh=mesh, in_specs=spec, out_specs=spec)(x)

    x = jax.device_put(jnp.arange(4.0), jax.sharding.NamedSharding(mesh, spec))
    value = one_step(out_dir, run, x).tensor("x").value(0).tolist()
    assert value in ([0, 1], [2, 3])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_small_floats(out_dir, dtype):
    trial = one_step(out_dir, lambda hook, x: hook.save("x", x * 2), jnp.ones((2, 2), dtype))
    assert trial.tensor("x").value(0, raw=True).dtype == jnp.dtype(dtype)


def test_keys_are_passed_over(out_dir, caplog):
    def draw(hook, key):
        hook.save_tree("state", {"key": key, "x": jax.random.normal(key)})

    assert one_step(out_dir, draw, jax.random.key(0)).tensor_names() == ["state/x"]
    assert "state/key is a PRNG key" in caplog.text


def test_large_arrays(out_dir):
    trial = one_step(out_dir, lambda hook, x: hook.save("x", x + 1), jnp.zeros((2000, 2000)))
    assert trial.tensor("x").value(0).sum() == 4e6


def test_a_failure_in_a_callback_does_not_stop_the_training(out_dir, caplog):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, raise_errors=False)
    hook._as_saveable = lambda value: 1 / 0
    for _ in range(2):
        with hook.step():
            assert jax.jit(lambda x: (hook.save("x", x), x + 1)[1])(jnp.ones(2)).sum() == 4
    hook.close()
    assert hook.failures == 2
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


def test_a_function_outlives_its_hook(hook, read):
    save = jax.jit(lambda x: hook.save("x", x))
    with hook.step():
        save(jnp.ones(2))
    trial = read(hook)
    save(jnp.ones(2))
    jax.effects_barrier()
    assert trial.tensor("x").steps() == [0]


def test_a_function_goes_on_under_the_next_hook(hook, out_dir):
    save = jax.jit(lambda x: hook.save_tree("", {"x": x, "unwanted": x}))
    with hook.step():
        save(jnp.zeros(2))
    hook.close()
    other = smd.Hook(f"{out_dir}_other", include_regex="^x$", save_config=EVERY_SECOND)
    for step in range(1, 5):
        with other.step():
            save(jnp.full(2, step))
    other.close()
    assert hook.failures == other.failures == 0
    trial = smd.create_trial(f"{out_dir}_other")
    assert trial.tensor_names() == ["x"] and trial.tensor("x").steps() == [0, 2]
    np.testing.assert_array_equal(trial.tensor("x").value(2), [3, 3])
    assert smd.create_trial(out_dir).tensor("x").steps() == [0]


@pytest.mark.parametrize("wrap", [jax.jit, lambda function: function], ids=["jit", "plain"])
def test_rules_that_watch_stop_the_training(out_dir, wrap):
    hook = smd.Hook(out_dir)
    hook.attach(RuleSet("aws").add("VanishingGradient", action="stop"))
    save = wrap(lambda gradient: hook.save("gradient/w", gradient))
    steps = 0
    with pytest.raises(TrainingStopped) as caught:
        for steps in range(10):
            with hook.step(smd.modes.TRAIN):
                save(jnp.full(3, 10.0 ** (-2 * steps - 1)))
    assert (steps, caught.value.step) == (5, 4), "the gradient of step 4 is 1e-9"
    with hook.step(smd.modes.EVAL):
        hook.save("loss", 1.0)
    hook.close()
    assert smd.create_trial(out_dir).tensor_names() == ["loss"]


def test_a_traced_scalar_is_told_from_a_tensor(hook):
    with hook.step(), pytest.raises(SMDebugTypeError, match="traced"):
        jax.jit(lambda x: hook.save_scalar("x", x))(jnp.ones(()))
