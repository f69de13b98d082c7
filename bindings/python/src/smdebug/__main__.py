"""The command line of the library: python -m smdebug, and the script smdebug."""

from __future__ import annotations

import os
import sys

from smdebug.core.program import PROGRAM

__all__ = ["main"]


def main() -> None:
    """Becomes the program; does not return."""
    sys.stdout.flush()
    try:
        os.execv(PROGRAM, ["smdebug", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"smdebug: {PROGRAM}: {error.strerror}; the package was built without it")


if __name__ == "__main__":
    main()
