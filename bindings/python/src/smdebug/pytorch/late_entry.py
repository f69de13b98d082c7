"""A tensor of a device that is expected, and how its results are sent to the hook."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.pytorch.device_batch import DeviceBatch, takes_statistics
from smdebug.pytorch.device_statistics import Statistics
from smdebug.pytorch.host_copies import current_stream

__all__ = ["Entry", "Guard", "send", "version_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

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


class Entry:
    """A tensor of the open step."""

    __slots__ = (
        "device", "dtype", "guard", "is_raw", "is_small", "is_void", "metric", "name", "parts",
        "shape", "size", "stream", "tensor", "version",
    )  # fmt: skip

    def __init__(self, name: str, tensor: Any, parts: int, guard: Optional[Guard] = None) -> None:
        count = tensor.numel()
        self.name = name
        self.tensor: Any = tensor
        self.parts = parts
        self.guard = guard
        self.device = tensor.device
        self.dtype = tensor.dtype
        self.shape: Tuple[int, ...] = tuple(tensor.shape)
        self.size = count * tensor.element_size()
        # The stream that computed it, unless it is reduced at once.
        self.stream: Any = None
        self.is_small = count <= _FEW
        is_wanted = bool(parts & _raw.SMD_WANTS_VALUE)
        self.is_raw = self.is_small or is_wanted or not takes_statistics(tensor, parts)
        # If the tensor is not reduced at once: as it is to be.
        self.version: Optional[int] = None
        # If metrics are logged: the mode, and its step.
        self.metric: Any = None
        # Whether another tensor of its name came, or it was lost.
        self.is_void = False

    @property
    def wants_sample(self) -> bool:
        """Whether rules want elements."""
        return bool(self.parts & _raw.SMD_WANTS_STATISTICS)

    def note_stream(self) -> None:
        """Notes that the current stream computes it."""
        self.stream = current_stream(self.device)

    def has_changed(self) -> bool:
        """Returns True if the tensor was changed in place since it came."""
        return self.version is not None and version_of(self.tensor) != self.version


class Guard(Entry):
    """A number on a device that is not zero if a step of an optimizer is skipped."""

    __slots__ = ("_tell", "lets_pass")

    def __init__(self, number: Any, tell: Callable[[], None]) -> None:
        super().__init__("", number.detach().reshape(-1)[:1].float(), _raw.SMD_WANTS_VALUE)
        self._tell = tell
        self.lets_pass = False

    def settle(self, number: Optional[memoryview]) -> None:
        """Takes the number from the host's memory."""
        self.lets_pass = number is not None and number.cast("f")[0] == 0
        if not self.lets_pass:
            self._tell()


def send(
    hook: Any,
    step: int,
    entry: Entry,
    statistics: Optional[Statistics],
    batch: DeviceBatch,
    number: int,
) -> None:
    """Sends the results of a tensor to the hook."""
    if statistics is None:
        _send_raw(hook, step, entry, batch, number)
        return
    dtype, form = _DTYPES[entry.dtype]
    memory = batch.elements(number)
    sample = None if memory is None else _raw.lend(memory.cast(form), dtype)
    _raw.save_late_statistics(
        step,
        hook._handle,
        entry.name,
        entry.shape,
        dtype,
        statistics.given,
        statistics.figures,
        statistics.counts,
        sample,
    )
    if _is_metric(hook, entry):
        hook._metrics.log(entry.name, statistics.mean, *entry.metric)


def _send_raw(hook: Any, step: int, entry: Entry, batch: DeviceBatch, number: int) -> None:
    memory = batch.elements(number)
    if memory is None or entry.dtype not in _DTYPES or math.prod(entry.shape) == 0:
        value = batch.tensor(number, entry.dtype, entry.shape)
    else:
        dtype, form = _DTYPES[entry.dtype]
        value = _raw.lend(memory.cast(form, entry.shape), dtype)
    hook.save_late(entry.name, step, value)
    if _is_metric(hook, entry):
        value = batch.tensor(number, entry.dtype, entry.shape)
        hook._metrics.log(entry.name, value, *entry.metric)


def _is_metric(hook: Any, entry: Entry) -> bool:
    return entry.metric is not None and hook._is_metric(entry.name)
