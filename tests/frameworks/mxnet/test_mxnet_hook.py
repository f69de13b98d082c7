"""The hook on real Gluon models."""

import json
import logging
import os
import subprocess
import sys
import types

import mxnet as mx
import numpy as np
import pytest
import smdebug.mxnet as smd
from mxnet import autograd, gluon, nd
from profiled import configure, steps_in
from smdebug.exceptions import SMDebugTypeError, TrainingStopped
from smdebug.rules import RuleSet

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

EVERY_STEP = smd.SaveConfig(save_interval=1)
BASIC = ["weights", "biases", "gradients"]


def mlp(**settings):
    """Returns two layers, each block with a name of its own."""
    net = gluon.nn.HybridSequential(prefix="mlp_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier(), **settings)
    return net


def steps_of(net, count=1, loss=None, x=None):
    """Trains the model for some steps; by default the loss is the sum of the outputs."""
    x = nd.ones((2, 3)) if x is None else x
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(count):
        with autograd.record():
            out = net(x)
            out = out.sum() if loss is None else loss(out, nd.zeros((2, 2)))
        out.backward()
        trainer.step(1)


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


def test_losses_alone_are_saved_if_nothing_is_asked_for(make, read):
    hook, net = make(save_config=None), mlp()
    loss = gluon.loss.L2Loss(prefix="l2loss0_")
    hook.register_block(net)
    hook.register_block(loss)
    steps_of(net, 501, loss)
    trial = read(hook)
    assert trial.steps() == [0, 500]
    assert trial.tensor_names() == trial.tensor_names(collection="losses") == ["l2loss0_output_0"]
    assert trial.tensor("l2loss0_output_0").value(0).shape == (2,)


def test_parameters_are_those_after_the_step_and_gradients_those_of_it(make, read):
    hook, net = make(include_collections=BASIC), mlp()
    hook.register_hook(net)
    values, gradients = [], []
    for _ in range(2):
        steps_of(net)
        values.append(net[1].weight.data().asnumpy())
        gradients.append(net[1].weight.grad().asnumpy())
    trial = read(hook)
    assert trial.tensor_names(collection="weights") == ["mlp_dense0_weight", "mlp_dense1_weight"]
    assert trial.tensor_names(collection="biases") == ["mlp_dense0_bias", "mlp_dense1_bias"]
    assert len(trial.tensor_names(collection="gradients")) == 4
    for step in range(2):
        weight = trial.tensor("mlp_dense1_weight").value(step)
        gradient = trial.tensor("gradient/mlp_dense1_weight").value(step)
        assert np.array_equal(weight, values[step])
        assert np.array_equal(gradient, gradients[step])


def test_blocks_are_recorded_with_their_inputs_and_outputs(make, read):
    hook, net = make(save_all=True), mlp()
    hook.register_block(net)
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    out = net(x)
    trial = read(hook)
    of_blocks = [name for name in trial.tensor_names() if "put_" in name]
    assert of_blocks == sorted(
        f"{block}_{side}_0"
        for block in ("mlp", "mlp_dense0", "mlp_dense0_relu", "mlp_dense1")
        for side in ("input", "output")
    )
    assert np.array_equal(trial.tensor("mlp_dense0_input_0").value(0), x.asnumpy())
    assert np.array_equal(trial.tensor("mlp_output_0").value(0), out.asnumpy())


@pytest.mark.parametrize(
    ("settings", "looks_inside"),
    [
        ({}, False),
        ({"include_collections": BASIC}, False),
        ({"include_collections": ["relu"]}, True),
        ({"include_regex": "relu"}, True),
        ({"save_all": True}, True),
    ],
)
def test_blocks_are_looked_into_only_if_their_tensors_are_wanted(make, settings, looks_inside):
    hook, net = make(**settings), mlp()
    hook.register_block(net)
    blocks = {net, net[0], net[0].act, net[1]}
    assert hook.registered_blocks == (blocks if looks_inside else {net})


def test_a_collection_of_a_block(make, read):
    hook, net = make(include_collections=["relu", "first"]), mlp()
    hook.get_collection("relu").add_block_tensors(net[0].act)
    hook.get_collection("first").add_block_tensors(net[0], inputs=True, outputs=False)
    hook.register_block(net)
    net(nd.ones((2, 3)))
    trial = read(hook)
    assert trial.tensor_names(collection="relu") == ["mlp_dense0_relu_output_0"]
    assert trial.tensor_names() == ["mlp_dense0_input_0", "mlp_dense0_relu_output_0"]


class Twice(gluon.Block):
    """Calls one layer twice, and takes and returns tensors in lists."""

    def __init__(self):
        super().__init__(prefix="twice_")
        with self.name_scope():
            self.layer = gluon.nn.Dense(3, flatten=False)

    def forward(self, pair, third):
        return self.layer(pair[0]), [self.layer(pair[1]), third]


def test_tensors_of_a_block_are_numbered_within_the_step(make, read):
    hook, net = make(save_all=True), Twice()
    net.initialize()
    hook.register_block(net)
    for _ in range(2):
        net([nd.ones((2, 3)), nd.zeros((2, 3))], nd.ones(5))
    trial = read(hook)
    for name, count in (("twice_input", 3), ("twice_output", 3), ("twice_dense0_output", 2)):
        assert trial.tensor_names(step=1, regex=name) == [f"{name}_{i}" for i in range(count)]
    assert trial.tensor("twice_input_2").value(1).shape == (5,)
    assert not trial.tensor("twice_dense0_output_1").value(1).any()


def test_of_a_hybridized_model_only_the_outside_is_seen(make, read):
    hook, net = make(save_all=True), mlp()
    net.hybridize()
    hook.register_block(net)
    steps_of(net, 2)
    trial = read(hook)
    assert trial.steps() == [0, 1]
    assert trial.tensor_names(regex="put_") == ["mlp_input_0", "mlp_output_0"]
    assert len(trial.tensor_names(collection="gradients")) == 4


def test_a_step_keeps_its_mode_when_the_next_one_is_set(make, read):
    hook, net = make(include_collections=BASIC), mlp()
    hook.register_block(net)
    for _ in range(2):
        hook.set_mode(smd.modes.TRAIN)
        steps_of(net)
        hook.set_mode(smd.modes.EVAL)
        net(nd.ones((2, 3)))
    trial = read(hook)
    gradient = trial.tensor("gradient/mlp_dense0_weight")
    assert gradient.steps(smd.modes.TRAIN) == [0, 1] and gradient.steps(smd.modes.EVAL) == []
    assert trial.tensor("mlp_dense0_weight").steps(smd.modes.EVAL) == [0, 1]


def test_each_of_two_models_has_its_steps(make, read):
    hook = make(include_collections=["gradients"])
    nets = [gluon.nn.Dense(2, in_units=3, prefix=f"{name}_") for name in ("gen", "dis")]
    for net in nets:
        net.initialize()
        hook.register_block(net)
    for _ in range(2):
        for net in nets:
            steps_of(net)
    trial = read(hook)
    assert trial.tensor("gradient/gen_weight").steps() == [0, 2]
    assert trial.tensor("gradient/dis_weight").steps() == [1, 3]


class Sparse(gluon.Block):
    """A model with an embedding whose gradient is sparse, and with a sparse weight."""

    def __init__(self):
        super().__init__(prefix="sparse_")
        with self.name_scope():
            self.embedding = gluon.nn.Embedding(5, 2, sparse_grad=True)
            sparse = {"stype": "row_sparse", "grad_stype": "row_sparse"}
            self.weight = self.params.get("rows_weight", shape=(5, 2), **sparse)

    def forward(self, rows):
        chosen = nd.one_hot(rows, 5).tostype("csr")
        return self.embedding(rows) + nd.sparse.dot(chosen, self.weight.row_sparse_data(rows))


def test_sparse_parameters_are_saved_whole(make, read):
    hook, net = make(include_collections=BASIC), Sparse()
    net.initialize(mx.init.One())
    hook.register_block(net)
    steps_of(net, x=nd.array([1, 3], dtype="int64"))
    trial = read(hook)
    gradient = trial.tensor("gradient/sparse_embedding0_weight").value(0)
    assert gradient.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]]
    assert np.allclose(trial.tensor("sparse_rows_weight").value(0)[:, 0], [1, 0.9, 1, 0.9, 1])


def test_a_parameter_without_values_yet_is_passed_over(make, read):
    hook = make(include_collections=BASIC)
    net = gluon.nn.Sequential(prefix="net_")
    net.add(gluon.nn.Dense(2, prefix="used_"))
    unused = gluon.nn.Dense(2, prefix="unused_")
    net.params.update(unused.collect_params())
    net.initialize()
    hook.register_block(net)
    net(nd.ones((2, 3)))
    trial = read(hook)
    assert trial.tensor_names(collection="weights") == ["used_weight"]


def test_a_model_on_several_devices_is_recorded_from_the_first(make, read):
    hook, net = make(include_collections=BASIC), mlp(ctx=[mx.cpu(0), mx.cpu(1)])
    hook.register_block(net)
    for part in gluon.utils.split_and_load(nd.ones((4, 3)), [mx.cpu(0), mx.cpu(1)]):
        net(part)
    trial = read(hook)
    saved = trial.tensor("mlp_dense0_weight").value(1)
    assert np.array_equal(saved, net[0].weight.data(mx.cpu(0)).asnumpy())


@pytest.mark.parametrize("dtype", "float16 float32 float64 uint8 int8 int32 int64".split())
def test_arrays_are_saved_in_their_own_type(make, read, dtype):
    hook = make()
    hook.save_tensor("x", nd.array([[1, 0], [3, 4]]).astype(dtype)[1:])
    with hook.step():
        pass
    value = read(hook).tensor("x").value(0)
    assert value.dtype == dtype and value.tolist() == [[3, 4]]


def test_other_kinds_of_arrays(make, read):
    hook = make()
    bfloat16 = np.dtype([("bfloat16", np.uint16)])
    hook.save_tensor("bool", nd.array([1, 0]).astype("bool"))
    hook.save_tensor("bfloat16", nd.amp_cast(nd.array([1, 2.5]), dtype=bfloat16))
    hook.save_tensor("numpy", mx.np.array([[1.5]]))
    hook.save_tensor("csr", nd.array([[0, 2], [0, 0]]).tostype("csr"))
    hook.save_scalar("scalar", nd.array([0.25]))
    with hook.step():
        pass
    trial = read(hook)
    values = {name: trial.tensor(name).value(0) for name in trial.tensor_names()}
    assert values["bool"].dtype == bool and values["bool"].tolist() == [True, False]
    assert values["bfloat16"].dtype == np.float32 and values["bfloat16"].tolist() == [1, 2.5]
    assert trial.tensor("bfloat16").buffer(0).dtype == "bfloat16"
    assert values["numpy"].tolist() == [[1.5]]
    assert values["csr"].tolist() == [[0, 2], [0, 0]]
    assert values["scalar/scalar"].tolist() == [0.25]


def test_what_nobody_wants_is_not_asked_of_the_device(out_dir):
    class Counting(smd.Hook):
        asked = 0

        def _as_saveable(self, value):
            self.asked += 1
            return super()._as_saveable(value)

    save_config = smd.SaveConfig(save_interval=2)
    hook, net = Counting(out_dir, include_regex="relu_out", save_config=save_config), mlp()
    hook.register_block(net)
    steps_of(net, 4)
    hook.close()
    assert hook.asked == 2


def test_reductions_are_those_of_the_values(make, read):
    names = {"reductions": ["mean", "std", "variance", "median"], "norms": ["l1"]}
    hook = make(save_all=True, reduction_config=smd.ReductionConfig(**names, save_raw_tensor=True))
    net = mlp()
    hook.register_block(net)
    steps_of(net)
    tensor = read(hook).tensor("gradient/mlp_dense0_weight")
    value, saved = tensor.value(0), tensor.reduction_values(0)
    for name, expected in (("std", value.std()), ("median", np.median(value))):
        assert saved[name, False] == pytest.approx(expected, rel=1e-5)
    assert saved["l1", False] == pytest.approx(np.abs(value).sum(), rel=1e-5)


def test_what_is_no_block_is_refused(make, monkeypatch):
    with pytest.raises(SMDebugTypeError, match="a list is not a block"):
        make().register_block([])


def test_a_closed_hook_has_left_the_blocks(make, read):
    hook, net = make(save_all=True), mlp()
    hook.register_block(net)
    steps_of(net)
    trial = read(hook)
    steps_of(net)
    assert trial.steps() == [0]
    assert not any(block._forward_hooks or block._forward_pre_hooks for block in (net, *net))


def test_a_second_registration_is_warned_of(make, caplog):
    hook, net = make(), mlp()
    hook.register_block(net)
    hook.register_block(net)
    assert "already registered to the block mlp" in caplog.text


def test_a_failure_of_the_hook_does_not_stop_the_training(make, read, caplog, monkeypatch):
    hook, net = make(save_all=True, raise_errors=False), mlp()
    hook.register_block(net)
    monkeypatch.setattr(hook, "_as_saveable", lambda value: 1 / 0)
    before = net[0](nd.ones((2, 3))).asnumpy()
    steps_of(net, 2)
    assert not np.array_equal(net[0](nd.ones((2, 3))).asnumpy(), before)
    assert hook.failures > 2
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1
    assert len(read(hook).steps()) == 0


def test_rules_that_watch_stop_the_training(make, read):
    hook, net = make(save_config=None), mlp()
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": "1e3"}, action="stop"))
    hook.register_block(net)
    with pytest.raises(TrainingStopped):
        steps_of(net, 5)
    assert hook.step == 0
    assert read(hook).tensor_names(collection="gradients") == []


def test_a_hook_from_a_configuration(tmp_path, out_dir, monkeypatch):
    config = {
        "LocalPath": out_dir,
        "HookParameters": {"train.save_interval": "2"},
        "CollectionConfigurations": [{"CollectionName": "gradients"}],
    }
    path = tmp_path / "config.json"
    assert smd.get_hook(str(path)) is None
    path.write_text(json.dumps(config))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    hook, net = smd.get_hook(), mlp()
    assert isinstance(hook, smd.Hook) and smd.get_hook() is hook
    assert isinstance(hook.get_collection("gradients"), smd.Collection)
    hook.set_mode(smd.modes.TRAIN)
    hook.register_block(net)
    steps_of(net, 3)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps(smd.modes.TRAIN) == [0, 2]
    assert len(trial.tensor_names(collection="gradients")) == 4


def test_workers_are_called_by_their_rank_in_horovod(out_dir, monkeypatch):
    horovod = types.ModuleType("horovod.mxnet")
    horovod.is_initialized, horovod.rank, horovod.size = lambda: True, lambda: 1, lambda: 2
    monkeypatch.setitem(sys.modules, "horovod.mxnet", horovod)
    with smd.Hook(out_dir, include_workers="all", save_config=EVERY_STEP, save_all=True) as hook:
        hook.register_block(net := mlp())
        net(nd.ones((2, 3)))
    assert hook.worker == "worker_1"
    assert os.listdir(f"{out_dir}/index/000000000") == ["000000000000_worker_1.json"]


UNCLOSED = """
import {first}, {second}
import smdebug.mxnet as smd, mxnet as mx
hook = smd.Hook({out_dir!r}, include_collections=["weights"])
net = mx.gluon.nn.Dense(3, prefix="dense_")
net.initialize()
hook.register_block(net)
net(mx.nd.ones((2, 4)))
"""


@pytest.mark.parametrize(
    ("first", "second"), [("mxnet", "smdebug.mxnet"), ("smdebug.mxnet", "mxnet")]
)
def test_the_end_of_the_process_closes_the_hook(out_dir, first, second):
    script = UNCLOSED.format(first=first, second=second, out_dir=out_dir)
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("dense_weight").value(0).shape == (3, 4)
    assert trial.loaded_all_steps


@pytest.mark.parametrize(
    ("mxnet", "sentence"),
    [
        ("raise ModuleNotFoundError(name='mxnet')", "smdebug.mxnet needs mxnet, which is not"),
        ("import numpy; numpy.gone", "pip install 'numpy<1.24'"),
    ],
)
def test_an_mxnet_that_cannot_be_imported_is_one_clear_sentence(tmp_path, mxnet, sentence):
    (tmp_path / "mxnet.py").write_text(mxnet)
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-c", "import smdebug.mxnet"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert sentence in done.stderr.splitlines()[-1]


def test_importing_the_package_imports_no_framework():
    script = "import sys, smdebug; sys.exit('mxnet' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_names_of_the_original_are_there():
    import smdebug.mxnet.collection as collection
    import smdebug.mxnet.singleton_utils as singleton_utils

    names = "Collection CollectionKeys Hook ReductionConfig SaveConfig SaveConfigMode"
    assert {*names.split(), "create_trial", "del_hook", "get_hook", "modes", "set_hook"} <= vars(
        smd
    ).keys()
    manager = collection.CollectionManager()
    assert manager.get("losses").include_regex == [".*loss._(?!input).*output"]
    assert isinstance(manager.get("weights"), collection.Collection)
    smd.set_hook(hook := smd.Hook("unused", dry_run=True))
    assert singleton_utils.get_hook() is hook
    smd.del_hook()
    assert smd.get_hook() is None


def test_the_steps_of_a_profiled_training(make, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    hook = make()
    net = mlp()
    hook.register_block(net)
    steps_of(net, 4)
    hook.close()
    assert steps_in(profile) == {"Step:ModeKeys.GLOBAL": [0, 1, 2, 3]}
