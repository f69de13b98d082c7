#!/usr/bin/env python3
"""Writes the example at the end of each public header as a C file: header_examples.py FOLDER.

The header is included first, so that the example shows all that it needs besides smdebug.h.
"""

import re
import sys
from pathlib import Path

from c_headers import INCLUDE, paths

EXAMPLE = re.compile(r"^/\* Example: .*?\n \*\n(.*?) \*/$", re.DOTALL | re.MULTILINE)


def example_of(path: Path) -> str:
    [text] = EXAMPLE.findall(path.read_text())
    return re.sub(r"^ \*(?:   )?", "", text, flags=re.MULTILINE)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths():
        name = path.relative_to(INCLUDE)
        text = (
            f'#include "{name}"\n\n#include <inttypes.h>\n#include <smdebug.h>\n#include <stdio.h>\n\n'
            f"{example_of(path)}\n"
        )
        (folder / f"{name.stem}_example.c").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
