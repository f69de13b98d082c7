"""Collections: groups of tensors, alone, in files and in a hook."""

import json
import os

import numpy as np
import pytest
from helpers import EVERY_STEP, record
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
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugTypeError,
    SMDebugValueError,
)


def test_a_collection_as_text():
    collection = Collection(
        "relu",
        include_regex=["relu"],
        tensor_names={"b", "a"},
        reduction_config=ReductionConfig(reductions=["min"]),
        save_config={modes.TRAIN: SaveConfigMode(save_interval=2)},
        save_histogram=False,
    )
    assert collection.to_json_dict() == {
        "name": "relu",
        "include_regex": ["relu"],
        "tensor_names": ["a", "b"],
        "reduction_config": {"save_raw_tensor": False, "reductions": "min", "save_shape": False},
        "save_config": {
            "TRAIN": {"save_interval": 2, "save_steps": [], "start_step": 0, "end_step": None},
            "EVAL": None,
            "PREDICT": None,
            "GLOBAL": None,
        },
        "save_histogram": False,
    }
    assert list(collection.to_json_dict())[:3] == ["name", "include_regex", "tensor_names"]
    assert Collection.from_json(collection.to_json()) == collection


def test_keys_may_be_missing_in_a_collections_text():
    assert Collection.from_dict({"name": "relu"}) == Collection("relu")


def test_regular_expressions_are_added_one_by_one_or_as_a_list():
    collection = Collection("relu")
    collection.include("a")
    collection.include(["b", ["c"]])
    assert collection.include_regex == ["a", "b", "c"]


def test_names_are_added_and_taken_out():
    collection = Collection("relu", tensor_names=["a", "b", "a"])
    assert collection.tensor_names == {"a", "b"}
    collection.add_tensor_name("c")
    collection.remove_tensor_name("a")
    collection.remove_tensor_name("never there")
    assert collection.has_tensor_name("c")
    assert not collection.has_tensor_name("a")


def test_collections_are_compared_by_content_and_hashed_by_name():
    assert Collection("a", ["x"]) == Collection("a", ["x"])
    assert Collection("a", ["x"]) != Collection("a", ["y"])
    assert hash(Collection("a", ["x"])) == hash(Collection("a", ["y"]))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"name": 3}, SMDebugTypeError),
        ({"include_regex": [3]}, SMDebugTypeError),
        ({"include_regex": ["("]}, SMDebugValueError),
        ({"tensor_names": ("a",)}, SMDebugTypeError),
        ({"reduction_config": "min"}, SMDebugTypeError),
        ({"save_config": 3}, SMDebugTypeError),
    ],
)
def test_bad_collections_are_refused(settings, error):
    with pytest.raises(error):
        Collection(**{"name": "bad", **settings})


# ---- files -----------------------------------------------------------------------


def test_a_collections_file_is_read_back(tmp_path):
    manager = CollectionManager()
    manager.create_collection("default")
    manager.get("default").include("loss")
    manager.add(Collection("trial1"))
    manager.add("trial2")
    manager.set_num_workers(2)
    manager.export(str(tmp_path), "worker_0_collections.json")
    path = tmp_path / "collections" / "000000000" / "worker_0_collections.json"
    assert json.loads(path.read_text())["_meta"] == {"num_workers": 2}
    read = CollectionManager.load(str(path))
    assert read == manager
    assert read.get_num_workers() == 2
    assert list(read.get_collections()) == ["default", "trial1", "trial2"]
    assert os.listdir(path.parent) == [path.name]


def test_a_collection_that_is_missing_is_made_on_demand():
    manager = CollectionManager()
    with pytest.raises(SMDebugError):
        manager.get("a", create=False)
    assert manager.get("a") is manager.get("a")


def test_other_keys_in_a_collections_file_are_refused():
    with pytest.raises(SMDebugValueError, match="extra"):
        CollectionManager.load_from_string('{"collections": {}, "_meta": {}, "extra": 1}')


# ---- in a hook --------------------------------------------------------------------


def saved_names(out_dir, **settings):
    tensors = {name: np.zeros(2) for name in ("bn/mean", "relu_0", "relu_1", "fc/weight")}
    return record(out_dir, [tensors], save_all=False, **settings).tensor_names()


def test_only_included_collections_are_saved(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["relu"]) as hook:
        hook.get_collection("relu").include("relu_1")
        hook.get_collection("others").include("fc")
        with hook.step():
            for name in ("relu_0", "relu_1", "fc/weight"):
                hook.save(name, np.zeros(2))
    trial = create_trial(out_dir)
    assert trial.tensor_names() == ["relu_1"]
    assert trial.collection("relu").tensor_names == {"relu_1"}
    assert trial.tensor_names(collection="relu") == ["relu_1"]


def test_include_regex_goes_to_the_default_collection(out_dir):
    assert saved_names(out_dir, include_regex="relu") == ["relu_0", "relu_1"]
    assert create_trial(out_dir).tensor_names(collection="default") == ["relu_0", "relu_1"]


def test_include_regex_may_be_a_list(out_dir):
    assert saved_names(out_dir, include_regex=["relu_0", "weight"]) == ["fc/weight", "relu_0"]


def test_a_collection_has_its_own_save_config(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["rare", "often"]) as hook:
        rare = Collection("rare", include_regex=["^r"])
        rare.save_config = SaveConfig(save_interval=3)
        hook.add_collection(rare)
        hook.get_collection("often").include("^o")
        for _ in range(5):
            with hook.step():
                hook.save("r", 1.0)
                hook.save("o", 1.0)
    trial = create_trial(out_dir)
    assert trial.tensor("r").steps() == [0, 3]
    assert trial.tensor("o").steps() == [0, 1, 2, 3, 4]


def test_a_change_of_a_collection_counts_from_the_next_step_on(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["relu"]) as hook:
        relu = hook.get_collection("relu")
        relu.include("a")
        for step in range(3):
            with hook.step():
                if step == 0:
                    relu.include("b")
                hook.save("a", 1.0)
                hook.save("b", 1.0)
    trial = create_trial(out_dir)
    assert trial.tensor("a").steps() == [0, 1, 2]
    assert trial.tensor("b").steps() == [1, 2]


def test_a_collection_names_the_tensors_that_matched(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["relu"]) as hook:
        relu = hook.get_collection("relu")
        relu.include("relu")
        with hook.step():
            hook.save("relu_0", 1.0)
            hook.save("other", 1.0)
        assert relu.tensor_names == {"relu_0"}


def test_a_collection_of_ones_own_must_include_something(out_dir):
    hook = Hook(out_dir, include_collections=["empty"])
    hook.get_collection("empty")
    with pytest.raises(InvalidCollectionConfiguration) as caught:
        hook.begin_step()
    assert caught.value.c_name == "empty"


def test_a_hooks_collections_can_be_asked_for(out_dir):
    hook = Hook(out_dir)
    assert {"all", "default", "weights", "losses"} <= set(hook.get_collections())
    assert hook.get_collection("losses") is hook.get_collection("losses")
    with pytest.raises(SMDebugError):
        hook.get_collection("never made", create=False)
    with pytest.raises(SMDebugTypeError):
        hook.add_collection("relu")


def test_reductions_that_the_original_does_not_know_come_back(out_dir):
    config = ReductionConfig(reductions=["median", "min"], abs_reductions=["median"])
    with Hook(out_dir, include_collections=["mine"], save_config=EVERY_STEP) as hook:
        hook.add_collection(Collection("mine", include_regex=["x"], reduction_config=config))
        with hook.step():
            hook.save("x", np.array([1.0, 2.0, 4.0]))
    read = create_trial(out_dir).collection("mine").reduction_config
    assert sorted(read.reductions) == ["median", "min"]
    assert read.abs_reductions == ["median"]


def test_a_collections_reductions_replace_the_hooks(out_dir):
    with Hook(out_dir, save_config=EVERY_STEP, include_collections=["stats"]) as hook:
        stats = hook.get_collection("stats")
        stats.include("^s")
        stats.reduction_config = ReductionConfig(reductions=["max"], abs_norms=["l2"])
        with hook.step():
            hook.save("s", np.array([3.0, -4.0]))
    values = create_trial(out_dir).tensor("s").reduction_values(0)
    assert {key: value.tolist() for key, value in values.items()} == {
        ("max", False): [3.0],
        ("l2", True): [5.0],
    }
