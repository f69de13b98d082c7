#!/usr/bin/env python3
"""Fails unless the library exports the functions of its headers, and nothing else.

usage: check_exports.py libsmdebug.so
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTION = re.compile(r"^SMD_(?:API|FALLIBLE)\b[^;]*?\b(smd_\w+)\(", re.MULTILINE)


def declared() -> set[str]:
    headers = (ROOT / "capi/include/smdebug").glob("*.h")
    return {name for header in headers for name in FUNCTION.findall(header.read_text())}


def exported(library: str) -> dict[str, str]:
    """Version nodes by symbol."""
    command = ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    symbols = [line.split()[-1] for line in lines if line.strip()]
    return dict(re.split("@+", symbol) for symbol in symbols if "@" in symbol)


def main() -> int:
    wanted = declared()
    found = exported(sys.argv[1])
    nodes = set(re.findall(r"^(SMD_\S+)\s*\{", (ROOT / "capi/smdebug.map").read_text(), re.MULTILINE))
    faults = [f"{name}: declared, not exported" for name in sorted(wanted - found.keys())]
    faults += [f"{name}: exported, not declared" for name in sorted(found.keys() - wanted - nodes)]
    faults += [
        f"{name}: in the node {node}, which smdebug.map does not name"
        for name, node in sorted(found.items())
        if name in wanted and node not in nodes
    ]
    print("\n".join(faults) or f"{len(wanted)} functions are declared and exported, nothing else")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
