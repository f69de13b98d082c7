"""Statistics of many tensors, computed where they are.

All tensors of one device and element type are reduced together: their elements in rows of 1024,
then rows in groups of 64, until each tensor has one column of figures.  The order of the sums
depends on the sizes only, so the figures of equal tensors are equal.
"""

from __future__ import annotations

import functools
import math
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from smdebug import _raw
from smdebug.core.utils import import_framework
from smdebug.pytorch.host_copies import current_stream
from smdebug.pytorch.spread import RUN, sampled_runs

__all__ = ["Reduced", "means_of", "reduce_tensors"]

torch = import_framework("torch", "torch", "smdebug.pytorch")

HAS_MEDIAN, HAS_ABS_MEDIAN = _raw.SMD_HAS_MEDIAN, _raw.SMD_HAS_ABS_MEDIAN
HAS_PROD, HAS_ABS_VARIANCE = _raw.SMD_HAS_PROD, _raw.SMD_HAS_ABS_VARIANCE

# The rows of a table of figures, columns to native/statistics.c, which reads it: sums, the sum of
# squares divided by the square of the scale, sums whose spread counts, the sums of squared
# distances from the mean; extremes.
_COUNT, _NAN, _INF, _ZERO, _SQUARES, _SUM, _L1, _M2, _ABS_M2 = range(9)
_MIN, _ABS_MIN, _MAX, _SCALE = range(9, 13)
TABLE = 13
# What a table adds for each tensor if it was asked for.
_EXTRAS = ("median", "abs_median", "prod", "prod_exponent")

_ROW = 1024
_BLOCK_ROWS = 2048  # rows that are reduced at once, at most 64 MiB with all that is computed
_GROUP = 64
_PRODUCT = 512  # significands >= 0.5, whose product does not underflow


class Reduced(NamedTuple):
    """The figures of a group of tensors, on their device."""

    table: Any  # of shape (tensors, TABLE), or more columns if some have extras
    samples: Any  # the samples of all tensors, one after the other, or None
    sample_counts: List[int]


class _Piece(NamedTuple):
    tensor: int
    begin: int
    end: int
    first_row: int  # in its block


class _Block(NamedTuple):
    pieces: List[_Piece]
    rows: int
    row_counts: Any  # the number of elements of each row, or None if all rows are full
    levels: List[Any]  # see _levels
    sampled: Any  # the positions of sampled elements in the block, or None


class _Plan(NamedTuple):
    """How tensors of certain sizes are reduced; with its indices on their device."""

    blocks: List[_Block]
    levels: List[Any]
    sample_counts: List[int]


def reduce_tensors(
    tensors: Sequence[Any], wanted: Sequence[int], samples: bool, kernel: Any = None
) -> Reduced:
    """Computes the figures of tensors of one device and real element type.

    Launches operations on the current stream, and waits for nothing.

    Parameters
    ----------
    tensors : sequence of torch.Tensor
        They are not empty.
    wanted : sequence of int
        The figures that must be computed of each, as bits of SMD_HAS_...
    samples : bool
        Whether rules need samples.
    kernel : smdebug.pytorch.device_kernel.Kernel, optional
        Computes the figures in one pass, if it takes the element type.
    """
    with torch.no_grad():
        is_absolute = any(bits & HAS_ABS_VARIANCE for bits in wanted)
        if kernel is not None and kernel.takes(tensors[0].dtype):
            flat: Sequence[Any] = [_dense(tensor, samples) for tensor in tensors]
            table, found, counts = kernel.reduce(flat, samples, is_absolute)
        else:
            flat = [_flat(tensor, samples) for tensor in tensors]
            sizes = tuple(each.numel() for each in flat)
            table, found, counts = _reduce(flat, sizes, samples, is_absolute)
        extras = [_extras_of(each, bits) for each, bits in zip(flat, wanted)]
        if any(each is not None for each in extras):
            empty = table.new_full((len(_EXTRAS),), math.nan)
            rows = [empty if each is None else each.to(table.dtype) for each in extras]
            table = torch.cat([table, torch.stack(rows, 1)])
        return Reduced(table.t().contiguous(), found, counts)


def _dense(tensor: Any, in_order: bool) -> Any:
    """Returns the elements one after the other, in the order of memory if that may be."""
    if tensor.is_contiguous() and not tensor.is_neg():
        return tensor
    tensor = tensor.detach()
    if tensor.is_complex() or tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if not tensor.is_contiguous():
        axes = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis))
        permuted = tensor.permute(axes)
        tensor = permuted if not in_order and permuted.is_contiguous() else tensor.contiguous()
    return tensor


def _flat(tensor: Any, in_order: bool) -> Any:
    """Returns the elements in one dimension."""
    return _dense(tensor, in_order).detach().reshape(-1)


def _reduce(
    flat: Sequence[Any], sizes: Tuple[int, ...], samples: bool, is_absolute: bool
) -> Tuple[Any, Any, List[int]]:
    device = flat[0].device
    kind = compute_dtype(device)
    plan = _plan(sizes, samples, device, kind, stream_of(device))
    has_scale = not _squares_fit(flat[0].dtype, kind)
    tables, found = [], []
    for block in plan.blocks:
        elements = _elements_of(block, flat)
        rows = elements.view(block.rows, _ROW)
        table = _figures_of(rows.to(kind, copy=True), block.row_counts, has_scale, is_absolute)
        tables.append(merge_levels(table, block.levels))
        if block.sampled is not None:
            found.append(elements.index_select(0, block.sampled))
    table = merge_levels(torch.cat(tables, 1), plan.levels)
    return table, torch.cat(found) if found else None, plan.sample_counts


def compute_dtype(device: Any) -> Any:
    """Returns the type of the sums: float64, or float32 on a device that lacks it."""
    return torch.float32 if device.type == "mps" or not _has_doubles(device) else torch.float64


@functools.lru_cache(maxsize=None)
def _has_doubles(device: Any) -> bool:
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, TypeError):
        return False
    return True


def _squares_fit(dtype: Any, kind: Any) -> bool:
    """Returns True if sums of squares of the elements are within the range of `kind`."""
    return bool(kind is torch.float64 and dtype is not torch.float64)


# ---- plans -------------------------------------------------------------------------------


@functools.lru_cache(maxsize=16)
def _plan(sizes: Tuple[int, ...], samples: bool, device: Any, kind: Any, stream: int) -> _Plan:
    blocks: List[List[_Piece]] = []
    rows = _BLOCK_ROWS
    for tensor, size in enumerate(sizes):
        begin = 0
        while begin < size:
            if rows == _BLOCK_ROWS:
                blocks.append([])
                rows = 0
            end = min(size, begin + (_BLOCK_ROWS - rows) * _ROW)
            blocks[-1].append(_Piece(tensor, begin, end, rows))
            rows += -(-(end - begin) // _ROW)
            begin = end
    found = [_block(pieces, sizes if samples else None, device, kind) for pieces in blocks]
    merged = [0] * len(sizes)
    for pieces in blocks:
        for piece in pieces:
            merged[piece.tensor] += 1
    counts = [sample_count(size) for size in sizes] if samples else []
    return _Plan(found, levels_of(merged, device), counts)


def _block(
    pieces: List[_Piece], sizes: Optional[Sequence[int]], device: Any, kind: Any
) -> _Block:
    rows = [-(-(piece.end - piece.begin) // _ROW) for piece in pieces]
    counts: List[int] = []
    for piece, number in zip(pieces, rows):
        rest = piece.end - piece.begin - (number - 1) * _ROW
        counts += [_ROW] * (number - 1) + [rest]
    row_counts = None if min(counts) == _ROW else upload(counts, kind, device)
    sampled: List[int] = []
    for piece in pieces if sizes is not None else ():
        assert sizes is not None
        size, offset = sizes[piece.tensor], piece.first_row * _ROW - piece.begin
        for begin in sampled_runs(size):
            # Blocks end between runs, since their sizes are multiples of a run's length.
            if piece.begin <= begin < piece.end:
                sampled += range(begin + offset, min(begin + RUN, size) + offset)
    positions = upload(sampled, torch.int64, device) if sampled else None
    return _Block(pieces, sum(rows), row_counts, levels_of(rows, device), positions)


def sample_count(size: int) -> int:
    """Returns the number of elements in the sample of a tensor."""
    begins = sampled_runs(size)
    return len(begins) * RUN if not begins or begins[-1] + RUN <= size else size


def levels_of(counts: Sequence[int], device: Any) -> List[Any]:
    """Returns indices that merge columns of a table until each tensor has one.

    `counts` are the numbers of columns of each tensor, which follow each other.  Each level
    lists columns in groups of 64; the number of columns stands for one that adds nothing.
    """
    levels, now = [], list(counts)
    while any(count > 1 for count in now):
        index: List[int] = []
        first, neutral = 0, sum(now)
        for count in now:
            index += range(first, first + count)
            index += [neutral] * (-count % _GROUP)
            first += count
        levels.append(upload(index, torch.int64, device))
        now = [-(-count // _GROUP) for count in now]
    return levels


def stream_of(device: Any) -> int:
    """Returns the current stream of a device.  What one stream uploads, others must not use."""
    if device.type != "cuda":
        return 0
    found: int = current_stream(device).cuda_stream
    return found


def upload(numbers: Sequence[float], dtype: Any, device: Any) -> Any:
    """Returns numbers as a tensor of the device, and does not wait for the copy."""
    # The training may have another default device.
    tensor = torch.tensor(numbers, dtype=dtype, device="cpu")
    if device.type == "cpu":
        return tensor
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def _elements_of(block: _Block, flat: Sequence[Any]) -> Any:
    """Returns the elements of a block; zeros fill the last row of a tensor."""
    if block.row_counts is None and len(block.pieces) == 1:
        piece = block.pieces[0]
        return flat[piece.tensor][piece.begin : piece.end]
    zeros = flat[0].new_zeros(_ROW)
    parts = []
    for piece in block.pieces:
        part = flat[piece.tensor]
        parts.append(part[piece.begin : piece.end])
        rest = (piece.begin - piece.end) % _ROW
        if rest:
            parts.append(zeros[:rest])
    if flat[0].is_floating_point() and flat[0].element_size() == 1:
        return torch.cat([part.view(torch.uint8) for part in parts]).view(flat[0].dtype)
    return torch.cat(parts)


# ---- tables of figures -------------------------------------------------------------------


def _figures_of(rows: Any, row_counts: Any, has_scale: bool, is_absolute: bool) -> Any:
    """Returns the table of rows, each row of elements a column.  Overwrites `rows`."""
    kind, outside = rows.dtype, None
    sizes = row_counts
    table = rows.new_empty((TABLE, rows.shape[0]))
    if sizes is None:
        sizes = rows.new_full((rows.shape[0],), _ROW)
    else:
        outside = torch.arange(_ROW, device=rows.device) >= sizes.unsqueeze(1)
    table[_COUNT] = sizes
    torch.sum(rows != rows, 1, dtype=kind, out=table[_NAN])
    table[_ZERO] = (rows == 0).sum(1, dtype=kind) - (_ROW - sizes)
    torch.sum(rows, 1, out=table[_SUM])
    torch.amin(_filled(rows, outside, math.inf), 1, out=table[_MIN])
    torch.amax(_filled(rows, outside, -math.inf), 1, out=table[_MAX])
    table[_M2] = _distances(rows, table[_SUM], sizes, outside)
    magnitudes = rows.abs_()
    torch.sum(magnitudes == math.inf, 1, dtype=kind, out=table[_INF])
    torch.sum(magnitudes, 1, out=table[_L1])
    torch.amin(_filled(magnitudes, outside, math.inf), 1, out=table[_ABS_MIN])
    table[_ABS_M2] = math.nan
    if is_absolute:
        table[_ABS_M2] = _distances(magnitudes, table[_L1], sizes, outside)
    table[_SCALE] = 1
    if has_scale:
        greatest = magnitudes.amax(1)
        is_usable = (greatest > 0) & (greatest < math.inf)
        table[_SCALE] = torch.where(is_usable, greatest, torch.ones_like(greatest))
        magnitudes /= table[_SCALE].unsqueeze(1)
    torch.sum(magnitudes.square_(), 1, out=table[_SQUARES])
    return table


def _filled(rows: Any, outside: Any, number: float) -> Any:
    return rows if outside is None else rows.masked_fill(outside, number)


def _distances(rows: Any, sums: Any, sizes: Any, outside: Any) -> Any:
    """Returns the sum of squared distances from the mean of each row."""
    distances = rows - (sums / sizes).unsqueeze(1)
    if outside is not None:
        distances.masked_fill_(outside, 0)
    # The mean is rounded: take away what that adds.
    rounding = distances.sum(1).square_() / sizes
    return distances.square_().sum(1) - rounding


def merge_levels(table: Any, levels: Sequence[Any]) -> Any:
    """Merges the columns of a table into one for each tensor."""
    if not levels:
        return table
    neutral = _neutral(table.device, table.dtype, stream_of(table.device))
    for index in levels:
        table = _merge(torch.cat([table, neutral], 1), index)
    return table


@functools.lru_cache(maxsize=None)
def _neutral(device: Any, dtype: Any, stream: int) -> Any:
    """Returns a column of no elements."""
    column = [0.0] * 9 + [math.inf, math.inf, -math.inf, 0.0]
    return upload(column, dtype, device).unsqueeze(1)


def _merge(table: Any, index: Any) -> Any:
    """Merges groups of columns (Chan, Golub, LeVeque)."""
    parts = table.index_select(1, index).view(TABLE, -1, _GROUP)
    merged = parts.new_empty((TABLE, parts.shape[1]))
    merged[:_MIN] = parts[:_MIN].sum(2)
    merged[_MIN:_MAX] = parts[_MIN:_MAX].amin(2)
    merged[_MAX:] = parts[_MAX:].amax(2)
    counts = parts[_COUNT]
    means = parts[_SUM:_M2] / counts.clamp(min=1)
    mean = merged[_SUM:_M2] / merged[_COUNT].clamp(min=1)
    distances = means - mean.unsqueeze(2)
    merged[_M2:_MIN] += distances.square_().mul_(counts).sum(2)
    factors = parts[_SCALE] / merged[_SCALE].unsqueeze(1)
    merged[_SQUARES] = factors.square_().mul_(parts[_SQUARES]).sum(1)
    return merged


# ---- figures that are rarely asked for -----------------------------------------------------


def _extras_of(flat: Any, bits: int) -> Any:
    """Returns the medians and the product of a tensor, as far as they are wanted; else None."""
    wanted = HAS_MEDIAN | HAS_ABS_MEDIAN | HAS_PROD
    if not bits & wanted:
        return None
    flat = flat.detach().reshape(-1)
    kind = compute_dtype(flat.device)
    # PyTorch sorts no small floats everywhere, and no bool.
    elements = flat if flat.element_size() > 2 else flat.float()
    figures = [flat.new_full((), math.nan, dtype=kind)] * len(_EXTRAS)
    if bits & HAS_MEDIAN:
        figures[0] = _median(elements, kind)
    if bits & HAS_ABS_MEDIAN:
        signed = elements if elements.is_floating_point() else elements.to(kind)
        figures[1] = _median(signed.abs(), kind)
    if bits & HAS_PROD:
        figures[2], figures[3] = _product(elements, kind)
    return torch.stack(figures)


def _median(elements: Any, kind: Any) -> Any:
    lower = elements.median()
    if elements.numel() % 2 == 1:
        return lower.to(kind)
    # PyTorch returns the lower one of the middle two.
    is_both = (elements <= lower).sum() > elements.numel() // 2
    is_float = elements.is_floating_point()
    beyond = math.inf if is_float else torch.iinfo(elements.dtype).max
    upper = elements.masked_fill(elements <= lower, beyond).min()
    upper = torch.where(is_both, lower, upper)
    return (lower.to(kind) + upper.to(kind)) / 2


def _product(elements: Any, kind: Any) -> Tuple[Any, Any]:
    """Returns the product as a significand and an exponent."""
    parts = [_product_of(part, kind) for part in elements.split(_BLOCK_ROWS * _ROW)]
    significand, exponent = _product_of(torch.stack([part[0] for part in parts]), kind)
    return significand, exponent + torch.stack([part[1] for part in parts]).sum()


def _product_of(elements: Any, kind: Any) -> Tuple[Any, Any]:
    exponent = elements.new_zeros((), dtype=kind)
    numbers = elements.to(kind)
    # The range of float32 is smaller.
    width = _PRODUCT if kind is torch.float64 else _PRODUCT // 8
    while True:
        significands, exponents = torch.frexp(numbers)
        exponent = exponent + exponents.sum().to(kind)
        if len(significands) == 1:
            return significands[0], exponent
        rest = -len(significands) % width
        if rest:
            significands = torch.cat([significands, significands.new_ones(rest)])
        numbers = significands.view(-1, width).prod(1)


# ---- on the host ---------------------------------------------------------------------------


def means_of(table: "memoryview[float]", count: int) -> List[float]:
    """Returns the mean in each of `count` rows of a table."""
    numbers = table.tolist()
    columns = len(numbers) // count if count else 0
    rows = [numbers[i * columns : (i + 1) * columns] for i in range(count)]
    return [math.nan if row[_NAN] else row[_SUM] / row[_COUNT] for row in rows]
