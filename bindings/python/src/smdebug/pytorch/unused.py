"""The layers that a training does not use: their weights have no gradient, and need none."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Set
from weakref import WeakKeyDictionary

from smdebug.core.utils import import_framework
from smdebug.pytorch.callbacks import OnAnyGradient, OnCall
from smdebug.pytorch.models import has_forward
from smdebug.pytorch.parameters import is_bare
from smdebug.pytorch.shards import is_distributed
from smdebug.pytorch.torch_state import note_graph, was_compiled

if TYPE_CHECKING:
    from smdebug.pytorch.models import RegisteredModel

__all__ = ["UnusedLayers"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# The largest part of a model, by its number of parameter tensors, that layers which are called and
# get no gradient may hold: a larger one was cut off.
_MOST_CALLED = 1 / 3
# After so many steps without any gradient, none is waited for.
_MOST_STEPS = 20


class UnusedLayers:
    """Finds layers with parameters that the first steps of a training do not use.

    Some are not called.  Of others nobody needs what they return, as of the pooler of a BERT that
    labels tokens: their inputs come from other layers, and no gradient comes back.  If no gradient
    comes back to a layer whose inputs are data, what it returns was cut off from the loss.  Of a
    parameter that a module holds beside its layers, as a token for masks, only the gradient is known.

    The first step of a model shows which layers are called, and the next one with a backward pass
    which have a gradient.  Later steps cost nothing.
    """

    def __init__(self) -> None:
        #: The names of the parameters of these layers.
        self.names: Set[str] = set()
        self._of: WeakKeyDictionary[RegisteredModel, _OfModel] = WeakKeyDictionary()

    def begin_call(self, model: RegisteredModel) -> None:
        """Watches the layers of a model, before it is called for the first time."""
        if model not in self._of:
            self._of[model] = watched = _OfModel(model)
            watched.begin()

    def end_step(self, models: Iterable[RegisteredModel]) -> None:
        """Ends a step of a training, which has called these models."""
        for model in models:
            watched = self._of.get(model)
            if watched is not None and not watched.is_over:
                self.names |= watched.end_step(model)

    def forget(self) -> None:
        """Removes all callbacks."""
        for watched in self._of.values():
            watched.end()
        self._of.clear()


class _OfModel:
    """The layers of one model that were not used so far.  It keeps neither them nor the model."""

    def __init__(self, model: RegisteredModel) -> None:
        self.is_over = False
        self._model = weakref.ref(model)
        self._is_compiled = False
        self._steps = 0
        self._has_gradients = False
        # By a reference to the layer, whether it was called.
        self._left: Dict[Any, bool] = {}
        self._bare: Set[int] = set()  # the ids of such parameters that have no gradient so far
        self._handles: List[Any] = []

    def begin(self) -> None:
        model = self._model()
        layers = [] if model is None or model.module is None else list(model.module.modules())
        # The gradient of a parameter that processes share comes in another way.
        if model is None or any(is_distributed(each) for layer in layers for each in _trained(layer)):
            self.end()
            return
        self._is_compiled = was_compiled(model.key) or any(map(_is_compiled, layers))
        found = [each for each in layers[1:] if _trained(each) and has_forward(each)]
        if self._is_compiled:
            # A new callback would make PyTorch compile it again: only of the first layer it is
            # known that its inputs are data.
            self._left = {weakref.ref(layer): True for layer in found[1:]}
            return
        for layer in found:
            self._left[weakref.ref(layer)] = False
            on_call = OnCall(self, weakref.ref(layer))
            self._handles.append(layer.register_forward_pre_hook(on_call, **OnCall.SETTINGS))

    def note_call(self, layer: Any, inputs: Any) -> None:
        """Notes a call of a layer, unless it is one of an evaluation."""
        model = self._model()
        if layer not in self._left or model is None or not model.has_gradients:
            return
        if torch.is_grad_enabled() and _are_computed(inputs):
            self._left[layer] = True
        else:
            del self._left[layer]

    def note_graph(self) -> None:
        """Notes that a layer is called while a graph is made, which notes nothing else."""
        model = self._model()
        if model is not None:
            note_graph(model.key)

    def note_gradient(self, source: Any) -> None:
        """Notes a gradient of a parameter of a layer, or of one that is bare, by its id."""
        self._has_gradients = True
        self._left.pop(source, None)
        self._bare.discard(source)

    def end_step(self, model: RegisteredModel) -> Set[str]:
        """Returns the names of the parameters that are not used, once they are known."""
        self._steps += 1
        module = model.module
        if module is None or (was_compiled(model.key) and not self._is_compiled):
            self.end()
        elif self._steps == 1:
            for layer in module.modules():
                on_gradient = OnAnyGradient(self, weakref.ref(layer))
                self._handles += [each.register_hook(on_gradient) for each in _trained(layer)]
            for name, each in model.named():
                if is_bare(name) and each.requires_grad:
                    self._bare.add(id(each))
                    self._handles.append(each.register_hook(OnAnyGradient(self, id(each))))
        elif self._has_gradients:
            return self._names(model, module)
        elif self._steps >= _MOST_STEPS:
            self.end()
        return set()

    def _names(self, model: RegisteredModel, module: Any) -> Set[str]:
        of_layers = [(weakref.ref(layer), _trained(layer)) for layer in module.modules()]
        # A layer that is used may hold one of them, too.
        used = {id(each) for layer, of in of_layers if layer not in self._left for each in of}
        used -= self._bare
        called: List[int] = []
        unused: List[int] = []
        for layer, of in of_layers:
            left = called if self._left.get(layer, True) else unused
            left += [id(each) for each in of if id(each) not in used]
        self.end()
        names = model.names()
        if len(called) <= _MOST_CALLED * len(names):
            unused += called
        return {names[each] for each in unused if each in names}

    def end(self) -> None:
        self.is_over = True
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._left.clear()
        self._bare.clear()


def _trained(layer: Any) -> List[Any]:
    return [each for each in layer._parameters.values() if each is not None and each.requires_grad]


def _are_computed(value: Any) -> bool:
    """Returns True if a layer, or an operation, computed a tensor in the inputs of another one."""
    if isinstance(value, torch.Tensor):
        return value.grad_fn is not None
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(map(_are_computed, value))


def _is_compiled(layer: Any) -> bool:
    return (
        isinstance(layer, torch.jit.ScriptModule)
        or hasattr(layer, "_orig_mod")
        or getattr(layer, "_compiled_call_impl", None) is not None
    )
