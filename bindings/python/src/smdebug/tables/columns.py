"""The rows of a scan as lists, without a library that reads Arrow."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, Iterator, List, Optional

from smdebug.exceptions import SMDebugRuntimeError
from smdebug.tables.scan import Scan

__all__ = ["batches"]

# The structures of Arrow's C data interface.


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]

_LETTERS = {"int64": "q", "timestamp[us]": "q", "double": "d"}


def batches(scan: Scan) -> Iterator[Dict[str, List[Any]]]:
    """Yields the rows some at a time, as a list for each column, with None for nulls.

    Columns of texts and numbers only.

    Raises
    ------
    SMDebugRuntimeError
        If the scan cannot be read to its end.
    """
    types = scan.schema
    capsule = scan.__arrow_c_stream__()
    # The capsule releases the stream when it is freed.
    stream = _Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    while True:
        array = _Array()
        if stream.get_next(ctypes.byref(stream), ctypes.byref(array)) != 0:
            message = stream.get_last_error(ctypes.byref(stream))
            raise SMDebugRuntimeError((message or b"out of memory").decode(errors="replace"))
        if not array.release:
            return
        try:
            yield {
                name: _column(array.children[i].contents, kind)
                for i, (name, kind) in enumerate(types.items())
            }
        finally:
            array.release(ctypes.byref(array))


def _column(array: Any, kind: str) -> List[Any]:
    rows: int = array.length
    values = _texts(array, rows) if kind == "string" else _numbers(array, rows, _LETTERS[kind])
    if array.null_count:
        bits = _bytes(array.buffers[0], (rows + 7) // 8)
        for i in range(rows):
            if not bits[i >> 3] >> (i & 7) & 1:
                values[i] = None
    return values


def _bytes(address: Optional[int], size: int) -> bytes:
    return ctypes.string_at(address, size) if address and size else b""


def _numbers(array: Any, rows: int, letter: str) -> List[Any]:
    content: Any = memoryview(_bytes(array.buffers[1], 8 * rows))
    numbers: List[Any] = content.cast(letter).tolist()
    return numbers


def _texts(array: Any, rows: int) -> List[Any]:
    ends = memoryview(_bytes(array.buffers[1], 4 * (rows + 1))).cast("i").tolist()
    content = _bytes(array.buffers[2], ends[-1])
    if content.isascii():
        whole = content.decode("ascii")
        return [whole[begin:end] for begin, end in zip(ends, ends[1:])]
    return [content[begin:end].decode() for begin, end in zip(ends, ends[1:])]
