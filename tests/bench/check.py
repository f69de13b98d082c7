"""Whether a change has made something slower: measures what bench.py does, and compares its ratios
with those that docs/performance.md has.  Ends with 1 if one has lost more than a quarter.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from bench import FIGURES, measure

PAGE = Path(__file__).resolve().parents[2] / "docs/performance.md"
LOSS = 0.25
# Of these units less is better; nanoseconds say more about the machine.
LESS_IS_BETTER = "x"
NO_RATIO = "ns"


def recorded() -> dict[tuple[str, str], float]:
    """The medians of the page's tables, by what and unit."""
    figures = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6:
            try:
                figures[cells[0], cells[3]] = float(cells[1])
            except ValueError:
                continue
    return figures


def main() -> int:
    known = recorded()
    rounds = measure()
    slower = 0
    print("| what | unit | recorded | now | |\n|---|---|---|---|---|")
    for what, unit, figure, _ in FIGURES:
        if unit == NO_RATIO:
            continue
        was = known[what, unit]
        now = statistics.median(figure(each) for each in rounds)
        part = was / now if unit == LESS_IS_BETTER else now / was
        is_slower = part < 1 - LOSS
        slower += is_slower
        print(f"| {what} | {unit} | {was:.3g} | {now:.3g} | {'SLOWER' if is_slower else ''} |")
    return 1 if slower else 0


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    sys.exit(main())
