#!/usr/bin/env python3
"""Fails unless the library exports exactly the functions of its headers.

usage: check_exports.py libsmdebug.so
"""

import re
import subprocess
import sys

from c_headers import ROOT, functions


def exported(library: str) -> dict[str, str]:
    """Returns the version node of each symbol."""
    command = ["nm", "--dynamic", "--defined-only", "--with-symbol-versions", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    symbols = [line.split()[-1] for line in lines if line.strip()]
    return dict(re.split("@+", symbol) for symbol in symbols if "@" in symbol)


def main() -> int:
    wanted = {function.name for function in functions()}
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
