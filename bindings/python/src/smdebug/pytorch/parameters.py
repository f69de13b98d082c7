"""The parameters of a model, by the names that the hook gives them."""

from __future__ import annotations

import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework

__all__ = ["NamedParameters", "is_bare", "path_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# The name under which a compiled model holds the model that it was made from.
_COMPILED = "_orig_mod"


def path_of(path: str) -> str:
    """Returns the path of a module or parameter as it is without `torch.compile`."""
    if _COMPILED not in path:
        return path
    return ".".join(part for part in path.split(".") if part != _COMPILED)


def is_bare(name: str) -> bool:
    """Returns True for a parameter that no layer names a weight or a bias, as "Net_cls_token"."""
    return "weight" not in name and "bias" not in name


class NamedParameters:
    """The parameters of one model.

    Walking all modules in Python is slow.  It is repeated only when the modules contain other
    parameters than before.

    Parameters
    ----------
    prefix : str
        The prefix of their names.
    """

    __slots__ = (
        "__weakref__", "_inner", "_members", "_named", "_names", "_outside", "_prefix", "changes",
    )  # fmt: skip

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._outside: List[Any] = []  # weak references
        #: How often other parameters may have come; the same number: the same parameters.
        self.changes = 0
        self.forget()

    def forget(self) -> None:
        """Holds only weak references to the parameters."""
        self._named: List[Tuple[str, Any]] = []
        self._names: Dict[int, str] = {}
        # All modules but the model, which holds this object, and what they all hold.
        self._inner: Tuple[Any, ...] = ()
        self._members: Optional[Tuple[Any, ...]] = None
        self.changes += 1

    def of(self, module: Any) -> List[Tuple[str, Any]]:
        """Returns the current names and parameters."""
        if self._members is None or not _raw.modules_hold(module, self._inner, self._members):
            named = [*module.named_parameters(), *self._named_outside()]
            self._named = [
                (f"{self._prefix}{path_of(path)}", parameter) for path, parameter in named
            ]
            self._names = {id(parameter): name for name, parameter in self._named}
            self.changes += 1
            # A model that overrides the method may return parameters that no module contains.
            method = getattr(module.named_parameters, "__func__", None)
            if method is torch.nn.Module.named_parameters:
                self._remember(module)
        return self._named

    def names_of(self, module: Any) -> Dict[int, str]:
        """Returns the current names by the ids of the parameters."""
        self.of(module)
        return self._names

    def add_outside(self, parameters: Sequence[Any]) -> None:
        """Adds parameters that the model uses without containing them.

        Their names begin with the prefix and "not_in_model.".
        """
        self._outside += [weakref.ref(each) for each in parameters]
        self.forget()

    def _named_outside(self) -> List[Tuple[str, Any]]:
        known = [(number, reference()) for number, reference in enumerate(self._outside)]
        return [
            (f"not_in_model.{number}.{'weight' if each.dim() > 1 else 'bias'}", each)
            for number, each in known
            if each is not None
        ]

    def _remember(self, module: Any) -> None:
        _, *inner = module.modules()
        self._inner = tuple(inner)
        self._members = tuple(
            part
            for each in (module, *inner)
            for members in (each._parameters, each._modules)
            for item in members.items()
            for part in item
        )
