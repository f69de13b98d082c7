"""What the tests of the packages share."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
SECONDS = 120
COMPILING = 2400  # seconds: the whole library on two cores that others use as well


def run(command, folder, seconds=SECONDS, **environment):
    """Runs a program that must succeed; returns what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def first_block(page, language):
    """The first program in that language on a page of the documentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE).group(1)
