"""Whether models are in evaluation mode while they are trained."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from smdebug import _raw
from smdebug.core.utils import import_framework

__all__ = ["EvaluationMode"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class EvaluationMode:
    """Saves for rules, once at each update, whether a model is in evaluation mode: 1, or 0.

    Models without dropout and batch normalisation are left out: their mode changes nothing.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves it.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._depends: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def save(self) -> None:
        """Saves the modes of the models that the open step has called; once in a step."""
        hook = self._hook
        for model in hook._shown:
            module, name = model.module, f"evaluation_mode/{model.name}"
            if module is None or not _raw.wants(hook._handle, name):
                continue
            if module not in self._depends:
                self._depends[module] = any(map(_has_a_mode, module.modules()))
            if self._depends[module]:
                value = float(not module.training)
                hook._save(name, torch.tensor(value, device="cpu"))


def _has_a_mode(module: Any) -> bool:
    """Returns True if a module computes something else in evaluation mode."""
    if isinstance(module, torch.nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return bool(module.track_running_stats)
    dropout = getattr(module, "dropout", 0)  # of recurrent layers and of attention
    return isinstance(dropout, float) and dropout > 0
