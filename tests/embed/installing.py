"""What the tests of the packages share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from main_build import BUILD  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
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


def copy_of_sources(folder):
    """A copy from which the way to a build folder is always the same one, and so are the objects:
    they are found in the cache of compiled ones, whichever folder the tests run in."""
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
    return shutil.copytree(ROOT, folder, ignore=ignored, symlinks=True)


def compile_library(build, sources, *targets):
    """Compiles, which takes long; by way of ccache where that is there."""
    command = ["cmake", "--build", build, "-j", str(os.cpu_count() or 1), *targets]
    run(command, build, COMPILING, CCACHE_BASEDIR=sources, CCACHE_NOHASHDIR=1)


def first_block(page, language):
    """The first program in that language on a page of the documentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE).group(1)
