"""Runs `smdebug` as its users do: the program, and python -m smdebug."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from recorded import ROOT

BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
WAYS = {"program": [str(BUILD / "bin/smdebug")], "module": [sys.executable, "-m", "smdebug"]}
SECONDS = 60


def run(folder: Path, *words: object, way: str = "module", **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder.  The program finds the python3 of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*WAYS[way], *map(str, words)], cwd=folder, env={**os.environ, "PATH": path, **variables},
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def output(folder: Path, *words: object, way: str = "module", code: int = 0) -> str:
    """Returns what a command prints; it must exit with `code`, and complain only if it is not 0."""
    done = run(folder, *words, way=way)
    assert done.returncode == code, done.stdout + done.stderr
    assert bool(done.stderr) == (code != 0), done.stderr
    return done.stdout


def complaint(folder: Path, *words: object, code: int, way: str = "module", **variables: str) -> str:
    """Returns the one line that a command prints when it fails with `code`."""
    done = run(folder, *words, way=way, **variables)
    assert (done.returncode, done.stdout) == (code, ""), done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("smdebug: ")
    return line.removeprefix("smdebug: ")
