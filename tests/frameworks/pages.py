"""Runs the Python code of a documentation page in the environment of its framework."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable, Sequence

from snippets import ROOT, blocks, run, run_python


def run_page(name: str, folder: Path, without: Sequence[str] = ()) -> None:
    """Runs each code block of docs/<name> alone, in a folder of its own.

    Leaves out the blocks that import a package in `without`, which another environment has.
    """
    _run_blocks(ROOT / "docs" / name, folder, lambda text: not _imports(text, without))


def run_readme(package: str, folder: Path) -> None:
    """Runs each code block of README.md that imports a package, alone, in a folder of its own."""
    _run_blocks(ROOT / "README.md", folder, lambda text: _imports(text, [package]))


def _imports(text: str, packages: Sequence[str]) -> bool:
    return any(re.search(rf"import {package}\b", text) for package in packages)


def _run_blocks(page: Path, folder: Path, is_meant: Callable[[str], bool]) -> None:
    found = [(line, text) for line, text in blocks(page, "python") if is_meant(text)]
    assert found
    for line, text in found:
        run_python(sys.executable, page, line, text, folder / f"line_{line}")


def run_script(script: Path, folder: Path, *arguments: str) -> str:
    """Returns the output of a script that runs in a folder."""
    return run([sys.executable, script, *arguments], folder)
