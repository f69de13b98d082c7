"""Hooks for TensorFlow 2 and Keras.

`KerasHook` is a callback of the Keras that the job uses: Keras 2 (`tf.keras`), or Keras 3
with JAX, PyTorch or TensorFlow as its backend.  `Hook` is another name for it.  Importing
this module imports none of them; the first use of `KerasHook` does.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, List

from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, create_trial, modes
from smdebug.core.collection import CollectionKeys
from smdebug.tensorflow.collection import Collection
from smdebug.tensorflow.session import EstimatorHook, SessionHook
from smdebug.tensorflow.singleton_utils import del_hook, get_hook, set_hook

if TYPE_CHECKING:
    from smdebug.tensorflow.keras import KerasHook
    from smdebug.tensorflow.keras import KerasHook as Hook

__all__ = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "Hook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]

if not any(find_spec(package) for package in ("keras", "tf_keras", "tensorflow")):
    raise ModuleNotFoundError(
        "smdebug.tensorflow needs Keras, which is not installed: pip install tensorflow-cpu, or "
        "pip install keras jax",
        name="keras",
    )


def __getattr__(name: str) -> Any:
    if name not in ("Hook", "KerasHook"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Which Keras the job uses is known when it makes its hook, not before.
    from smdebug.tensorflow.keras import KerasHook

    return KerasHook


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
