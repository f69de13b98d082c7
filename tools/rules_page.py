"""Writes, in docs/all_rules.md, the tables of rules and of their parameters, and what to do about
findings, which `smdebug rules --list` prints too:

    rules_page.py [--check]

With --check it writes nothing, and exits with 1 if the page is out of date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

from smdebug.rules import RuleInfo, builtin_rules

PAGE = Path(__file__).resolve().parents[1] / "docs/all_rules.md"
# Each table follows its marker and ends at the next empty line.
PARAMETERS = re.compile(r"(<!-- parameters of (\w+) -->\n)(?:\|.*\n)*")
INDEX = re.compile(r"(<!-- every rule -->\n)(?:\|.*\n)*")
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


def listed() -> List[Dict[str, str]]:
    """Returns the rules as the program lists them."""
    command = [sys.executable, "-m", "smdebug", "rules", "--list", "--json"]
    rules: List[Dict[str, str]] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return rules


def index(rules: List[Dict[str, str]]) -> str:
    """Returns a table that links to the section of each rule."""
    rows = ["| rule | set | what it finds |", "|---|---|---|"]
    for rule in rules:
        name, of = rule["name"], f"`{rule['set']}`" if rule["set"] else ""
        rows.append(f"| [{name}](#{name.lower()}) | {of} | {cell(rule['summary'])} |")
    return "\n".join(rows) + "\n"


def require_all(found: List[str], rules: Dict[str, RuleInfo], what: str) -> None:
    if sorted(found) != sorted(rules):
        odd = sorted(set(found) ^ set(rules)) or "one is there twice"
        raise SystemExit(f"{PAGE.name}: {what} and rules differ: {odd}")


def renewed(page: str) -> str:
    rules = {rule.name: rule for rule in builtin_rules()}
    require_all([match[2] for match in PARAMETERS.finditer(page)], rules, "sections")
    require_all([match[3] for match in ADVICE.finditer(page)], rules, "lines 'What to do'")
    program = listed()
    texts = {rule["name"]: rule["advice"] for rule in program}
    page = INDEX.sub(lambda match: match[1] + index(program), page)
    page = PARAMETERS.sub(lambda match: match[1] + table(rules[match[2]]), page)
    return ADVICE.sub(lambda match: match[1] + texts[match[3]] + match[2], page)


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(page != renewed(page))
    PAGE.write_text(renewed(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
