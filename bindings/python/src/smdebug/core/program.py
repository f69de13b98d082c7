"""The path of the command line program that the package contains."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PROGRAM"]

PROGRAM = Path(__file__).parent.parent / "bin" / "smdebug"
