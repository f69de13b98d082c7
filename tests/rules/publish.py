"""Writes the figures of a claim into docs/accuracy.md and docs/diagnosis.md.

    python tests/rules/generator.py --read part1.jsonl part2.jsonl > claim.txt
    python tests/rules/publish.py claim.txt --first 7022634 --commit 5dccc5e3

Replaces what stands between the comments of the pages, and adds a row to the tables of all claims.
Sentences that count over all claims, and those of docs/rules.md, are for you to renew.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path
from typing import Dict, Optional, Sequence

DOCS = Path(__file__).resolve().parents[2] / "docs"


def block(text: str, name: str) -> str:
    [found] = re.findall(rf"<!-- claim: {name} -->\n(.*?)<!-- /claim: {name} -->", text, re.DOTALL)
    return found


def replaced(text: str, name: str, new: str) -> str:
    return text.replace(block(text, name), new.rstrip("\n") + "\n")


def with_row(text: str, name: str, row: str) -> str:
    """Adds the row, or replaces that of the same seeds."""
    first = row.split("|")[1]
    rows = [each for each in block(text, name).splitlines() if each.split("|")[1] != first]
    return replaced(text, name, "\n".join([*rows, row]))


def of_claim(figures: Dict[str, str], *names: str) -> str:
    """Returns "90.9 / 91.2 % of 176" for shares of the same runs."""
    shares = [figures[name].split("%")[0].replace("100.0", "100") for name in names]
    return f"{' / '.join(shares)} % of {figures[names[0]].rpartition(' of ')[2]}"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claim", type=Path, help="what generator.py printed")
    parser.add_argument("--first", type=int, required=True, help="the first seed")
    parser.add_argument("--commit", required=True, help="the commit of the rules")
    options = parser.parse_args(arguments)
    printed = options.claim.read_text(encoding="utf-8")
    runs, left_out = map(int, re.findall(r"^(\d+) runs; (\d+) healthy", printed, re.MULTILINE)[0])
    tables = [table.strip() for table in re.findall(r"(?:^\|.*\n)+", printed, re.MULTILINE)]
    figures = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", tables[0], re.MULTILINE))
    last = options.first + runs - 1

    page = DOCS / "accuracy.md"
    text = page.read_text(encoding="utf-8")
    hidden = ("first cause", "one of three", "healthy runs without", "seconds a run")
    shown = [row for row in tables[0].splitlines() if not row[2:].startswith(hidden)]
    today = datetime.date.today().isoformat()
    what = (
        f"The last claim has the seeds from {options.first:,} to {last:,} and the rules of commit "
        f"{options.commit} ({today}). To repeat it:\n"
        f"`make measure-rules SET=claim BEGIN={options.first - 7_000_000} RUNS={runs}`."
    )
    for name, new in (
        ("what", what),
        ("figures", "\n".join(shown)),
        ("faults", tables[1]),
        ("healthy", tables[2]),
    ):
        text = replaced(text, name, new)
    found = ("healthy runs silent", "found, middling", "found, gross")
    shares = " | ".join(of_claim(figures, name) for name in found)
    culprit = of_claim(figures, "culprit right").partition(" of ")[0]
    text = with_row(text, "all", f"| {options.first:,} | {shares} | {culprit} |")
    text = re.sub(r"15 %, \d+ in this", f"15 %, {left_out} in this", text)
    page.write_text(text, encoding="utf-8")

    page = DOCS / "diagnosis.md"
    text = page.read_text(encoding="utf-8")
    pairs = [
        of_claim(figures, f"first cause right, {of}", f"one of three right, {of}")
        for of in ("all faults", "gross", "with findings")
    ]
    none = of_claim(figures, "healthy runs without a diagnosis")
    row = f"| {options.first:,} | {' | '.join(pairs)} | {none} |"
    page.write_text(with_row(text, "causes", row), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
