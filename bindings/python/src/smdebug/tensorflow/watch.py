"""Observes a running model: inputs and outputs of its layers, and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from types import MethodType
from typing import Any, Callable, Sequence, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.tensorflow.loss_inputs import LOSS_INPUTS, loss_inputs
from smdebug.tensorflow.patches import Patches
from smdebug.tensorflow.utils import flat_tensors, loaded, unconverted

__all__ = [
    "GradientWatch",
    "Listener",
    "ModelWatch",
    "NamedTensors",
    "all_numbered",
    "dense",
    "innermost",
]

NamedTensors = Sequence[Tuple[str, Any]]

# Keyword arguments of layers that are not inputs.
_NO_INPUTS = ("mask", "training")


@dataclass(frozen=True)
class Listener:
    """Receives what happens in a model.  None of its functions may raise.

    Parameters
    ----------
    listens
        Returns whether to report a call with these results, which may be symbolic tensors.
    see
        Called with a collection and the tensors seen for it.
    gradient_name
        Returns the name of a variable's gradient.
    note_weights
        Called when a loss has weights for samples or classes.
    note_gradients
        Called with the variables that an optimizer is to change, and their gradients or None.
    """

    listens: Callable[[Any], bool]
    see: Callable[[str, NamedTensors], None]
    gradient_name: Callable[[Any], str]
    note_weights: Callable[[], None]
    note_gradients: Callable[[Sequence[Tuple[Any, Any]]], None]


def numbered(name: str, value: Any) -> NamedTensors:
    """Returns the tensors in a value: under the name if there is one, numbered otherwise."""
    tensors = flat_tensors(value)
    if len(tensors) == 1:
        return [(name, tensors[0])]
    return [(f"{name}_{i}", tensor) for i, tensor in enumerate(tensors)]


class ModelWatch:
    """Reports the arguments and results of a model, its layers and its loss.

    Parameters
    ----------
    model
        A Keras model.
    listener
        Receives every call.
    """

    def __init__(self, model: Any, listener: Listener) -> None:
        self.thing = model
        self._patches = Patches()
        for layer in model.layers:
            self._watch_layer(layer, listener)
        self._watch_model(model, listener)

    def remove(self) -> None:
        """Restores the model."""
        self._patches.remove()

    def _watch_layer(self, layer: Any, listener: Listener) -> None:
        @unconverted
        def after(args: Any, kwargs: Any, result: Any) -> None:
            if not listener.listens(result):
                return
            inputs = numbered(f"{layer.name}/inputs", _inputs_of(args, kwargs))
            outputs = numbered(f"{layer.name}/outputs", result)
            listener.see(CollectionKeys.LAYERS, [*inputs, *outputs])

        self._follow(layer, "call", after)

    def _watch_model(self, model: Any, listener: Listener) -> None:
        @unconverted
        def after_call(args: Any, kwargs: Any, result: Any) -> None:
            if not listener.listens(result):
                return
            inputs = all_numbered("inputs", _inputs_of(args, kwargs))
            listener.see(CollectionKeys.INPUTS, inputs)
            listener.see(CollectionKeys.OUTPUTS, all_numbered("predictions", result))

        @unconverted
        def after_loss(args: Any, kwargs: Any, result: Any) -> None:
            labels = kwargs["y"] if "y" in kwargs else args[1:2]
            if listener.listens(labels):
                listener.see(CollectionKeys.OUTPUTS, all_numbered("labels", labels))
                outputs = kwargs["y_pred"] if "y_pred" in kwargs else args[2:3]
                listener.see(LOSS_INPUTS, loss_inputs(model, outputs, labels))
                weights = kwargs["sample_weight"] if "sample_weight" in kwargs else args[3:4]
                if flat_tensors(weights):
                    listener.note_weights()

        self._follow(model, "call", after_call)
        if hasattr(model, "compute_loss"):
            self._follow(model, "compute_loss", after_loss)

    def _follow(self, thing: Any, name: str, after: Callable[[Any, Any, Any], None]) -> None:
        """Runs a function after each call of a method.  AutoGraph may rewrite both."""
        original = getattr(thing, name)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            after(args, kwargs, result)
            return result

        self._patches.put(thing, name, MethodType(call, thing))


class GradientWatch:
    """Reports the gradients that an optimizer applies.

    Parameters
    ----------
    optimizer
        A Keras optimizer.
    listener
        Receives all gradients before they are applied.
    """

    def __init__(self, optimizer: Any, listener: Listener) -> None:
        self.thing = optimizer
        self._patches = Patches()
        self._listener = listener
        # A loss-scaling optimizer wraps another one, which receives the unscaled gradients.
        inner = innermost(optimizer)
        if hasattr(inner, "apply"):
            self._watch_apply(inner)
        else:
            self._watch_apply_gradients(inner)

    def remove(self) -> None:
        """Restores the optimizer."""
        self._patches.remove()

    def _watch_apply(self, optimizer: Any) -> None:
        original = optimizer.apply

        @unconverted
        def apply(grads: Any, trainable_variables: Any = None, **kwargs: Any) -> Any:
            grads = list(grads)
            if trainable_variables is not None:
                trainable_variables = list(trainable_variables)
            variables = trainable_variables or optimizer._trainable_variables
            self._tell(zip(grads, variables))
            return original(grads, trainable_variables, **kwargs)

        self._patches.put(optimizer, "apply", apply)

    def _watch_apply_gradients(self, optimizer: Any) -> None:
        original = optimizer.apply_gradients

        @unconverted
        def apply_gradients(grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            grads_and_vars = list(grads_and_vars)
            self._tell(grads_and_vars)
            return original(grads_and_vars, *args, **kwargs)

        self._patches.put(optimizer, "apply_gradients", apply_gradients)

    def _tell(self, grads_and_vars: Any) -> None:
        given = [(variable, gradient) for gradient, variable in grads_and_vars]
        pairs = [(gradient, variable) for variable, gradient in given if gradient is not None]
        if self._listener.listens([gradient for gradient, _ in pairs]):
            name = self._listener.gradient_name
            seen = [(name(variable), dense(gradient)) for gradient, variable in pairs]
            self._listener.see(CollectionKeys.GRADIENTS, seen)
            self._listener.note_gradients(given)


def innermost(optimizer: Any) -> Any:
    """Returns the innermost optimizer of wrapped ones."""
    while hasattr(optimizer, "inner_optimizer"):
        optimizer = optimizer.inner_optimizer
    return optimizer


def dense(gradient: Any) -> Any:
    """Returns a gradient as one tensor of its variable's shape."""
    tf = loaded("tensorflow")
    if tf is not None and isinstance(gradient, tf.IndexedSlices):
        return tf.convert_to_tensor(gradient)
    return gradient


def _inputs_of(args: Any, kwargs: Any) -> Any:
    return args or [value for name, value in kwargs.items() if name not in _NO_INPUTS]


def all_numbered(name: str, value: Any) -> NamedTensors:
    return [(f"{name}_{i}", tensor) for i, tensor in enumerate(flat_tensors(value))]
