"""How modules that compute losses are set."""

from __future__ import annotations

from typing import Any

__all__ = ["has_weights", "ignores_a_class"]


def has_weights(loss: Any) -> bool:
    """Returns True for losses in which rare classes count more."""
    return any(getattr(loss, name, None) is not None for name in ("weight", "pos_weight"))


def ignores_a_class(loss: Any) -> bool:
    """Returns True for losses that leave out one of the classes, as that of padding."""
    # Losses of other projects have None, or several.
    ignored = getattr(loss, "ignore_index", None)
    return isinstance(ignored, int) and ignored >= 0
