"""docs/packages.md says where what was tried: the table that the tests before this one make."""

from __future__ import annotations

import os
import re

from roots import ROOT
from systems import ARCHITECTURES, SYSTEMS, TRIED

PAGE = ROOT / "docs/packages.md"
PACKAGES = ["archive", "wheel", "jar", "Go module"]


def cell(system, package):
    """What the strongest tests were, by architecture."""
    words = []
    for architecture in ARCHITECTURES:
        ways = {way for row in TRIED if row[:3] == (system, package, architecture) for way in row[3:]}
        words.append("ran" if "ran" in ways else max(ways - {"symbols"}, default="symbols" if ways else "–"))
    return words[0] if len(set(words)) == 1 else f"x86-64: {words[0]}; ARM: {words[1]}"


def table():
    lines = [f"| system | glibc | {' | '.join(PACKAGES)} |", "|---" * (len(PACKAGES) + 2) + "|"]
    for system in SYSTEMS:
        cells = " | ".join(cell(system.name, package) for package in PACKAGES)
        lines.append(f"| {system.name} | {system.glibc[0]}.{system.glibc[1]} | {cells} |")
    return "\n".join(lines) + "\n"


def test_the_page_has_the_table():
    """Needs all tests of this folder; SMDEBUG_RENEW_DOCS=1 writes it."""
    text = PAGE.read_text(encoding="utf-8")
    [written] = re.findall(r"^\| system \| glibc .*?\n(?=\n)", text, re.DOTALL | re.MULTILINE)
    if os.environ.get("SMDEBUG_RENEW_DOCS"):
        PAGE.write_text(text.replace(written, table()), encoding="utf-8")
    else:
        assert written == table()
