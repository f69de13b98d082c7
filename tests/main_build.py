"""The main build and the version: what tests of packages know of them.  Those that compile the library again
find its objects in ccache."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SMDEBUG_BUILD", ROOT / "build"))
_PROJECT = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
VERSION = re.search(r"^project\(smdebug VERSION ([\d.]+)", _PROJECT, re.MULTILINE).group(1)


def in_groups():
    """The setting of CMake, and its value, by which the main build compiles sources in groups, or
    does not."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search("^(SMDEBUG_UNITY):BOOL=(.*)$", cache, re.MULTILINE).expand(r"\1=\2")
