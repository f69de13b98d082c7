"""Prints tables for docs/benchmarks.md.  With SMDEBUG_BENCH_RENEW=1 also updates the page, between
the two comments with the table's name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterable

PAGE = Path(__file__).resolve().parents[2] / "docs/benchmarks.md"


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = ["| " + " | ".join(columns) + " |"]
    lines.append("|" + "---|" * lines[0].count(" | ") + "---|")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def between(name: str, text: str, page: str) -> str:
    """Returns the page with `text` between the comments called `name`."""
    begin, end = f"<!-- bench: {name} -->", f"<!-- /bench: {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    renewed, count = pattern.subn(lambda _: f"{begin}\n{text}\n{end}", page)
    if count != 1:
        raise ValueError(f"{PAGE.name} has {count} places for '{name}', instead of one")
    return renewed


def tell(name: str, text: str) -> None:
    print(text, flush=True)
    if os.environ.get("SMDEBUG_BENCH_RENEW") == "1":
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(between(name, text, page), encoding="utf-8")
