"""Triton kernels that compute the statistics of many tensors in one pass over them."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import torch  # type: ignore[import-not-found]
import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]

from smdebug.pytorch.device_statistics import (
    TABLE,
    sample_count,
    stream_of,
    upload,
)
from smdebug.pytorch.spread import RUN, sampled_runs

__all__ = ["reduce", "takes"]

_CHUNK = 32_768  # elements that a program reduces
_WARPS = 4
_EACH = 8  # elements of a thread in a tile; more of them cost registers, and so threads
_COLUMNS = 1024  # columns that are merged at once
_RUNS = 64  # runs of a sample that a program copies
_ALIGNMENT = 16  # bytes that a thread loads at once

_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@triton.jit  # type: ignore[untyped-decorator]
def _as_floats(x, is_half_of_float32: tl.constexpr):  # type: ignore[no-untyped-def]
    if is_half_of_float32:
        x = (x.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    elif x.dtype == tl.float16:
        x = x.to(tl.float32)
    return x


@triton.jit
def _sum_in_threads(x):  # type: ignore[no-untyped-def]
    return tl.sum(tl.sum(x, 2), 0)


@triton.jit  # type: ignore[untyped-decorator]
def _add_figures(  # type: ignore[no-untyped-def]
    x, p, shifted, squares, l1, abs_squares, least, abs_min, greatest, is_absolute: tl.constexpr
):
    """Adds a tile of elements to the figures of each thread."""
    wide = x.to(tl.float64)
    distances = wide - p
    shifted += _sum_in_threads(distances)
    squares += _sum_in_threads(distances * distances)
    if is_absolute:
        abs_distances = tl.abs(wide) - tl.abs(p)
        l1 += _sum_in_threads(abs_distances)
        abs_squares += _sum_in_threads(abs_distances * abs_distances)
    else:
        l1 += _sum_in_threads(tl.abs(wide))
    least = tl.minimum(least, tl.min(tl.min(x, 2), 0))
    abs_min = tl.minimum(abs_min, tl.min(tl.min(tl.abs(x), 2), 0))
    greatest = tl.maximum(greatest, tl.max(tl.max(x, 2), 0))
    return shifted, squares, l1, abs_squares, least, abs_min, greatest


@triton.jit
def _merge_sums(a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]
    return a + e, b + f, c + g, d + h


@triton.jit
def _merge_extremes(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return tl.minimum(a, d), tl.minimum(b, e), tl.maximum(c, f)


@triton.jit  # type: ignore[untyped-decorator]
def _figures_of(  # type: ignore[no-untyped-def]
    elements,
    count,
    offsets,
    tile: tl.constexpr,
    threads: tl.constexpr,
    is_half_of_float32: tl.constexpr,
    is_absolute: tl.constexpr,
):
    """Returns the pivot, the figures of a chunk, and how often the pivot was added to fill it."""
    first = tl.load(elements)
    pivot = _as_floats(first, is_half_of_float32)
    p = pivot.to(tl.float64)
    p = tl.where(p - p == 0, p, 0.0)
    shifted = tl.zeros((threads,), tl.float64)
    squares = tl.zeros((threads,), tl.float64)
    l1 = tl.zeros((threads,), tl.float64)
    abs_squares = tl.zeros((threads,), tl.float64)
    least = tl.zeros((threads,), pivot.dtype) + float("inf")
    abs_min = tl.zeros((threads,), pivot.dtype) + float("inf")
    greatest = tl.zeros((threads,), pivot.dtype) - float("inf")
    whole = count // tile * tile
    for at in range(0, whole, tile):
        x = _as_floats(tl.load(elements + at + offsets), is_half_of_float32)
        shifted, squares, l1, abs_squares, least, abs_min, greatest = _add_figures(
            x, p, shifted, squares, l1, abs_squares, least, abs_min, greatest, is_absolute
        )
    filling = 0
    if whole < count:
        # The pivot changes no extreme, and no sum of distances.
        x = tl.load(elements + whole + offsets, mask=whole + offsets < count, other=first)
        x = _as_floats(x, is_half_of_float32)
        shifted, squares, l1, abs_squares, least, abs_min, greatest = _add_figures(
            x, p, shifted, squares, l1, abs_squares, least, abs_min, greatest, is_absolute
        )
        filling = whole + tile - count
    shifted, squares, l1, abs_squares = tl.reduce(
        (shifted, squares, l1, abs_squares), 0, _merge_sums
    )
    least, abs_min, greatest = tl.reduce((least, abs_min, greatest), 0, _merge_extremes)
    return p, shifted, squares, l1, abs_squares, least, abs_min, greatest, filling


@triton.jit  # type: ignore[untyped-decorator]
def _store_rest(  # type: ignore[no-untyped-def]
    elements,
    count,
    offsets,
    out,
    stride,
    squares,
    scale,
    is_finite,
    abs_min,
    tile: tl.constexpr,
    threads: tl.constexpr,
    is_half_of_float32: tl.constexpr,
    has_scale: tl.constexpr,
):
    """Stores what few chunks have, counted in a second pass over memory that is still near."""
    nans = tl.zeros((threads,), tl.int32)
    infs = tl.zeros((threads,), tl.int32)
    zeros = tl.zeros((threads,), tl.int32)
    if has_scale or not (is_finite & (abs_min > 0)):
        scaled = tl.zeros((threads,), tl.float64)
        for at in range(0, count, tile):
            inside = at + offsets < count
            x = tl.load(elements + at + offsets, mask=inside, other=0)
            x = _as_floats(x, is_half_of_float32)
            nans += _sum_in_threads((x != x).to(tl.int32))
            infs += _sum_in_threads((tl.abs(x) == float("inf")).to(tl.int32))
            zeros += _sum_in_threads((inside & (x == 0)).to(tl.int32))
            if has_scale:
                parts = x / scale
                scaled += _sum_in_threads(parts * parts)
        if has_scale:
            squares = tl.sum(scaled, 0)
        elif not is_finite:
            # What was summed may be NaN, as infinities of both signs were added.
            squares = count.to(tl.float64) * 0 + float("inf")
    tl.store(out + stride, tl.sum(nans, 0).to(tl.float64))
    tl.store(out + 2 * stride, tl.sum(infs, 0).to(tl.float64))
    tl.store(out + 3 * stride, tl.sum(zeros, 0).to(tl.float64))
    tl.store(out + 4 * stride, squares)


@triton.jit
def _store_figures(  # type: ignore[no-untyped-def]
    out, stride, n, total, l1, m2, abs_m2, least, abs_min, greatest, scale
):
    tl.store(out, n)
    tl.store(out + 5 * stride, total)
    tl.store(out + 6 * stride, l1)
    tl.store(out + 7 * stride, m2)
    tl.store(out + 8 * stride, abs_m2)
    tl.store(out + 9 * stride, least.to(tl.float64))
    tl.store(out + 10 * stride, abs_min.to(tl.float64))
    tl.store(out + 11 * stride, greatest.to(tl.float64))
    tl.store(out + 12 * stride, scale)


@triton.jit  # type: ignore[untyped-decorator]
def _reduce_chunks(  # type: ignore[no-untyped-def]
    addresses,
    sizes,
    owners,
    places,
    one,
    table,
    stride,
    is_half_of_float32: tl.constexpr,
    has_scale: tl.constexpr,
    is_absolute: tl.constexpr,
    is_aligned: tl.constexpr,
    width: tl.constexpr,
    loads: tl.constexpr,
    threads: tl.constexpr,
    lanes: tl.constexpr,
):
    """Computes the column of one chunk in a table of device_statistics.

    `one` is one of the tensors, and tells their type.
    Each thread loads `loads` times `lanes` elements, a tile is what all of them load.  Sums are
    those of distances from the chunk's first element, the pivot: as the pivot is an element, what
    the shift adds is at most `width` roundings of a float64.
    """
    tile: tl.constexpr = loads * threads * lanes
    chunk = tl.program_id(0)
    owner = tl.load(owners + chunk)
    begin = tl.load(places + chunk) * width
    count = tl.minimum(tl.load(sizes + owner) - begin, width).to(tl.int32)
    elements = tl.load(addresses + owner).to(one.dtype)
    if is_aligned:
        elements = tl.multiple_of(elements, 16)
    elements += begin
    row = tl.arange(0, loads)[:, None, None] * threads + tl.arange(0, threads)[None, :, None]
    offsets = row * lanes + tl.arange(0, lanes)[None, None, :]
    p, shifted, squares, l1, abs_squares, least, abs_min, greatest, filling = _figures_of(
        elements, count, offsets, tile, threads, is_half_of_float32, is_absolute
    )
    n = count.to(tl.float64)
    m2 = squares - shifted * shifted / n
    squares = squares + p * (2 * shifted + n * p)
    abs_m2 = n * 0
    if is_absolute:
        abs_m2 = abs_squares - l1 * l1 / n
        l1 += n * tl.abs(p)
    else:
        l1 -= filling * tl.abs(p)
    scale = n * 0 + 1
    if has_scale:
        abs_max = tl.maximum(tl.abs(least), tl.abs(greatest))
        scale = tl.where((abs_max > 0) & (abs_max < float("inf")), abs_max, scale)
    out = table + chunk
    total = shifted + n * p
    _store_figures(out, stride, n, total, l1, m2, abs_m2, least, abs_min, greatest, scale)
    is_finite = shifted - shifted == 0
    _store_rest(
        elements, count, offsets, out, stride, squares, scale, is_finite, abs_min,
        tile, threads, is_half_of_float32, has_scale,
    )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _sum_of_row(at, first, last, width: tl.constexpr):  # type: ignore[no-untyped-def]
    found = tl.zeros((width,), tl.float64)
    for begin in range(first, last, width):
        column = begin + tl.arange(0, width)
        found += tl.load(at + column, mask=column < last, other=0.0)
    return tl.sum(found, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _max_of_row(at, sign, first, last, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Returns the maximum of a row times a sign."""
    found = tl.zeros((width,), tl.float64) - float("inf")
    for begin in range(first, last, width):
        column = begin + tl.arange(0, width)
        inside = column < last
        x = sign * tl.load(at + column, mask=inside, other=0.0)
        found = tl.maximum(found, tl.where(inside, x, -float("inf")))
    return tl.max(found, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _merge_squares(  # type: ignore[no-untyped-def]
    at, stride, first, last, scale, width: tl.constexpr
):
    found = tl.zeros((width,), tl.float64)
    for begin in range(first, last, width):
        column = begin + tl.arange(0, width)
        inside = column < last
        factor = tl.load(at + 12 * stride + column, mask=inside, other=0.0) / scale
        found += factor * factor * tl.load(at + 4 * stride + column, mask=inside, other=0.0)
    return tl.sum(found, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _merge_spread(  # type: ignore[no-untyped-def]
    at, sums, spreads, first, last, mean, width: tl.constexpr
):
    """Returns the sum of squared distances from the mean (Chan, Golub, LeVeque)."""
    found = tl.zeros((width,), tl.float64)
    for begin in range(first, last, width):
        column = begin + tl.arange(0, width)
        inside = column < last
        count = tl.load(at + column, mask=inside, other=0.0)
        total = tl.load(sums + column, mask=inside, other=0.0)
        distance = total / tl.where(inside, count, 1.0) - mean
        found += tl.load(spreads + column, mask=inside, other=0.0)
        found += tl.where(inside, count * distance * distance, 0.0)
    return tl.sum(found, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _merge_chunks(  # type: ignore[no-untyped-def]
    table, stride, firsts, merged, rows: tl.constexpr, width: tl.constexpr
):
    """Merges the columns of one tensor into its row of `merged`."""
    tensor = tl.program_id(0)
    first = tl.load(firsts + tensor)
    last = tl.load(firsts + tensor + 1)
    count = _sum_of_row(table, first, last, width)
    total = _sum_of_row(table + 5 * stride, first, last, width)
    l1 = _sum_of_row(table + 6 * stride, first, last, width)
    scale = _max_of_row(table + 12 * stride, 1, first, last, width)
    sums, abs_sums = table + 5 * stride, table + 6 * stride
    m2 = _merge_spread(table, sums, table + 7 * stride, first, last, total / count, width)
    abs_m2 = _merge_spread(table, abs_sums, table + 8 * stride, first, last, l1 / count, width)
    out = merged + tensor * rows
    tl.store(out, count)
    for i in tl.static_range(1, 4):
        tl.store(out + i, _sum_of_row(table + i * stride, first, last, width))
    tl.store(out + 4, _merge_squares(table, stride, first, last, scale, width))
    tl.store(out + 5, total)
    tl.store(out + 6, l1)
    tl.store(out + 7, m2)
    tl.store(out + 8, abs_m2)
    for i in tl.static_range(9, 11):
        tl.store(out + i, -_max_of_row(table + i * stride, -1, first, last, width))
    tl.store(out + 11, _max_of_row(table + 11 * stride, 1, first, last, width))
    tl.store(out + 12, scale)


@triton.jit  # type: ignore[untyped-decorator]
def _copy_runs(  # type: ignore[no-untyped-def]
    addresses,
    sizes,
    owners,
    begins,
    targets,
    samples,
    count,
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
    elements = tl.load(addresses + owner).to(samples.dtype)
    step = tl.arange(0, length)
    inside = is_run[:, None] & (begin[:, None] + step[None, :] < size[:, None])
    x = tl.load(elements[:, None] + begin[:, None] + step[None, :], mask=inside)
    tl.store(samples + target[:, None] + step[None, :], x, mask=inside)


class _Plan(NamedTuple):
    """The tables that the kernels read, on the device."""

    chunks: int
    sizes: Any
    owners: Any
    places: Any
    firsts: Any
    runs: int
    run_owners: Any
    run_begins: Any
    run_targets: Any
    sample_counts: List[int]


@functools.lru_cache(maxsize=16)
def _plan(sizes: Tuple[int, ...], samples: bool, device: Any, stream: int) -> _Plan:
    owners: List[int] = []
    places: List[int] = []
    firsts = [0]
    run_owners: List[int] = []
    run_begins: List[int] = []
    run_targets: List[int] = []
    counts = [sample_count(size) for size in sizes] if samples else []
    target = 0
    for owner, size in enumerate(sizes):
        chunks = -(-size // _CHUNK)
        owners += [owner] * chunks
        places += range(chunks)
        firsts.append(len(places))
        if samples:
            runs = sampled_runs(size)
            run_owners += [owner] * len(runs)
            run_begins += runs
            run_targets += range(target, target + len(runs) * RUN, RUN)
            target += counts[owner]
    lists = {
        "sizes": sizes,
        "owners": owners,
        "places": places,
        "firsts": firsts,
        "run_owners": run_owners,
        "run_begins": run_begins,
        "run_targets": run_targets,
    }
    tables = {name: upload(each, torch.int64, device) for name, each in lists.items()}
    return _Plan(chunks=len(places), runs=len(run_owners), sample_counts=counts, **tables)


@functools.lru_cache(maxsize=16)
def _uploaded(addresses: Tuple[int, ...], device: Any, stream: int) -> Any:
    # The allocator often gives tensors the same places at each step.
    return upload(addresses, torch.int64, device)


def takes(dtype: Any) -> bool:
    """Returns True if `reduce` takes tensors of this type."""
    return dtype in _TYPES


def reduce(dense: Sequence[Any], samples: bool, is_absolute: bool) -> Tuple[Any, Any, List[int]]:
    """Returns what `device_statistics._reduce` returns.

    Parameters
    ----------
    dense : sequence of torch.Tensor
        Contiguous tensors of one type.
    samples, is_absolute : bool
        Whether samples are wanted, and absolute variances.
    """
    device, dtype = dense[0].device, dense[0].dtype
    stream = stream_of(device)
    plan = _plan(tuple(each.numel() for each in dense), samples, device, stream)
    places = tuple(each.data_ptr() for each in dense)
    addresses = _uploaded(places, device, stream)
    table = torch.empty((TABLE, plan.chunks), dtype=torch.float64, device=device)
    _reduce_chunks[(plan.chunks,)](
        addresses,
        plan.sizes,
        plan.owners,
        plan.places,
        _as_read(dense[0]),
        table,
        plan.chunks,
        is_half_of_float32=dtype is torch.bfloat16,
        has_scale=dtype is torch.float64,
        is_absolute=is_absolute,
        is_aligned=all(place % _ALIGNMENT == 0 for place in places),
        **_shape(dense[0].element_size()),
    )
    merged = torch.empty((len(dense), TABLE), dtype=torch.float64, device=device)
    _merge_chunks[(len(dense),)](
        table, plan.chunks, plan.firsts, merged, rows=TABLE, width=_COLUMNS, num_warps=_WARPS
    )
    found = _samples(addresses, plan, dtype) if samples else None
    return merged.t(), found, plan.sample_counts


def _as_read(tensor: Any) -> Any:
    """Returns a tensor of the type as which the kernels read its elements."""
    # A bfloat16 is the upper half of a float32, which every GPU and the interpreter know.
    return tensor.detach().view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor


def _shape(size: int) -> Dict[str, int]:
    """Returns how a program is shaped for elements of so many bytes."""
    lanes = _ALIGNMENT // size
    tile = {"loads": _EACH // lanes, "threads": 32 * _WARPS, "lanes": lanes}
    return {"width": _CHUNK, **tile, "num_warps": _WARPS}


def _samples(addresses: Any, plan: _Plan, dtype: Any) -> Any:
    found = torch.empty(sum(plan.sample_counts), dtype=dtype, device=addresses.device)
    _copy_runs[(-(-plan.runs // _RUNS),)](
        addresses,
        plan.sizes,
        plan.run_owners,
        plan.run_begins,
        plan.run_targets,
        _as_read(found),
        plan.runs,
        runs=_RUNS,
        length=RUN,
    )
    return found
