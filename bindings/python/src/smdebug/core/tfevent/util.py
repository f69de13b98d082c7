"""The element types of event files."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np

from smdebug.exceptions import SMDebugTypeError

__all__: list[str] = []

_NAMES: Dict[str, str] = {
    "float16": "DT_HALF",
    "float32": "DT_FLOAT",
    "float64": "DT_DOUBLE",
    "bfloat16": "DT_BFLOAT16",
    "int8": "DT_INT8",
    "int16": "DT_INT16",
    "int32": "DT_INT32",
    "int64": "DT_INT64",
    "uint8": "DT_UINT8",
    "uint16": "DT_UINT16",
    "uint32": "DT_UINT32",
    "uint64": "DT_UINT64",
    "complex64": "DT_COMPLEX64",
    "complex128": "DT_COMPLEX128",
    "bool": "DT_BOOL",
    # Quantized integers are arrays of one named field.
    "qint8": "DT_QINT8",
    "quint8": "DT_QUINT8",
    "qint16": "DT_QINT16",
    "quint16": "DT_UINT16",
    "qint32": "DT_INT32",
}


def _get_proto_dtype(npdtype: Any) -> Tuple[bool, str]:
    """Returns whether elements are numbers, and the name of their type in event files.

    Raises
    ------
    SMDebugTypeError
        If such elements cannot be written.
    """
    if getattr(npdtype, "kind", "") in "UOS" and hasattr(npdtype, "kind"):
        return False, "DT_STRING"
    dtype = np.dtype(npdtype)
    name = dtype.names[0] if dtype.names is not None and len(dtype.names) == 1 else dtype.name
    if name not in _NAMES:
        raise SMDebugTypeError(f"elements of type {dtype} cannot be written")
    return True, _NAMES[name]
