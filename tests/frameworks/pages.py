"""Runs the Python of a page of the documentation, in the environment of its framework."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^(\s*)print\((.+)\)  # (.+)$", re.MULTILINE)
HELPER = """
def _expect(expected, *values):
    printed = " ".join(map(str, values))
    assert printed == expected, f"prints {printed!r} where the page says {expected!r}"
"""


def run_page(name: str, folder: Path) -> None:
    """Runs the blocks of docs/<name> as one program; `print(...)  # text` must print that."""
    blocks = FENCE.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert blocks
    program = "\n".join(PRINTED.sub(r"\1_expect(r'''\3''', \2)", block) for block in blocks)
    (folder / "page.py").write_text(HELPER + program, encoding="utf-8")
    run_script(folder / "page.py", folder)


def run_script(script: Path, folder: Path, *arguments: str) -> str:
    """What a script prints, run in a folder."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
