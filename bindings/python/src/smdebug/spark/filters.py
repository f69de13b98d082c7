"""Filters of Spark as conditions of a scan."""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Optional, Set, Tuple

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from smdebug.tables.conditions import MODES, MOST_STEP
from smdebug.tables.scan import Scan

__all__ = ["push"]

# The column, and the option of the scan, whose values are those of the column.
_OPTIONS = {
    "tensors": {"trial": "trial", "tensor": "tensor", "worker": "worker", "mode": "mode"},
    "scalars": {"trial": "trial", "name": "tensor", "worker": "worker", "mode": "mode"},
    # A row with a problem has no other column, hence Spark evaluates these filters too.
    "findings": {"trial": "trial"},
    "trials": {"trial": "trial"},
    "profile_events": {"trial": "trial", "node": "worker", "name": "tensor"},
    "system_metrics": {"trial": "trial", "node": "worker"},
}
# An option by which other values may be selected already.
_ALSO = {"tensor": "regex"}


def push(scan: Scan, filters: Iterable[Filter]) -> Tuple[Optional[Scan], List[Filter]]:
    """Adds filters to a scan.

    Returns
    -------
    tuple of Scan and list
        The scan, or None if no row passes, and the filters that Spark must evaluate.
    """
    conditions = _Conditions(scan)
    left = [each for each in filters if not conditions.add(each)]
    return conditions.scan(), left


class _Conditions:
    """The values and steps that all filters allow."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._options = dict(scan.options)
        self._allowed: Dict[str, Set[str]] = {}
        self._first = int(self._options.get("first", "0"))
        self._end = int(self._options["end"]) if "end" in self._options else None
        self._has_steps = scan.table in ("tensors", "scalars")

    def add(self, given: Filter) -> bool:
        """Adds a filter.  Returns False if Spark must evaluate it."""
        attribute: Tuple[str, ...] = getattr(given, "attribute", ())
        if len(attribute) != 1:
            return False
        if attribute[0] == "step" and self._has_steps:
            return self._add_step(given)
        if attribute[0] == "collection" and self._has_steps:
            return self._add_collection(given)
        option = _OPTIONS[self._scan.table].get(attribute[0])
        if option is None or _ALSO.get(option) in self._options:
            return False
        return self._add_values(option, given)

    def _add_values(self, option: str, given: Filter) -> bool:
        if isinstance(given, (EqualTo, EqualNullSafe)):
            values = [given.value]
        elif isinstance(given, In):
            values = list(given.value)
        else:
            return False
        # A scan takes no empty text.
        if not all(isinstance(value, str) and value and "\0" not in value for value in values):
            return False
        if option == "mode" and not MODES.issuperset(values):
            return False
        if option not in self._allowed:
            chosen = {value for name, value in self._scan.options if name == option}
            if option == "trial" and chosen:  # expressions
                return False
            self._allowed[option] = set(map(str.upper, chosen) if option == "mode" else chosen)
            self._allowed[option] = self._allowed[option] or set(values)
        self._allowed[option] &= set(values)
        return True

    def _add_collection(self, given: Filter) -> bool:
        # The column names one collection of a tensor, the option selects by all of them.
        if isinstance(given, EqualTo) and isinstance(given.value, str) and given.value:
            self._options.setdefault("collection", given.value)
        return False

    def _add_step(self, given: Filter) -> bool:
        value = getattr(given, "value", None)
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if isinstance(given, (EqualTo, EqualNullSafe)):
            first, end = value, value + 1
        elif isinstance(given, (GreaterThan, GreaterThanOrEqual)):
            first, end = value + isinstance(given, GreaterThan), None
        elif isinstance(given, (LessThan, LessThanOrEqual)):
            first, end = 0, value + isinstance(given, LessThanOrEqual)
        else:
            return False
        self._first = max(self._first, first)
        if end is not None:
            self._end = end if self._end is None else min(self._end, end)
        return True

    def scan(self) -> Optional[Scan]:
        """Returns the scan under all conditions, or None if no row passes."""
        end = MOST_STEP + 1 if self._end is None else self._end
        if end <= self._first or not all(self._allowed.values()):
            return None
        replaced = {"first", "end", "collection", *self._allowed}
        options = [each for each in self._scan.options if each[0] not in replaced]
        for option, values in self._allowed.items():
            options += [(option, _value(option, value)) for value in sorted(values)]
        if "collection" in self._options:
            options.append(("collection", self._options["collection"]))
        if self._first > 0:
            options.append(("first", str(self._first)))
        if end <= MOST_STEP:
            options.append(("end", str(end)))
        return Scan(self._scan.table, options)


def _value(option: str, value: str) -> str:
    return rf"\A{re.escape(value)}\Z" if option == "trial" else value
