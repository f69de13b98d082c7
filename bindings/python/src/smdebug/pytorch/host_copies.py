"""Copies of device memory to the host, which nobody waits for."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Dict, List, Protocol, Tuple

from smdebug.core.utils import import_framework

__all__ = [
    "HostCopy",
    "begin_copy",
    "current_stream",
    "device_guard",
    "is_capturing",
    "join_streams",
    "memory_of",
]

torch = import_framework("torch", "torch", "smdebug.pytorch")

# Tells the current stream of a GPU by its number, in PyTorch with CUDA.
_number_of_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_MOST_STREAMS = 256


class HostCopy(Protocol):
    """A copy that is under way."""

    def is_done(self, is_past: bool) -> bool:
        """Returns True if it is time for `take`; asking does not wait.

        `is_past` tells whether the next step has begun since.
        """

    def take(self) -> List[Any]:
        """Returns the tensors in host memory, and waits until they are there."""


def begin_copy(small: Any, others: List[Any], device: Any) -> HostCopy:
    """Begins to copy tensors of a device to the host.

    `small` is copied while the device goes on with the training, `others` between its operations,
    since the training may change them.
    """
    streams = _streams_of(device)
    if streams is None:
        return _CopyOnDemand(small, others)
    return _StreamCopy(streams, small, others, device)


def _streams_of(device: Any) -> Any:
    """Returns the module with the streams of a device, as `torch.cuda`; None without streams."""
    if device.type in ("cpu", "mps", "meta"):
        return None
    module = getattr(torch, device.type, None)
    parts = ("Stream", "Event", "current_stream", "stream")
    return module if all(hasattr(module, part) for part in parts) else None


def device_guard(device: Any) -> Any:
    """Makes a device the current one within a block."""
    guard = getattr(_streams_of(device), "device", None)
    return contextlib.nullcontext() if guard is None else guard(device)


def is_capturing(device: Any) -> bool:
    """Returns True while operations are captured into a graph, which may not be asked for."""
    if device.type != "cuda" or not torch.cuda.is_initialized():
        return False
    return bool(torch.cuda.is_current_stream_capturing())


def join_streams(device: Any, tensors: List[Tuple[Any, Any]]) -> None:
    """Has the current stream wait for those that computed the tensors.

    `tensors` are pairs of a tensor and the stream that was the current one when it was seen.
    """
    streams = _streams_of(device)
    if streams is None:
        return
    current = streams.current_stream(device)
    for tensor, stream in tensors:
        if stream is not None and stream != current:
            current.wait_stream(stream)
            # Its memory must not be used again before the current stream has read it.
            tensor.record_stream(current)


_known_streams: Dict[Any, Any] = {}


def current_stream(device: Any) -> Any:
    """Returns the current stream of a device; None without streams."""
    if device.type == "cuda" and _number_of_stream is not None:
        # An object for it takes too long to make for each tensor.
        key = (device.index, _number_of_stream(device.index))
        found = _known_streams.get(key)
        if found is None:
            if len(_known_streams) >= _MOST_STREAMS:
                _known_streams.clear()  # while other threads look, too
            found = _known_streams[key] = torch.cuda.current_stream(device)
        return found
    streams = _streams_of(device)
    return None if streams is None else streams.current_stream(device)


@functools.lru_cache(maxsize=None)
def memory_of(device: Any) -> int:
    """Returns how many bytes of memory a device has; 0 if it does not say."""
    streams = _streams_of(device)
    if not hasattr(streams, "get_device_properties"):
        return 0
    return int(getattr(streams.get_device_properties(device), "total_memory", 0))


class _CopyOnDemand:
    """Copies when the tensors are taken: for devices without streams."""

    def __init__(self, small: Any, others: List[Any]) -> None:
        # The training may change the tensors.
        self._tensors = [small, *(tensor.clone() for tensor in others)]

    def is_done(self, is_past: bool) -> bool:
        return is_past

    def take(self) -> List[Any]:
        return [tensor.cpu() for tensor in self._tensors]


_side_streams: Dict[Any, Any] = {}


class _StreamCopy:
    """Copies to pinned memory, on a stream of its own."""

    def __init__(self, streams: Any, small: Any, others: List[Any], device: Any) -> None:
        # PyTorch keeps pinned memory for the next copies, and gives it out when this one is done.
        self._found = [_pinned(small), *(_pinned(tensor) for tensor in others)]
        for found, tensor in zip(self._found[1:], others):
            found.copy_(tensor, non_blocking=True)
        side = _side_stream(streams, device)
        side.wait_stream(streams.current_stream(device))
        with streams.stream(side):
            self._found[0].copy_(small, non_blocking=True)
        small.record_stream(side)
        self._event = streams.Event()
        self._event.record(side)

    def is_done(self, is_past: bool) -> bool:
        return bool(self._event.query())

    def take(self) -> List[Any]:
        self._event.synchronize()
        return self._found


def _side_stream(streams: Any, device: Any) -> Any:
    if device not in _side_streams:
        _side_streams[device] = streams.Stream(device=device)
    return _side_streams[device]


def _pinned(tensor: Any) -> Any:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
