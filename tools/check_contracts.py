#!/usr/bin/env python3
"""Fails unless every public function says its threads, its age, and how it fails."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECLARED = re.compile(
    r"/\*(?P<comment>(?:(?!\*/).)*)\*/\s*(?P<kind>SMD_API|SMD_FALLIBLE)\b[^;{]*?\b(?P<name>smd_\w+)\(",
    re.DOTALL,
)
FUNCTION = re.compile(r"^SMD_(?:API|FALLIBLE)\b[^;]*?\b(smd_\w+)\(", re.MULTILINE)


def faults(header: Path) -> list[str]:
    text = header.read_text()
    contracts = {match["name"]: match for match in DECLARED.finditer(text)}
    found = []
    for name in FUNCTION.findall(text):
        contract = contracts.get(name)
        if contract is None:
            found.append(f"{header.name}: {name} has no contract above it")
            continue
        comment = contract["comment"]
        wanted = ["Thread:", "Since:"] + (["Fails:"] if contract["kind"] == "SMD_FALLIBLE" else [])
        missing = [word for word in wanted if word not in comment]
        if missing:
            found.append(f"{header.name}: {name} does not say {' '.join(missing)}")
    return found


def main() -> int:
    headers = sorted((ROOT / "capi/include/smdebug").glob("*.h"))
    found = [fault for header in headers for fault in faults(header)]
    print("\n".join(found) or f"{len(headers)} headers say what every function promises")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
