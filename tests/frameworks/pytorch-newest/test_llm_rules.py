"""The rule set "llm" finds faults of small transformers and spares healthy ways to train them.

A small part of tests/rules/transformers/measure.py, with tuning seeds: `make measure-llm` runs it
whole.
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules" / "transformers"))

import torch  # noqa: E402
from measure import Run, run  # noqa: E402
from planted import FAULTS  # noqa: E402

SEED = 20_000_000

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def trained() -> Iterator[Callable[[str, int, Path], Run]]:
    """Trains in a process of its own: one that starts ranks must not have compiled a graph."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, torch.set_num_threads, (1,)) as processes:
        yield lambda kind, seed, out: processes.submit(run, kind, seed, out).result()


@pytest.mark.parametrize(
    "fault",
    ["tie_broken", "second_moments_lost", "overflow_of_eight_bits"],
)
def test_faults_are_found(
    fault: str, trained: Callable[[str, int, Path], Run], tmp_path: Path
) -> None:
    result = trained(fault, SEED + list(FAULTS).index(fault), tmp_path)
    assert result.latency is not None and result.is_culprit, result
    assert result.wrong == []


@pytest.mark.parametrize("way", ["eight_bits", "two_ranks"])
def test_healthy_ways_are_spared(
    way: str, trained: Callable[[str, int, Path], Run], tmp_path: Path
) -> None:
    assert trained(way, SEED, tmp_path).wrong == []
