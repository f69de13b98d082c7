"""What tests that compile the library again know of the main build, to find its objects in ccache."""

import os
import re
from pathlib import Path

BUILD = Path(os.environ.get("SMDEBUG_BUILD", Path(__file__).resolve().parents[1] / "build"))


def in_groups():
    """The setting of CMake, and its value, by which the main build compiles sources in groups, or
    does not."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search("^(SMDEBUG_UNITY):BOOL=(.*)$", cache, re.MULTILINE).expand(r"\1=\2")
