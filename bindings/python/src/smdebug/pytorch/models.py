"""A model that is registered with the hook: its name, its parameters and their gradients."""

from __future__ import annotations

import itertools
import weakref
from typing import AbstractSet, Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Tuple
from weakref import WeakKeyDictionary

from smdebug.core.utils import import_framework
from smdebug.pytorch.outside import parameters_outside
from smdebug.pytorch.parameters import NamedParameters, path_of

__all__ = [
    "RegisteredModel",
    "called_parts",
    "collection_of_inputs",
    "has_forward",
    "module_name",
]

_NORMALISE_SAMPLES = ("BatchNorm", "LazyBatchNorm")
_SUMS = ("Conv", "LazyConv", "LazyLinear", "Linear")
_NORMALISE = ("BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "LazyBatchNorm", "RMSNorm")

# Calls with a graph.  At the first one, lazy layers have no parameters yet.
_LOOKS_OUTSIDE_AT = (2, 3)

torch = import_framework("torch", "torch", "smdebug.pytorch")
_keys = itertools.count()


def module_name(module: Any) -> str:
    """Returns the class of a model; that of the inner one, if it is compiled."""
    return str(getattr(module, "_orig_mod", module)._get_name())


def collection_of_inputs(module: Any) -> Optional[str]:
    """Returns the collection that tells rules that a model normalises its inputs, or None.

    "normalised_inputs" if its first part with a state does, "normalised_first_outputs" if a batch
    normalisation follows that part.
    """
    # Not by its truth: a compiled model may have no length.
    modules = iter(()) if module is None else module.modules()
    parts = (part for part in modules if _has_own_state(part))
    first, second = (type(next(parts, None)).__name__ for _ in range(2))
    if first.startswith(_NORMALISE):
        return "normalised_inputs"
    is_sum = first.startswith(_SUMS)
    return "normalised_first_outputs" if is_sum and second.startswith(_NORMALISE_SAMPLES) else None


def _has_own_state(part: Any) -> bool:
    return next(part.children(), None) is None and bool(part.state_dict())


def called_parts(module: Any) -> List[Any]:
    """Returns the module, or those in it that are called, if it has no `forward` of its own.

    A `ModuleDict` has none, nor a class that only holds modules.
    """
    if has_forward(module):
        return [module]
    return [part for child in module.children() for part in called_parts(child)]


def has_forward(module: Any) -> bool:
    """Returns False for a module that is not called, as a `ParameterList`."""
    # What a class without one inherits has this name in all versions of PyTorch.
    # A scripted one may lack it.
    forward = getattr(module, "forward", None)
    return getattr(forward, "__name__", "") != "_forward_unimplemented"


class RegisteredModel:
    """One registered model, which it does not keep.

    Parameters
    ----------
    module : torch.nn.Module
        The model.
    name : str
        The prefix of its parameters' names, without the underscore.
    is_named : bool
        Whether the names of its modules' tensors begin with `name` too.
    """

    __slots__ = (
        "__weakref__",
        "_calls",
        "_first",
        "_gradients",
        "_held",
        "_is_named",
        "_module",
        "_outside",
        "_none_without",
        "_versions",
        "_parameters",
        "_watched",
        "has_gradients",
        "is_stage",
        "is_in_parts",
        "key",
        "name",
        "was_called",
    )

    def __init__(self, module: Any, name: str, is_named: bool) -> None:
        self._module = weakref.ref(module)
        self._is_named = is_named
        #: Whether a stage of a pipeline has called it.
        self.is_stage = False
        #: Whether its parts are called, and not it itself: see `called_parts`.
        self.is_in_parts = not has_forward(module)
        self._first: Optional[Callable[[], Any]] = None  # the part that was called first
        #: Whether the hook has seen a call of it.
        self.was_called = False
        #: Whether the last call that the hook saw had gradients.
        self.has_gradients = False
        self._calls = 0  # with a graph
        self._outside: List[Any] = []  # what one call used, until the next one
        self.key = next(_keys)
        self.name = name
        # The list keeps inner modules, and the model has to keep the list.
        self._parameters: WeakKeyDictionary[Any, NamedParameters] = WeakKeyDictionary()
        self._parameters[module] = NamedParameters(f"{name}_")
        self._gradients: Dict[int, Tuple[Any, str, Any]] = {}
        self._held: Optional[Tuple[Any, Any]] = None
        self._versions: Dict[str, int] = {}
        # After which changes, and without which, `without` returned nothing last.
        self._none_without: Optional[Tuple[int, FrozenSet[int]]] = None
        # What the callbacks in `_gradients` were added for.
        self._watched: Any = None

    def begins_step(self, module: Any) -> bool:
        """Returns True if a call of the module begins a step where no optimizer says when.

        Of a model in parts, only the part that was called first does.
        """
        if not self.is_in_parts:
            return True
        first = None if self._first is None else self._first()
        if first is None:
            first, self._first = module, weakref.ref(module)
        return first is module

    @property
    def module(self) -> Any:
        """The model, or None if it is gone."""
        return self._module()

    def name_of(self, path: str) -> str:
        """Returns the name of the tensors of one of its modules."""
        path = path_of(path)
        if not path:
            return self.name
        # Without an underscore: that would be the name of a whole model.
        return f"{self.name}.{path}" if self._is_named else path

    def named(self) -> List[Tuple[str, Any]]:
        """Returns its current parameters with their names."""
        module = self._module()
        return [] if module is None else self._parameters[module].of(module)

    def without(
        self, others: FrozenSet[int], named: List[Tuple[str, Any]]
    ) -> List[Tuple[str, Any]]:
        """Returns those of its parameters, as `named` returned them, whose ids are not others'."""
        # A list that is kept would keep the parameters of a model that is gone.
        known, changes = self._none_without, self.changes
        if known is not None and known[0] == changes and known[1] is others:
            return []
        left = [each for each in named if id(each[1]) not in others]
        if not left:
            self._none_without = (changes, others)
        return left

    def names(self) -> Dict[int, str]:
        """Returns the names of its current parameters by their ids."""
        module = self._module()
        return {} if module is None else self._parameters[module].names_of(module)

    @property
    def changes(self) -> int:
        """A number that is the same as long as the parameters are those that `names` returned."""
        module = self._module()
        return 0 if module is None else self._parameters[module].changes

    def look_outside(self, outputs: Any, models: Iterable[RegisteredModel]) -> None:
        """Finds, once, parameters that the outputs come from and that no model contains.

        Parameters that the next call does not use again are left out: the model makes them anew.
        So is a training of several processes, in which wrappers of a model hold parameters.
        """
        module = self._module()
        if self._calls >= _LOOKS_OUTSIDE_AT[-1] or not torch.is_grad_enabled() or module is None:
            return
        self._calls += 1
        distributed = torch.distributed
        is_alone = not (distributed.is_available() and distributed.is_initialized())
        if self._calls not in _LOOKS_OUTSIDE_AT or not is_alone:
            return
        known = {each for model in models for each in model.names()}
        before, self._outside = self._outside, parameters_outside(outputs, known)
        if self._calls == _LOOKS_OUTSIDE_AT[-1]:
            seen = {id(each) for each in before}
            lasting = [each for each in self._outside if id(each) in seen]
            self._outside = []
            if lasting:
                self._parameters[module].add_outside(lasting)

    def needs(self) -> Tuple[int, List[bool]]:
        """Returns a number that is the same as long as the parameters are, and for each of them
        whether it needs a gradient."""
        module = self._module()
        if module is None:
            return 0, []
        named = self._parameters[module].of(module)
        return self.changes, [parameter.requires_grad for _, parameter in named]

    def forget_parameters(self) -> None:
        """Holds only weak references to the parameters."""
        for parameters in self._parameters.values():
            parameters.forget()

    def watch_gradients(
        self,
        callback: Callable[[str, Any], Any],
        others: AbstractSet[int] = frozenset(),
        named: Optional[List[Tuple[str, Any]]] = None,
    ) -> None:
        """Adds callbacks to parameters that need a gradient and have none; removes stale ones.

        `others` are the ids of parameters whose gradients are recorded in another way.  `named` is
        what `named` has just returned.
        """
        if named is None:
            named = self.named()
        watched = (self.changes, [parameter.requires_grad for _, parameter in named], others)
        if watched == self._watched:
            return
        current: Dict[int, Tuple[Any, str, Any]] = {}
        for name, parameter in named:
            known = self._gradients.pop(id(parameter), None)
            if id(parameter) in others or not parameter.requires_grad:
                stale = known
            elif known is not None and known[0]() is parameter and known[1] == name:
                current[id(parameter)] = known
                continue
            else:
                stale = known
                reference = weakref.ref(parameter)
                handle = parameter.register_hook(callback(f"gradient/{name}", reference))
                current[id(parameter)] = (reference, name, handle)
            if stale is not None:
                stale[2].remove()
        self.forget_gradients()
        self._gradients, self._watched = current, watched

    def watch_held(self, make: Callable[[str, Callable[[], Any]], Any]) -> None:
        """Adds a callback to the smallest parameter that needs a gradient, which costs least.

        A script resets all gradients or none.  `make` makes the callback from the gradient's name
        and from what returns the parameter.
        """
        if self._held is not None and self._held[0]() is not None:
            return
        trained = [each for each in self.named() if each[1].requires_grad]
        if not trained:
            return
        name, parameter = min(trained, key=lambda each: each[1].numel())
        reference = weakref.ref(parameter)
        handle = parameter.register_hook(make(f"held_gradient/{name}", reference))
        self._held = (reference, handle)

    def forget_gradients(self) -> None:
        """Removes the callbacks."""
        for _, _, handle in self._gradients.values():
            handle.remove()
        self._gradients, self._watched = {}, None

    def forget_held(self) -> None:
        """Removes the callback of `watch_held`."""
        if self._held is not None:
            self._held[1].remove()
            self._held = None

    def note_versions(self) -> None:
        """Notes which state the parameters have now, for `has_changed`."""
        self._versions = {name: parameter._version for name, parameter in self.named()}

    def has_changed(self) -> bool:
        """Returns True if a parameter was changed in place since `note_versions`."""
        return any(
            parameter._version > self._versions.get(name, parameter._version)
            for name, parameter in self.named()
        )
