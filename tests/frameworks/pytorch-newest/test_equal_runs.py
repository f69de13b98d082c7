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
# Each stands for a kind: another split of the work, another order; wrong code, data, optimizer.
FEW = ("tensor_parallel", "accumulated", "scale", "bit_flip", "left_out")

pytestmark = pytest.mark.timeout(300)


def some(ways: tuple[str, ...]) -> Any:
    marked = [pytest.param(way, marks=() if way in FEW else pytest.mark.whole) for way in ways]
    return pytest.mark.parametrize("way", marked)


def noise_of(way: str) -> str:
    return "noise_bfloat16" if way == "bfloat16" else "noise"


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the trainings that the selected tests compare."""
    folder = tmp_path_factory.mktemp("runs")
    script = Path(__file__).parent / "equal_runs.py"
    items = [each for each in request.session.items if each.path == request.path]
    ways = {each.callspec.params["way"] for each in items}  # type: ignore[attr-defined]
    wanted = ["trusted", *sorted(ways | {noise_of(way) for way in ways})]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SMDEBUG_RAISE_ERRORS": "1"}
    subprocess.run([sys.executable, script, folder, str(SEED), *wanted], check=True, timeout=280, env=environment)
    return folder


def compare(folder: Path, way: str, options: str, code: int) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, "diff", "trusted", way, *options.split(), "--json"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])["comparison"]


@some(HEALTHY)
def test_healthy_runs_are_equal(folder: Path, way: str) -> None:
    for options in ("--rounding auto", f"--noise {noise_of(way)}"):
        found = compare(folder, way, options, 0)
        assert found["equal"]
        assert found["values"] > 100
        assert found["only_in_a"] == found["only_in_b"] == found["not_compared"] == []


@some(FAULTS)
def test_the_module_of_a_fault_is_named(folder: Path, way: str) -> None:
    for options in ("--rounding auto", "--noise noise"):
        first = compare(folder, way, options, 10)["first"]
        assert (first["step"], first["module"]) == expected(way, Shape.drawn(SEED))
