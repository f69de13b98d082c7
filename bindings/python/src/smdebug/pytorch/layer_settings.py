"""What rules learn of the settings of a model's layers, and of its mode."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple
from weakref import WeakKeyDictionary, ref

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.pytorch.host_copies import is_capturing
from smdebug.pytorch.parameters import path_of
from smdebug.pytorch.shards import is_distributed

__all__ = ["LayerSettings"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# Usual settings are not saved: a large model has as many as layers.
_USUAL_DROPOUT = 0.5
_USUAL_MOMENTUM = 0.02

# Frozen layers are looked at after 100 updates, 200, 400 and so on.
_UPDATES_BEFORE_FROZEN = 100
_LEAST_FROZEN = 2  # layers of one kind
_LEAST_ELEMENTS = 64  # of a weight: the largest of so many is near the bound


class _Layers:
    """The layers of a model that compute something else in evaluation mode.

    It does not keep them: one of them may be the model.
    """

    def __init__(self, model: Any) -> None:
        self._with_mode: List[ref[Any]] = []
        self.dropouts: List[Tuple[str, ref[Any]]] = []
        self.slow_norms: List[Tuple[str, ref[Any]]] = []
        for path, layer in model.named_modules():
            if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
                if layer.track_running_stats:
                    self._with_mode.append(ref(layer))
                    if layer.momentum is not None and layer.momentum < _USUAL_MOMENTUM:
                        self.slow_norms.append((path_of(path), ref(layer)))
            elif _dropout_of(layer) > 0:
                self._with_mode.append(ref(layer))
                if _dropout_of(layer) > _USUAL_DROPOUT:
                    self.dropouts.append((path_of(path), ref(layer)))
        self.in_evaluation = self._in_evaluation(model)
        self.updates = 0
        self.next_look = _UPDATES_BEFORE_FROZEN

    def __bool__(self) -> bool:
        return bool(self._with_mode)

    def _in_evaluation(self, model: Any) -> float:
        """Returns what evaluation mode is saved as.

        That is 2 if the model normalises by statistics that were never updated, which nobody does
        on purpose.
        """
        if model.training:
            return 1.0
        # Only here the host waits for a device, once for a model whose first update is in
        # evaluation mode.
        means = (getattr(layer(), "running_mean", None) for layer in self._with_mode)
        is_empty = any(
            mean is not None and not is_capturing(mean.device) and not bool(mean.any())
            for mean in means
        )
        return 2.0 if is_empty else 1.0

    def are_in_training(self, model: Any) -> bool:
        """Returns True if a model is in training mode.

        One of which only some layers are was made so.
        """
        return model.training and any(getattr(layer(), "training", False) for layer in self._with_mode)


class LayerSettings:
    """Saves for rules how the layers of models are set.

    Once at each update: whether a model is in evaluation mode, and the probability of each dropout
    above a half.  At an evaluation: whether the model is in training mode, and what part of the
    running statistics of slow batch normalisations is still what they began as.  Models without
    dropout and batch normalisation are left out: their mode changes nothing.

    At a few updates of any model, what part of its frozen layers is as they begin.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves it.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        #: Whether the update of the open step has yet to be saved.
        self.is_due = False
        self._layers: WeakKeyDictionary[Any, _Layers] = WeakKeyDictionary()

    def _layers_of(self, module: Any) -> _Layers:
        layers = self._layers.get(module)
        if layers is None:
            layers = self._layers[module] = _Layers(module)
        return layers

    def _save(self, name: str, number: float) -> None:
        if _raw.wants(self._hook._handle, name):
            self._hook._save(name, torch.tensor(number, device="cpu"))

    def save_at_update(self) -> None:
        """Saves the settings of the models that the open step has called."""
        self.is_due = False
        for model in self._hook._shown:
            module = model.module
            if module is None:
                continue
            layers = self._layers_of(module)
            layers.updates += 1
            if layers.updates == layers.next_look:
                layers.next_look *= 2
                self._save_frozen(model.name, module)
            if not layers:
                continue
            self._save(f"evaluation_mode/{model.name}", 0.0 if module.training else layers.in_evaluation)
            for path, known in layers.dropouts:
                layer = known()
                if layer is not None and layer.training:
                    self._save(f"dropout/{_name_of(model, path)}", _dropout_of(layer))

    def _save_frozen(self, model: str, module: Any) -> None:
        name = f"initial_frozen/{model}"
        if _raw.wants(self._hook._handle, name):
            share = _initial_part_of_frozen(module)
            if share is not None:
                self._hook._save(name, share)

    def save_at_evaluation(self, model: Any) -> None:
        """Saves the settings with which a model is evaluated."""
        module = model.module
        layers = None if module is None else self._layers_of(module)
        if not layers:
            return
        self._save(f"training_mode/{model.name}", float(layers.are_in_training(module)))
        for path, known in layers.slow_norms:
            layer = known()
            if layer is not None and not layer.training and layer.num_batches_tracked is not None:
                name = f"initial_statistics/{_name_of(model, path)}"
                if _raw.wants(self._hook._handle, name):
                    # On its device: the host does not wait for the count.
                    left = torch.pow(1 - layer.momentum, layer.num_batches_tracked.float())
                    self._hook._save(name, left)


def _name_of(model: Any, path: str) -> str:
    return f"{model.name}_{path}" if path else str(model.name)


def _initial_part_of_frozen(model: Any) -> Optional[Any]:
    """Returns the part of a model's frozen layers that is as every one begins.

    Normalisations decide, or linear and convolutional layers if there are too few; None if of
    these, too.  It is computed where the layers are, so that the host does not wait.
    """
    norms, others = [], []
    for layer in model.modules():
        weight = getattr(layer, "weight", None)
        if not isinstance(weight, torch.nn.Parameter) or weight.requires_grad:
            continue
        # Of a distributed one, an operation may wait for processes that do not call this.
        if is_capturing(weight.device) or weight.is_meta or is_distributed(weight):
            continue
        if "Norm" in type(layer).__name__ and weight.ndim == 1 and weight.numel() > 1:
            norms.append(_is_initial_norm(weight, getattr(layer, "bias", None)))
        elif type(layer) in _DRAWN and weight.numel() >= _LEAST_ELEMENTS:
            others.append(_is_initial_weight(weight))
    told = norms if len(norms) >= _LEAST_FROZEN else others
    if len(told) < _LEAST_FROZEN:
        return None
    return torch.stack([each.to(told[0].device) for each in told]).float().mean()


def _is_initial_norm(weight: Any, bias: Any) -> Any:
    # The elements differ after a training.
    is_initial = (weight == weight[0]).all()
    return is_initial if bias is None else is_initial & (bias == 0).all()


# Layers whose weights PyTorch draws evenly up to one over the root of the inputs of an output.
_DRAWN = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def _is_initial_weight(weight: Any) -> Any:
    # A training takes some elements beyond the bound; another initialisation has another one.
    largest = weight.abs().max() * weight[0].numel() ** 0.5
    return (largest > 0.9) & (largest < 1.001)


def _dropout_of(layer: Any) -> float:
    """Returns the probability of a dropout, also of recurrent layers and of attention; or 0."""
    if isinstance(layer, torch.nn.modules.dropout._DropoutNd):
        return float(layer.p)
    dropout = getattr(layer, "dropout", 0)
    return dropout if isinstance(dropout, float) else 0.0
