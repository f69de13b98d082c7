#!/usr/bin/env python3
"""Joins sources, so that one compiler call reads their headers once: unity_groups.py OUTPUT FILES...

Writes OUTPUT_0.cc and so on, and prints all sources to compile instead of FILES.  A name that a source
keeps to itself, in an unnamed namespace, gets a number where another source of the group has that word.
Such a name must not be used with the namespace around it, nor belong to functions of a header too: then
the compiler misses one of them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LARGEST = 24  # sources: more would take too much memory, and leave processors without work

# A local name of one source may be a name that another keeps to itself; and GCC takes all but the file
# that it is called for as headers, which should not use unnamed namespaces.
NO_WARNINGS = """#pragma GCC diagnostic ignored "-Wshadow"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""

NO_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "operator", "alignas", "noexcept", "decltype",
            "defined", "static_assert", "endif"}  # fmt: skip
# What stays as it is: comments, literals, included files, and names that another name qualifies.
KEPT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bR"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'"""
    r"""|^[ ]*\#[ ]*include[^\n]*|(?:\.|->|::)\s*\w+""",
    re.DOTALL | re.MULTILINE,
)
WORD = re.compile(r"\b[A-Za-z_]\w*")


def unnamed_namespaces(source: str) -> list[str]:
    """What is in them, with {} for each body but that of an enum, whose names are the namespace's too."""
    bodies = []
    for match in re.finditer(r"\bnamespace\s*\{", source):
        depth, position, kept, start = 1, match.end(), [], 0
        while depth and position < len(source):
            letter = source[position]
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if depth == 2 and letter == "{":
                start = position
            if depth == 1 and letter == "}":
                head = re.split(r"[;}]", "".join(kept))[-1]
                is_enum = re.match(r"\s*enum\s+(?!class)", head)
                kept.append("{} " + (source[start + 1 : position].replace(",", ";") + ";" if is_enum else ""))
            elif depth == 1:
                kept.append(letter)
            position += 1
        bodies.append("".join(kept))
    return bodies


def names_of(source: str) -> set[str]:
    """The names that a source keeps to itself."""
    names = set()
    for body in unnamed_namespaces(KEPT.sub(" ", source)):
        for declaration in re.split(r";|\{\}", body):
            if re.match(r"\s*using\b(?!.*=)", declaration, re.DOTALL):
                continue
            found = (
                re.match(r"\s*(?:template\s*<.*?>\s*)?(?:struct|class|enum(?:\s+class)?)\s+(\w+)", declaration, re.DOTALL)
                or re.match(r"\s*(?:template\s*<.*?>\s*)?using\s+(\w+)\s*=", declaration, re.DOTALL)
                or re.match(r"[^(=]*?([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*=", declaration)
                or re.search(r"([A-Za-z_]\w*)\s*\(", declaration)
                or re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", declaration)
            )  # fmt: skip
            names |= {found.group(1)} if found else set()
    return names - NO_NAMES


def renamed(source: str, names: set[str], number: int) -> str:
    """The source, with a number after those names."""
    pattern = re.compile(f"(?P<kept>{KEPT.pattern})|{WORD.pattern}", KEPT.flags)
    return pattern.sub(lambda found: f"{found[0]}_{number}" if not found["kept"] and found[0] in names else found[0],
                       source)  # fmt: skip


def with_paths(source: str, folder: Path) -> str:
    """The source, where headers of its own folder are named by their paths."""
    return re.sub(r'(#include ")([^"]+)', lambda found: found[1] + (str(folder / found[2]) if (folder / found[2]).exists()
                                                                    else found[2]), source)  # fmt: skip


def joined(paths: list[Path]) -> str:
    sources = [path.read_text(encoding="utf-8") for path in paths]
    words = [set(WORD.findall(source)) for source in sources]
    parts = []
    for number, (path, source) in enumerate(zip(paths, sources)):
        others = set().union(*(word for other, word in enumerate(words) if other != number))
        own = renamed(with_paths(source, path.parent), names_of(source) & others, number)
        parts.append(f'#line 1 "{path}"\n{own}')
    return NO_WARNINGS + "".join(parts)


def main(output: str, files: list[str]) -> None:
    paths = [Path(file) for file in files]
    # Such a source includes itself, once for each kind of processor.
    alone = [path for path in paths if "HWY_TARGET_INCLUDE" in path.read_text(encoding="utf-8")]
    rest = [path for path in paths if path not in alone]
    written = []
    groups = -(-len(rest) // LARGEST)
    for number in range(groups):
        path, text = Path(f"{output}_{number}.cc"), joined(rest[number::groups])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        written.append(path)
    print(*alone, *written, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
