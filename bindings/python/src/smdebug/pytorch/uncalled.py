"""The layers that a training does not call: their weights have no gradient, and need none."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Set
from weakref import WeakKeyDictionary

from smdebug.core.utils import import_framework
from smdebug.pytorch.callbacks import OnUse
from smdebug.pytorch.models import has_forward
from smdebug.pytorch.torch_state import was_compiled

if TYPE_CHECKING:
    from smdebug.pytorch.models import RegisteredModel

__all__ = ["UncalledLayers"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class UncalledLayers:
    """Finds layers with parameters that the first steps of a training do not use.

    The first step of a model shows which of its layers are called.  The second one shows which
    others have a gradient all the same: a function may use a layer's weight.  Later steps cost
    nothing.  A compiled model calls no layer: nothing is known of it.
    """

    def __init__(self) -> None:
        #: The names of the parameters of these layers.
        self.names: Set[str] = set()
        self._of: WeakKeyDictionary[RegisteredModel, _OfModel] = WeakKeyDictionary()

    def begin_call(self, model: RegisteredModel) -> None:
        """Watches the layers of a model, before it is called for the first time."""
        if model not in self._of:
            self._of[model] = _OfModel(model)

    def end_step(self, models: Iterable[RegisteredModel]) -> None:
        """Ends a step of a training, which has called these models."""
        for model in models:
            known = self._of.get(model)
            if known is not None and known.steps < _STEPS:
                self.names |= known.end_step(model)

    def forget(self) -> None:
        """Removes all callbacks."""
        for known in self._of.values():
            known.forget()
        self._of.clear()


# Of a model, those that tell which layers it does not use.
_STEPS = 2


class _OfModel:
    """The layers of one model that were not used so far.  It does not keep them."""

    def __init__(self, model: RegisteredModel) -> None:
        self.steps = 0
        self._handles: Dict[Any, List[Any]] = {}  # of the callbacks, by a reference to the layer
        module = None if was_compiled(model.key) else model.module
        for layer in [] if module is None else _layers_with_parameters(module):
            self._watch(weakref.ref(layer), layer.register_forward_pre_hook)

    def _watch(self, layer: Any, register: Callable[[OnUse], Any]) -> None:
        self._handles.setdefault(layer, []).append(register(OnUse(partial(self._note_use, layer))))

    def _note_use(self, layer: Any) -> None:
        for handle in self._handles.pop(layer, ()):
            handle.remove()

    def end_step(self, model: RegisteredModel) -> Set[str]:
        """Returns the names of the parameters that are not used, after the last step."""
        self.steps += 1
        if was_compiled(model.key):
            self.forget()
        layers = [layer() for layer in self._handles]
        unused = [each for layer in layers if layer is not None for each in _trained(layer)]
        if self.steps < _STEPS:
            for reference in list(self._handles):
                layer = reference()
                for parameter in () if layer is None else _trained(layer):
                    self._watch(reference, parameter.register_hook)
            return set()
        self.forget()
        names = model.names() if unused else {}
        return {names[id(each)] for each in unused if id(each) in names}

    def forget(self) -> None:
        for layer in list(self._handles):
            self._note_use(layer)


def _trained(layer: Any) -> List[Any]:
    return [each for each in layer.parameters(recurse=False) if each.requires_grad]


def _layers_with_parameters(model: Any) -> List[Any]:
    """Returns the layers in a model that hold parameters of their own; none if a part of the model
    is compiled, as a new callback would make PyTorch compile it again."""
    layers = list(model.modules())
    if any(_is_compiled(layer) for layer in layers):
        return []
    return [each for each in layers[1:] if has_forward(each) and _trained(each)]


def _is_compiled(layer: Any) -> bool:
    return (
        isinstance(layer, torch.jit.ScriptModule)
        or hasattr(layer, "_orig_mod")
        or getattr(layer, "_compiled_call_impl", None) is not None
    )
