"""The hook on plain training loops, outside of jit."""

import logging
import os
import subprocess
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import smdebug.jax as smd
from models import batches, descend, init, loss_of
from profiled import configure, steps_in
from smdebug.exceptions import SMDebugRuntimeError, SMDebugTypeError

EVERY_STEP = smd.SaveConfig(save_interval=1)
TRAIN = smd.modes.TRAIN


@pytest.fixture
def make(out_dir):
    """Creates the test's hook, which by default saves every step."""
    return lambda **settings: smd.Hook(out_dir, **{"save_config": EVERY_STEP, **settings})


@pytest.fixture
def read(out_dir):
    """Closes the hook and opens its trial."""

    def close_and_open(hook):
        hook.close()
        return smd.create_trial(out_dir)

    return close_and_open


def saved(make, read, **trees):
    """Returns the trial of one step that saves these trees by their names."""
    hook = make(save_all=True)
    with hook.step():
        for prefix, tree in trees.items():
            hook.save_tree(prefix, tree)
    return read(hook)


def test_a_training_without_jit(make, read):
    hook = make(include_collections=["weights", "biases", "gradients"])
    params, truth = init(), []
    for x, y in batches(3):
        with hook.step(TRAIN):
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            params = descend(params, gradients)
            hook.save("loss", loss)
            hook.save_tree("params", params)
            hook.save_tree("gradient/params", gradients)
        truth.append((loss, params, gradients))
    trial = read(hook)
    layers = ["layer0", "layer1"]
    assert trial.tensor_names(collection="weights") == [f"params/{x}/kernel" for x in layers]
    assert trial.tensor_names(collection="biases") == [f"params/{x}/bias" for x in layers]
    assert trial.tensor_names(collection="losses") == ["loss"]
    assert len(trial.tensor_names(collection="gradients")) == 4
    for step, (loss, params, gradients) in enumerate(truth):
        kernel = trial.tensor("params/layer1/kernel").value(step, TRAIN)
        gradient = trial.tensor("gradient/params/layer1/kernel").value(step, TRAIN)
        assert trial.tensor("loss").value(step, TRAIN) == loss
        assert np.array_equal(kernel, params["layer1"]["kernel"])
        assert np.array_equal(gradient, gradients["layer1"]["kernel"])


class Moments(NamedTuple):
    mu: dict
    nu: dict


def test_leaves_are_called_by_their_paths(make, read):
    tree = {"a": [jnp.ones(1), (jnp.ones(2), None)], "b": Moments({"w": jnp.ones(3)}, {})}
    trial = saved(make, read, opt_state=tree, alone=jnp.ones(4), number=3.5)
    shapes = {name: trial.tensor(name).value(0).shape for name in trial.tensor_names()}
    assert shapes == {
        "opt_state/a/0": (1,),
        "opt_state/a/1/0": (2,),
        "opt_state/b/mu/w": (3,),
        "alone": (4,),
        "number": (1,),
    }
    assert len(trial.tensor_names(collection="optimizer_variables")) == 3


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("params/Dense_0/kernel", "weights"),
        ("params/0/1", "weights"),
        ("params/embed/embedding/value", "weights"),
        ("model/layers/0/weight", "weights"),
        ("params/Dense_0/bias", "biases"),
        ("params/linear/b", "biases"),
        ("params/linear/bias/value", "biases"),
        ("model/layers/0/bias", "biases"),
        ("gradient/params/Dense_0/bias", "gradients"),
        ("opt_state/0/mu/Dense_0/kernel", "optimizer_variables"),
        ("train_loss", "losses"),
        ("params/loss_head/kernel", "weights"),
    ],
)
def test_names_belong_to_one_collection(make, read, name, collection):
    trial = saved(make, read, **{name: jnp.ones(2)})
    collections = [found for found in trial.collections() if trial.tensor_names(collection=found)]
    assert collections == ["all", collection] or collections == [collection, "all"]


@pytest.mark.parametrize(
    "dtype", "bfloat16 float16 float32 float8_e5m2 int8 bool complex64".split()
)
def test_arrays_are_saved_in_their_own_type(make, read, dtype):
    value = saved(make, read, x=jnp.array([[1, 0], [2, 3]], dtype)).tensor("x").value(0, raw=True)
    assert value.dtype == jnp.dtype(dtype)
    assert np.array_equal(value, jnp.array([[1, 0], [2, 3]], dtype))


def test_leaves_that_are_no_tensors_are_passed_over(make, read, caplog):
    tree = {"f": jax.nn.relu, "name": "x", "n": np.arange(2), "s": np.float32(1), "yes": True}
    trial = saved(make, read, t=tree, keys=[jax.random.key(0), jax.random.key(1)])
    assert trial.tensor_names() == ["t/n", "t/s", "t/yes"]
    assert [record.getMessage() for record in caplog.records] == [
        "keys/0 is a PRNG key: keys are not saved; jax.random.key_data converts them to tensors"
    ]


class Counting(smd.Hook):
    """Counts the values that the hook requests from devices."""

    asked = 0

    def _as_saveable(self, value):
        self.asked += 1
        return super()._as_saveable(value)


def test_what_nobody_wants_is_not_asked_of_the_device(out_dir):
    hook = Counting(out_dir, include_regex="layer1", save_config=smd.SaveConfig(save_interval=3))
    for _ in range(7):
        with hook.step():
            assert hook.saves_step == (hook.step % 3 == 0)
            hook.save_tree("params", init())
    hook.close()
    assert hook.asked == 3 * 2


def test_reductions(make, read):
    hook = make(save_all=True, reduction_config=smd.ReductionConfig(["std"], norms=["l2"]))
    with hook.step():
        hook.save_tree("params", init())
    kernel = init()["layer0"]["kernel"]
    reductions = read(hook).tensor("params/layer0/kernel").reduction_values(0)
    assert reductions["std", False] == pytest.approx(float(kernel.std()), rel=1e-5)
    assert reductions["l2", False] == pytest.approx(float(jnp.linalg.norm(kernel)), rel=1e-5)


def test_arrays_on_several_devices(make, read):
    mesh = jax.make_mesh((2,), ("devices",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("devices"))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    x = jnp.arange(12.0).reshape(4, 3)
    tree = {"rows": jax.device_put(x, rows), "copies": jax.device_put(x, everywhere)}
    assert len(tree["rows"].devices()) == 2
    trial = saved(make, read, x=tree)
    for name in ("x/rows", "x/copies"):
        assert np.array_equal(trial.tensor(name).value(0), x)


def test_scalars_and_tensors_from_elsewhere(make, read):
    hook = make()
    hook.save_scalar("accuracy", jnp.array(0.5))
    hook.save_tensor("confusion", jnp.eye(2), "diagnostics")
    with hook.step():
        hook.save("loss", [1.0, 2.0])
    trial = read(hook)
    assert trial.tensor("scalar/accuracy").value(0).tolist() == 0.5
    assert trial.tensor("confusion").value(0).tolist() == [[1, 0], [0, 1]]
    assert trial.tensor("loss").value(0).tolist() == [1, 2]


def test_what_cannot_be_saved_costs_only_itself(make, read, caplog):
    hook = make(save_all=True, raise_errors=False)
    for _ in range(2):
        with hook.step():
            hook.save_tree("x", {"a": jnp.ones(2, jnp.int4), "b": jnp.ones(2)})
    assert hook.failures == 2
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1 and "int4" in errors[0].getMessage()
    assert read(hook).tensor("x/b").steps() == [0, 1]


def test_mistakes_are_said(make):
    hook = make(save_all=True)
    with pytest.raises(SMDebugRuntimeError, match="no step is open"):
        hook.save("loss", 1.0)
    with hook.step(), pytest.raises(SMDebugTypeError):
        hook.save("x", {1, 2})


def test_outside_of_a_step_nothing_is_saved(make, read):
    hook = make(save_all=True)
    hook.save_tree("params", init())
    with hook.step():
        hook.save("loss", jnp.array(1.0))
    hook.save("late", jnp.array(1.0))
    assert read(hook).tensor_names() == ["loss"]


def test_the_hook_of_the_process(make, tmp_path):
    assert smd.get_hook() is None
    assert smd.get_hook(str(tmp_path / "none.json"), create_if_not_exists=True) is None
    hook = make()
    assert smd.get_hook() is hook


def test_the_end_of_the_process_closes_the_hook(out_dir):
    script = (
        "import jax, jax.numpy as jnp, smdebug.jax as smd\n"
        f"hook = smd.Hook({out_dir!r}, save_all=True)\n"
        "hook.begin_step()\n"
        "jax.jit(lambda x: hook.save('x', x * 2))(jnp.ones((50, 50)))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("x").value(0).sum() == 5000 and trial.loaded_all_steps


def test_a_missing_jax_is_one_clear_sentence():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['jax'] = None; import smdebug.jax"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "smdebug.jax needs jax, which is not installed: pip install jax" in last


PROCESS = """
import sys, jax, jax.numpy as jnp
import smdebug.jax as smd
rank, port, out_dir = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
mesh = jax.make_mesh((2,), ("devices",))
on = lambda *spec: jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
make = lambda sharding: jax.jit(lambda: jnp.arange(4.0), out_shardings=sharding)()
hook = smd.Hook(out_dir, save_all=True, include_workers="all", raise_errors=False)
with hook.step():
    hook.save("rank", rank)
    hook.save_tree("x", {"everywhere": make(on()), "spread": make(on("devices"))})
hook.close()
assert hook.failures == 1
"""


def test_each_process_of_a_job_is_a_worker(out_dir, unused_port):
    environment = {**os.environ, "XLA_FLAGS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(unused_port), out_dir],
            env=environment,
        )
        for rank in range(2)
    ]
    assert [process.wait(60) for process in processes] == [0, 0]
    trial = smd.create_trial(out_dir)
    assert trial.workers() == ["worker_0", "worker_1"]
    for rank, worker in enumerate(trial.workers()):
        assert trial.tensor("rank").value(0, worker=worker).tolist() == [rank]
        assert trial.tensor("x/everywhere").value(0, worker=worker).tolist() == [0, 1, 2, 3]
    assert not trial.has_tensor("x/spread")


def test_the_steps_of_a_profiled_training(make, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    hook = make(raise_errors=True)
    for _ in range(3):
        with hook.step(TRAIN):
            hook.save("w", jnp.ones(3))
    with hook.step(smd.modes.EVAL):
        hook.save("w", jnp.ones(3))
    hook.close()
    expected = {"Step:ModeKeys.TRAIN": [0, 1, 2], "Step:ModeKeys.EVAL": [3]}
    assert steps_in(profile) == expected
