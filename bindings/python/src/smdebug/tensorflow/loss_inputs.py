"""What the loss of a Keras model compares, under the names that rules know."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from smdebug.tensorflow.utils import flat_tensors

__all__ = ["LOSS_INPUTS", "loss_inputs", "normalises_inputs"]

#: The collection of these tensors.  Only rules see them.
LOSS_INPUTS = "loss_inputs"

_OF_NUMBERS = {
    "meansquarederror": "MSELoss", "mse": "MSELoss",
    "meanabsoluteerror": "L1Loss", "mae": "L1Loss",
    "huber": "HuberLoss", "huberloss": "HuberLoss",
}  # fmt: skip
_OF_SCORES = {
    "binarycrossentropy": "BCEWithLogitsLoss",
    "categoricalcrossentropy": "CrossEntropyLoss",
    "sparsecategoricalcrossentropy": "CrossEntropyLoss",
}
_NORMALISE = ("Normalization", "Rescaling")


def loss_inputs(model: Any, outputs: Any, labels: Any) -> List[Tuple[str, Any]]:
    """Returns what a compiled model's loss gets, if the model has one output and a loss of ours.

    As ``loss/CrossEntropyLoss_input_0`` and ``_1``.  A loss that takes probabilities is none.
    """
    kind = _kind_of(getattr(model, "loss", None))
    taken, targets = flat_tensors(outputs), flat_tensors(labels)
    if kind is None or len(taken) != 1 or len(targets) != 1:
        return []
    of_loss, target = taken[0], targets[0]
    shapes = len(of_loss.shape), len(target.shape)
    if kind in _OF_NUMBERS.values() and shapes[0] != shapes[1]:
        # Keras gives both one rank.
        target = target[..., None] if shapes[0] == shapes[1] + 1 else target[..., 0]
    return [(f"loss/{kind}_input_0", of_loss), (f"loss/{kind}_input_1", target)]


def _kind_of(loss: Any) -> Optional[str]:
    """Returns PyTorch's name for a loss, which Keras has as a name, a function or an object."""
    name = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
    name = name.lower().replace("_", "")
    kept = getattr(loss, "_fn_kwargs", None) or {}  # of Keras 2
    if getattr(loss, "from_logits", kept.get("from_logits")) is True:
        return _OF_SCORES.get(name)
    return _OF_NUMBERS.get(name)


def normalises_inputs(model: Any) -> bool:
    """Returns True if one of the model's first layers normalises what it gets."""
    first = [each for each in model.layers if type(each).__name__ != "InputLayer"][:2]
    return any(type(each).__name__.endswith(_NORMALISE) for each in first)
