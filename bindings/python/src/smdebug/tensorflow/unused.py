"""The variables that a training is to change and that the loss does not depend on."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple

__all__ = ["MISSING_GRADIENTS", "NO_GRADIENT", "UnusedVariables", "missing_name", "of_tape"]

#: The collection of the tensors with the names below, which are for rules.
MISSING_GRADIENTS = "missing_gradients"

#: What an expression for variables begins with, so that it does not find these names.
NO_GRADIENT = "(?!(missing_)?gradient)"

# How the gradients end of what a layer multiplies its inputs by, or looks up.
_OF_LAYERS = ("kernelGrad", "embeddingsGrad")
# The largest part of the variables that layers which nothing needs may hold: a larger one was cut
# off from the loss.
_MOST_UNUSED = 1 / 3


def missing_name(gradient: str) -> str:
    """Returns what tells rules that the gradient with this name is None."""
    return f"missing_gradient/{_variable(gradient)}"


def of_tape(gradient: str) -> str:
    """Returns the name of the variable of a tape whose gradient has this name."""
    return f"weights/{_variable(gradient)}:0"


def _variable(gradient: str) -> str:
    return gradient[len("gradients/") : -len("Grad")]


class UnusedVariables:
    """Finds variables of layers that a model does not use, or whose outputs nobody needs.

    Their gradients are None.  If those of many variables are, or that of the kernel of the model's
    first layer, they were cut off from the loss.  With JAX, they are zeros, which rules find.
    """

    def __init__(self) -> None:
        self._reached: Dict[str, bool] = {}  # for each gradient, whether it ever was one
        #: Increases whenever `names` may return others.
        self.changes = 0

    def note(self, gradients: Sequence[Tuple[str, Any]]) -> List[str]:
        """Notes gradients by their names, and returns the names of those that are None."""
        for name, gradient in gradients:
            known, is_reached = self._reached.get(name), gradient is not None
            if known is None or is_reached > known:
                self._reached[name] = is_reached
                self.changes += 1
        return [name for name, gradient in gradients if gradient is None]

    def names(self, order: Iterable[str]) -> Set[str]:
        """Returns the names of the gradients of unused variables.

        `order` has names of gradients, of the first layer first.
        """
        missing = {name for name, is_reached in self._reached.items() if not is_reached}
        kernels = (name for name in [*order, *self._reached] if name.endswith(_OF_LAYERS))
        first = next((name for name in kernels if name in self._reached), None)
        is_cut = first in missing or len(missing) > _MOST_UNUSED * len(self._reached)
        return set() if is_cut else missing
