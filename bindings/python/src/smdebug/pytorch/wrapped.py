"""Tensors whose elements lie in others."""

from __future__ import annotations

from typing import Any

from smdebug.core.utils import import_framework

__all__ = ["unwrapped"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# None in older versions of PyTorch.
_unwrap: Any = getattr(getattr(torch, "func", None), "debug_unwrap", None)


def unwrapped(tensor: Any) -> Any:
    """Returns the tensor that holds the elements of one.

    Those of a nested tensor's parts follow each other.  A tensor that a function of torch.func is
    called with is what it stands for, as all samples of `vmap`.
    """
    if _unwrap is not None:
        tensor = _unwrap(tensor)
    if not getattr(tensor, "is_nested", False):
        return tensor
    if tensor.layout is torch.strided:
        return torch.cat([part.reshape(-1) for part in tensor.unbind()])
    return tensor.values()
