"""Tries the Triton kernel in a process of its own: python device_kernel.py compute|compile.

"compute" needs Triton's interpreter, which TRITON_INTERPRET=1 selects; "compile" needs no GPU.
"""

from __future__ import annotations

import math
import re
import sys
from typing import List

import torch
import triton
import triton.language as tl
from smdebug.pytorch import device_kernel
from smdebug.pytorch.device_statistics import Statistics, reduce_tensors, statistics_of

ALL = 0x7FFF


def tensors(dtype: torch.dtype) -> List[torch.Tensor]:
    torch.manual_seed(2)
    broken = torch.randn(3, 2000)
    broken[0, 7], broken[1, 8], broken[2, 9] = math.nan, math.inf, -math.inf
    some = [torch.randn(n) for n in (1, 63, 1024, 4096, 4097, 20_001)]
    some += [torch.randn(30, 70).t(), torch.zeros(10), torch.full((3000,), -0.1), *broken]
    some += [torch.randn(3000) * 1e-39, 1000 + 1e-3 * torch.randn(5000)]
    # What is far from the rest at the beginning, at the end, and everywhere.
    for place in (0, 8191, 8192, -1):
        outlier = torch.randn(20_000)
        outlier[place] = 3e4
        some.append(outlier)
    some += [torch.zeros(20_000), torch.full((20_000,), 3.0)]
    for value in (math.nan, math.inf, -math.inf):
        beginning = torch.randn(9000)
        beginning[0] = value
        some.append(beginning)
    found = [each.to(dtype) for each in some]
    return [*found, torch.randn(99, dtype=dtype) * 1e200] if dtype is torch.float64 else found


def assert_alike(found: Statistics, expected: Statistics) -> None:
    assert found.counts == expected.counts and found.given == expected.given
    l1 = abs(expected.figures[7])
    for place, (ours, theirs) in enumerate(zip(found.figures, expected.figures)):
        if place in (0, 1, 9, 10) and not math.isnan(theirs):  # extremes
            assert ours == theirs
        else:
            # Sums of both signs may be near 0.
            most = 1e-12 * l1 if math.isfinite(l1) else 0.0
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=most, equal_nan=True)


def compute() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        given = tensors(dtype)
        for samples in (True, False):
            wanted = [ALL] * len(given)
            plain = reduce_tensors(given, wanted, samples)
            found = reduce_tensors(given, wanted, samples, device_kernel)
            assert found.sample_counts == plain.sample_counts
            if samples:
                assert torch.equal(found.samples.nan_to_num(7), plain.samples.nan_to_num(7))
            for ours, theirs in zip(found.table.tolist(), plain.table.tolist()):
                assert_alike(statistics_of(ours, ALL), statistics_of(theirs, ALL))
        again = reduce_tensors(given, wanted, False, device_kernel)
        assert torch.equal(again.table.nan_to_num(7), found.table.nan_to_num(7))


KINDS = {"fp16": tl.float16, "i16": tl.int16, "fp32": tl.float32, "fp64": tl.float64}


def compile_for(capability: int, kind: str) -> None:
    target = triton.backends.compiler.GPUTarget("cuda", capability, 32)
    shared = {"addresses": "*i64", "sizes": "*i64", "owners": "*i64"}
    table = {"table": "*fp64", "stride": "i32"}
    reducing = {
        "kind": KINDS[kind],
        "is_half_of_float32": kind == "i16",
        "has_scale": kind == "fp64",
        "is_absolute": True,
        "is_aligned": True,
        "width": device_kernel._CHUNK,
    }
    copying = {"kind": KINDS[kind], "runs": 64, "length": 16}
    runs = {"begins": "*i64", "targets": "*i64", "samples": f"*{kind}", "count": "i32"}
    for kernel, given, constants in (
        (device_kernel._reduce_chunks, {**shared, "places": "*i64", **table}, reducing),
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
            for kind in KINDS:
                compile_for(capability, kind)
