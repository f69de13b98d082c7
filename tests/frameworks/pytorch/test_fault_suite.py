"""Rules find the faults of real trainings, and rarely report anything on healthy ones.

Runs a subset of tests/rules/suite.py: every second fault and healthy scenario with one of the
architectures that were not used to choose the calibrated defaults; with WHOLE=1, all with two.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import List

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rules"))

import torch  # noqa: E402
from architectures import HELD_OUT  # noqa: E402
from faults import FAULTS  # noqa: E402
from healthy import HEALTHY  # noqa: E402
from suite import Case, RunResult, figures_of, run  # noqa: E402

SEED = 104
EVERY, EACH = (1, 2) if os.environ.get("WHOLE") else (2, 1)  # of the kinds; architectures of each

pytestmark = pytest.mark.timeout(900)


def cases() -> List[Case]:
    """Returns cases; each kind has other architectures than the kind before it."""
    chosen = []
    for place, kind in enumerate([*FAULTS, *HEALTHY]):
        if place % EVERY != 0:
            continue
        fitting = [each for each in HELD_OUT if kind.fits(each)]
        for i in range(min(EACH, len(fitting))):
            chosen.append(Case(kind, fitting[(place + i) % len(fitting)], SEED))
    return chosen


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> List[RunResult]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("faults")
    try:
        return [each for case in cases() for each in run(case, folder, ["calibrated"])]
    finally:
        torch.set_num_threads(threads)


def test_faults_are_found_and_healthy_runs_are_spared(results: List[RunResult]) -> None:
    figures = figures_of(results)
    mistakes = [
        (each.case, finding.rule, finding.message)
        for each in results
        for finding in each.findings
        if not finding.is_right
    ]
    missed = [each.case for each in results if each.is_fault and not each.expected]
    assert figures.precision >= 0.95, mistakes
    assert figures.recall >= 0.90, missed
    assert figures.culprit >= 0.90


def test_live_findings_are_those_of_the_stored_trial(results: List[RunResult]) -> None:
    live = [each for each in results if each.live_is_stored is not None]
    assert len(live) > len(results) / 2
    assert [each.case for each in live if not each.live_is_stored] == []
