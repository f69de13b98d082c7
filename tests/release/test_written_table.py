"""docs/packages.md says where what was tried: the tables that the tests before this one make."""

from __future__ import annotations

import os

from roots import ROOT
from systems import ARCHITECTURES, SYSTEMS, TRIED

PAGE = ROOT / "docs/packages.md"
PACKAGES = ["archive", "wheel", "jar", "Go module", "npm", "crate", "Debian packages", "source package"]
HEADINGS = {"x86_64": "### On x86-64", "aarch64": "### On 64-bit ARM"}


def cell(system, package, architecture):
    """What the strongest test was."""
    ways = {way for row in TRIED if row[:3] == (system, package, architecture) for way in row[3:]}
    return "ran" if "ran" in ways else max(ways - {"symbols"}, default="symbols" if ways else "–")


def table(architecture):
    lines = [f"| system | glibc | {' | '.join(PACKAGES)} |", "|---" * (len(PACKAGES) + 2) + "|"]
    for system in SYSTEMS:
        cells = " | ".join(cell(system.name, package, architecture) for package in PACKAGES)
        lines.append(f"| {system.name} | {system.glibc[0]}.{system.glibc[1]} | {cells} |")
    return "\n".join(lines) + "\n"


def test_the_page_has_the_tables():
    """Needs all tests of this folder; SMDEBUG_RENEW_DOCS=1 writes them."""
    text = PAGE.read_text(encoding="utf-8")
    for architecture in ARCHITECTURES:
        before, heading, rest = text.partition(f"{HEADINGS[architecture]}\n\n")
        assert heading
        written, end, after = rest.partition("\n\n")
        text = before + heading + table(architecture) + end[1:] + after
        if not os.environ.get("SMDEBUG_RENEW_DOCS"):
            assert written + "\n" == table(architecture)
    PAGE.write_text(text, encoding="utf-8")
