"""What functions compute losses from, as `F.cross_entropy` does: read from the losses' graphs."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework

__all__ = ["LossGraphs"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# The modules that compute the same as the nodes of a graph.
_CLASSES = {
    "BinaryCrossEntropyBackward0": "BCELoss",
    "BinaryCrossEntropyWithLogitsBackward0": "BCEWithLogitsLoss",
    "HuberLossBackward0": "HuberLoss",
    "MseLossBackward0": "MSELoss",
    "NllLoss2DBackward0": "NLLLoss",
    "NllLossBackward0": "NLLLoss",
    "SmoothL1LossBackward0": "SmoothL1Loss",
}
# Nodes that leave elements as they are.
_SAME = {
    "AliasBackward0", "CloneBackward0", "IndexBackward0", "PermuteBackward0", "ReshapeAliasBackward0",
    "SelectBackward0", "SliceBackward0", "SqueezeBackward0", "SqueezeBackward1", "TBackward0",
    "ToCopyBackward0", "TransposeBackward0", "UnsafeViewBackward0", "UnsqueezeBackward0",
    "ViewBackward0",
}  # fmt: skip
# Activations whose results a cross entropy should not get.
_ACTIVATIONS = {"ReluBackward0", "SigmoidBackward0", "SoftmaxBackward0"}
_NONE, _SUM = 0, 2  # of `reduction`

# A loss that is the sum of several is not far from them.
_MOST_NODES = 32
# After so many losses without such a node, or whose backward pass was over, graphs of losses of
# that name are left alone.
_MOST_TRIES = 8
# Of scores: those of a large vocabulary take longer than a step.
_MOST_ELEMENTS = 1 << 20


class _Found(NamedTuple):
    """A node that computes a loss, and whether the result is the whole loss."""

    node: Any
    is_whole: bool


class LossGraphs:
    """Saves the inputs of losses that functions compute.

    Those of the loss that the hook calls `name` are ``<name>/CrossEntropyLoss_input_0``, its scores,
    and ``<name>/CrossEntropyLoss_input_1``, its targets; likewise for other classes.  If the loss
    is not that alone, as a sum is not, they are ``<name>/term/CrossEntropyLoss_input_0`` ...

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook that saves them.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._tries: Dict[str, int] = {}  # in vain, by the loss's name
        self._has_warned = False
        self._read: Set[str] = set()  # losses whose graphs were there
        self._told: Dict[str, List[str]] = {}  # the collections of inputs by their prefix

    def save(self, name: str, loss: Any, is_scaled: bool = False) -> None:
        """Saves the inputs of a loss whose graph is still there.

        With `is_scaled` the hook records it before it was divided.
        """
        if getattr(loss, "grad_fn", None) is None or self._tries.get(name, 0) >= _MOST_TRIES:
            return
        try:
            if self._is_wanted(name):
                self._look(name, loss, is_scaled)
        except Exception as failure:
            self._hook._note_failure(f"reading the graph of {name}", failure)

    def _look(self, name: str, loss: Any, is_scaled: bool) -> None:
        found = list(_losses_behind(loss.grad_fn, is_scaled))
        is_over = any(_is_over(each.node) for each in found)
        # An error of PyTorch's costs a tenth of a millisecond: it is not raised at every step.
        self._tries[name] = 0 if found and not is_over else self._tries.get(name, 0) + 1
        if not found:
            return
        if is_over:
            self._warn(name)
            return
        self._read.add(name)
        for each in found:
            is_whole = each.is_whole and len(found) == 1
            self._save(name if is_whole else f"{name}/term", each.node)

    def _warn(self, name: str) -> None:
        if not self._has_warned and name not in self._read:
            self._has_warned = True
            self._hook.logger.warning(
                "%s was recorded after its backward(), which frees what it was computed from; "
                "record it before, so that rules see its inputs and targets",
                name,
            )

    def _is_wanted(self, name: str) -> bool:
        if self._hook._has_rules:
            return True
        collected = self._hook._collected
        # Trials of the original's scripts, which save all, have the tensors that it saves.
        return not collected.has_all and any(
            collected.has(f"{name}/{each}_input_{number}")
            for each in {*_CLASSES.values(), "CrossEntropyLoss"}
            for number in (0, 1)
        )

    def _save(self, name: str, node: Any) -> None:
        kind, outputs = _outputs_of(node)
        prefix = f"{name}/{kind}_input_"
        if self._tells(prefix, node):
            return  # Rules know of the collection at the next step.
        for tensor in (outputs, _saved(node, "target")):
            number = _raw.take_number(self._hook._saved_counts, prefix)
            if tensor is not None and tensor.numel() <= _MOST_ELEMENTS:
                self._hook._save(f"{prefix}{number}", _not_expanded(tensor.detach()))

    def _tells(self, prefix: str, node: Any) -> bool:
        """Puts the inputs into collections for rules; returns True if they were not there."""
        collections = _collections_of(node)
        if self._told.setdefault(prefix, []) == collections:
            return False
        self._told[prefix] = collections
        for each in collections:
            self._hook.get_collection(each).include(f"^{re.escape(prefix)}")
        return True


def _losses_behind(root: Any, is_scaled: bool) -> Iterator[_Found]:
    """Yields the nodes of losses next to the root of a graph."""
    ahead: List[Tuple[Any, List[Any]]] = [(root, [])]
    for _ in range(_MOST_NODES):
        if not ahead:
            return
        node, path = ahead.pop(0)
        if node.name() in _CLASSES:
            yield _Found(node, _is_whole(node, path, is_scaled))
            continue
        path = [*path, node]
        ahead.extend((each, path) for each, _ in node.next_functions if each is not None)


def _is_whole(node: Any, path: List[Any], is_scaled: bool) -> bool:
    """Reports whether what follows a loss on the path leaves its mean over samples as it is."""
    same = set(_SAME)
    if is_scaled or node._saved_reduction == _SUM:
        same.add("DivBackward0")
    if node._saved_reduction == _NONE:
        same.add("MeanBackward0")
    return all(each.name() in same or _is_by_one(each) for each in path)


def _is_by_one(node: Any) -> bool:
    """Returns True for a product or quotient with 1, as by the number of processes or batches."""
    factor = _saved(node, "other") if node.name() in ("MulBackward0", "DivBackward0") else None
    is_read = factor is not None and factor.dim() == 0 and factor.device.type == "cpu"
    return is_read and bool(factor == 1)


def _outputs_of(node: Any) -> Tuple[str, Optional[Any]]:
    """Returns the class of a loss, and the outputs of the model that it takes, if they are there."""
    kind = _CLASSES[node.name()]
    before = _before(node)
    is_cross_entropy = (
        kind == "NLLLoss"
        and before is not None
        and before.name() == "LogSoftmaxBackward0"
        and not _is_over_samples(before)
    )
    if not is_cross_entropy:
        return kind, _saved(node, "self")
    # Scores are as good with their logarithmic softmax as without.  But what a softmax or an
    # activation has made of them, the loss should not get.
    activation = _before(before)
    if activation is not None and activation.name() in _ACTIVATIONS:
        result = _saved(activation, "result")
        if result is not None and result.dim() > 2:
            result = result.flatten(0, -2)
        return "CrossEntropyLoss", result
    return "CrossEntropyLoss", _saved(node, "self")


def _is_over_samples(softmax: Any) -> bool:
    """Returns True for a softmax over the first of several dimensions, which no cross entropy has."""
    result = _saved(softmax, "result")
    if result is None or result.dim() < 2:
        return False
    # Nodes have a dimension below 0 as an unsigned number.
    return softmax._saved_dim in (0, (1 << 64) - result.dim())


def _before(node: Any) -> Optional[Any]:
    """Returns the node that computed the first input, in whatever form."""
    while node.next_functions:
        node = node.next_functions[0][0]
        if node is None or node.name() not in _SAME:
            return node
    return None


def _saved(node: Any, name: str) -> Optional[Any]:
    """Returns a tensor that a node keeps for the backward pass, if it still does."""
    try:
        return _kept(node, name)
    except RuntimeError:
        return None


def _is_over(node: Any) -> bool:
    """Returns True if the backward pass has freed what a node kept."""
    try:
        _kept(node, "self")
    except RuntimeError:
        return True
    return False


def _kept(node: Any, name: str) -> Optional[Any]:
    raw = getattr(node, f"_raw_saved_{name}", None)
    # What a checkpoint would have to compute again is left.
    if raw is None or getattr(raw, "unpack_hook", None) is not None:
        return None
    return getattr(node, f"_saved_{name}")


def _not_expanded(tensor: Any) -> Any:
    """Returns a tensor in the shape that it had before it was made to fit another."""
    if tensor.layout is not torch.strided:
        return tensor
    for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def _collections_of(node: Any) -> List[str]:
    """Returns the collections that tell rules of weights of classes, and of a class left out."""
    collections = []
    if any(_saved(node, each) is not None for each in ("weight", "pos_weight")):
        collections.append("weighted_losses")
    # A number below 0 is not a class.  Nodes have it as an unsigned number.
    if getattr(node, "_saved_ignore_index", -1) in range(1 << 63):
        collections.append("losses_ignoring_a_class")
    return collections
