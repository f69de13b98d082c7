"""Names of the original for TensorFlow that only its own tests import."""

import pytest
import tensorflow as tf

from smdebug.core.utils import FRAMEWORK, is_framework_version_supported
from smdebug.exceptions import SMDebugError
from smdebug.tensorflow.collection import CollectionManager
from smdebug.tensorflow.utils import (
    TFDistributionStrategy,
    does_tf_support_mixed_precision_training,
    get_chief_worker_from_tf_config,
    get_num_workers_from_tf_config,
    get_worker_id_from_tf_config,
    is_parameter_server_strategy,
    load_tf_config_json,
    tensor_can_be_saved,
)


def test_managers_hold_the_collections_of_tensorflow(tmp_path):
    manager = CollectionManager()
    assert {"weights", "biases", "gradients", "losses"} <= set(manager.get_collections())
    assert manager.get("biases").include_regex
    assert CollectionManager(create_default=False).get_collections() == {}
    mine = CollectionManager(create_default=False)
    mine.add("mine")
    mine.get("mine").include("relu")
    mine.export(str(tmp_path), "worker_0_collections.json")
    path = tmp_path / "collections" / "000000000" / "worker_0_collections.json"
    loaded = CollectionManager.load(str(path))
    assert loaded == mine and isinstance(loaded, CollectionManager)
    # Variables and layers can be added to it.
    loaded.get("mine").add(tf.Variable(1.0, name="v"))
    assert CollectionManager.load_from_string(path.read_text()) == mine


def test_clusters():
    config = load_tf_config_json(
        '{"cluster": {"chief": ["a"], "worker": ["b", "c"], "ps": ["d"]}, '
        '"task": {"type": "worker", "index": 1}}'
    )
    assert is_parameter_server_strategy(config) is True
    assert get_worker_id_from_tf_config(config) == "worker_1"
    assert [get_num_workers_from_tf_config(config) for _ in range(2)] == [3, 3]
    assert get_chief_worker_from_tf_config(config) == "chief_0"
    alone = {"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}
    assert is_parameter_server_strategy(alone) is is_parameter_server_strategy(None) is False
    assert get_num_workers_from_tf_config(alone) == 1
    with pytest.raises(SMDebugError, match="no chief"):
        get_chief_worker_from_tf_config(alone)
    assert load_tf_config_json(None) is load_tf_config_json("{") is None
    assert TFDistributionStrategy["MIRRORED"].value == 2 and len(TFDistributionStrategy) == 6


def test_versions():
    assert does_tf_support_mixed_precision_training() is True
    assert is_framework_version_supported(FRAMEWORK.TENSORFLOW) is True


def test_tensors_without_unfilled_placeholders_can_be_saved():
    with tf.Graph().as_default():
        filled = tf.constant(1.0)
        unfilled = tf.compat.v1.placeholder(tf.float32, ())
        total, product = filled + filled, filled * unfilled
        loss = tf.square(product) + total
        assert tensor_can_be_saved(total, set(), [unfilled])
        assert not tensor_can_be_saved(loss, set(), [unfilled])
        assert tensor_can_be_saved(loss, {product.op.name}, [unfilled])
        assert not tensor_can_be_saved(unfilled, set(), [unfilled])
