"""Writes event files for stock TensorBoard, record by record.

Only `FileWriter` uses this module.  The C library exports whole hooks and trials for TensorBoard.
Its API has no function for single records, and `FileWriter` of the original needs some that an
export never writes: histograms with the caller's bins, graphs, run metadata, and summaries that a
framework has encoded.
"""

from __future__ import annotations

import re
import struct
import time
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union

from smdebug.core.buckets import open_bucket
from smdebug.core.utils import ensure_dir, is_s3, make_numpy_array
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SummaryFile", "encode_histogram", "encode_scalar"]

Bins = Union[int, str, Sequence[float]]

_NOT_IN_TAGS = re.compile(r"[^-/\w.]")

# Kinds of fields in protocol buffers.
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


class SummaryFile:
    """An event file of TensorBoard.

    Parameters
    ----------
    path : str
        The file, in a folder or a bucket.  `flush` and `close` write a file in a folder;
        `close` writes one in a bucket.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._records: List[bytes] = []
        self._has_begun = False
        self._is_closed = False

    def add(self, summary: bytes, step: int, timestamp: Optional[float] = None) -> None:
        """Adds an encoded Summary.

        Raises
        ------
        SMDebugRuntimeError
            If the file is closed.
        """
        self._add(_number(2, step) + _bytes(5, summary), timestamp)

    def add_graph(self, graph: bytes) -> None:
        """Adds an encoded GraphDef."""
        self._add(_bytes(4, graph))

    def add_run_metadata(self, tag: str, metadata: bytes) -> None:
        """Adds encoded RunMetadata."""
        self._add(_bytes(8, _bytes(1, tag.encode()) + _bytes(2, metadata)))

    def flush(self) -> None:
        """Writes what was added, if the file is in a folder."""
        if is_s3(self.path)[0] or not self._records:
            return
        ensure_dir(self.path)
        with open(self.path, "ab" if self._has_begun else "wb") as file:
            file.write(b"".join(self._records))
        self._has_begun = True
        self._records.clear()

    def close(self) -> None:
        """Writes what was added.  A second call does nothing."""
        self._is_closed = True
        self.flush()
        if self._records:
            _, bucket, key = is_s3(self.path)
            open_bucket(str(bucket)).write(str(key), b"".join(self._records))
            self._records.clear()

    def _add(self, fields: bytes, timestamp: Optional[float] = None) -> None:
        if self._is_closed:
            raise SMDebugRuntimeError(f"{self.path} is closed")
        now = time.time() if timestamp is None else timestamp
        if not self._records and not self._has_begun:
            self._records.append(_record(_double(1, now) + _bytes(3, b"brain.Event:2")))
        self._records.append(_record(_double(1, now) + fields))


def encode_scalar(tag: str, value: Any) -> bytes:
    """Encodes a Summary of one number.

    Raises
    ------
    SMDebugRuntimeError
        If the value does not have exactly one element.
    """
    array = make_numpy_array(value)
    if array.size != 1:
        raise SMDebugRuntimeError(f"{tag}: a scalar has one element, not {array.size}")
    return _value(tag, _key(2, _FLOAT) + struct.pack("<f", float(array.reshape(()))))


def encode_histogram(tag: str, values: Any, bins: Bins = "default") -> bytes:
    """Encodes a Summary of a histogram.

    Parameters
    ----------
    tag : str
        The histogram's name.
    values
        A tensor.
    bins : int, str or sequence of float
        "default" for TensorFlow's own, or as `numpy.histogram` takes it.

    Raises
    ------
    SMDebugValueError
        If there are no elements, or one is not finite.
    """
    import numpy as np

    flat = make_numpy_array(values).astype(float).reshape(-1)
    if flat.size == 0 or not np.isfinite(flat).all():
        raise SMDebugValueError(f"{tag}: a histogram takes finite elements, one at least")
    edges: Any = _default_edges() if isinstance(bins, str) and bins == "default" else bins
    counts, limits = _trimmed(*np.histogram(flat, bins=edges))
    sums = (flat.min(), flat.max(), flat.size, flat.sum(), flat.dot(flat))
    fields = b"".join(_double(number, each) for number, each in enumerate(sums, 1))
    fields += _bytes(6, struct.pack(f"<{limits.size}d", *limits))
    fields += _bytes(7, struct.pack(f"<{counts.size}d", *counts))
    return _value(tag, _bytes(5, fields))


def _default_edges() -> List[float]:
    positive, edge = [], 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return [-each for each in reversed(positive)] + [0.0] + positive


def _trimmed(
    counts: np.ndarray[Any, Any], limits: np.ndarray[Any, Any]
) -> Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns counts and right limits of the bins that are not empty, after an empty one."""
    import numpy as np

    filled = counts.nonzero()[0]
    # Elements outside of the caller's bins are in none.
    first, end = (int(filled[0]), int(filled[-1]) + 1) if filled.size else (0, counts.size)
    return np.concatenate([[0], counts[first:end]]), limits[first : end + 1]


# ---- protocol buffers and records -------------------------------------------------------------


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(value)) + value


def _value(tag: str, content: bytes) -> bytes:
    """A Summary of one value; TensorBoard takes words, "-", "/" and "." in names."""
    clean = _NOT_IN_TAGS.sub("_", tag).lstrip("/")
    return _bytes(1, _bytes(1, clean.encode()) + content)


def _record(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    checks = [struct.pack("<I", _masked_checksum(part)) for part in (length, payload)]
    return length + checks[0] + payload + checks[1]


def _make_table() -> List[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _make_table()


def _masked_checksum(data: bytes) -> int:
    """The CRC-32C of some bytes, masked as in record files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF
