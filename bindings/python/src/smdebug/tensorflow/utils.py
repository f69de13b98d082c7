"""What there is of Keras here, and how tensors of what runs behind it are read.

No framework is imported by this: a tensor's own framework is loaded already.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from importlib.util import find_spec
from typing import Any, Callable, Iterator, List, Sequence, Tuple, TypeVar

from smdebug.core.config_constants import DEFAULT_WORKER_NAME

__all__ = [
    "call_at_run_time",
    "callback_class",
    "flat_tensors",
    "host_value",
    "is_built",
    "is_compiled_by_xla",
    "is_first_replica",
    "is_symbolic",
    "loaded",
    "place_of_process",
    "unconverted",
    "variable_name",
    "wait_for_calls",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_NOT_DENSE = ("RaggedTensor", "SparseTensor", "RaggedTensorValue", "SparseTensorValue")


# ---- which Keras, which process --------------------------------------------------------


def loaded(name: str) -> Any:
    """A library, if the process has imported it; None otherwise."""
    module = sys.modules.get(name)
    # A folder that is only called so has no file.
    return module if getattr(module, "__file__", None) else None


def callback_class() -> Any:
    """The class of callbacks of the Keras that is loaded, or else of the one there is.

    Where Keras 3 and the old `tf_keras` are both loaded, a class that is one of both.
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
    """This process's worker name, and how many workers there are.

    Asks Horovod and its kin, JAX and torch.distributed where they are in use, then the
    variable TF_CONFIG.
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
    """Whether this code is not one of the copies that a strategy runs beside the first."""
    tf = loaded("tensorflow")
    context = tf.distribute.get_replica_context() if tf is not None else None
    if context is None:
        return True
    replica = context.replica_id_in_sync_group
    if not isinstance(replica, int):
        replica = tf.get_static_value(replica)
    # Numbers go on from process to process.
    return bool(replica == 0 or replica % len(context.strategy.extended.worker_devices) == 0)


# ---- tensors ---------------------------------------------------------------------------


def flat_tensors(value: Any) -> List[Any]:
    """The dense tensors in nested lists, tuples and dicts, in their order."""
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
    """Whether a model has its variables: one of Keras 2 raises if asked for them too early."""
    return bool(getattr(model, "built", True))


def variable_name(variable: Any, model: Any = None) -> str:
    """A variable's name as TensorFlow gives it, as "dense/kernel:0", in every Keras.

    Parameters
    ----------
    variable
        Of TensorFlow, or of Keras 3.
    model : optional
        The model, whose own name Keras 3 puts in front.
    """
    name = str(getattr(variable, "path", None) or variable.name)
    if hasattr(variable, "path") and model is not None:
        name = name.removeprefix(f"{model.name}/")
    return name if ":" in name else f"{name}:0"


def host_value(value: Any) -> Any:
    """A tensor or variable in a form that `Hook.save` takes; no copy if there need be none."""
    if hasattr(value, "assign") and hasattr(value, "value"):
        value = value.value() if callable(value.value) else value.value
    tf = loaded("tensorflow")
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


# ---- inside of compiled functions ------------------------------------------------------


def is_symbolic(value: Any) -> bool:
    """Whether a tensor stands for values that exist only when a compiled function runs."""
    tf, jax = loaded("tensorflow"), loaded("jax")
    if tf is not None and isinstance(value, tf.Tensor):
        return not hasattr(value, "numpy")
    return jax is not None and isinstance(value, jax.core.Tracer)


def is_compiled_by_xla() -> bool:
    """Whether a tf.function with jit_compile=True is being traced by the calling code."""
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
    """Has the function that is being compiled call `function` whenever it runs.

    Parameters
    ----------
    function
        Gets the values of that run.
    values : list
        Symbolic tensors, of one framework; none means TensorFlow's.
    """
    jax = loaded("jax")
    if jax is not None and any(isinstance(value, jax.core.Tracer) for value in values):
        jax.debug.callback(lambda *args: function(args), *values)
    else:
        tf = loaded("tensorflow")
        tf.py_function(lambda *args: function(args), list(values), [])


def wait_for_calls() -> None:
    """Waits for the calls of functions that have run."""
    jax = loaded("jax")
    if jax is not None:
        jax.effects_barrier()


def unconverted(function: Function) -> Function:
    """Keeps AutoGraph from rewriting a function that is called while a graph is built."""
    function.autograph_info__ = {}  # type: ignore[attr-defined]
    return function
