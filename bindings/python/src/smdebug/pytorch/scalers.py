"""Tells which steps of an optimizer a GradScaler skips."""

from __future__ import annotations

import weakref
from typing import Any, Callable, List, MutableMapping

from smdebug.core.utils import import_framework
from smdebug.pytorch.optimizers import WatchedOptimizer
from smdebug.pytorch.patch import Patch

__all__ = ["forget_scaled", "inverse_scale", "is_skipping", "watch_scaled"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

_watched: MutableMapping[Any, List[Any]] = weakref.WeakKeyDictionary()


def _scaler_class() -> Any:
    amp = getattr(torch, "amp", None)
    found = getattr(amp, "GradScaler", None)
    return found if found is not None else torch.cuda.amp.GradScaler


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            listeners = _watched.get(optimizer, ())
        except TypeError:  # not hashable
            listeners = ()
        before = [each.updates for each, _ in listeners]
        result = original(self, optimizer, *args, **kwargs)
        for (each, tell), updates in zip(tuple(listeners), before):
            if each.updates == updates:
                tell(each)
        return result

    return step


# GradScaler has no callback for steps that it skips.
_patch = Patch(_scaler_class, "step", _telling)


def watch_scaled(
    watched: WatchedOptimizer, optimizer: Any, skipped: Callable[[WatchedOptimizer], None]
) -> None:
    """Calls `skipped` after each `GradScaler.step` that does not call the optimizer's `step`.

    While an optimizer is watched, `GradScaler.step` is wrapped.
    """
    _watched.setdefault(optimizer, []).append((watched, skipped))
    _patch.begin()


def forget_scaled(watched: WatchedOptimizer) -> None:
    """Undoes `watch_scaled`."""
    for optimizer, listeners in list(_watched.items()):
        listeners[:] = [each for each in listeners if each[0] is not watched]
        if not listeners:
            del _watched[optimizer]
    if not _watched:
        _patch.end()


def inverse_scale(optimizer: Any) -> Any:
    """Returns the factor by which a fused optimizer unscales its gradients, or None."""
    scale = getattr(optimizer, "grad_scale", None)
    return None if scale is None else scale.double().reciprocal().float()


def is_skipping(optimizer: Any) -> bool:
    """Returns True if a fused optimizer leaves its parameters: a gradient is not finite."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found.item())
