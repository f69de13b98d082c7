"""One line that records a training, for each framework.

The framework is imported when its name here is first used.

`TrainerCallback`
    for ``transformers.Trainer``.
`LightningCallback`
    for ``lightning.Trainer`` and ``pytorch_lightning.Trainer``.
`recording`
    for a loop of one's own with PyTorch, as a context manager.
`KerasCallback`
    for the `fit` of Keras 2 and 3.
`XGBoostCallback`, `LightGBMCallback`
    for the trainings of these libraries, and of their estimators.
`jax_recording`, `sklearn_recording`
    for loops with JAX and scikit-learn, as context managers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smdebug.integrations.keras import KerasCallback
    from smdebug.integrations.lightgbm import LightGBMCallback
    from smdebug.integrations.lightning import LightningCallback
    from smdebug.integrations.loops import recording
    from smdebug.integrations.recordings import jax_recording, sklearn_recording
    from smdebug.integrations.transformers import TrainerCallback
    from smdebug.integrations.xgboost import XGBoostCallback

__all__ = [
    "KerasCallback",
    "LightGBMCallback",
    "LightningCallback",
    "TrainerCallback",
    "XGBoostCallback",
    "jax_recording",
    "recording",
    "sklearn_recording",
]

_MODULES = {
    "KerasCallback": "keras",
    "LightGBMCallback": "lightgbm",
    "LightningCallback": "lightning",
    "TrainerCallback": "transformers",
    "XGBoostCallback": "xgboost",
    "jax_recording": "recordings",
    "recording": "loops",
    "sklearn_recording": "recordings",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
