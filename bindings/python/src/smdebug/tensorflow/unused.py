"""The variables that a training is to change and that the loss does not depend on."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

__all__ = ["MISSING_GRADIENTS", "UnusedVariables", "missing_name", "of_tape"]

#: The collection of the names below.  Only rules see them.
MISSING_GRADIENTS = "missing_gradients"

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
    """Finds variables of layers that a model does not call, or whose outputs nobody needs.

    Their gradients are None.  If those of many variables of layers that are called are, or that of
    the model's first variable, they were cut off from the loss.  With JAX, they are zeros, which
    rules find.
    """

    def __init__(self) -> None:
        #: The names of the layers that were called.
        self.called: Set[str] = set()
        # For each gradient, whether it ever was one; that of the first variable comes first.
        self._reached: Dict[str, bool] = {}

    def note(self, gradients: Sequence[Tuple[str, Any]]) -> List[str]:
        """Notes gradients by their names, and returns the names of those that are None."""
        for name, gradient in gradients:
            self._reached[name] = self._reached.get(name, False) or gradient is not None
        return [name for name, gradient in gradients if gradient is None]

    def names(self, layers: Mapping[str, str]) -> Set[str]:
        """Returns the names of the gradients of unused variables, some of which are in layers."""
        missing = {name for name, is_reached in self._reached.items() if not is_reached}
        known = {None, *self.called}
        idle = {name for name in missing if self.called and layers.get(name) not in known}
        unused = missing - idle
        is_cut = next(iter(self._reached), None) in unused
        return idle if is_cut or len(unused) > _MOST_UNUSED * len(self._reached) else missing
