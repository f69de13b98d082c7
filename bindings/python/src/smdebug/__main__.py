"""The command line of the library: python -m smdebug, and the script smdebug."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Becomes the program; does not return."""
    program = Path(__file__).parent / "bin" / "smdebug"
    sys.stdout.flush()
    try:
        os.execv(program, ["smdebug", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"smdebug: {program}: {error.strerror}; the package was built without it")


if __name__ == "__main__":
    main()
