"""Writes, in docs/rules.md and docs/llm_rules.md, the tables of parameters and what to do about
findings, which `smdebug rules --list` prints too:

    rules_page.py [--check]

With --check it writes nothing, and exits with 1 if the tables are out of date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

from smdebug.rules import RuleInfo, builtin_rules

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = (DOCS / "rules.md", DOCS / "llm_rules.md")
# Each table follows its marker and ends at the next empty line.
MARK = re.compile(r"(<!-- parameters of (\w+) -->\n)(?:\|.*\n)*")
# The advice is one line before the marker of its rule.
ADVICE = re.compile(r"(\* \*\*What to do\*\*: ).*(\n(?:(?!#|<!--).*\n)*<!-- parameters of (\w+) -->)")


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def value(text: str) -> str:
    return f"`{cell(text)}`" if text not in ("", "None") else ""


def table(rule: RuleInfo) -> str:
    rows = ["| parameter | aws | calibrated | |", "|---|---|---|---|"]
    for each in rule.parameters:
        aws, ours = value(each.aws), value(each.calibrated)
        ours = "same" if ours == aws and len(ours) > 20 else ours
        rows.append(f"| `{each.name}` | {aws} | {ours} | {cell(each.meaning)} |")
    return "\n".join(rows) + "\n"


def advice() -> Dict[str, str]:
    """Returns what to do about the findings of each rule."""
    command = [sys.executable, "-m", "smdebug", "rules", "--list", "--json"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {rule["name"]: rule["advice"] for rule in json.loads(listed)}


def renewed(pages: List[str]) -> List[str]:
    rules = {rule.name: rule for rule in builtin_rules()}
    there = sorted(match.group(2) for page in pages for match in MARK.finditer(page))
    if there != sorted(rules):
        odd = sorted(set(there) ^ set(rules)) or "one is there twice"
        raise SystemExit(f"{DOCS.name}: sections and rules differ: {odd}")
    texts = advice()
    with_tables = [
        MARK.sub(lambda match: match.group(1) + table(rules[match.group(2)]), page)
        for page in pages
    ]
    there = sorted(match.group(3) for page in pages for match in ADVICE.finditer(page))
    if there != sorted(rules):
        raise SystemExit(f"{DOCS.name}: no single line 'What to do': {sorted(set(rules) - set(there))}")
    return [
        ADVICE.sub(lambda match: match[1] + texts[match[3]] + match[2], page)
        for page in with_tables
    ]


def main() -> int:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    if "--check" in sys.argv:
        return int(pages != renewed(pages))
    for path, text in zip(PAGES, renewed(pages)):
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
