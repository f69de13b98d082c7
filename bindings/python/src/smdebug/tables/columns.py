"""The rows of a scan as lists or as arrays of NumPy, without a library that reads Arrow."""

from __future__ import annotations

import ctypes
import json
from itertools import chain
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, cast

from smdebug import _raw
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.tables.scan import Scan

__all__ = ["NO_INTEGER", "CodedTexts", "arrays", "batches"]

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

# Stands for nulls in arrays of integers.
NO_INTEGER = -(2**63)

_decoder: Any = json.JSONDecoder()


def batches(
    scan: Scan, wholes: Collection[str] = (), objects: Collection[str] = ()
) -> Iterator[Dict[str, List[Any]]]:
    """Yields the rows some at a time, as a list for each column, with None for nulls.

    Columns of texts and numbers only.  In the columns `wholes`, of numbers without nulls, whole
    numbers are int.  The texts of the columns `objects` are JSON, and become dicts; others None.

    Raises
    ------
    SMDebugRuntimeError
        If the scan cannot be read to its end.
    """
    for columns in _read(scan):
        rows = {}
        for name, (array, kind) in columns.items():
            if name in objects:
                rows[name] = _raw.column_objects(ctypes.addressof(array), _object_of)
            elif name in wholes:
                rows[name] = _raw.column_wholes(ctypes.addressof(array))
            else:
                rows[name] = _column(array, kind)
        yield rows


def _read(scan: Scan) -> Iterator[Dict[str, Tuple[Any, str]]]:
    """Yields the columns' arrays and types; they live until the next ones are asked for."""
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
                name: (array.children[i].contents, kind)
                for i, (name, kind) in enumerate(types.items())
            }
        finally:
            array.release(ctypes.byref(array))


def _column(array: Any, kind: str) -> List[Any]:
    if kind == "string":
        return _raw.column_texts(ctypes.addressof(array))
    rows: int = array.length
    values: List[Any] = _numbers(array).cast(_LETTERS[kind]).tolist()
    if array.null_count:
        bits = _bytes(array.buffers[0], (rows + 7) // 8)
        for i in range(rows):
            if not bits[i >> 3] >> (i & 7) & 1:
                values[i] = None
    return values


def _bytes(address: Optional[int], size: int) -> bytes:
    return ctypes.string_at(address, size) if address and size else b""


def _numbers(array: Any) -> Any:
    return memoryview(_bytes(array.buffers[1], 8 * array.length))


def _object_of(text: str) -> Optional[Dict[str, Any]]:
    try:
        # Does not look behind the value, where nothing is.
        value, _ = _decoder.scan_once(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# ---- arrays -------------------------------------------------------------------------------


class CodedTexts:
    """A column of texts.

    Attributes
    ----------
    codes : numpy.ndarray
        The number of each row's text; -1 for a null.
    texts : list of str
        The texts by their numbers.
    """

    def __init__(self, codes: Any, texts: List[str]) -> None:
        self.codes = codes
        self.texts = texts

    def objects(self) -> Any:
        """Returns an array of str, with None for nulls."""
        import numpy as np

        # The last one is that of -1.
        return np.array([*self.texts, None], dtype=object)[self.codes]

    def where(self, is_wanted: Any) -> Any:
        """Returns an array that tells for each row what `is_wanted` returns for its text."""
        import numpy as np

        return np.array([*map(is_wanted, self.texts), False], dtype=bool)[self.codes]


def arrays(
    scans: Sequence[Scan], parts: Mapping[str, Tuple[bytes, ...]]
) -> Tuple[Dict[str, Any], Dict[str, Dict[int, Dict[str, Any]]]]:
    """Returns all rows as arrays of NumPy, and some JSON objects of other columns.

    The scans, at least one, have the same columns.

    Texts become `CodedTexts`; nulls are NO_INTEGER and NaN.  The columns in `parts` hold JSON: of
    each, the rows that contain one of the parts are returned, as dicts by the number of the row.

    Raises
    ------
    SMDebugRuntimeError
        If a scan cannot be read to its end.
    """
    scans = [scan.with_options([("texts", "dictionary")]) for scan in scans]
    known: Dict[str, Dict[str, int]] = {}
    kinds = {name: kind for name, kind in scans[0].schema.items() if name not in parts}
    pieces: Dict[str, List[Any]] = {name: [] for name in kinds}
    found: Dict[str, Dict[int, Dict[str, Any]]] = {name: {} for name in parts}
    first = 0
    for columns in chain.from_iterable(map(_read, scans)):
        rows = 0
        for name, (array, kind) in columns.items():
            rows = array.length
            if name in parts:
                found[name].update(_objects_with(array, parts[name], first))
            else:
                pieces[name].append(_array(array, kind, known.setdefault(name, {})))
        first += rows
    return {
        name: _joined(pieces[name], kind, known.get(name, {})) for name, kind in kinds.items()
    }, found


def _joined(pieces: List[Any], kind: str, known: Dict[str, int]) -> Any:
    import numpy as np

    types = {"dictionary": np.int32, "double": np.float64}
    whole = np.concatenate(pieces) if pieces else np.empty(0, types.get(kind, np.int64))
    return CodedTexts(whole, list(known)) if kind == "dictionary" else whole


def _array(array: Any, kind: str, known: Dict[str, int]) -> Any:
    import numpy as np

    null: Any = NO_INTEGER
    if kind == "dictionary":
        # Each batch has its own dictionary, without nulls.
        texts = cast(List[str], _raw.column_texts(array.dictionary))
        codes = [known.setdefault(text, len(known)) for text in texts]
        local = np.frombuffer(_bytes(array.buffers[1], 4 * array.length), np.int32)
        values, null = np.array(codes or [-1], np.int32)[local], -1
    elif kind == "double":
        values, null = np.frombuffer(_numbers(array), np.float64), np.nan
    else:
        values = np.frombuffer(_numbers(array), np.int64)
    if not array.null_count:
        return values
    bits = np.frombuffer(_bytes(array.buffers[0], (array.length + 7) // 8), np.uint8)
    is_valid = np.unpackbits(bits, count=array.length, bitorder="little").astype(bool)
    return np.where(is_valid, values, null)


def _objects_with(
    array: Any, parts: Tuple[bytes, ...], first: int
) -> Iterator[Tuple[int, Dict[str, Any]]]:
    rows = _raw.column_find(ctypes.addressof(array), parts)
    if not rows:
        return
    ends = memoryview(_bytes(array.buffers[1], 4 * (array.length + 1))).cast("i")
    for row in rows:
        text = ctypes.string_at(array.buffers[2] + ends[row], ends[row + 1] - ends[row])
        value = _object_of(text.decode(errors="replace"))
        if value is not None:
            yield first + row, value
