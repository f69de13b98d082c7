"""A tensor of a device that is expected, and how its results are sent to the hook."""

from __future__ import annotations

import importlib
from typing import Any, Callable, Dict, Optional, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.pytorch.device_batch import DeviceBatch, takes_statistics
from smdebug.pytorch.device_statistics import HAS_PROD
from smdebug.pytorch.host_copies import current_stream

__all__ = [
    "PLAIN",
    "Entry",
    "Guard",
    "Kind",
    "Row",
    "Watched",
    "is_metric",
    "row_of",
    "send_raw",
    "version_of",
]

torch = import_framework("torch", "torch", "smdebug.pytorch")
reductions = importlib.import_module("torch.multiprocessing.reductions")

# Name, shape, number of the element type, wanted figures, sample: as `_raw.save_late_rows` has it.
Row = Tuple[str, Tuple[int, ...], int, int, Any]

# Their elements are where they say they are.
PLAIN = (torch.Tensor, torch.nn.Parameter)

# Tensors of so few elements are sent as they are.
_FEW = 64

# The number of each element type in the C library, and the format of as many bytes.
_DTYPES: Dict[Any, Tuple[int, Any]] = {
    torch.float16: (_raw.SMD_FLOAT16, "H"),
    torch.bfloat16: (_raw.SMD_BFLOAT16, "H"),
    torch.float32: (_raw.SMD_FLOAT32, "f"),
    torch.float64: (_raw.SMD_FLOAT64, "d"),
    torch.int8: (_raw.SMD_INT8, "b"),
    torch.int16: (_raw.SMD_INT16, "h"),
    torch.int32: (_raw.SMD_INT32, "i"),
    torch.int64: (_raw.SMD_INT64, "q"),
    torch.uint8: (_raw.SMD_UINT8, "B"),
    torch.bool: (_raw.SMD_BOOL, "?"),
}
for _name, _number in (
    ("float8_e5m2", _raw.SMD_FLOAT8_E5M2),
    ("float8_e4m3fn", _raw.SMD_FLOAT8_E4M3FN),
):
    if hasattr(torch, _name):
        _DTYPES[getattr(torch, _name)] = (_number, "B")


def version_of(tensor: Any) -> Optional[int]:
    """Returns how often a tensor was changed in place; None if that is not counted."""
    try:
        version: int = tensor._version
    except RuntimeError:  # of inference mode
        return None
    return version


class Kind:
    """What tensors of one name have in common, as long as they fit."""

    __slots__ = (
        "device", "dtype", "form", "is_float", "is_small", "number", "shape", "size", "takes",
    )  # fmt: skip

    def __init__(self, tensor: Any) -> None:
        self.device = tensor.device
        self.dtype = tensor.dtype
        self.shape: Tuple[int, ...] = tuple(tensor.shape)
        self.size = tensor.numel() * tensor.element_size()
        self.is_small = tensor.numel() <= _FEW
        self.takes = takes_statistics(tensor, 0) and not self.is_small
        self.is_float = bool(tensor.is_floating_point())
        # None: the library has no such type.
        self.number: Any
        self.form: Any
        self.number, self.form = _DTYPES.get(self.dtype, (None, ""))

    def fits(self, tensor: Any) -> bool:
        """Returns True if a tensor is of this kind, and has its elements in memory as they are."""
        return (
            type(tensor) in PLAIN  # not a part of a distributed tensor
            and self.is_float
            and tensor.dtype is self.dtype
            and tensor.layout is torch.strided
            and not tensor.is_nested
            and tensor.shape == self.shape
            and tensor.device == self.device
            and not tensor.is_neg()
        )

    def takes_statistics(self, parts: int) -> bool:
        """Returns True if figures represent a tensor, so that it is not copied whole."""
        return self.takes and (self.is_float or not parts & HAS_PROD)


class Entry:
    """A tensor of the open step."""

    __slots__ = (
        "guard", "is_raw", "is_void", "kind", "metric", "name", "parts", "stream", "tensor",
        "version",
    )  # fmt: skip

    def __init__(
        self, name: str, tensor: Any, parts: int, kind: Kind, guard: Optional[Guard] = None
    ) -> None:
        self.name = name
        self.tensor: Any = tensor
        self.parts = parts
        self.kind = kind
        self.guard = guard
        # The stream that computed it, unless it is reduced at once.
        self.stream: Any = None
        self.is_raw = bool(parts & _raw.SMD_WANTS_VALUE) or not kind.takes_statistics(parts)
        # If the tensor is not reduced at once: as it is to be.
        self.version: Optional[int] = None
        # If metrics are logged: the mode, and its step.
        self.metric: Any = None
        # Whether another tensor of its name came, or it was lost.
        self.is_void = False

    @property
    def figures(self) -> int:
        """The figures that are wanted, as bits of SMD_HAS_..."""
        return self.parts

    @property
    def has_sample(self) -> bool:
        """Whether rules want elements."""
        return bool(self.parts & _raw.SMD_WANTS_STATISTICS)

    def note_stream(self) -> None:
        """Notes that the current stream computes it."""
        self.stream = current_stream(self.kind.device)

    def has_changed(self) -> bool:
        """Returns True if the tensor was changed in place since it came."""
        return self.version is not None and version_of(self.tensor) != self.version


class Watched:
    """An output of a module, of which is asked later what became of it.  Keeps none of its memory.

    With `version`, how often it was changed in place before, it is the first of its name.
    """

    __slots__ = ("_counter", "_memory", "_version", "name")

    def __init__(self, entry: Entry, version: Optional[int] = None) -> None:
        self.name = entry.name
        self._version = version
        self._memory = _weak_memory(entry.tensor)
        self._counter: Any = None
        if version is not None:
            # Without its elements, a tensor still shares the counter of changes.
            self._counter = entry.tensor.detach()
            self._counter.data = entry.tensor.new_empty(0)

    @property
    def is_new(self) -> bool:
        """Whether it is the first of its name."""
        return self._counter is not None

    def has_changed(self) -> bool:
        """Returns True if it was changed in place since it came."""
        return version_of(self._counter) != self._version

    def is_kept(self) -> bool:
        """Returns True if somebody else than the hook keeps its memory."""
        return self._memory is not None and not self._memory.expired()


def _weak_memory(tensor: Any) -> Any:
    """Returns a weak reference to the memory of a tensor; None if it has none of its own."""
    try:
        storage = getattr(tensor, "untyped_storage", None) or tensor.storage
        return reductions.StorageWeakRef(storage())
    except (AttributeError, NotImplementedError, RuntimeError):
        return None


class Guard(Entry):
    """A number on a device that is not zero if a step of an optimizer is skipped."""

    __slots__ = ("_tell", "lets_pass")

    def __init__(self, number: Any, tell: Callable[[], None]) -> None:
        found = number.detach().reshape(-1)[:1].float()
        super().__init__("", found, _raw.SMD_WANTS_VALUE, Kind(found))
        self._tell = tell
        self.lets_pass = False

    def settle(self, number: Optional[memoryview]) -> None:
        """Takes the number from the host's memory."""
        self.lets_pass = number is not None and number.cast("f")[0] == 0
        if not self.lets_pass:
            self._tell()


def row_of(entry: Entry, memory: Optional[memoryview]) -> Row:
    """Returns how the statistics of a tensor are sent; `memory` is its sample."""
    kind = entry.kind
    sample = None if memory is None else _raw.lend(memory.cast(kind.form), kind.number)
    return (entry.name, kind.shape, kind.number, entry.parts, sample)


def send_raw(hook: Any, step: int, entry: Entry, batch: DeviceBatch, number: int) -> None:
    """Sends a tensor that was copied whole to the hook."""
    kind = entry.kind
    memory = batch.elements(number)
    if memory is None or kind.number is None or kind.size == 0:
        value = batch.tensor(number, kind.dtype, kind.shape)
    else:
        value = _raw.lend(memory.cast(kind.form, kind.shape), kind.number)
    hook.save_late(entry.name, step, value)
    if is_metric(hook, entry):
        value = batch.tensor(number, kind.dtype, kind.shape)
        hook._metrics.log(entry.name, value, *entry.metric)


def is_metric(hook: Any, entry: Entry) -> bool:
    """Returns True if the tensor is logged as a metric."""
    return entry.metric is not None and hook._is_metric(entry.name)
