"""Which part of a distributed tensor a process holds."""

from __future__ import annotations

from typing import Any, Optional

from smdebug.core.utils import import_framework

__all__ = ["part_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


def part_of(tensor: Any) -> Optional[Any]:
    """Returns where this process's part of a DTensor begins, and the shape of the whole.

    Returns
    -------
    torch.Tensor or None
        The offsets and the whole's shape, as two rows.  None for tensors that are not
        distributed, and for parts that are no contiguous block.
    """
    placements = getattr(tensor, "placements", None)
    if placements is None or not hasattr(tensor, "to_local"):
        return None
    whole = list(tensor.shape)
    offsets, sizes = [0] * len(whole), list(whole)
    coordinate = tensor.device_mesh.get_coordinate()
    if coordinate is None:
        return None
    for number, placement in enumerate(placements):
        if type(placement).__name__ == "Replicate":
            continue
        if type(placement).__name__ != "Shard":
            return None  # a sum of parts, or stripes
        dim, count = placement.dim, tensor.device_mesh.size(number)
        chunk = -(-sizes[dim] // count)
        begin = min(coordinate[number] * chunk, sizes[dim])
        offsets[dim] += begin
        sizes[dim] = min(chunk, sizes[dim] - begin)
    if sizes != list(tensor.to_local().shape):
        return None
    return torch.tensor([offsets, whole], dtype=torch.int64)
