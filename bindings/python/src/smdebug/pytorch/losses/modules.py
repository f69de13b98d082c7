"""How modules that compute losses are set."""

from __future__ import annotations

from typing import Any, List

__all__ = ["collections_of", "counts_positives_less"]

_LESS = 0.5


def collections_of(loss: Any) -> List[str]:
    """Returns the collections by which rules learn how a loss is computed."""
    collections = []
    # Rare classes count more.
    if any(getattr(loss, name, None) is not None for name in ("weight", "pos_weight")):
        collections.append("weighted_losses")
    if counts_positives_less(getattr(loss, "pos_weight", None)):
        collections.append("positives_count_less")
    # One of the classes is left out, as that of padding.  Losses of other projects have None, or
    # several.
    ignored = getattr(loss, "ignore_index", None)
    if isinstance(ignored, int) and ignored >= 0:
        collections.append("losses_ignoring_a_class")
    # It is no mean over samples.
    if getattr(loss, "reduction", None) == "sum":
        collections.append("summed_losses")
    return collections


def counts_positives_less(weight: Any) -> bool:
    """Returns True if a binary cross entropy lets each positive target count half, or less.

    That of a loss on a device is not looked at: the training would wait for it.
    """
    is_here = getattr(getattr(weight, "device", None), "type", None) == "cpu"
    return is_here and weight.numel() > 0 and bool((weight <= _LESS).all())
