"""Which part of a distributed tensor a process holds."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from smdebug.core.placement import Placement
from smdebug.core.utils import import_framework

__all__ = ["is_distributed", "place_in_models", "place_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


def is_distributed(parameter: Any) -> bool:
    """Returns True for a DTensor, and for a parameter of FullyShardedDataParallel."""
    return hasattr(parameter, "placements") or bool(getattr(parameter, "_fsdp_flattened", False))


def place_of(tensor: Any) -> Optional[Placement]:
    """Returns which part of a DTensor this process holds.

    None for other tensors, for sums of parts, and for parts that are no contiguous block.
    """
    placements = getattr(tensor, "placements", None)
    if placements is None or not hasattr(tensor, "to_local"):
        return None
    coordinate = tensor.device_mesh.get_coordinate()
    if coordinate is None:
        return None
    whole = list(tensor.shape)
    offset, part = [0] * len(whole), list(whole)
    splits = _splits(placements)
    if splits is None:
        return None
    mesh = tuple(tensor.device_mesh.size(number) for number in range(len(placements)))
    for number, dim in splits:
        chunk = -(-part[dim] // mesh[number])
        begin = min(coordinate[number] * chunk, part[dim])
        offset[dim] += begin
        part[dim] = min(chunk, part[dim] - begin)
    if part != list(tensor.to_local().shape):
        return None
    split = [-1] * len(mesh)
    for number, dim in splits:
        split[number] = dim
    return Placement(tuple(whole), tuple(offset), tuple(part), False, mesh, tuple(split))


def _splits(placements: Any) -> Optional[List[Tuple[int, int]]]:
    """Returns the mesh dimensions that split the tensor, in order, and what they split."""
    plain, strided = [], []
    for number, placement in enumerate(placements):
        kind = type(placement).__name__
        if kind == "Shard":
            plain.append((number, placement.dim))
        elif kind == "_StridedShard":
            strided.append((number, placement.dim))  # splits what the later ones leave
        elif kind != "Replicate":
            return None
    return plain + strided[::-1]


def place_in_models(parameter: Any, modules: Any) -> Optional[Placement]:
    """Returns which part of a parameter of FullyShardedDataParallel this process holds.

    That is a range of the flattened parameter, and known with ``use_orig_params=True`` only.

    Parameters
    ----------
    parameter : torch.nn.Parameter
        The parameter.
    modules : iterable of torch.nn.Module
        The modules of the models that it may belong to.
    """
    for module in modules:
        handle: Any = getattr(module, "_handle", None)
        flat: Any = getattr(handle, "flat_param", None)
        if getattr(flat, "_shard_param_infos", None) is None:
            continue
        for index, each in enumerate(flat._params or ()):
            if each is parameter:
                return _flat_place(parameter, flat, index, handle.world_size)
    return None


def _flat_place(parameter: Any, flat: Any, index: int, workers: int) -> Optional[Placement]:
    info, whole = flat._shard_param_infos[index], tuple(flat._shapes[index])
    is_contiguous = getattr(flat, "_contiguities", (True,) * (index + 1))[index]
    begin, count = 0, 0
    if info.in_shard:
        begin, count = info.intra_param_start_idx, info.numel_in_shard
    is_range = parameter.dim() == 1 and parameter.numel() == count
    if not is_range or not is_contiguous or begin + count > math.prod(whole):
        return None
    return Placement(whole, (begin,), (count,), is_flat=True, mesh=(workers,), split=(0,))
