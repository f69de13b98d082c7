"""Tests that the original library reads trials of this library's hook."""

import json
from pathlib import Path

import numpy as np
import pytest
from smdebug import (
    Collection,
    Hook,
    ReductionConfig,
    SaveConfig,
    SaveConfigMode,
    create_trial,
    modes,
)
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.placement import Placement
from smdebug.core.writer import FileWriter


def record(hook, rank=0):
    """Records five TRAIN and EVAL steps, as a training script does."""
    for step in range(5):
        for mode in (modes.TRAIN, modes.EVAL):
            with hook.step(mode):
                hook.save("conv.weight", np.full((2, 3), step + rank, np.float32))
                hook.save("gradient/conv.weight", np.full((2, 3), 0.1 * step))
                hook.save("stats/a", np.linspace(-1, 1 + step, 7))
                hook.save("CrossEntropyLoss_output_0", np.float32(1 / (step + 1)))
                hook.save("unwanted", np.zeros(3))
            hook.save_scalar("lr", 0.1 / (step + 1))
            hook.save_tensor("custom", [step, step], "weights")


def settings(**others):
    return {
        "save_config": SaveConfig(
            {modes.TRAIN: SaveConfigMode(save_interval=2), modes.EVAL: SaveConfigMode(1)}
        ),
        "include_collections": ["weights", "gradients", "stats"],
        **others,
    }


STATS = Collection(
    "stats",
    include_regex=["^stats"],
    reduction_config=ReductionConfig(
        ["min", "max", "mean", "std", "variance", "sum", "prod"], ["mean"], ["l1", "l2"]
    ),
)


def stats():
    return Collection.from_json(STATS.to_json())


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "run")


def test_one_worker(folder, original, ours):
    with Hook(folder, **settings()) as hook:
        hook.add_collection(stats())
        hook.get_collection("weights").include("weight")
        record(hook)
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert theirs["ended"]
    assert theirs["steps"]["TRAIN"] == [0, 2, 4]
    assert "unwanted" not in theirs["names"]
    assert len(theirs["tensors"]["stats/a TRAIN 2 worker_0"]["reductions"]) == 10
    assert theirs["collections"]["stats"]["found"] == ["stats/a"]


def test_several_workers(folder, original, ours):
    hooks = [
        Hook(folder, **settings(worker=f"worker_{rank}", num_workers=3, include_workers="all"))
        for rank in range(3)
    ]
    for rank, hook in enumerate(hooks):
        hook.get_collection("weights").include("weight")
        hook.get_collection("stats").include("^stats")
        record(hook, rank)
        hook.close()
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert theirs["workers"] == ["worker_0", "worker_1", "worker_2"]


def test_workers_that_hold_parts(folder, original, ours):
    hooks = [
        Hook(folder, **settings(worker=f"worker_{rank}", num_workers=2, include_workers="all"))
        for rank in range(2)
    ]
    for rank, hook in enumerate(hooks):
        hook.set_placement("conv.weight", Placement((4, 3), (2 * rank, 0), (2, 3)))
        hook.set_metadata(rate=0.1)
        record(hook, rank)
    for hook in hooks:
        hook.close()
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert theirs["workers"] == ["worker_0", "worker_1"]
    original("rewrite_collections.py", folder)
    whole = create_trial(folder).tensor("conv.weight").full_value(2, modes.TRAIN)
    assert whole[:, 0].tolist() == [2, 2, 3, 3]
    assert create_trial(folder).metadata()["rate"] == "0.1"


def test_a_running_job(folder, original, ours):
    hook = Hook(folder, **settings(save_all=True))
    hook.get_collection("stats").include("^stats")
    record(hook)
    hook.begin_step()
    hook.save("conv.weight", np.zeros(2))
    hook.flush()
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert not theirs["ended"]
    hook.close()


def test_shapes_instead_of_values(folder, original, ours):
    config = ReductionConfig(save_shape=True)
    with Hook(folder, save_all=True, reduction_config=config) as hook, hook.step():
        hook.save("a", np.zeros((3, 4, 5)))
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert theirs["tensors"]["a GLOBAL 0 worker_0"]["shape"] == [3, 4, 5]


def test_the_original_skips_only_the_tensors_that_it_cannot_read(folder, original):
    new = {
        "int16": np.ones(2, "i2"),
        "uint64": np.ones(2, "u8"),
        "complex64": np.ones(2, "c8"),
        "empty": np.zeros((0, 3), "f4"),
        "text": np.array([["a", "b"], ["c", "d"]]),
    }
    manager = CollectionManager()
    manager.add("default")
    manager.export(folder, "worker_0_collections.json")
    with FileWriter(folder, worker="worker_0", step=0) as writer:
        for name, value in {**new, "good": np.ones(2)}.items():
            writer.write_tensor(value, name)
    theirs = original("dump_trial.py", folder)
    assert theirs["names"] == sorted([*new, "good"])
    for name in theirs["names"]:
        refused = "error" in theirs["tensors"][f"{name} GLOBAL 0 worker_0"]["value"]
        assert refused == (name != "good")


def test_a_device_as_a_worker(folder, original, ours):
    encoded = "_job-worker_replica-0_task-1_device-GPU-0"
    manager = CollectionManager()
    manager.add("default")
    manager.export(folder, f"{encoded}_collections.json")
    with FileWriter(folder, worker=encoded, step=0) as writer:
        writer.write_tensor(np.ones(2), "w")
    theirs = original("dump_trial.py", folder)
    assert theirs == ours("dump_trial.py", folder)
    assert theirs["workers"] == ["/job:worker/replica:0/task:1/device:GPU:0"]


def test_parts_of_a_large_tensor(folder, original):
    """The original sees the parts as tensors; we see the tensor."""
    whole = np.arange(12.0).reshape(4, 3)
    with Hook(folder, save_config=SaveConfig(save_interval=1), save_all=True) as hook, hook.step():
        hook.save("w/part_0", whole[:3])
        hook.save("w/part_1", whole[3:])
    # A hook adds these keys to the parts of a tensor of 2 GiB.
    (index,) = Path(folder).glob("index/*/*.json")
    content = json.loads(index.read_text())
    for number, entry in enumerate(content["tensor_payload"]):
        entry.update({"part_of": "w", "part": number, "whole_shape": [4, 3]})
    index.write_text(json.dumps(content))
    theirs = original("dump_trial.py", folder)
    assert theirs["names"] == ["w/part_0", "w/part_1"]
    trial = create_trial(folder)
    assert trial.tensor_names() == ["w"]
    np.testing.assert_array_equal(trial.tensor("w").value(0), whole)
