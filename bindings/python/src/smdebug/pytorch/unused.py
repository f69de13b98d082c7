"""The layers that a training does not use: their weights have no gradient, and need none."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Set
from weakref import WeakKeyDictionary

from smdebug.core.utils import import_framework
from smdebug.pytorch.callbacks import OnAnyGradient, OnCall
from smdebug.pytorch.models import has_forward
from smdebug.pytorch.shards import is_distributed
from smdebug.pytorch.torch_state import was_compiled

if TYPE_CHECKING:
    from smdebug.pytorch.models import RegisteredModel

__all__ = ["UnusedLayers"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class UnusedLayers:
    """Finds layers with parameters that the first steps of a training do not use.

    Some are not called.  Of others nobody needs what they return, as of the pooler of a BERT that
    labels tokens: other layers give them what they compute from, but no gradient comes back.  A
    first layer without a gradient is no such layer: what it returns was cut off from the loss.

    The first step of a model shows which layers are called, the second one which have a gradient.
    Later steps cost nothing.  A compiled model calls no layer: all after the first one count as
    layers that others give what they compute from.
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
        layers = [] if model.module is None else list(model.module.modules())
        is_compiled = was_compiled(model.key) or any(map(_is_compiled, layers))
        for layer in _with_parameters(layers[1:])[1 if is_compiled else 0 :]:
            reference = weakref.ref(layer)
            on_call = OnCall(partial(self._note_use, reference))
            # A new callback would make PyTorch compile a model again.
            handles = [] if is_compiled else [layer.register_forward_pre_hook(on_call)]
            self._handles[reference] = handles

    def _note_use(self, layer: Any) -> None:
        for handle in self._handles.pop(layer, ()):
            handle.remove()

    def end_step(self, model: RegisteredModel) -> Set[str]:
        """Returns the names of the parameters that are not used, after the last step."""
        self.steps += 1
        unused = [
            (reference, each)
            for reference in list(self._handles)
            for layer in (reference(),)
            if layer is not None
            for each in _trained(layer)
        ]
        if self.steps < _STEPS:
            for reference, each in unused:
                on_gradient = OnAnyGradient(partial(self._note_use, reference))
                self._handles[reference].append(each.register_hook(on_gradient))
            return set()
        self.forget()
        names = model.names() if unused else {}
        return {names[id(each)] for _, each in unused if id(each) in names}

    def forget(self) -> None:
        for layer in list(self._handles):
            self._note_use(layer)


def _trained(layer: Any) -> List[Any]:
    return [each for each in layer.parameters(recurse=False) if each.requires_grad]


def _with_parameters(layers: List[Any]) -> List[Any]:
    """Returns the layers that hold parameters of their own.

    Returns none if processes share a parameter, as its gradient then comes in another way.
    """
    found = [each for each in layers if has_forward(each) and _trained(each)]
    shared = any(is_distributed(each) for layer in found for each in _trained(layer))
    return [] if shared else found


def _is_compiled(layer: Any) -> bool:
    return (
        isinstance(layer, torch.jit.ScriptModule)
        or hasattr(layer, "_orig_mod")
        or getattr(layer, "_compiled_call_impl", None) is not None
    )
