"""The figures that a GPU computes, against those of the host."""

from __future__ import annotations

from typing import Any, List

import device_kernel as cases
import pytest
import smdebug.pytorch as smd
import test_device
import torch
from smdebug.pytorch import device_batch, device_kernel
from smdebug.pytorch.device_statistics import reduce_tensors
from test_device import FIGURES, assert_alike
from test_device_newest import record_small_floats

KINDS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def large(dtype: torch.dtype) -> List[torch.Tensor]:
    torch.manual_seed(6)
    found = [torch.randn(count) for count in (262_145, 1_000_003, 20_000_000)]
    # Two chunks begin with what is far from the rest.
    found[1][0], found[1][device_kernel._CHUNK] = 3e4, -3e4
    return [each.to(dtype) for each in found]


@pytest.mark.parametrize("kernel", [device_kernel, None], ids=["triton", "plain"])
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_figures_are_those_of_the_host(kernel: Any, dtype: torch.dtype) -> None:
    given = cases.tensors(dtype) + large(dtype)
    there = [each.cuda() for each in given]
    wanted = [cases.ALL] * len(given)
    for has_samples in (True, False):
        expected = reduce_tensors(given, wanted, has_samples)
        found = reduce_tensors(there, wanted, has_samples, kernel)
        assert found.sample_counts == expected.sample_counts
        if has_samples:
            ours, theirs = found.samples.cpu(), expected.samples
            assert torch.equal(ours.nan_to_num(7), theirs.nan_to_num(7))
        for ours, theirs in zip(found.table.tolist(), expected.table.tolist()):
            cases.assert_alike(ours, theirs)
    again = reduce_tensors(there, wanted, False, kernel)
    assert torch.equal(again.table.nan_to_num(7), found.table.nan_to_num(7))


@pytest.mark.parametrize("has_kernel", [True, False], ids=["triton", "plain"])
def test_tensors_of_all_types(tmp_path, monkeypatch, has_kernel):
    if not has_kernel:
        monkeypatch.setattr(device_batch, "_kernel", lambda: None)
    special = test_device.special_tensors
    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    test_device.of_many_types(host, reduction_config=FIGURES)
    monkeypatch.setattr(
        test_device,
        "special_tensors",
        lambda seed: {name: each.cuda() for name, each in special(seed).items()},
    )
    test_device.of_many_types(there, reduction_config=FIGURES)
    assert_alike(smd.create_trial(host), smd.create_trial(there), True)


def test_small_floats(tmp_path):
    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    record_small_floats(host, "cpu")
    record_small_floats(there, "cuda")
    assert_alike(smd.create_trial(host), smd.create_trial(there), True)
