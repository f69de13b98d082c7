"""How modules that compute losses are set."""

from __future__ import annotations

from typing import Any, List

__all__ = ["collections_of"]


def collections_of(loss: Any) -> List[str]:
    """Returns the collections by which rules learn how a loss is computed."""
    collections = []
    # Rare classes count more.
    if any(getattr(loss, name, None) is not None for name in ("weight", "pos_weight")):
        collections.append("weighted_losses")
    # One of the classes is left out, as that of padding.  Losses of other projects have None, or
    # several.
    ignored = getattr(loss, "ignore_index", None)
    if isinstance(ignored, int) and ignored >= 0:
        collections.append("losses_ignoring_a_class")
    # It is no mean over samples.
    if getattr(loss, "reduction", None) == "sum":
        collections.append("summed_losses")
    return collections
