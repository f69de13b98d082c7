"""Attributes put over those of models and optimizers, for a while."""

from __future__ import annotations

from typing import Any, List, Tuple

__all__ = ["Patches"]


class Patches:
    """Functions that hide an object's own until they are removed.

    Several sets of patches may hide each other, and be removed in any order.
    """

    def __init__(self) -> None:
        self._placed: List[Tuple[Any, str, Any]] = []

    def put(self, thing: Any, name: str, function: Any) -> None:
        """Hides an attribute by a function, or a method, that no one else has."""
        mark = _mark(function)
        mark.hides, mark.is_over = thing.__dict__.get(name), False
        # Past the bookkeeping that Keras does when attributes of layers are set.
        thing.__dict__[name] = function
        self._placed.append((thing, name, function))

    def remove(self) -> None:
        """Uncovers what was hidden."""
        for thing, name, function in reversed(self._placed):
            _mark(function).is_over = True
            if thing.__dict__.get(name) is not function:
                continue  # it is hidden itself, and passed over when that is removed
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
