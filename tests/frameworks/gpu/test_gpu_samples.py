"""What the profiler samples of a real GPU, and tensors of a GPU that a script saves itself."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Dict, List

import pytest
import smdebug
import torch
from smdebug.profiler import Profiler
from smdebug.profiler.analysis.rules import evaluate_profile


def keep_busy(seconds: float) -> None:
    torch.manual_seed(1)
    a = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(10):
            a @ a
        torch.cuda.synchronize()


def samples_of(folder: Path) -> Dict[str, List[float]]:
    found: Dict[str, List[float]] = defaultdict(list)
    for path in sorted(folder.rglob("*.json")):
        for line in path.read_text().splitlines():
            sample = json.loads(line)
            if str(sample.get("Dimension", "")).startswith("GPU"):
                found[sample["Dimension"]].append(float(sample["Value"]))
    return found


def test_a_busy_gpu_is_sampled(tmp_path):
    with Profiler(str(tmp_path), sample_milliseconds=100):
        keep_busy(5)
    found = samples_of(tmp_path)
    assert max(found["GPUUtilization"]) > 80
    assert max(found["GPUMemoryUtilization"]) > 0
    assert max(found["GPUPowerInWatts"]) > 100
    assert max(found["GPUMultiprocessorActivity"]) > 50
    assert max(found["GPUTensorActivity"]) > 20


def test_a_tensor_of_a_device_is_copied(tmp_path):
    with smdebug.Hook(str(tmp_path / "run"), save_all=True) as hook:
        hook.begin_step()
        hook.save("x", torch.full((3,), 2.0, device="cuda"))
        hook.end_step()
    assert smdebug.create_trial(str(tmp_path / "run")).tensor("x").value(0).tolist() == [2] * 3


@pytest.mark.parametrize("leaks", [True, False])
def test_a_leak_is_found(tmp_path, leaks):
    total = torch.cuda.get_device_properties(0).total_memory
    kept = []
    with Profiler(str(tmp_path), sample_milliseconds=100):
        for _ in range(120):  # 24 seconds: of fewer than 16 the rule says nothing
            # What a healthy training computes anew takes the same place.
            part = torch.ones(total // 2000, dtype=torch.uint8, device="cuda")
            if leaks:
                kept.append(part)
            keep_busy(0.2)
    torch.cuda.empty_cache()
    findings = {each.rule: each for each in evaluate_profile(str(tmp_path)).findings}
    assert ("DeviceMemoryLeak" in findings) == leaks
    assert not leaks or findings["DeviceMemoryLeak"].value > 3
