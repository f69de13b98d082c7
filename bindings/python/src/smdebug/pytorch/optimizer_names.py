"""The names that registered models give to the parameters of an optimizer."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from smdebug.pytorch.models import RegisteredModel

__all__ = ["OptimizerNames"]


class OptimizerNames:
    """Names the parameters of one optimizer.

    The names are looked up again only when the optimizer or a model has other parameters.
    """

    __slots__ = ("_places", "_seen", "names", "unknown", "with_gradients")

    def __init__(self) -> None:
        self._seen: Optional[Tuple[List[int], List[Tuple[int, int]]]] = None
        # Where, among all parameters, those are that have a name.
        self._places: List[int] = []
        self.names: Tuple[str, ...] = ()
        #: Each name, followed by that of the parameter's gradient.
        self.with_gradients: List[str] = []
        #: How many parameters belong to no model.
        self.unknown = 0

    def parameters_of(self, optimizer: Any, models: Sequence[RegisteredModel]) -> List[Any]:
        """Returns the current parameters that have a name, in the order of `names`."""
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        # As long as a model has not changed, it holds its parameters: their ids stay theirs.  Its
        # calls look for changes.
        seen = ([id(each) for each in parameters], [(each.key, each.changes) for each in models])
        if seen != self._seen or self.unknown > 0:
            by_id = [model.names() for model in models]
            seen = (seen[0], [(each.key, each.changes) for each in models])
            names = {key: name for each in by_id for key, name in each.items()}
            self._places = [place for place, key in enumerate(seen[0]) if key in names]
            self.names = tuple(names[seen[0][place]] for place in self._places)
            self.with_gradients = [
                each for name in self.names for each in (name, f"gradient/{name}")
            ]
            self.unknown = len(parameters) - len(self._places)
            self._seen = seen
        return [parameters[place] for place in self._places]
