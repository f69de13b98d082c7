"""A Triton kernel that computes the statistics of many tensors in one pass over them."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import torch  # type: ignore[import-not-found]
import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

from smdebug.pytorch.device_statistics import (
    TABLE,
    levels_of,
    merge_levels,
    sample_count,
    stream_of,
    upload,
)
from smdebug.pytorch.spread import RUN, sampled_runs

__all__ = ["reduce", "takes"]

_CHUNK = 4096
_RUNS = 64  # runs of a sample that a program copies

_TYPES: Dict[Any, Any] = {
    torch.float16: tl.float16,
    torch.bfloat16: tl.int16,  # the upper half of a float32
    torch.float32: tl.float32,
    torch.float64: tl.float64,
}


@triton.jit  # type: ignore[untyped-decorator]
def _reduce_chunks(  # type: ignore[no-untyped-def]
    addresses,
    sizes,
    owners,
    begins,
    table,
    stride,
    kind: tl.constexpr,
    is_half_of_float32: tl.constexpr,
    has_scale: tl.constexpr,
    is_absolute: tl.constexpr,
    width: tl.constexpr,
):
    """Computes the column of one chunk in a table of device_statistics."""
    chunk = tl.program_id(0)
    owner = tl.load(owners + chunk)
    begin = tl.load(begins + chunk)
    size = tl.load(sizes + owner)
    elements = tl.load(addresses + owner).to(tl.pointer_type(kind))
    places = begin + tl.arange(0, width)
    inside = places < size
    x = tl.load(elements + places, mask=inside, other=0)
    if is_half_of_float32:
        x = (x.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    x = x.to(tl.float64)
    count = tl.minimum(size - begin, width).to(tl.float64)
    infinity = float("inf")
    a = tl.abs(x)
    total = tl.sum(x, 0)
    l1 = tl.sum(a, 0)
    # Comparisons with NaN are false, so extremes ignore it: the count of NaN tells of it.
    is_number = (x == x) & inside
    least = tl.min(tl.where(is_number, x, infinity), 0)
    greatest = tl.max(tl.where(is_number, x, -infinity), 0)
    abs_min = tl.min(tl.where(is_number, a, infinity), 0)
    distances = tl.where(inside, x - total / count, 0.0)
    rounding = tl.sum(distances, 0)
    m2 = tl.sum(distances * distances, 0) - rounding * rounding / count
    abs_m2 = m2
    if is_absolute:
        abs_distances = tl.where(inside, a - l1 / count, 0.0)
        abs_rounding = tl.sum(abs_distances, 0)
        abs_m2 = tl.sum(abs_distances * abs_distances, 0) - abs_rounding * abs_rounding / count
    scale = count * 0 + 1
    if has_scale:
        abs_max = tl.maximum(tl.abs(least), tl.abs(greatest))
        scale = tl.where((abs_max > 0) & (abs_max < infinity), abs_max, scale)
        a = a / scale
    out = table + chunk
    tl.store(out, count)
    tl.store(out + stride, tl.sum((inside & (x != x)).to(tl.float64), 0))
    tl.store(out + 2 * stride, tl.sum((inside & (tl.abs(x) == infinity)).to(tl.float64), 0))
    tl.store(out + 3 * stride, tl.sum((inside & (x == 0)).to(tl.float64), 0))
    tl.store(out + 4 * stride, tl.sum(a * a, 0))
    tl.store(out + 5 * stride, total)
    tl.store(out + 6 * stride, l1)
    tl.store(out + 7 * stride, m2)
    tl.store(out + 8 * stride, abs_m2)
    tl.store(out + 9 * stride, least)
    tl.store(out + 10 * stride, abs_min)
    tl.store(out + 11 * stride, greatest)
    tl.store(out + 12 * stride, scale)


@triton.jit  # type: ignore[untyped-decorator]
def _copy_runs(  # type: ignore[no-untyped-def]
    addresses,
    sizes,
    owners,
    begins,
    targets,
    samples,
    count,
    kind: tl.constexpr,
    runs: tl.constexpr,
    length: tl.constexpr,
):
    """Copies runs of elements into the sample: run i of a tensor goes to targets[i]."""
    run = tl.program_id(0) * runs + tl.arange(0, runs)
    is_run = run < count
    owner = tl.load(owners + run, mask=is_run, other=0)
    begin = tl.load(begins + run, mask=is_run, other=0)
    target = tl.load(targets + run, mask=is_run, other=0)
    size = tl.load(sizes + owner)
    elements = tl.load(addresses + owner).to(tl.pointer_type(kind))
    step = tl.arange(0, length)
    inside = is_run[:, None] & (begin[:, None] + step[None, :] < size[:, None])
    x = tl.load(elements[:, None] + begin[:, None] + step[None, :], mask=inside)
    tl.store(samples + target[:, None] + step[None, :], x, mask=inside)


class _Plan(NamedTuple):
    """The tables that the kernels read, on the device."""

    sizes: Any
    owners: Any
    begins: Any
    levels: List[Any]
    run_owners: Any
    run_begins: Any
    run_targets: Any
    sample_counts: List[int]


@functools.lru_cache(maxsize=16)
def _plan(sizes: Tuple[int, ...], samples: bool, device: Any, stream: int) -> _Plan:
    owners: List[int] = []
    begins: List[int] = []
    run_owners: List[int] = []
    run_begins: List[int] = []
    run_targets: List[int] = []
    counts = [sample_count(size) for size in sizes] if samples else []
    place = 0
    for owner, size in enumerate(sizes):
        owners += [owner] * -(-size // _CHUNK)
        begins += range(0, size, _CHUNK)
        if samples:
            runs = sampled_runs(size)
            run_owners += [owner] * len(runs)
            run_begins += runs
            run_targets += range(place, place + len(runs) * RUN, RUN)
            place += counts[owner]
    chunks = [-(-size // _CHUNK) for size in sizes]
    return _Plan(
        upload(sizes, torch.int64, device),
        upload(owners, torch.int64, device),
        upload(begins, torch.int64, device),
        levels_of(chunks, device),
        upload(run_owners, torch.int64, device),
        upload(run_begins, torch.int64, device),
        upload(run_targets, torch.int64, device),
        counts,
    )


@functools.lru_cache(maxsize=16)
def _uploaded(addresses: Tuple[int, ...], device: Any, stream: int) -> Any:
    # The allocator often gives tensors the same places at each step.
    return upload(addresses, torch.int64, device)


def takes(dtype: Any) -> bool:
    """Returns True if `reduce` takes tensors of this type."""
    return dtype in _TYPES


def reduce(
    flat: Sequence[Any], sizes: Tuple[int, ...], samples: bool, is_absolute: bool
) -> Tuple[Any, Any, List[int]]:
    """Returns what `device_statistics._reduce` returns."""
    device, dtype = flat[0].device, flat[0].dtype
    stream = stream_of(device)
    plan = _plan(sizes, samples, device, stream)
    addresses = _uploaded(tuple(each.data_ptr() for each in flat), device, stream)
    chunks = len(plan.owners)
    table = torch.empty((TABLE, chunks), dtype=torch.float64, device=device)
    _reduce_chunks[(chunks,)](
        addresses,
        plan.sizes,
        plan.owners,
        plan.begins,
        table,
        chunks,
        kind=_TYPES[dtype],
        is_half_of_float32=dtype is torch.bfloat16,
        has_scale=dtype is torch.float64,
        is_absolute=is_absolute,
        width=_CHUNK,
        num_warps=8,
    )
    found = None
    if samples:
        found = torch.empty(sum(plan.sample_counts), dtype=dtype, device=device)
        runs = len(plan.run_owners)
        _copy_runs[(-(-runs // _RUNS),)](
            addresses,
            plan.sizes,
            plan.run_owners,
            plan.run_begins,
            plan.run_targets,
            found if dtype is not torch.bfloat16 else found.view(torch.int16),
            runs,
            kind=_TYPES[dtype],
            runs=_RUNS,
            length=RUN,
        )
    return merge_levels(table, plan.levels), found, plan.sample_counts
