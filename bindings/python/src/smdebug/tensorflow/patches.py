"""Replaces attributes of models and optimizers, and restores them."""

from __future__ import annotations

from typing import Any, List, Tuple

__all__ = ["Patches"]


class Patches:
    """Functions that replace those of an object until they are removed.

    Several sets of patches may overlap, and be removed in any order.
    """

    def __init__(self) -> None:
        self._placed: List[Tuple[Any, str, Any]] = []

    def put(self, thing: Any, name: str, function: Any) -> None:
        """Replaces an attribute by a function or method, which must not be used elsewhere."""
        mark = _mark(function)
        mark.hides, mark.is_over = thing.__dict__.get(name), False
        # Bypasses the bookkeeping of Keras for attributes of layers.
        thing.__dict__[name] = function
        self._placed.append((thing, name, function))

    def remove(self) -> None:
        """Restores the replaced attributes."""
        for thing, name, function in reversed(self._placed):
            _mark(function).is_over = True
            if thing.__dict__.get(name) is not function:
                continue  # replaced itself; skipped when that patch is removed
            shown = function
            while shown is not None and getattr(_mark(shown), "is_over", False):
                shown = _mark(shown).hides
            if shown is None:
                del thing.__dict__[name]
            else:
                thing.__dict__[name] = shown
        self._placed.clear()


def _mark(function: Any) -> Any:
    return getattr(function, "__func__", function)
