"""Parameters that a model uses and does not contain, as layers in a plain Python list."""

from __future__ import annotations

from typing import Any, Container, Iterable, Iterator, List, Mapping, Set

from smdebug.core.utils import import_framework
from smdebug.pytorch.containers import parts_of

__all__ = ["parameters_outside"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# A graph that is larger is not searched to its end.
_MOST_NODES = 50_000
_MOST_PARAMETERS = 64
_DEEPEST = 4  # of containers in containers


def parameters_outside(outputs: Any, known: Container[int]) -> List[Any]:
    """Returns the parameters of which outputs are computed and whose ids are not known.

    They come in the order of a search that begins at the outputs.
    """
    found: List[Any] = []
    seen: Set[Any] = set()
    pending = [each.grad_fn for each in _tensors_of(outputs) if each.grad_fn is not None]
    while pending and len(seen) < _MOST_NODES and len(found) < _MOST_PARAMETERS:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if type(leaf) is torch.nn.Parameter and id(leaf) not in known:
            found.append(leaf)
        pending += [each for each, _ in node.next_functions if each is not None]
    return found


def _tensors_of(outputs: Any, depth: int = _DEEPEST) -> Iterator[Any]:
    if isinstance(outputs, torch.Tensor):
        yield outputs
        return
    parts: Iterable[Any] = ()
    if isinstance(outputs, Mapping):
        parts = outputs.values()
    elif isinstance(outputs, (list, tuple)):
        parts = outputs
    elif isinstance(fields := parts_of(outputs), list):
        parts = fields
    for each in parts if depth else ():
        yield from _tensors_of(each, depth - 1)
