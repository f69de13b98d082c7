"""Rules spare healthy ways to train, and find gross faults, in trainings drawn at random.

A small part of tests/rules/generator.py, with tuning seeds: `make measure-rules` runs it whole.  WHOLE
in the environment draws two healthy trainings of each kind in place of one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))

import torch  # noqa: E402
from benign import BENIGN  # noqa: E402
from drawing import draw  # noqa: E402
from generator import Run, run, seeds_of  # noqa: E402
from severities import GRADED  # noqa: E402

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def runs_of(name: str, folder: Path, is_fault: bool, count: int) -> Iterator[Run]:
    """Yields the first runs of that kind which count."""
    for seed in seeds_of("tuning", 0, 400):
        drawn = run(seed, folder, f"^{name}$", is_fault=is_fault)
        if drawn is None or not (is_fault or drawn.learns or name == "resumed"):
            continue
        yield drawn
        count -= 1
        if count == 0:
            return


@pytest.mark.parametrize("way", BENIGN)
def test_healthy_ways_are_spared(way: str, tmp_path: Path) -> None:
    count = 2 if os.environ.get("WHOLE") else 1
    for each in runs_of(way, tmp_path, is_fault=False, count=count):
        assert [(one.rule, one.check, one.message) for one in each.found] == [], each.drawn
        assert each.live_is_stored is not False


@pytest.mark.parametrize("fault", [each.name for each in GRADED])
def test_gross_faults_are_found(fault: str, tmp_path: Path) -> None:
    assert any(
        any(one.is_expected for one in each.found)
        for each in runs_of(fault, tmp_path, is_fault=True, count=2)
    ), fault


@pytest.mark.parametrize(
    ("optimizer", "sees_sums"), [("adamw", False), ("lion", False), ("rmsprop", True)]
)
def test_gradients_never_reset_are_found(optimizer: str, sees_sums: bool, tmp_path: Path) -> None:
    """A hook that knows the optimiser sees sums, here clipped ones; otherwise updates show them."""
    for seed in seeds_of("tuning", 0, 2000):
        drawn, _ = draw(seed)
        kind = drawn.optimizer, drawn.registers, drawn.clips, drawn.accumulation
        if drawn.family == "perceptron" and kind == (optimizer, sees_sums, sees_sums, 1):
            break
    found = run(seed, tmp_path, "^never_reset$", is_fault=True)
    assert found is not None
    assert "accumulating" in [each.check for each in found.found], found.drawn


def test_one_batch_again_and_again_is_no_sum_of_gradients(tmp_path: Path) -> None:
    for seed in (4014, 4143):  # regressions, whose gradients fall smoothly
        found = run(seed, tmp_path, "^repeated_batches$", is_fault=True)
        assert found is not None
        assert {each.rule for each in found.found} & {"UnchangedTensor", "UpdateNotApplied"} == {
            "UnchangedTensor"
        }


def test_a_loss_above_that_of_a_guess_is_found(tmp_path: Path) -> None:
    found = run(4097, tmp_path, "^rate_too_high$", is_fault=True)
    assert found is not None
    assert any(each.is_expected for each in found.found)
