"""Tensors whose elements lie in others."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Callable, ContextManager, List

from smdebug.core.utils import import_framework

__all__ = ["outside_transforms", "unwrapped"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# None in older versions of PyTorch.
_unwrap: Any = getattr(getattr(torch, "func", None), "debug_unwrap", None)


def _leaving() -> Callable[[], ContextManager[List[Any]]]:
    try:
        transforms: Any = importlib.import_module("torch._functorch.pyfunctorch")
        found: Callable[[], ContextManager[List[Any]]]
        found = transforms.temporarily_clear_interpreter_stack
    except (AttributeError, ImportError):  # an older PyTorch
        return lambda: contextlib.nullcontext([])
    return found


#: Within it, operations are none of the function of torch.func that calls a model.
outside_transforms = _leaving()


def unwrapped(tensor: Any) -> Any:
    """Returns the tensor that holds the elements of one.

    Those of a nested tensor's parts follow each other.  A tensor that a function of torch.func is
    called with is what it stands for, as all samples of `vmap`.  A quantized weight or state, as
    torchao makes them, is what its codes stand for.
    """
    if _unwrap is not None:
        tensor = _unwrap(tensor)
    if getattr(tensor, "is_nested", False):
        if tensor.layout is torch.strided:
            return torch.cat([part.reshape(-1) for part in tensor.unbind()])
        return tensor.values()
    if hasattr(type(tensor), "__tensor_flatten__"):
        return _from_codes(tensor)
    return tensor


def _from_codes(tensor: Any) -> Any:
    """Returns the elements of a class of tensors that has its own way to compute them."""
    for name in ("get_original_weight", "dequantize"):
        if getattr(type(tensor), name, None) is not getattr(torch.Tensor, name, None):
            return getattr(tensor, name)()
    return tensor
