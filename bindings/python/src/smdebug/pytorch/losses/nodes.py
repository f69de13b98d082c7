"""The losses in a graph that functions computed, as `F.cross_entropy` does, and what they got."""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from smdebug.core.utils import import_framework
from smdebug.pytorch.losses.modules import counts_positives_less

__all__ = [
    "CLASSES",
    "LossInputs",
    "LossNode",
    "are_of_parts",
    "inputs_of",
    "is_mean_difference",
    "is_over",
    "losses_behind",
    "unscaled",
]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# The modules that compute the same as the nodes of a graph.
CLASSES = {
    "BinaryCrossEntropyBackward0": "BCELoss",
    "BinaryCrossEntropyWithLogitsBackward0": "BCEWithLogitsLoss",
    "HuberLossBackward0": "HuberLoss",
    "MseLossBackward0": "MSELoss",
    "NllLoss2DBackward0": "NLLLoss",
    "NllLossBackward0": "NLLLoss",
    "SmoothL1LossBackward0": "SmoothL1Loss",
}
# Those of a difference that a script squares itself, or takes without its sign.
_OF_DIFFERENCES = {"AbsBackward0": "L1Loss", "PowBackward0": "MSELoss"}
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
# The nodes from a loss of classes back to the scores as a model has computed them.
_TO_SCORES = {*_SAME, "LogSoftmaxBackward0", "NllLossBackward0"}

# Nodes that scale a loss, and how many of them may follow each other.
_SCALES = ("MulBackward0", "DivBackward0")
_MOST_SCALES = 4
# The nodes of the part of a cross entropy with label smoothing that does not depend on labels.
_OF_SMOOTHING = {
    "DivBackward0", "IndexPutBackward0", "MaskedFillBackward0", "MaskedSelectBackward0",
    "MeanBackward0", "MulBackward1", "NegBackward0", "SumBackward0", "SumBackward1",
}  # fmt: skip
_AFTER_DIFFERENCES = {*_SAME, *_SCALES, "MeanBackward0", "SumBackward0"}

_PARAMETER = "torch::autograd::AccumulateGrad"
# What may be between a mean and the differences that it is of.
_SUMS_AND_VIEWS = {*_SAME, "SumBackward1"}

# The most elements of an input that is read.  Rules would need longer than a step for the scores of
# a large vocabulary, and the hook would keep their memory until then.
_MOST_ELEMENTS = 1 << 20

# A loss that is the sum of several is not far from them.
_MOST_NODES = 32


class LossNode(NamedTuple):
    """A node that computes a loss, and whether the result is the whole loss."""

    node: Any
    is_whole: bool


class LossInputs(NamedTuple):
    """What a node got: the outputs of a model, and targets, where they are there and not too large.

    The collections tell rules of weights of classes, and of a class left out; `weight` holds one
    for each class.
    """

    kind: str
    outputs: Optional[Any]
    targets: Optional[Any]
    collections: List[str]
    weight: Optional[Any] = None


def losses_behind(root: Any, is_scaled: bool = False) -> Iterator[LossNode]:
    """Yields the nodes of losses next to the root of a graph.

    With `is_scaled` the loss that is recorded is the one before a division.
    """
    ahead: List[Tuple[Any, List[Any]]] = [(root, [])]
    for _ in range(_MOST_NODES):
        if not ahead:
            return
        node, path = ahead.pop(0)
        if node.name() in CLASSES:
            is_whole = _is_whole(node, path, is_scaled) or _is_half_of_symmetric(path)
            yield LossNode(node, is_whole or _is_smoothed(node, path))
            continue
        if _is_outer_difference(node) and {each.name() for each in path} <= _AFTER_DIFFERENCES:
            yield LossNode(node, True)
            continue
        path = [*path, node]
        ahead.extend((each, path) for each, _ in node.next_functions if each is not None)


def _is_whole(node: Any, path: List[Any], is_scaled: bool) -> bool:
    """Reports whether what follows a loss on the path leaves its mean over samples as it is."""
    same, reduction = set(_SAME), getattr(node, "_saved_reduction", _NONE)
    if is_scaled or reduction == _SUM:
        same.add("DivBackward0")
    is_mean = any(each.name() == "DivBackward0" and not _is_by_one(each) for each in path)
    if reduction == _SUM and not is_scaled and not is_mean:
        return False
    if reduction == _NONE:
        same.add("MeanBackward0")
    return all(each.name() in same or _is_by_one(each) for each in path)


def _is_half_of_symmetric(path: List[Any]) -> bool:
    """Reports whether the path leads to one of two losses whose mean is taken, of pairs compared in
    both directions: then each has the samples of the batch as its classes."""
    if len(path) != 2 or path[0].name() not in _SCALES or path[1].name() != "AddBackward0":
        return False
    factor = _saved(path[0], "other")
    if factor is None or factor.dim() != 0 or factor.device.type != "cpu":
        return False
    if factor != (2 if path[0].name() == "DivBackward0" else 0.5):
        return False
    terms = [each for each, _ in path[1].next_functions if each is not None]
    return len(terms) == 2 and all(_compares_batch(each) for each in terms)


def _is_smoothed(node: Any, path: List[Any]) -> bool:
    """Reports whether the path leads to that part of a cross entropy with label smoothing which
    depends on labels: the other part is of the same scores."""
    if [each.name() for each in path] != ["AddBackward0", "MulBackward1"]:
        return False
    if getattr(node, "_saved_reduction", _NONE) in (_NONE, _SUM):
        return False
    scores = _before(node)
    other = next((each for each, _ in path[0].next_functions if each is not path[1]), None)
    while other is not None and other.name() in _OF_SMOOTHING and other.next_functions:
        other = other.next_functions[0][0]
    if scores is None or scores.name() != "LogSoftmaxBackward0":
        return False
    return other is scores


def _compares_batch(node: Any) -> bool:
    if node.name() not in CLASSES or getattr(node, "_saved_reduction", _NONE) in (_NONE, _SUM):
        return False
    scores = _outputs_of(node)[1]
    return scores is not None and scores.dim() == 2 and scores.shape[0] == scores.shape[1]


def _is_by_one(node: Any) -> bool:
    """Returns True for a product or quotient with 1, as by the number of processes or batches."""
    factor = _saved(node, "other") if node.name() in _SCALES else None
    is_read = factor is not None and factor.dim() == 0 and factor.device.type == "cpu"
    return is_read and bool(factor == 1)


def inputs_of(node: Any) -> LossInputs:
    """Returns what a node of a loss got; tensors share the memory of the graph's."""
    if node.name() in _OF_DIFFERENCES:
        return _of_difference(node)
    kind, outputs = _outputs_of(node)
    outputs, targets = (
        None if each is None or each.numel() > _MOST_ELEMENTS else _not_expanded(each.detach())
        for each in (outputs, _saved(node, "target"))
    )
    weight = _saved(node, "weight") if node.name().startswith("NllLoss") else None
    return LossInputs(kind, outputs, targets, _collections_of(node), weight)


def _is_outer_difference(node: Any) -> bool:
    """Returns True if n outputs less n targets are n times n differences, by mistake.

    Where the script gives the outputs a dimension for it, it is none.
    """
    if node.name() not in _OF_DIFFERENCES or len(node.next_functions) != 1:
        return False
    difference = node.next_functions[0][0]
    if difference is None or difference.name() != "SubBackward0":
        return False
    if any(each is not None and each.name() == "UnsqueezeBackward0"
           for each, _ in difference.next_functions):
        return False
    shape, outputs = _shape_after(difference), _shape_before(difference)
    return len(shape) == 2 and shape[0] == shape[1] > 1 and outputs in (shape[:1], (shape[0], 1))


def is_mean_difference(root: Any) -> bool:
    """Returns True if the root of a graph is a loss that a script has written by itself, as
    ``((outputs - targets) ** 2).mean()``: the outputs have a gradient, and the targets have none."""
    if root.name() != "MeanBackward0":
        return False
    node = root.next_functions[0][0]
    while node is not None and node.name() in _SUMS_AND_VIEWS:
        node = node.next_functions[0][0]
    if node is None or node.name() not in _OF_DIFFERENCES:
        return False
    difference = node.next_functions[0][0]
    is_squared = getattr(node, "_saved_exponent", 2) == 2
    if not is_squared or difference is None or difference.name() != "SubBackward0":
        return False
    sides = [each for each, _ in difference.next_functions if each is not None]
    while len(sides) == 1 and sides[0] is not None and sides[0].name() in _SAME:
        sides = [sides[0].next_functions[0][0]]
    # What holds parameters back, as from those of another task, is no loss of outputs.
    return len(sides) == 1 and sides[0] is not None and sides[0].name() != _PARAMETER


def _shape_after(node: Any, number: int = 0) -> Tuple[int, ...]:
    """Returns the shape of a result of a node; PyTorch tells it since 2.1."""
    results = getattr(node, "_input_metadata", ())
    return tuple(results[number].shape) if number < len(results) else ()


def _shape_before(difference: Any) -> Tuple[int, ...]:
    """Returns the shape of the side of a difference that has a gradient."""
    sides = [each for each in difference.next_functions if each[0] is not None]
    return _shape_after(*sides[0]) if len(sides) == 1 else ()


def _of_difference(node: Any) -> LossInputs:
    """Returns the outputs and targets of an outer difference, up to a number and the sign."""
    values = _saved(node, "self")
    outputs = targets = None
    if values is not None:
        row, column = values.detach()[0], values.detach()[:, :1]
        is_row = len(_shape_before(node.next_functions[0][0])) == 1
        outputs, targets = (row, column) if is_row else (column, row)
    return LossInputs(_OF_DIFFERENCES[node.name()], outputs, targets, [])


def unscaled(root: Any) -> Iterator[Tuple[Any, Any]]:
    """Yields the node and the value of a loss, and of what it was before it was scaled.

    So does a GradScaler, or a division by the number of batches.
    """
    node, value = root.grad_fn, root.detach()
    yield node, value
    for _ in range(_MOST_SCALES):
        before = [each for each, _ in node.next_functions if each is not None]
        factor = _saved(node, "other") if node.name() in _SCALES else None
        if len(before) != 1 or factor is None or factor.numel() != 1:
            return
        value = value * factor if node.name() == "DivBackward0" else value / factor
        node = before[0]
        yield node, value


def _outputs_of(node: Any) -> Tuple[str, Optional[Any]]:
    """Returns the class of a loss, and the outputs of the model that it takes, if they are there."""
    kind = CLASSES[node.name()]
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


def is_over(node: Any) -> bool:
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
    collections = []
    if any(_saved(node, each) is not None for each in ("weight", "pos_weight")):
        collections.append("weighted_losses")
    if counts_positives_less(_saved(node, "pos_weight")):
        collections.append("positives_count_less")
    # A number below 0 is not a class.  Nodes have it as an unsigned number.
    if getattr(node, "_saved_ignore_index", -1) in range(1 << 63):
        collections.append("losses_ignoring_a_class")
    if are_of_parts(node):
        collections.append("losses_of_parts")
    return collections


def are_of_parts(node: Optional[Any]) -> bool:
    """Returns True if scores have been flattened that a sample has several of, as for tokens.

    `node` is that of the scores, or of their loss.
    """
    while node is not None and node.name() in _TO_SCORES:
        sizes = getattr(node, "_saved_self_sym_sizes", getattr(node, "_saved_self_sizes", ()))
        if len(sizes) > 2:
            return True
        node = node.next_functions[0][0] if node.next_functions else None
    return False
