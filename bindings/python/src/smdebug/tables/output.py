"""Rows as text: a table, CSV, or JSON with one object a line."""

from __future__ import annotations

import csv
import datetime
import json
import math
import re
import unicodedata
from typing import Any, Callable, Dict, Iterable, Iterator, List, Sequence, TextIO

from smdebug.tables.query import Query, Row

__all__ = ["FORMATS", "write_rows"]

# Widths of a table's columns are those of so many first rows.
_ROWS_MEASURED = 1000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def write_rows(query: Query, out: TextIO, form: str) -> None:
    """Writes the result of a query.

    Parameters
    ----------
    query : Query
        The query.
    out : file
        Where to write.
    form : str
        "table", "csv" or "json".
    """
    FORMATS[form](_unique(query.columns), query.rows(), out)


def _unique(names: Sequence[str]) -> List[str]:
    """Returns the names, with numbers behind those that repeat."""
    known: Dict[str, int] = {}
    result = []
    for name in names:
        known[name] = known.get(name, -1) + 1
        result.append(f"{name}_{known[name]}" if known[name] else name)
    return result


def _write_csv(names: Sequence[str], rows: Iterable[Sequence[Row]], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for some in rows:
        writer.writerows([_plain(value) for value in row] for row in some)


def _plain(value: Any) -> object:
    """Returns a value of CSV; what is not there is empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, dict, tuple)):
        return json.dumps(_jsonable(value), ensure_ascii=False)
    return str(value)


def _write_json(names: Sequence[str], rows: Iterable[Sequence[Row]], out: TextIO) -> None:
    for some in rows:
        for row in some:
            values = dict(zip(names, map(_jsonable, row)))
            out.write(json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n")


def _jsonable(value: Any) -> object:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (list, tuple)):
        return [_jsonable(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _jsonable(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        is_utc = isinstance(value, datetime.datetime) and value.tzinfo is None
        return value.isoformat() + ("Z" if is_utc else "")
    return str(value)


def _write_table(names: Sequence[str], rows: Iterable[Sequence[Row]], out: TextIO) -> None:
    parts: Iterator[Sequence[Row]] = iter(rows)
    first: List[Row] = []
    for some in parts:
        first += some
        if len(first) >= _ROWS_MEASURED:
            break
    cells = [[_cell(value) for value in row] for row in first]
    titles = [name.upper() if name.isidentifier() else _escaped(name) for name in names]
    widths = [max(map(_width, column)) for column in zip(titles, *cells)]
    is_number = [_is_number(column) for column in zip(*first)] or [False] * len(titles)
    for row in [titles, *cells]:
        out.write(_line(row, widths, is_number))
    for some in parts:
        for values in some:
            out.write(_line([_cell(value) for value in values], widths, is_number))


def _is_number(values: Sequence[object]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float}


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    padded = []
    for cell, width, right in zip(cells, widths, is_number):
        blanks = " " * (width - _width(cell))
        padded.append(blanks + cell if right else cell + blanks)
    return "  ".join(padded).rstrip() + "\n"


def _width(text: str) -> int:
    """Returns the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in ("W", "F") for each in text)
    marks = sum(unicodedata.category(each) in ("Mn", "Me", "Cf") for each in text)
    return len(text) + wide - marks


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return _escaped(str(_plain(value)))


def _escaped(text: str) -> str:
    """Returns a text without characters that a terminal obeys."""
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


FORMATS: Dict[str, Callable[[Sequence[str], Iterable[Sequence[Row]], TextIO], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
}
