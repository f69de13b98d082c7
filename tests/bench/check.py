"""Checks that a change made nothing slower: measures as bench.py does, and compares the ratios with
docs/benchmarks.md.  Exits with 1 if a ratio lost more than a quarter twice: slower ratios are
measured again, because the machine may have been busy.
"""

from __future__ import annotations

import os
import statistics
import sys
from typing import Callable

from bench import FIGURES, Round, measure
from page import PAGE, table

LOSS = 0.25
# In these units less is better.  Times depend too much on the machine.
LESS_IS_BETTER = ("x", "x memcpy()")
NO_RATIO = ("ns", "us")

Key = tuple[str, str]  # what, unit


def recorded(page: str) -> dict[Key, float]:
    """Returns the medians in the page's tables, by measurement and unit."""
    figures = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6:
            try:
                figures[cells[0], cells[3]] = float(cells[1])
            except ValueError:
                continue
    return figures


def kept(key: Key, was: float, now: float) -> float:
    """Returns the fraction of a figure that remains; 1 means no loss."""
    return was / now if key[1] in LESS_IS_BETTER else now / was


def compare(known: dict[Key, float], rounds: list[Round], keys: set[Key]) -> set[Key]:
    """Prints the change of each figure, and returns the figures that have lost too much."""
    rows, slower = [], set()
    for what, unit, figure, _ in FIGURES:
        key = (what, unit)
        if key not in keys:
            continue
        now = statistics.median(figure(each) for each in rounds)
        left = kept(key, known[key], now)
        if left < 1 - LOSS:
            slower.add(key)
        rows.append([what, unit, f"{known[key]:.3g}", f"{now:.3g}", f"{left:.2f}",
                     "SLOWER" if key in slower else ""])  # fmt: skip
    print(table(["what", "unit", "recorded", "now", "left", "slower"], rows), flush=True)
    return slower


def check(page: str, measured: Callable[[], list[Round]]) -> int:
    known = recorded(page)
    keys = {(what, unit) for what, unit, _, _ in FIGURES if unit not in NO_RATIO}
    for what, unit in sorted(keys - known.keys()):
        print(f"{PAGE.name} has no row for '{what}' in '{unit}' yet; run make bench with SMDEBUG_BENCH_RENEW=1")
    slower = compare(known, measured(), keys & known.keys())
    if slower:
        print("\nMeasuring the slower figures again:\n")
        slower = compare(known, measured(), slower)
    return 1 if slower else 0


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    sys.exit(check(PAGE.read_text(encoding="utf-8"), measure))
