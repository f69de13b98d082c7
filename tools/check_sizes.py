#!/usr/bin/env python3
"""Fails if a source, a header or a function is too long to read at once."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("bindings", "capi", "cli", "cpp_impl", "examples", "tests", "tools")
SOURCES = (".c", ".cc", ".go", ".h", ".hpp", ".i", ".java", ".py")
HEADERS = (".h", ".hpp")
GENERATED = "bindings/go/internal/raw/raw"  # by SWIG
MOST_LINES, MOST_HEADER_LINES, MOST_FUNCTION_LINES = 599, 249, 50

# A table, and the dense script that checks the golden trials.
NOT_CHECKED = ("tests/unit/format/golden_records.h", "tests/golden/check_fixtures.py")

# What may contain braces that are none of the language, and lines of the preprocessor.
OPAQUE = re.compile(
    r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/'
    r"|^\s*#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)
# The block of a type, of a value, or of a directive of SWIG is no function.
OTHER = re.compile(
    r"\s*(?:namespace|class|struct|enum|union|extern)\b(?!.*\()|(?:(?!operator)[^(])*=|.*%\s*$",
    re.DOTALL,
)


def functions_in_braces(text: str) -> Iterator[tuple[int, int]]:
    """Yields the first and the last line of each function of C or C++."""
    code = OPAQUE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    head, opened = 0, []  # where the declaration begins; for each open block, its function
    for found in re.finditer(r"[{};]", code):
        at = found.start()
        if found[0] == "{":
            declaration = code[head:at]
            inside = bool(opened) and opened[-1] is not None
            is_function = not inside and "(" in declaration and not OTHER.match(declaration)
            begin = head + len(declaration) - len(declaration.lstrip())
            opened.append(begin if is_function else -1 if inside else None)
        elif found[0] == "}" and opened:
            begin = opened.pop()
            if begin is not None and begin >= 0:
                yield code.count("\n", 0, begin) + 1, code.count("\n", 0, at) + 1
        head = at + 1


def functions_in_python(text: str) -> Iterator[tuple[int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(isinstance(each, ast.ClassDef) for each in node.body):
                continue  # the methods of that class are checked
            # The documentation of parameters is no code.
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                yield body[0].lineno, body[-1].end_lineno or 0


def faults(name: str) -> list[str]:
    path = ROOT / name
    text = path.read_text()
    # The example at the end of a public header says nothing new.
    lines = text.split("\n/* Example: ")[0].count("\n")
    most = MOST_HEADER_LINES if path.suffix in HEADERS else MOST_LINES
    found = [f"{name}: {lines} lines, the most is {most}"] if lines > most else []
    functions: Iterator[tuple[int, int]] = iter(())
    if path.suffix == ".py":
        functions = functions_in_python(text)
    elif path.suffix in (".c", ".cc", ".h", ".hpp", ".i"):
        functions = functions_in_braces(text)
    for first, last in functions if name not in NOT_CHECKED else ():
        if (length := last - first + 1) > MOST_FUNCTION_LINES:
            found.append(f"{name}:{first}: {length} lines, the most is {MOST_FUNCTION_LINES}")
    return found


def main() -> int:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *FOLDERS]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.splitlines() if name.endswith(SOURCES)]
    names = [n for n in names if not n.startswith(GENERATED) and (ROOT / n).exists()]
    found = [fault for name in names for fault in faults(name)]
    print("\n".join(found) or f"{len(names)} files are short enough")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
