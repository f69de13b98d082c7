"""Pieces of HTML for notebooks.  Names come from files, so everything is escaped."""

from __future__ import annotations

import html
import unicodedata
from typing import Iterable, List, Sequence, Tuple

__all__ = ["Html", "card", "facts", "join", "printable", "table"]

# The longest name that is shown whole.
_LONGEST = 120

_CELL = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;white-space:nowrap"
_WIDE = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;min-width:16em"


class Html(str):
    """Text that is HTML already; other text is escaped."""

    __slots__ = ()


def printable(text: str, longest: int = _LONGEST) -> str:
    """Returns text with control characters as \\x1b, and "…" instead of the middle if it is long."""
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    # Cf holds the characters that change the direction of text.
    if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return f"\\x{ord(letter):02x}"
    return letter


def join(*pieces: object) -> Html:
    """Returns the pieces as one; those that are not Html are escaped."""
    return Html("".join(map(_piece, pieces)))


def _piece(piece: object) -> str:
    return piece if isinstance(piece, Html) else html.escape(printable(str(piece), 2000))


def card(title: object, subtitle: object, *parts: Html) -> str:
    """Returns a card with a title and parts below."""
    heading = join(
        Html("<div><strong>"), title, Html('</strong> <span style="opacity:.7">'), subtitle,
        Html("</span></div>"),
    )  # fmt: skip
    style = "max-width:72em;overflow-x:auto;line-height:1.4"
    return f'<div class="smdebug" style="{style}">{heading}{"".join(parts)}</div>'


def facts(pairs: Iterable[Tuple[str, object]]) -> Html:
    """Returns names with their values, one pair per line."""
    rows = [
        (join(Html('<span style="opacity:.7">'), name, Html("</span>")), value)
        for name, value in pairs
    ]
    return table((), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """Returns a table.  A column whose name ends with "…" may break lines."""
    wide = [name.endswith("…") for name in head]
    lines: List[str] = []
    if head:
        names = [name.removesuffix("…") for name in head]
        lines.append(_row("th", names, [False] * len(names)))
    for row in rows:
        lines.append(_row("td", row, wide or [False] * len(row)))
    style = "border-collapse:collapse;margin:4px 0;background:none"
    return Html(f'<table style="{style}">{"".join(lines)}</table>')


def _row(tag: str, cells: Sequence[object], wide: Sequence[bool]) -> str:
    pieces = []
    for cell, is_wide in zip(cells, wide):
        style = _WIDE if is_wide else _CELL
        pieces.append(f'<{tag} style="{style}">{_piece(cell)}</{tag}>')
    return f'<tr style="background:none">{"".join(pieces)}</tr>'
