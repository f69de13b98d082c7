"""Runs that should be equal: smdebug diff accepts the healthy ones and names the module of a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from equal_runs import FAULTS, HEALTHY, Shape, expected

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build")) / "bin/smdebug"
SEED = 1  # a tuning seed

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of all recorded trainings."""
    folder = tmp_path_factory.mktemp("runs")
    script = Path(__file__).parent / "equal_runs.py"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, script, folder, str(SEED)], check=True, timeout=280, env=environment)
    return folder


def compare(folder: Path, way: str, options: str, code: int) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, "diff", "trusted", way, *options.split(), "--json"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])["comparison"]


@pytest.mark.parametrize("way", HEALTHY)
def test_healthy_runs_are_equal(folder: Path, way: str) -> None:
    noise = "noise_bfloat16" if way == "bfloat16" else "noise"
    for options in ("--rounding auto", f"--noise {noise}"):
        found = compare(folder, way, options, 0)
        assert found["equal"]
        assert found["values"] > 100


@pytest.mark.parametrize("way", FAULTS)
def test_the_module_of_a_fault_is_named(folder: Path, way: str) -> None:
    for options in ("--rounding auto", "--noise noise"):
        first = compare(folder, way, options, 10)["first"]
        assert (first["step"], first["module"]) == expected(way, Shape.drawn(SEED))
