"""Rules over profiles find gross faults in real trainings, and spare healthy ones.

A small part of tests/profiler/measured/measure_profile.py, with tuning seeds: `make measure-profile`
runs it whole.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEASURED = Path(__file__).resolve().parents[2] / "profiler" / "measured"
FAULTS = ["stalls", "memory leak"]
HEALTHY = ["logs a little", "fills a cache"]  # similar to these faults


@pytest.mark.whole  # takes 30 to 90 seconds
@pytest.mark.timeout(300)
def test_faults_are_found_and_healthy_trainings_spared(tmp_path: Path) -> None:
    # A process of its own, which forks trainings before it has threads.
    command = [sys.executable, MEASURED / "measure_profile.py", "--severity", "1"]
    command += ["--json", tmp_path / "runs.json", "--only", *FAULTS, *HEALTHY]
    subprocess.run(command, check=True, timeout=280, capture_output=True, text=True)
    runs = json.loads((tmp_path / "runs.json").read_text())
    rules = {each["kind"]: {one["rule"] for one in each["found"]} for each in runs}
    assert "StepTimeSplit" in rules["stalls"]
    assert "HostMemoryLeak" in rules["memory leak"]
    # Others may have wrong findings while tests beside this one take the cores.
    for kind in HEALTHY:
        assert not rules[kind] & {"StepTimeSplit", "HostMemoryLeak"}
