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

    Saves 2 if the model is in evaluation mode and normalises by statistics that were never updated,
    which nobody does on purpose.  Models without dropout and batch normalisation are left out:
    their mode changes nothing.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves it.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        # By module, what evaluation mode is saved as; 0 if the mode changes nothing.
        self._values: WeakKeyDictionary[Any, float] = WeakKeyDictionary()

    def save(self) -> None:
        """Saves the modes of the models that the open step has called; once in a step."""
        hook = self._hook
        for model in hook._shown:
            module, name = model.module, f"evaluation_mode/{model.name}"
            if module is None or not _raw.wants(hook._handle, name):
                continue
            if module not in self._values:
                self._values[module] = _value_of_evaluation(module)
            if self._values[module] > 0:
                value = 0.0 if module.training else self._values[module]
                hook._save(name, torch.tensor(value, device="cpu"))


def _value_of_evaluation(model: Any) -> float:
    if not any(map(_has_a_mode, model.modules())):
        return 0.0
    if model.training:
        return 1.0
    means = (getattr(part, "running_mean", None) for part in model.modules())
    return 2.0 if any(mean is not None and not bool(mean.any()) for mean in means) else 1.0


def _has_a_mode(module: Any) -> bool:
    """Returns True if a module computes something else in evaluation mode."""
    if isinstance(module, torch.nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return bool(module.track_running_stats)
    dropout = getattr(module, "dropout", 0)  # of recurrent layers and of attention
    return isinstance(dropout, float) and dropout > 0
