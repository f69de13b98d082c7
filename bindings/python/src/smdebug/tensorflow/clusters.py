"""The cluster of a distributed training, as the variable TF_CONFIG describes it."""

from __future__ import annotations

import collections
import json
from enum import Enum
from typing import Any, Dict, Mapping, Optional

from smdebug.core.frameworks import FRAMEWORK, version_of
from smdebug.exceptions import SMDebugError

__all__ = [
    "TFDistributionStrategy",
    "does_tf_support_mixed_precision_training",
    "get_chief_worker_from_tf_config",
    "get_num_workers_from_tf_config",
    "get_worker_id_from_tf_config",
    "is_parameter_server_strategy",
    "load_tf_config_json",
    "tensor_can_be_saved",
]

TfConfig = Optional[Mapping[str, Any]]


class TFDistributionStrategy(Enum):
    """The ways in which a training is distributed."""

    NONE = 0
    HOROVOD = 1
    MIRRORED = 2
    PARAMETER_SERVER = 3
    SMDATAPARALLEL = 4
    UNSUPPORTED = 100


def does_tf_support_mixed_precision_training() -> bool:
    """Returns whether the installed TensorFlow trains with mixed precision (since 2.1)."""
    version = version_of(FRAMEWORK.TENSORFLOW)
    return version is not None and version >= (2, 1)


def load_tf_config_json(tf_config: Optional[str]) -> Optional[Dict[str, Any]]:
    """Returns the content of TF_CONFIG; None if it holds no JSON object."""
    try:
        config = json.loads(tf_config or "")
    except (ValueError, TypeError):
        return None
    return config if isinstance(config, dict) else None


def is_parameter_server_strategy(tf_config_json: TfConfig) -> bool:
    """Returns whether the cluster has parameter servers."""
    cluster = tf_config_json.get("cluster") if isinstance(tf_config_json, Mapping) else None
    return isinstance(cluster, Mapping) and "ps" in cluster


def get_worker_id_from_tf_config(tf_config_json: Mapping[str, Any]) -> str:
    """Returns this process's task, as "worker_0"."""
    task = tf_config_json["task"]
    return f"{task['type']}_{task['index']}"


def get_num_workers_from_tf_config(tf_config_json: Mapping[str, Any]) -> int:
    """Returns the number of workers, the chief among them."""
    cluster = tf_config_json["cluster"]
    return len(cluster.get("worker", ())) + len(cluster.get("chief", ()))


def get_chief_worker_from_tf_config(tf_config_json: Mapping[str, Any]) -> str:
    """Returns the name of the chief.

    Raises
    ------
    SMDebugError
        If the cluster has none.
    """
    if "chief" not in tf_config_json["cluster"]:
        raise SMDebugError("the cluster of TF_CONFIG has no chief")
    return "chief_0"


def tensor_can_be_saved(root_tensor: Any, subgraph_nodes: Any, unfilled_placeholders: Any) -> bool:
    """Returns whether a tensor of a graph depends on no placeholder without a value.

    Parameters
    ----------
    root_tensor : tensorflow.Tensor
        The tensor.
    subgraph_nodes : container of str
        Names of operations that are run in any case.
    unfilled_placeholders : container of tensorflow.Tensor
        Placeholders without a value.
    """
    # Tensors of TensorFlow 2 cannot be members of sets, and compare element by element.
    seen = {id(root_tensor)}
    waiting = collections.deque([root_tensor])
    placeholders = {id(placeholder) for placeholder in unfilled_placeholders}
    while waiting:
        tensor = waiting.popleft()
        if tensor.op.name in subgraph_nodes:
            continue
        inputs = list(tensor.op.inputs)
        if not inputs and id(tensor) in placeholders:
            return False
        for each in inputs:
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append(each)
    return True
