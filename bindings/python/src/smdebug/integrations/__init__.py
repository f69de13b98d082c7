"""One line that records a training: for transformers, Lightning, and plain loops of PyTorch.

The framework is imported when its name here is first used.

`TrainerCallback`
    for ``transformers.Trainer``.
`LightningCallback`
    for ``lightning.Trainer`` and ``pytorch_lightning.Trainer``.
`recording`
    for a loop of one's own, as a context manager.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smdebug.integrations.lightning import LightningCallback
    from smdebug.integrations.loops import recording
    from smdebug.integrations.transformers import TrainerCallback

__all__ = ["LightningCallback", "TrainerCallback", "recording"]

_MODULES = {
    "LightningCallback": "lightning",
    "TrainerCallback": "transformers",
    "recording": "loops",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
