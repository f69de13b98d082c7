#!/usr/bin/env python3
"""Writes files that include several sources, so that one compiler call reads their headers once:
unity_groups.py OUTPUT FOLDER FILES...

The files are OUTPUT_0.cc and so on, and name the sources as seen from FOLDER, which is in the search
path.  A source that has a word which another keeps to itself, in an unnamed namespace or as a macro,
is in another group.  Prints all sources to compile instead of FILES.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

NO_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "operator", "alignas", "noexcept", "decltype"}
LARGEST = 40  # files: more would take too much memory, and leave processors without work


# A local name of one source may be a name that another source keeps to itself.
NO_SHADOWS = '#pragma GCC diagnostic ignored "-Wshadow"\n'


def without_texts(source: str) -> str:
    """The source without comments and the contents of literals."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)
    source = re.sub(r'R"(\w*)\(.*?\)\1"', '""', source, flags=re.DOTALL)
    source = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', source)
    return re.sub(r"'(?:\\.|[^'\\])'", "0", source)


def unnamed_namespaces(source: str) -> list[str]:
    """What is in them, with {} for each body."""
    bodies = []
    for match in re.finditer(r"\bnamespace\s*\{", source):
        depth, position, kept = 1, match.end(), []
        while depth and position < len(source):
            letter = source[position]
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if depth == 1:
                kept.append("{} " if letter == "}" else letter)
            position += 1
        bodies.append("".join(kept))
    return bodies


def names_of(path: Path) -> set[str]:
    """The names that a file keeps to itself."""
    source = without_texts(path.read_text(encoding="utf-8"))
    names = {f"#{name}" for name in re.findall(r"^\s*#\s*define\s+(\w+)", source, re.MULTILINE)}
    for body in unnamed_namespaces(source):
        for declaration in re.split(r";|\{\}", body):
            found = (
                re.match(r"\s*(?:template\s*<.*?>\s*)?(?:struct|class|enum(?:\s+class)?|using)\s+(\w+)", declaration,
                         re.DOTALL)
                or re.match(r"[^(=]*?([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*=", declaration)
                or re.search(r"([A-Za-z_]\w*)\s*\(", declaration)
                or re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", declaration)
            )  # fmt: skip
            names |= {found.group(1)} if found else set()
    return names - NO_NAMES


def is_alone(source: str) -> bool:
    """A source that includes itself, once for each kind of processor; or whose own enumerators may have
    the names of those in another's headers."""
    enums = (re.search(r"\benum\s+(?!class)[\w\s:]*$", body) for body in
             (part for each in unnamed_namespaces(without_texts(source)) for part in each.split("{} ")))  # fmt: skip
    return "HWY_TARGET_INCLUDE" in source or any(enums)


def write(path: Path, text: str) -> None:
    """Keeps the time of a file that is the same."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(output: str, folder: str, files: list[str]) -> None:
    groups: list[tuple[set[str], set[str], list[str]]] = []
    for file in files:
        path = Path(file)
        source = path.read_text(encoding="utf-8")
        if is_alone(source):
            print(file)
            continue
        names, words = names_of(path), set(re.findall(r"\w+", without_texts(source)))
        for taken, used, members in groups:
            if len(members) < LARGEST and not taken & words and not used & names:
                break
        else:
            taken, used, members = set(), set(), []
            groups.append((taken, used, members))
        taken |= names
        used |= words
        members.append(path.relative_to(folder).as_posix())
    for number, (_, _, members) in enumerate(groups):
        path = Path(f"{output}_{number}.cc")
        write(path, NO_SHADOWS + "".join(f'#include "{member}"\n' for member in members))
        print(path)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
