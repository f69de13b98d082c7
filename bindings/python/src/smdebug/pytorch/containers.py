"""What models return that is no tensor."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

from smdebug.core.utils import import_framework

__all__ = ["parts_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


def parts_of(value: Any) -> Any:
    """Returns the values in the fields of a dataclass; anything else unchanged."""
    if isinstance(value, (torch.Tensor, tuple, Mapping, type)):
        return value
    if not dataclasses.is_dataclass(value):
        return value
    return [getattr(value, field.name) for field in dataclasses.fields(value)]
