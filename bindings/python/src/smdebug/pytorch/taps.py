"""Records a tensor within a model, compiled or not."""

from __future__ import annotations

from typing import Any, Callable, Optional

from smdebug.core.singleton_utils import get_hook
from smdebug.core.utils import import_framework
from smdebug.pytorch.torch_state import in_backward, is_compiling

__all__ = ["tap"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


def tap(tensor: Any, name: str) -> Any:
    """Records a tensor as ``<name>_output_<i>``, also within a graph of `torch.compile`.

    Write ``x = smd.tap(x, "attention")`` in a `forward`.  It needs no graph break.  A graph
    gets a copy of the tensor; without `torch.compile` the tensor itself is returned.  Without an
    open hook nothing is recorded.

    Parameters
    ----------
    tensor : torch.Tensor
        The tensor.
    name : str
        Its name.

    Returns
    -------
    torch.Tensor
        The same elements, with the same gradient.
    """
    if is_compiling() and _in_graph is not None:
        return _in_graph(tensor, name)
    _record(tensor, name)
    return tensor


def _record(tensor: Any, name: str) -> None:
    hook: Any = get_hook()
    if hook is not None and not in_backward():
        hook._on_tap(tensor, name)


def _operator() -> Optional[Callable[[Any, str], Any]]:
    """Returns the operator that graphs contain; None before PyTorch 2.4."""
    if not hasattr(torch.library, "custom_op"):
        return None

    def run(tensor: Any, name: str) -> Any:
        _record(tensor, name)
        return tensor.clone()

    schema = "(Tensor tensor, str name) -> Tensor"
    operator = torch.library.custom_op("smdebug::tap", run, mutates_args=(), schema=schema)
    operator.register_fake(lambda tensor, name: torch.empty_like(tensor))
    operator.register_autograd(lambda context, gradient: (gradient, None))
    found: Callable[[Any, str], Any] = operator
    return found


_in_graph = _operator()
