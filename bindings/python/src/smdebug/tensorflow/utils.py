"""Detects the loaded Keras and its backend, and reads their tensors.

This module imports no framework: the framework of a tensor is already loaded.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from importlib.util import find_spec
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple, TypeVar

from smdebug.core.config_constants import DEFAULT_WORKER_NAME
from smdebug.tensorflow.clusters import (
    TFDistributionStrategy,
    does_tf_support_mixed_precision_training,
    get_chief_worker_from_tf_config,
    get_num_workers_from_tf_config,
    get_worker_id_from_tf_config,
    is_parameter_server_strategy,
    load_tf_config_json,
    tensor_can_be_saved,
)

__all__ = [
    "TFDistributionStrategy",
    "call_at_run_time",
    "callback_class",
    "does_tf_support_mixed_precision_training",
    "flat_tensors",
    "get_chief_worker_from_tf_config",
    "get_num_workers_from_tf_config",
    "get_worker_id_from_tf_config",
    "host_value",
    "is_abstract",
    "is_built",
    "is_compiled_by_xla",
    "is_first_replica",
    "is_parameter_server_strategy",
    "is_symbolic",
    "load_tf_config_json",
    "loaded",
    "place_of_process",
    "runs_in_sessions",
    "tensor_can_be_saved",
    "unconverted",
    "variable_name",
    "wait_for_calls",
    "zero_now",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_NOT_DENSE = ("RaggedTensor", "SparseTensor", "RaggedTensorValue", "SparseTensorValue")


# ---- Keras version and process -------------------------------------------------------


def loaded(name: str) -> Any:
    """Returns a library if the process has imported it, or None."""
    module = sys.modules.get(name)
    # A folder of the same name is a namespace package, which has no file.
    return module if getattr(module, "__file__", None) else None


def callback_class() -> Any:
    """Returns the callback class of the loaded Keras, or else of the installed one.

    If both Keras 3 and the old `tf_keras` are loaded, returns a class derived from both.
    """
    known = [loaded(name) for name in ("keras", "tf_keras")]
    libraries = [library for library in known if library is not None]
    if not libraries:
        legacy = os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")
        name = "tf_keras" if legacy and find_spec("tf_keras") else "keras"
        libraries = [importlib.import_module(name)]
    classes = tuple(dict.fromkeys(library.callbacks.Callback for library in libraries))
    return classes[0] if len(classes) == 1 else type("Callback", classes, {})


def place_of_process() -> Tuple[str, int]:
    """Returns this process's worker name and the number of workers.

    Asks Horovod and similar libraries, JAX and torch.distributed if they are in use, and then
    reads the variable TF_CONFIG.
    """
    for module in ("horovod.tensorflow", "smdistributed.dataparallel.tensorflow"):
        library = loaded(module)
        if library is not None and getattr(library, "is_initialized", lambda: True)():
            return f"worker_{library.rank()}", library.size()
    jax = loaded("jax")
    if jax is not None and getattr(jax.distributed, "is_initialized", lambda: False)():
        return f"worker_{jax.process_index()}", jax.process_count()
    distributed = getattr(loaded("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return f"worker_{distributed.get_rank()}", distributed.get_world_size()
    return _place_in_cluster(os.environ.get("TF_CONFIG"))


def _place_in_cluster(tf_config: Any) -> Tuple[str, int]:
    try:
        config = json.loads(tf_config)
        cluster, task = config["cluster"], config["task"]
        workers = len(cluster.get("worker", ())) + len(cluster.get("chief", ()))
        name = f"{task['type']}_{int(task['index'])}"
    except (TypeError, ValueError, KeyError, AttributeError):
        return DEFAULT_WORKER_NAME, 1
    return (name, workers) if workers > 1 else (DEFAULT_WORKER_NAME, 1)


def is_first_replica() -> bool:
    """Returns False in all replicas of a distribution strategy except the first."""
    tf = loaded("tensorflow")
    context = tf.distribute.get_replica_context() if tf is not None else None
    if context is None:
        return True
    replica = context.replica_id_in_sync_group
    if not isinstance(replica, int):
        replica = tf.get_static_value(replica)
    # Replica numbers continue across processes.
    return bool(replica == 0 or replica % len(context.strategy.extended.worker_devices) == 0)


# ---- tensors ---------------------------------------------------------------------------


def flat_tensors(value: Any) -> List[Any]:
    """Returns the dense tensors in nested lists, tuples and dicts, in order."""
    return list(_tensors_in(value))


def _tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        if type(value).__name__ not in _NOT_DENSE:
            yield value


def is_built(model: Any) -> bool:
    """Returns True if a model has its variables.  Keras 2 raises if they are read too early."""
    if getattr(model, "built", True):
        return True
    # One that trains its parts by itself, as a GAN does, may never be called.
    layers = getattr(model, "layers", ())
    return bool(layers) and all(is_built(each) for each in layers)


def variable_name(variable: Any, model: Any = None) -> str:
    """Returns a variable's name as TensorFlow spells it, "dense/kernel:0", in every Keras.

    Parameters
    ----------
    variable
        A variable of TensorFlow or of Keras 3.
    model : optional
        The model, whose own name is the prefix in Keras 3.
    """
    name = str(getattr(variable, "path", None) or variable.name)
    if hasattr(variable, "path") and model is not None:
        name = name.removeprefix(f"{model.name}/")
    return name if ":" in name else f"{name}:0"


def summed_batches(optimizer: Any) -> Dict[str, int]:
    """Returns how many batches' gradients an optimizer of Keras 3 sums up for each update.

    As the scalar that rules know, or nothing for an optimizer that updates after each batch.
    """
    # Around it may be one that scales the loss.
    for each in (optimizer, getattr(optimizer, "inner_optimizer", None)):
        batches = getattr(each, "gradient_accumulation_steps", None)
        if isinstance(batches, int) and batches > 1:
            return {"batches_per_update": batches}
    return {}


def host_value(value: Any) -> Any:
    """Returns a value that `Hook.save` accepts, for a tensor or variable; avoids a copy."""
    tf = loaded("tensorflow")
    if hasattr(value, "assign") and hasattr(value, "value"):
        if runs_in_sessions() and isinstance(value, tf.Variable):
            return tf.keras.backend.get_value(value)
        value = value.value() if callable(value.value) else value.value
    if tf is None or not type(value).__module__.startswith("tensorflow."):
        return value
    if isinstance(value, tf.distribute.DistributedValues):
        value = value.values[0]
    if not isinstance(value, tf.Tensor):
        value = tf.convert_to_tensor(value)
    if value.dtype != tf.string:
        return value
    texts = [text.decode("utf-8", "replace") for text in value.numpy().ravel()]
    return importlib.import_module("numpy").array(texts).reshape(value.shape)


def runs_in_sessions() -> bool:
    """Returns True if the script switched eager execution off, as in TensorFlow 1."""
    tf = loaded("tensorflow")
    return tf is not None and not tf.compat.v1.executing_eagerly_outside_functions()


# ---- inside of compiled functions ------------------------------------------------------


def is_symbolic(value: Any) -> bool:
    """Returns True if a tensor has values only when a compiled function runs."""
    tf, jax = loaded("tensorflow"), loaded("jax")
    if tf is not None and isinstance(value, tf.Tensor):
        return not hasattr(value, "numpy")
    return jax is not None and isinstance(value, jax.core.Tracer)


def is_abstract(value: Any) -> bool:
    """Returns True if a tensor of PyTorch has no values: Keras builds layers with such tensors."""
    torch = loaded("torch")
    return torch is not None and isinstance(value, torch.Tensor) and bool(value.is_meta)


def is_compiled_by_xla() -> bool:
    """Returns True if the calling code traces a tf.function with jit_compile=True."""
    tf = loaded("tensorflow")
    if tf is None or tf.executing_eagerly():
        return False
    frame: Any = sys._getframe()
    while frame is not None:
        if getattr(frame.f_locals.get("self"), "_jit_compile", None) is True:
            if "polymorphic_function" in frame.f_code.co_filename:
                return True
        frame = frame.f_back
    return False


def call_at_run_time(function: Callable[[Sequence[Any]], None], values: Sequence[Any]) -> None:
    """Makes the function that is being compiled call `function` whenever it runs.

    Parameters
    ----------
    function
        Receives the values of that run.
    values : list
        Symbolic tensors of one framework; an empty list means TensorFlow.
    """
    jax = loaded("jax")
    if jax is not None and any(isinstance(value, jax.core.Tracer) for value in values):
        jax.debug.callback(lambda *args: function(args), *values)
    else:
        tf = loaded("tensorflow")
        tf.py_function(lambda *args: function(args), list(values), [])


def zero_now() -> Any:
    """Returns a zero that is saved whenever the calling code runs, also if it is being compiled."""
    tf = loaded("tensorflow")
    is_plain = tf is None or tf.executing_eagerly()
    return importlib.import_module("numpy").float32(0) if is_plain else tf.zeros(())


def wait_for_calls() -> None:
    """Waits for the calls made by functions that have run."""
    jax = loaded("jax")
    if jax is not None:
        jax.effects_barrier()


def unconverted(function: Function) -> Function:
    """Keeps AutoGraph from rewriting a function that is called while a graph is built."""
    function.autograph_info__ = {}  # type: ignore[attr-defined]
    return function
