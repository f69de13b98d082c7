"""Reads folders with TensorBoard itself."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Dict, Iterator, List

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

# Read everything: no sampling.
WHOLE = {"scalars": 0, "histograms": 0}


def scalars(run: Path) -> Dict[str, List[float]]:
    """Returns the values of each scalar, by step."""
    events = EventAccumulator(str(run), size_guidance=WHOLE).Reload()
    return {tag: [e.value for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def histograms(run: Path) -> Dict[str, List[object]]:
    """Returns each histogram, by step."""
    events = EventAccumulator(str(run), size_guidance=WHOLE).Reload()
    return {
        tag: [e.histogram_value for e in events.Histograms(tag)]
        for tag in events.Tags()["histograms"]
    }


def records(file: Path, *, has_true_checksums: bool = True) -> Iterator[Event]:
    """Returns the events of one file, and verifies their checksums."""
    data, at = file.read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        payload = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc32c(data[at : at + 8])
        crc = struct.unpack_from("<I", data, at + 12 + size)[0]
        assert not has_true_checksums or crc == masked_crc32c(payload)
        yield Event.FromString(payload)
        at += size + 16
