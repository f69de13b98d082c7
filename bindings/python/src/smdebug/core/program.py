"""The command line of the library, as it comes with the package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PROGRAM"]

PROGRAM = Path(__file__).parent.parent / "bin" / "smdebug"
