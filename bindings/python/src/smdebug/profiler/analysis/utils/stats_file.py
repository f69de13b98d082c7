"""Reads files of cProfile.

`pstats` reads them with `marshal`, which is not safe against malicious files.  This reader knows the
types that such a file holds, and refuses all others.
"""

from __future__ import annotations

import math
import pstats
import struct
from typing import Any, Dict, List, Tuple

from smdebug.exceptions import SMDebugValueError

__all__ = ["read_stats", "stats_of"]

Function = Tuple[str, int, str]  # file, first line, name
FunctionStats = Tuple[int, int, float, float, Dict[Function, Tuple[int, int, float, float]]]

_IS_REFERENCED = 0x80
_MOST_DEPTH = 8  # a file of cProfile has 4
_MOST_DIGITS = 5  # of 15 bits, of a whole number
_END = object()
_INCOMPLETE = object()
_LITERALS: Dict[bytes, object] = {b"0": _END, b"N": None}


def read_stats(content: bytes) -> Dict[Function, FunctionStats]:
    """Returns the functions of a file with their times.

    Raises
    ------
    SMDebugValueError
        If the content is not that of a file of cProfile.
    """
    try:
        return _checked(_Parser(content).value())
    except (struct.error, IndexError, UnicodeDecodeError, OverflowError, TypeError) as error:
        raise SMDebugValueError(f"not a file of cProfile: {error}") from None


def stats_of(path: str) -> pstats.Stats:
    """Returns the statistics in a file.

    Raises
    ------
    SMDebugValueError
        If it is not a file of cProfile.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        found = read_stats(file.read())
    made = pstats.Stats()
    if found:
        made = pstats.Stats(_Profile(found))  # type: ignore[arg-type]
    made.files = [path]  # type: ignore[attr-defined]
    return made


class _Profile:
    """What `pstats.Stats` takes in place of a profiler."""

    def __init__(self, stats: Dict[Function, FunctionStats]) -> None:
        self.stats = stats

    def create_stats(self) -> None:
        """Does nothing: the statistics are there."""


class _Parser:
    """Reads one value of the types that files of cProfile have."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._references: List[Any] = []

    def value(self, depth: int = 0) -> Any:
        if depth > _MOST_DEPTH:
            raise SMDebugValueError("not a file of cProfile: values are nested too deeply")
        code = self._take(1)[0]
        if not code & _IS_REFERENCED:
            return self._of_type(bytes([code]), depth)
        place = len(self._references)
        self._references.append(_INCOMPLETE)
        value = self._of_type(bytes([code & ~_IS_REFERENCED]), depth)
        self._references[place] = value
        return value

    def _of_type(self, kind: bytes, depth: int) -> Any:
        if kind in _LITERALS:
            return _LITERALS[kind]
        if kind == b"r":
            value = self._references[self._number("<I")]
            if value is _INCOMPLETE:
                raise SMDebugValueError("not a file of cProfile: a value holds itself")
            return value
        if kind == b"{":
            return self._dict(depth)
        if kind in b"()":
            count = self._number("<I") if kind == b"(" else self._take(1)[0]
            if count > len(self._content) - self._at:
                raise SMDebugValueError("not a file of cProfile: it ends too early")
            return tuple(self.value(depth + 1) for _ in range(count))
        if kind in b"il":
            return self._number("<i") if kind == b"i" else self._long()
        if kind == b"g":
            return self._number("<d")
        return self._text(kind)

    def _dict(self, depth: int) -> Dict[Any, Any]:
        found: Dict[Any, Any] = {}
        while True:
            key = self.value(depth + 1)
            if key is _END:
                return found
            found[key] = self.value(depth + 1)

    def _text(self, kind: bytes) -> str:
        if kind in b"zZ":
            return self._take(self._take(1)[0]).decode("ascii")
        if kind in b"aA":
            return self._take(self._number("<I")).decode("ascii")
        if kind in b"ut":
            return self._take(self._number("<I")).decode("utf-8", "surrogatepass")
        raise SMDebugValueError(f"not a file of cProfile: it holds a value of the type {kind!r}")

    def _long(self) -> int:
        count = self._number("<i")
        if abs(count) > _MOST_DIGITS:
            raise SMDebugValueError("not a file of cProfile: a number is too large")
        digits = struct.unpack(f"<{abs(count)}H", self._take(2 * abs(count)))
        value: int = sum(digit << 15 * place for place, digit in enumerate(digits))
        return -value if count < 0 else value

    def _number(self, layout: str) -> Any:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def _take(self, count: int) -> bytes:
        taken = self._content[self._at : self._at + count]
        if len(taken) < count:
            raise SMDebugValueError("not a file of cProfile: it ends too early")
        self._at += count
        return taken


def _checked(value: Any) -> Dict[Function, FunctionStats]:
    """Returns the value if its types are those of a file of cProfile."""
    is_right = isinstance(value, dict) and all(
        _is_function(function)
        and isinstance(stats, tuple)
        and len(stats) == 5
        and _are_numbers(stats[:4])
        and isinstance(stats[4], dict)
        and all(_is_function(caller) and _are_numbers(of) for caller, of in stats[4].items())
        for function, stats in value.items()
    )
    if not is_right:
        raise SMDebugValueError("not a file of cProfile: functions and their times are expected")
    found: Dict[Function, FunctionStats] = value
    return found


def _is_function(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != 3:
        return False
    file, line, name = value
    return isinstance(file, str) and isinstance(line, int) and isinstance(name, str)


def _are_numbers(values: Any) -> bool:
    if not isinstance(values, tuple) or len(values) != 4:
        return False
    calls, times = values[:2], values[2:]
    return all(isinstance(each, int) for each in calls) and all(
        isinstance(each, (int, float)) and math.isfinite(each) for each in times
    )
