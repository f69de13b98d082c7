"""What the included collections contain."""

from __future__ import annotations

import inspect
import re
from typing import Any, Dict, Iterable, List, Protocol, Set, Tuple

from smdebug.core.collection import CollectionKeys

__all__ = ["Collected", "examples_of"]


class _Hook(Protocol):
    """The part of the hook that this module uses."""

    save_all: bool

    @property
    def include_collections(self) -> Any: ...

    @property
    def _collection_changes(self) -> int: ...

    def get_collection(self, name: str) -> Any: ...


class Collected:
    """Says which tensors the included collections contain, whatever rules evaluate.

    Which step they are saved at does not matter.  `look` must be called before the first question,
    and whenever collections may have changed.

    Parameters
    ----------
    hook
        The hook with the collections.
    """

    def __init__(self, hook: _Hook) -> None:
        self._hook = hook
        # Expressions of the hook's own: which number a tensor of a module has does not matter.
        self.own_regexes: Set[str] = set()
        # How often they have changed.
        self.changes = 0
        # What the answers hold for.
        self._seen: Tuple[int, List[str]] = (-1, [])
        self._regexes: List[str] = []
        self._names: Set[str] = set()
        self._answers: Dict[str, bool] = {}

    @property
    def has_all(self) -> bool:
        """Whether they contain all tensors."""
        return self._hook.save_all or CollectionKeys.ALL in self._hook.include_collections

    @property
    def has_foreign(self) -> bool:
        """Whether one of their expressions is not the hook's: to search for it can take long."""
        return not self.own_regexes.issuperset(self._regexes)

    def look(self) -> bool:
        """Forgets the answers, and returns True, if the collections have changed."""
        seen = (self._hook._collection_changes, [*self._hook.include_collections])
        if seen == self._seen:
            return False  # To read all collections is slow.
        self._seen = seen
        included = [*seen[1], CollectionKeys.DEFAULT]
        known = [self._hook.get_collection(name) for name in included]
        regexes = [regex for each in known for regex in each.include_regex]
        names = set().union(*(each.tensor_names for each in known))
        if regexes == self._regexes and names == self._names:
            return False
        self._regexes, self._names, self._answers = regexes, names, {}
        self.changes += 1
        return True

    def has(self, name: str) -> bool:
        """Returns True if they contain the tensor with that name."""
        if self.has_all:
            return True
        if name not in self._answers:
            self._answers[name] = name in self._names or self._matches(name)
        return self._answers[name]

    def may_have_under(self, prefix: str, examples: Iterable[str]) -> bool:
        """Returns True if they can contain a tensor whose name begins so, of which there are
        examples."""
        if self.has_all or self.has_foreign:
            return True
        is_named = any(each.startswith(prefix) for each in self._names)
        return is_named or any(self._matches(each) for each in examples)

    def may_have_of(self, module: Any, name: str) -> bool:
        """Returns True if they can contain an input or output of the module with that name."""
        if self.has_all or self.has_foreign:
            return True
        prefixes = (f"{name}_input_", f"{name}_output_")
        if any(each.startswith(prefixes) for each in self._names):
            return True
        examples = examples_of(module, name)
        return not examples or any(self._matches(each) for each in examples)

    def _matches(self, name: str) -> bool:
        try:
            return any(re.search(regex, name) for regex in self._regexes)
        except re.error:
            return True  # The core knows more expressions.


# A module that is called several times in a step, or has several inputs or outputs, has tensors of
# higher numbers.  An expression that wants only those with a number above this is not heard.
_NUMBERS = 4


def examples_of(module: Any, name: str) -> Tuple[str, ...]:
    """Returns names of tensors that a module with this name has; none if it may have any.

    It may have any if it takes any keywords, or if Python does not know which.
    """
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return ()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return ()
    sides = (f"{name}_input_", f"{name}_output_")
    numbered = [f"{side}{number}" for side in sides for number in range(_NUMBERS)]
    return (*numbered, *(f"{sides[0]}{each.name}_0" for each in parameters))
