"""Writes a page that has only the charts of reports, for tests that draw their own data."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "cli/report"


def scripts():
    """Returns the scripts of the charts, in the order in which the build embeds them."""
    listed = re.search(r"^set\(charts (.*?)\)", (FOLDER / "CMakeLists.txt").read_text(), re.DOTALL | re.MULTILINE)[1]
    return [FOLDER / "charts" / name for name in listed.split()]


def write_page(path):
    style = (FOLDER / "charts/charts.css").read_text() + (FOLDER / "page/style.css").read_text()
    script = "".join(each.read_text() for each in scripts())
    path.write_text(
        f"<!DOCTYPE html><html lang=en><meta charset=utf-8>"
        f"<meta name=viewport content='width=device-width'><title>charts</title><style>{style}</style>"
        f"<body><main><h1>Charts</h1><div id=place class=card></div></main><script>{script}</script></body></html>",
        encoding="utf-8",
    )
    return path
