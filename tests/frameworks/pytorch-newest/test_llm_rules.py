"""The rule set "llm" finds faults of small transformers and spares healthy ways to train them.

A small part of tests/rules/transformers/measure.py, with tuning seeds: `make measure-llm` runs it
whole.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules" / "transformers"))

import torch  # noqa: E402
from measure import run  # noqa: E402
from planted import FAULTS  # noqa: E402

SEED = 20_000_000

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    "fault",
    ["stuck_loader", "tie_broken", "layer_not_trained", "replayed_batches"],
)
def test_faults_are_found(fault: str, tmp_path: Path) -> None:
    result = run(fault, SEED + list(FAULTS).index(fault), tmp_path)
    assert result.latency is not None and result.is_culprit, result
    assert result.wrong == []


@pytest.mark.parametrize("way", ["plain", "mixture", "epochs_in_order", "two_ranks"])
def test_healthy_ways_are_spared(way: str, tmp_path: Path) -> None:
    assert run(way, SEED, tmp_path).wrong == []
