"""Conditions on rows that a scan checks while it reads, from SQL and from Polars.

An engine filters the rows of a scan itself.  What is added here only lets the scan leave out rows
that the engine would drop, so a condition that is not understood is not an error.
"""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple

__all__ = ["MODES", "MOST_STEP", "Conditions", "Option", "narrowing"]

Option = Tuple[str, str]

# The options of a scan for the columns of each table.  A scan of findings takes no steps, since
# rules also need the steps before; one of trials counts what it reads.
_OF_ROWS: Mapping[str, str] = {
    "trial": "trial",
    "collection": "collection",
    "step": "step",
    "mode": "mode",
    "worker": "worker",
}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "tensors": {**_OF_ROWS, "tensor": "tensor"},
    "scalars": {**_OF_ROWS, "name": "tensor"},
    "findings": {"trial": "trial", "tensor": "tensor", "worker": "worker", "mode": "mode"},
    "trials": {"trial": "trial"},
    "profile_events": {"trial": "trial", "node": "worker", "name": "tensor", "step": "step"},
    "system_metrics": {"trial": "trial", "node": "worker", "name": "tensor"},
}
MODES: FrozenSet[str] = frozenset({"TRAIN", "EVAL", "PREDICT"})
MOST_STEP = 2**63 - 2
_MOST_TEXT = 4096
_MOST_VALUES = 1000


class Conditions:
    """Conditions that all hold, on the columns of one table."""

    def __init__(self, table: str) -> None:
        self._options = _OPTIONS[table]
        self._texts: Dict[str, Sequence[str]] = {}
        self._first = 0
        self._end: Optional[int] = None

    def is_one_of(self, column: str, values: Sequence[object]) -> None:
        """Adds that the column has one of some values."""
        option = self._options.get(column)
        if option == "step":
            numbers = [value for value in values if isinstance(value, int)]
            if len(numbers) == len(values) and numbers:
                self.compare(column, ">=", min(numbers))
                self.compare(column, "<=", max(numbers))
            return
        texts = [value for value in values if isinstance(value, str)]
        is_understood = 0 < len(texts) == len(values) <= _MOST_VALUES
        if option is None or not is_understood or option in self._texts:
            return
        if any(not text or len(text) > _MOST_TEXT or "\0" in text for text in texts):
            return
        if option == "mode" and not MODES.issuperset(texts):
            return
        # A scan knows one collection.
        if option == "collection" and len(texts) != 1:
            return
        self._texts[option] = texts

    def compare(self, column: str, operator: str, value: object) -> None:
        """Adds that the column is "=", "<", "<=", ">" or ">=" a value."""
        if operator == "=" and self._options.get(column) != "step":
            self.is_one_of(column, [value])
        elif self._options.get(column) == "step" and type(value) is int:
            if operator in ("=", ">=", ">"):
                self._first = max(self._first, value + (operator == ">"))
            if operator in ("=", "<=", "<"):
                end = value + (operator != "<")
                self._end = end if self._end is None else min(self._end, end)

    def options(self) -> List[Option]:
        """Returns the options of a scan that reads no row that the conditions exclude, where the
        scan can tell."""
        given: List[Option] = []
        for option, texts in self._texts.items():
            for text in texts:
                given.append((option, f"^{re.escape(text)}$" if option == "trial" else text))
        first = min(self._first, MOST_STEP)
        if first > 0:
            given.append(("first", str(first)))
        if self._end is not None and self._end <= MOST_STEP:
            given.append(("end", str(max(self._end, first))))
        return given


def narrowing(given: Iterable[Option], found: Sequence[Option]) -> List[Option]:
    """Returns those of the found options that let a scan with the given ones read less.

    A scan unites the values of an option, and those of "tensor" and "regex".  So found values of an
    option that is given are left out: the engine drops their rows.  Of steps, the narrower limit holds.
    """
    limits = dict(given)
    taken = set(limits)
    if "regex" in taken:
        taken.add("tensor")
    wanted = dict(found)
    narrower = [each for each in found if each[0] not in taken | {"first", "end"}]
    first = max(int(limits.get("first", 0)), int(wanted.get("first", 0)))
    end = min(int(each["end"]) if "end" in each else MOST_STEP for each in (limits, wanted))
    if "first" in wanted:
        narrower.append(("first", str(first)))
    if "end" in wanted or end < first:
        narrower.append(("end", str(max(first, end))))
    return narrower
