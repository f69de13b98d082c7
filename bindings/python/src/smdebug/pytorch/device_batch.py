"""What is recorded of tensors on one device, in one small buffer."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from array import array
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple

from smdebug.core.logger import get_logger
from smdebug.core.utils import import_framework
from smdebug.pytorch import device_statistics
from smdebug.pytorch.device_statistics import Reduced
from smdebug.pytorch.host_copies import HostCopy, begin_copy

__all__ = ["DeviceBatch", "Wanted", "takes_statistics"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# Larger raw values are copied by themselves.
_SMALL = 1 << 16
# Where elements of any type may begin.
_ALIGNMENT = 16

_REDUCIBLE = {
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.uint8,
    torch.bool,
}
for _name in ("float8_e5m2", "float8_e4m3fn"):
    if hasattr(torch, _name):
        _REDUCIBLE.add(getattr(torch, _name))


def takes_statistics(tensor: Any, figures: int) -> bool:
    """Returns True if figures in float64, as bits of SMD_HAS_..., represent the tensor.

    They hold neither all 64-bit integers, nor products of integers, nor complex numbers.
    """
    if tensor.numel() == 0 or tensor.dtype not in _REDUCIBLE:
        return False
    return bool(tensor.is_floating_point() or not figures & device_statistics.HAS_PROD)


class Wanted(Protocol):
    """A tensor, and what is wanted of it."""

    tensor: Any
    is_raw: bool

    @property
    def figures(self) -> int:
        """Bits of SMD_HAS_..."""

    @property
    def has_sample(self) -> bool:
        """Whether rules want elements."""


class _Place(NamedTuple):
    """Where something is in the host's memory."""

    buffer: int
    begin: int
    size: int  # in bytes


class _Group(NamedTuple):
    """The tensors whose figures follow each other in the buffer."""

    members: List[int]
    rows: List[int]  # of the members; those of one memory share a row
    place: _Place
    is_double: bool


class DeviceBatch:
    """Tensors of one device that were reduced together, and the copy of the results.

    Parameters
    ----------
    wanted : sequence of Wanted
        Tensors of one device.  They are not kept.
    """

    def __init__(self, wanted: Sequence[Wanted], device: Any) -> None:
        self._groups: List[_Group] = []
        self._elements: Dict[int, _Place] = {}  # raw values and samples
        self._parts: List[Any] = []
        self._size = 0
        large: List[Any] = []
        with torch.no_grad():
            for has_sample, members in _groups_of(wanted):
                self._reduce(wanted, members, has_sample)
            for number, each in enumerate(wanted):
                if each.is_raw:
                    self._add_raw(number, each.tensor.detach(), large)
            small = torch.cat(self._parts) if self._parts else _nothing(device)
            self._parts = []
            self._copy: Optional[HostCopy] = begin_copy(small, large, device)
        self._found: List[Any] = []
        self._bytes: List[memoryview] = []

    # ---- on the device -----------------------------------------------------------------

    def _reduce(self, wanted: Sequence[Wanted], members: List[int], has_sample: bool) -> None:
        rows, firsts = _rows_of(wanted, members)
        figures = [0] * len(firsts)
        for number, row in zip(members, rows):
            figures[row] |= wanted[number].figures
        reduced = _reduced([wanted[number].tensor for number in firsts], figures, has_sample)
        table = reduced.table
        place = self._append(table)
        self._groups.append(_Group(members, rows, place, table.dtype is torch.float64))
        if reduced.samples is None:
            return
        begin = self._append(reduced.samples).begin
        places = []
        for count in reduced.sample_counts:
            places.append(_Place(0, begin, count * reduced.samples.element_size()))
            begin += places[-1].size
        for number, row in zip(members, rows):
            self._elements[number] = places[row]

    def _add_raw(self, number: int, tensor: Any, large: List[Any]) -> None:
        size = tensor.numel() * tensor.element_size()
        if size > _SMALL:
            large.append(tensor)
            self._elements[number] = _Place(len(large), 0, size)
        else:
            self._elements[number] = self._append(tensor)

    def _append(self, tensor: Any) -> _Place:
        """Adds elements to the buffer."""
        flat = tensor.contiguous().reshape(-1)
        part = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
        part = part.view(torch.uint8)
        place = _Place(0, self._size, len(part))
        rest = -len(part) % _ALIGNMENT
        self._parts += [part, part.new_zeros(rest)] if rest else [part]
        self._size += len(part) + rest
        return place

    # ---- on the host -------------------------------------------------------------------

    def is_done(self, is_past: bool) -> bool:
        """Returns True if it is time to take the results; see HostCopy.is_done()."""
        return self._copy is None or self._copy.is_done(is_past)

    def wait(self) -> None:
        """Waits for the results."""
        if self._copy is not None:
            self._found, self._copy = self._copy.take(), None
            self._bytes = [_bytes_of(each) for each in self._found]

    def tables(self) -> List[Tuple[List[int], "memoryview[float]"]]:
        """Returns tables of float64 with a row for each tensor, and the tensors' numbers."""
        found: List[Tuple[List[int], memoryview[float]]] = []
        for group in self._groups:
            memory = self._memory(group.place)
            table: Any = memory.cast("d" if group.is_double else "f")
            if not group.is_double:
                table = memoryview(array("d", table))
            found.append((group.members, _expanded(table, group.rows)))
        return found

    def elements(self, number: int) -> Optional[memoryview]:
        """Returns the bytes of a raw value or a sample, while the batch lives; or None."""
        place = self._elements.get(number)
        return None if place is None else self._memory(place)

    def tensor(self, number: int, dtype: Any, shape: Tuple[int, ...]) -> Any:
        """Returns a raw value as a tensor in host memory."""
        place = self._elements[number]
        found = self._found[place.buffer]
        if place.buffer > 0:
            return found
        return found[place.begin : place.begin + place.size].view(dtype).reshape(shape)

    def _memory(self, place: _Place) -> memoryview:
        return self._bytes[place.buffer][place.begin : place.begin + place.size]


def _bytes_of(tensor: Any) -> memoryview:
    """Returns the bytes of a tensor in host memory, which it must outlive."""
    # NumPy may be absent.  An array of ctypes is a class for each size, which takes long to make.
    size = tensor.numel() * tensor.element_size()
    return memoryview((ctypes.c_ubyte * size).from_address(tensor.data_ptr())).cast("B")


def _nothing(device: Any) -> Any:
    return torch.empty(0, dtype=torch.uint8, device=device)


def _groups_of(wanted: Sequence[Wanted]) -> List[Tuple[bool, List[int]]]:
    """Returns the numbers of the tensors that are reduced together."""
    groups: Dict[Tuple[Any, bool, bool], List[int]] = {}
    for number, each in enumerate(wanted):
        if not each.is_raw:
            # A kernel reads memory at full speed only if it begins at such an address.
            is_aligned = each.tensor.data_ptr() % _ALIGNMENT == 0
            key = (each.tensor.dtype, each.has_sample, is_aligned)
            groups.setdefault(key, []).append(number)
    return [(key[1], members) for key, members in groups.items()]


def _rows_of(wanted: Sequence[Wanted], members: List[int]) -> Tuple[List[int], List[int]]:
    """Returns the row of each member, and the first member of each row.

    What one module returns and the next one takes is one tensor, of which one row is computed.
    """
    rows: List[int] = []
    firsts: List[int] = []
    known: Dict[int, int] = {}
    for number in members:
        tensor = wanted[number].tensor
        row = known.setdefault(tensor.data_ptr(), len(firsts))
        if row == len(firsts) or not _are_alike(tensor, wanted[firsts[row]].tensor):
            row = len(firsts)
            firsts.append(number)
        rows.append(row)
    return rows, firsts


def _are_alike(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.stride() == other.stride())


def _expanded(table: "memoryview[float]", rows: List[int]) -> "memoryview[float]":
    """Returns a table with a row for each member of a group."""
    count = max(rows) + 1
    if count == len(rows):
        return table
    width = len(table) // count
    found = array("d")
    for row in rows:
        found.extend(table[row * width : (row + 1) * width])
    return memoryview(found)


@functools.lru_cache(maxsize=None)
def _kernel() -> Any:
    """Returns the module with the Triton kernel; None without Triton."""
    try:
        return importlib.import_module("smdebug.pytorch.device_kernel")
    except Exception:  # Releases of Triton differ in what they lack.
        return None


_has_failed = False


def _kernel_for(device: Any) -> Any:
    # Triton's interpreter, which tests use, takes tensors of the CPU.
    is_for = device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return _kernel() if is_for and not _has_failed else None


def _reduced(tensors: List[Any], figures: List[int], has_sample: bool) -> Reduced:
    global _has_failed
    kernel = _kernel_for(tensors[0].device)
    if kernel is not None:
        try:
            return device_statistics.reduce_tensors(tensors, figures, has_sample, kernel)
        except Exception as error:
            if "out of memory" in str(error).lower():
                raise
            _has_failed = True
            get_logger().warning(
                "smdebug: the Triton kernel for statistics failed; plain operations of PyTorch "
                "compute them instead: %s",
                error,
            )
    return device_statistics.reduce_tensors(tensors, figures, has_sample)
