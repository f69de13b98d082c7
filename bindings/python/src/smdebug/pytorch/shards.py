"""Which part of a distributed tensor a process holds."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from smdebug.core.placement import Placement
from smdebug.core.utils import import_framework

__all__ = ["Parts", "is_distributed", "place_in_models", "place_of"]

torch = import_framework("torch", "torch", "smdebug.pytorch")


class Parts:
    """Tells a hook once of each tensor which part of it this process holds.

    Parameters
    ----------
    hook : smdebug.pytorch.Hook
        The hook, which records a part of a distributed tensor.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._known: Dict[str, Placement] = {}
        self._has_warned = False

    def tell(self, named: Sequence[Tuple[str, Any]]) -> None:
        """Tells of parameters, their gradients and their updates."""
        if self._hook.num_workers > 1:
            for name, parameter in named:
                if is_distributed(parameter):
                    self._tell_of(name, parameter)

    def tell_state(self, name: str, key: str, value: Any) -> None:
        """Tells of an optimizer's state for a parameter."""
        place = self._known.get(name)
        local = value.to_local() if place is not None and hasattr(value, "to_local") else value
        if place is not None and tuple(local.shape) == place.part:
            self._tell_place(f"optimizer_state/{name}/{key}", place)

    def _tell_of(self, name: str, parameter: Any) -> None:
        place = self._known.get(name)
        if place is None:
            modules = (each for model in self._hook._models for each in model.module.modules())
            place = place_of(parameter) or place_in_models(parameter, modules)
            if place is None:
                return
            self._known[name] = place
            self._hook.set_placement(name, place)
            self._warn(name, place)
        for each in (f"gradient/{name}", f"update/{name}"):
            self._tell_place(each, place)

    def _tell_place(self, name: str, place: Placement) -> None:
        if name not in self._known and self._hook.wants(name):
            self._known[name] = place
            self._hook.set_placement(name, place)

    def _warn(self, name: str, place: Placement) -> None:
        if self._hook.include_workers != "one" or place.is_whole or self._has_warned:
            return
        self._has_warned = True
        self._hook.logger.warning(
            "%s and perhaps others are spread over %d processes, and only the part of this one is "
            'recorded; give the hook include_workers="all" to record all parts',
            name,
            self._hook.num_workers,
        )


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
