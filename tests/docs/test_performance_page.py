"""The page of figures is what `make bench-check` compares with."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import check  # noqa: E402


def test_every_figure_that_is_measured_is_recorded():
    measured = {(what, unit) for what, unit, _, _ in check.FIGURES}
    assert measured == measured & set(check.recorded(check.PAGE.read_text(encoding="utf-8")))
