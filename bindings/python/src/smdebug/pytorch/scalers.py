"""Tells which steps of an optimizer a GradScaler skips."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, List, MutableMapping, Optional

from smdebug.core.utils import import_framework
from smdebug.pytorch.optimizers import WatchedOptimizer

__all__ = ["forget_scaled", "inverse_scale", "is_skipping", "watch_scaled"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

_watched: MutableMapping[Any, List[Any]] = weakref.WeakKeyDictionary()
_step: Optional[Callable[..., Any]] = None


def _scaler_class() -> Any:
    amp = getattr(torch, "amp", None)
    found = getattr(amp, "GradScaler", None)
    return found if found is not None else torch.cuda.amp.GradScaler


def watch_scaled(
    watched: WatchedOptimizer, optimizer: Any, skipped: Callable[[WatchedOptimizer], None]
) -> None:
    """Calls `skipped` after each `GradScaler.step` that does not call the optimizer's `step`.

    GradScaler has no callback for that: while an optimizer is watched, its `step` is wrapped.
    """
    global _step
    _watched.setdefault(optimizer, []).append((watched, skipped))
    if _step is not None:
        return
    kind = _scaler_class()
    original = _step = kind.step

    @functools.wraps(original)
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

    kind.step = step


def forget_scaled(watched: WatchedOptimizer) -> None:
    """Undoes `watch_scaled`."""
    global _step
    for optimizer, listeners in list(_watched.items()):
        listeners[:] = [each for each in listeners if each[0] is not watched]
        if not listeners:
            del _watched[optimizer]
    kind = _scaler_class()
    if not _watched and _step is not None and getattr(kind.step, "__wrapped__", None) is _step:
        kind.step = _step
        _step = None


def inverse_scale(optimizer: Any) -> Any:
    """Returns the factor by which a fused optimizer unscales its gradients, or None."""
    scale = getattr(optimizer, "grad_scale", None)
    return None if scale is None else scale.double().reciprocal().float()


def is_skipping(optimizer: Any) -> bool:
    """Returns True if a fused optimizer leaves its parameters: a gradient is not finite."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found.item())
