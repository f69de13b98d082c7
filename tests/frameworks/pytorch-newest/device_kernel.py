"""Tries the Triton kernel in a process of its own: python device_kernel.py compute|compile.

"compute" needs Triton's interpreter, which TRITON_INTERPRET=1 selects; "compile" needs no GPU.
"""

from __future__ import annotations

import functools
import math
import re
import sys
from typing import List

import torch
import triton
from smdebug.pytorch import device_kernel
from smdebug.pytorch.device_statistics import reduce_tensors

ALL = 0x7FFF


def tensors(dtype: torch.dtype) -> List[torch.Tensor]:
    torch.manual_seed(2)
    broken = torch.randn(3, 2000)
    broken[0, 7], broken[1, 8], broken[2, 9] = math.nan, math.inf, -math.inf
    some = [torch.randn(n) for n in (1, 63, 1024, 2048, 2049, 7001)]
    some += [torch.randn(30, 70).t(), torch.zeros(10), torch.full((3000,), -0.1), *broken]
    some += [torch.randn(3000) * 1e-39, 1000 + 1e-3 * torch.randn(5000)]
    # One element that is far from the others, first or last in a chunk.
    for place in (0, 2047, 2048, -1):
        outlier = torch.randn(2500)
        outlier[place] = 3e4
        some.append(outlier)
    some += [torch.zeros(2500), torch.full((2500,), 3.0)]
    for value in (math.nan, math.inf, -math.inf):
        beginning = torch.randn(2200)
        beginning[0] = value
        some.append(beginning)
    found = [each.to(dtype) for each in some]
    return [*found, torch.randn(99, dtype=dtype) * 1e200] if dtype is torch.float64 else found


COUNTS, EXTREMES, SUM, L1 = slice(0, 4), slice(9, 12), 5, 6


def assert_alike(found: List[float], expected: List[float]) -> None:
    """Compares two rows of tables, whose sums are in other orders."""
    assert found[COUNTS] == expected[COUNTS]
    count, nans, infs = expected[:3]
    if nans:
        return
    assert found[EXTREMES] == expected[EXTREMES]
    # Sums of both signs may be near 0.
    most = 1e-12 * expected[L1] if math.isfinite(expected[L1]) else 0.0
    close = functools.partial(torch.testing.assert_close, rtol=1e-9, equal_nan=True)
    close(found[SUM], expected[SUM], atol=most)
    close(found[L1], expected[L1], atol=0.0)
    close(found[13:], expected[13:], atol=0.0)
    if infs:
        assert found[4] == expected[4] == math.inf
        return
    close(found[12] * math.sqrt(found[4]), expected[12] * math.sqrt(expected[4]), atol=0.0)
    spread = 1e-20 * expected[L1] * (expected[L1] / count)  # what rounding adds if all are equal
    for column in (7, 8):
        if math.isfinite(expected[column]):
            close(found[column], expected[column], atol=spread)
        else:
            assert not math.isfinite(found[column])


def compute() -> None:
    # Smaller chunks, so that what is merged is small too; fewer threads, as the interpreter takes
    # them one by one.
    device_kernel._CHUNK, device_kernel._WARPS, device_kernel._EACH = 2048, 1, 32
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        given = tensors(dtype)
        if dtype is not torch.float32:
            given = [*given[:-1:3], given[-1]]  # the interpreter is slow
        for samples in (True, False) if dtype is torch.float32 else (True,):
            wanted = [ALL] * len(given)
            plain = reduce_tensors(given, wanted, samples)
            found = reduce_tensors(given, wanted, samples, device_kernel)
            assert found.sample_counts == plain.sample_counts
            if samples:
                assert torch.equal(found.samples.nan_to_num(7), plain.samples.nan_to_num(7))
            for ours, theirs in zip(found.table.tolist(), plain.table.tolist()):
                assert_alike(ours, theirs)
        if dtype is not torch.float16:
            continue
        again = reduce_tensors(given, wanted, samples, device_kernel)
        assert torch.equal(again.table.nan_to_num(7), found.table.nan_to_num(7))


SIZES = {"fp16": 2, "i16": 2, "fp32": 4, "fp64": 8}


def compile_for(capability: int, kind: str) -> None:
    target = triton.backends.compiler.GPUTarget("cuda", capability, 32)
    shared = {"addresses": "*i64", "sizes": "*i64", "owners": "*i64"}
    table = {"table": "*fp64", "stride": "i32"}
    reducing = {
        "is_half_of_float32": kind == "i16",
        "has_scale": kind == "fp64",
        "is_absolute": True,
        "is_aligned": True,
        **device_kernel._shape(SIZES[kind]),
    }
    reducing.pop("num_warps")
    copying = {"runs": 64, "length": 16}
    runs = {"begins": "*i64", "targets": "*i64", "samples": f"*{kind}", "count": "i32"}
    for kernel, given, constants in (
        (
            device_kernel._reduce_chunks,
            {**shared, "places": "*i64", "one": f"*{kind}", **table},
            reducing,
        ),
        (
            device_kernel._merge_chunks,
            {**table, "firsts": "*i64", "merged": "*fp64"},
            {"rows": 13, "width": device_kernel._COLUMNS},
        ),
        (device_kernel._copy_runs, {**shared, **runs}, copying),
    ):
        signature = {**given, **dict.fromkeys(constants, "constexpr")}
        source = triton.compiler.ASTSource(kernel, signature, constexprs=constants)
        options = {"num_warps": device_kernel._WARPS}
        compiled = triton.compile(source, target=target, options=options)
        assert compiled.asm["cubin"]
        # Elements are loaded 16 bytes at a time.
        if kernel is device_kernel._reduce_chunks:
            assert re.search(r"ld\.global\.(v4\.b32|v2\.b64)", compiled.asm["ptx"])


if __name__ == "__main__":
    if sys.argv[1] == "compute":
        compute()
    else:
        for capability in (80, 90):
            for kind in SIZES:
                compile_for(capability, kind)
