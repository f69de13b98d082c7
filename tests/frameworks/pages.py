"""Runs the Python code of a documentation page in the environment of its framework."""

from __future__ import annotations

import sys
from pathlib import Path

from snippets import ROOT, blocks, run, run_python


def run_page(name: str, folder: Path) -> None:
    """Runs each code block of docs/<name> alone, in a folder of its own."""
    page = ROOT / "docs" / name
    found = blocks(page, "python")
    assert found
    for line, text in found:
        run_python(sys.executable, page, line, text, folder / f"line_{line}")


def run_script(script: Path, folder: Path, *arguments: str) -> str:
    """Returns the output of a script that runs in a folder."""
    return run([sys.executable, script, *arguments], folder)
