"""The command line of the library: python -m smdebug, and the script smdebug."""

from __future__ import annotations

import os
import sys

from smdebug.core.program import PROGRAM

__all__ = ["main"]

# The commands in Python; the program describes them, and starts Python for them.
_COMMANDS = ("query", "export")


def main() -> None:
    """Becomes the program; does not return."""
    arguments = sys.argv[1:]
    if arguments[:1] and arguments[0] in _COMMANDS and not _asks_for_help(arguments):
        from smdebug.tables.command import run  # the other commands need no Python

        run(arguments)
    sys.stdout.flush()
    try:
        os.execv(PROGRAM, ["smdebug", *arguments])
    except OSError as error:
        sys.exit(f"smdebug: {PROGRAM}: {error.strerror}; build the package with S3, which the program needs")


def _asks_for_help(arguments: list[str]) -> bool:
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "-h" in before or "--help" in before


if __name__ == "__main__":
    main()
