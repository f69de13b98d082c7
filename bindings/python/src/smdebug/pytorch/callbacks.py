"""The objects that PyTorch calls.  Each passes the observed tensors to the hook.

Compiled models trace them: there they do nothing, so that a graph stays whole.  At a step that
saves nothing they read one attribute.  Copies and pickles of a model contain its callbacks: a
copied callback does nothing.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Protocol, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.gradient_sum import GradientSum
from smdebug.pytorch.torch_state import in_backward, in_stage, is_compiling, is_probing, note_graph

if TYPE_CHECKING:
    from smdebug import _raw
    from smdebug.pytorch.models import RegisteredModel

torch = import_framework("torch", "torch", "smdebug.pytorch")

__all__ = [
    "AfterForward",
    "AfterLoss",
    "AfterModel",
    "BeforeInplace",
    "BeforeModel",
    "OnAnyGradient",
    "OnCall",
    "OnGradient",
    "OnHeldGradient",
    "changes_inputs",
]


class _Steps(Protocol):
    """The part of the hook that knows its steps."""

    # Whether the open step saves something, and the model that runs is recorded.
    _is_saving: bool

    @property
    def _late(self) -> Any: ...

    # Where the time goes, if the job is profiled.
    _profile: Any

    # Whether rules are attached.
    _has_rules: bool

    # Reads what functions compute losses from.
    @property
    def _loss_graphs(self) -> Any: ...

    def _on_call(self, model: RegisteredModel, module: Any) -> None: ...

    def _on_return(self, model: RegisteredModel, outputs: Any) -> None: ...

    def _on_loss(self, name: str) -> None: ...

    def _on_gradient(self, name: str, gradient: Any, parameter: Any) -> None: ...

    def _on_held(self, name: str, held: Any) -> None: ...

    def _on_sum(self, gradients: GradientSum, is_added: bool) -> None: ...

    def _note_reset(self) -> None: ...


class _Recorder(_Steps, Protocol):
    """The part of the hook that callbacks use."""

    def _save_left(self, prefix: str, value: Any, left: Any) -> None: ...

    def _save_keywords(self, prefix: str, keywords: Mapping[str, Any]) -> None: ...


class _Nothing:
    """The copy of a callback."""

    def __call__(self, *unused: Any) -> None:
        pass


class _Callback:
    """The base of the callbacks."""

    __slots__ = ("_hook",)

    def __init__(self, hook: Any) -> None:
        self._hook = hook

    def __reduce__(self) -> Tuple[Callable[[], Any], Tuple[()]]:
        return _Nothing, ()


def changes_inputs(module: Any) -> bool:
    """Returns True for modules that change their inputs in place, as activations can."""
    return getattr(module, "inplace", False) is True


class BeforeModel(_Callback):
    """Is called before a registered model runs."""

    __slots__ = ("_key", "_model")

    def __init__(self, hook: _Recorder, model: RegisteredModel) -> None:
        super().__init__(hook)
        self._model = model
        self._key = model.key

    def __call__(self, module: Any, inputs: Any) -> None:
        if is_compiling():
            note_graph(self._key)
            return
        self._model.is_stage = self._model.is_stage or in_stage()
        self._hook._on_call(self._model, module)
        if self._hook._profile is not None:
            self._hook._profile.before_model()


class AfterModel(_Callback):
    """Is called after a registered model has run, and its outputs are recorded."""

    __slots__ = ("_model",)

    def __init__(self, hook: _Recorder, model: RegisteredModel) -> None:
        super().__init__(hook)
        self._model = model

    def __call__(self, module: Any, inputs: Any, outputs: Any) -> None:
        if is_compiling():
            return
        if self._hook._profile is not None:
            self._hook._profile.after_model(self._model.name)
        self._hook._on_return(self._model, outputs)


class BeforeInplace(_Callback):
    """Saves the inputs of a module that changes them in place."""

    __slots__ = ("_inputs", "_save")

    def __init__(self, hook: _Recorder, name: str, saver: _raw.Saver) -> None:
        super().__init__(hook)
        self._save = saver.save_numbered
        self._inputs = f"{name}_input_"

    def __call__(self, module: Any, inputs: Any) -> None:
        if is_compiling() or not self._hook._is_saving or in_backward():
            return
        left = self._save(self._inputs, inputs)
        if left is not None:
            self._hook._save_left(self._inputs, inputs, left)


class AfterForward(_Callback):
    """Is called when a module, which the hook calls `name`, has computed its outputs.

    With `changes_inputs`, `BeforeInplace` saves its inputs.
    """

    __slots__ = ("_changes_inputs", "_inputs", "_outputs", "_save", "name")

    def __init__(
        self, hook: _Recorder, name: str, saver: _raw.Saver, changes_inputs: bool = False
    ) -> None:
        super().__init__(hook)
        self._save = saver.save_numbered
        self._changes_inputs = changes_inputs
        self.rename(name)

    def rename(self, name: str) -> None:
        self.name = name
        self._inputs, self._outputs = f"{name}_input_", f"{name}_output_"

    def __call__(self, module: Any, inputs: Any, *rest: Any) -> None:
        if is_compiling() or not self._hook._is_saving or in_backward():
            return  # In a backward pass, a checkpoint computes the module again.
        # PyTorch passes keyword arguments in between, since 2.0.
        self.save(inputs, rest[0] if len(rest) > 1 else None, rest[-1])

    def save(self, inputs: Any, keywords: Optional[Mapping[str, Any]], outputs: Any) -> None:
        left = None if self._changes_inputs else self._save(self._inputs, inputs)
        if left is not None:
            self._hook._save_left(self._inputs, inputs, left)
        if keywords:
            self._hook._save_keywords(self._inputs, keywords)
        left = self._save(self._outputs, outputs)
        if left is not None:
            self._hook._save_left(self._outputs, outputs, left)


class AfterLoss(AfterForward):
    """Is called when a loss module outside of the models has computed its loss."""

    __slots__ = ()

    def __call__(self, module: Any, inputs: Any, *rest: Any) -> None:
        if is_compiling() or in_backward() or is_probing():
            return
        self._hook._on_loss(self.name)
        super().__call__(module, inputs, *rest)
        if not self._hook._is_saving:
            return
        if type(module).__module__.startswith("torch.nn."):
            self._hook._loss_graphs.note_inputs()
            self._hook._loss_graphs.note_module(self.name, module, inputs)
        else:  # A class of one's own calls functions, or modules that are not registered.
            self._hook._loss_graphs.save(self.name, rest[-1])


class _Layers(Protocol):
    """Those of a model that were not used so far."""

    def note_call(self, layer: Any, inputs: Any) -> None: ...

    def note_graph(self) -> None: ...

    def note_gradient(self, layer: Any) -> None: ...

    def end(self) -> None: ...


class OnCall(_Callback):
    """Is called before a layer is called, and tells of it."""

    __slots__ = ("_layer", "_layers")

    #: How it is registered: with keyword arguments, since PyTorch 2.0.
    SETTINGS: Mapping[str, Any] = (
        {"with_kwargs": True}
        if "with_kwargs" in inspect.signature(torch.nn.Module.register_forward_pre_hook).parameters
        else {}
    )

    def __init__(self, layers: _Layers, layer: Any) -> None:
        super().__init__(None)
        self._layers, self._layer = layers, layer

    def __call__(self, module: Any, *inputs: Any) -> None:
        if is_compiling():
            self._layers.note_graph()
            return
        try:
            self._layers.note_call(self._layer, inputs)
        except Exception:  # Inputs may be anything: nothing is then known of the model.
            self._layers.end()


class OnAnyGradient(_Callback):
    """Is called when a backward pass comes to a layer's parameter, and tells of its gradient.

    That of a compiled graph may have none for it.
    """

    __slots__ = ("_layer", "_layers")

    def __init__(self, layers: _Layers, layer: Any) -> None:
        super().__init__(None)
        self._layers, self._layer = layers, layer

    def __call__(self, gradient: Any) -> None:
        if gradient is not None:
            self._layers.note_gradient(self._layer)


class OnGradient(_Callback):
    """Is called when a backward pass has computed the gradient that the hook calls `name`."""

    __slots__ = ("_name", "_parameter")

    def __init__(self, hook: _Steps, name: str, parameter: Callable[[], Any]) -> None:
        super().__init__(hook)
        self._name = name
        self._parameter = parameter

    def __call__(self, gradient: Any) -> None:
        if self._hook._is_saving:
            self._hook._on_gradient(self._name, gradient, self._parameter())


class OnHeldGradient(_Callback):
    """Is called when a backward pass reaches a parameter, before its gradient is added.

    Tells the hook, which calls it `name`, of gradients that are not reset: the parameter still
    holds what it held at the backward passes since the update before the last one.  So it may keep
    a gradient for a while, as a discriminator does while the generator learns.

    It also tells the hook at each pass whether it adds to the gradient of the pass before.

    Once, when the parameter holds None or only zeros after an update, or at a later backward pass,
    it tells rules so by a gradient of zeros.
    """

    __slots__ = (
        "_held", "_is_kept", "_is_noted", "_is_told", "_name", "_parameter", "_seen", "_sum",
        "_version", "_was_updated",
    )  # fmt: skip

    def __init__(self, hook: _Steps, name: str, parameter: Callable[[], Any]) -> None:
        super().__init__(hook)
        self._name = name
        self._parameter = parameter
        self._version: Optional[int] = None  # of the parameter, at the last backward pass
        self._held: Any = None
        self._seen = 0  # the version of what was held
        self._is_kept = False  # since an update
        self._is_noted = False  # the trial says that gradients are reset
        self._is_told = False  # rules know it
        self._was_updated = False
        self._sum = GradientSum()

    def __call__(self, gradient: Any) -> None:
        parameter = self._parameter()
        if parameter is None:
            return
        held, version = parameter.grad, parameter._version
        self._was_updated = self._was_updated or self._version not in (None, version)
        if self._was_updated and not self._is_told:
            self._tell_if_reset(parameter)
        if type(held) is not torch.Tensor:  # parts of several processes, among others
            held = None
        is_as_before = held is not None and self._is_as_before(held)
        is_kept = is_as_before and held is self._held
        is_updated = version != self._version
        # The first gradient of a sum is a new tensor.
        is_added = is_as_before and (is_kept or self._held is None)
        self._hook._on_sum(self._sum, is_added and not is_updated)
        self._held, self._version = held, version
        self._seen = 0 if held is None else held._version
        if not is_kept:
            self._is_kept = False
        elif is_updated:
            if self._is_kept and self._hook._is_saving:
                self._hook._on_held(self._name, held)
            self._is_kept = True

    def _tell_if_reset(self, parameter: Any) -> None:
        """Tells rules, and the trial, if the parameter holds no gradient, or only zeros, after an
        update."""
        is_plain = type(parameter) is torch.nn.Parameter
        is_heard = self._hook._is_saving and self._hook._has_rules
        if not is_plain or (self._is_noted and not is_heard) or not self._is_zero(parameter.grad):
            return
        if not self._is_noted:
            self._is_noted = True
            self._hook._note_reset()
        if is_heard:
            self._is_told = True
            self._hook._on_held(self._name, torch.zeros_like(parameter))

    def _is_readable(self, held: Any) -> bool:
        """Returns False for a gradient on a device, as reading it would wait for the device."""
        return held.device.type == "cpu" and not self._hook._late.takes(held)

    def _is_zero(self, held: Any) -> bool:
        if held is None:
            return True
        return held.layout is torch.strided and self._is_readable(held) and not held.detach().any()

    def _is_as_before(self, held: Any) -> bool:
        """Returns False if a gradient was perhaps set to zero since the last backward pass."""
        if self._is_readable(held):
            return bool(held.detach().any())
        # The last backward pass has changed it once, or made it.
        return bool(held._version == (self._seen + 1 if held is self._held else 0))
