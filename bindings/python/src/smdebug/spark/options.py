"""Options of the data source as those of a scan."""

from __future__ import annotations

import json
from typing import Iterator, List, Mapping, Optional, Tuple

from smdebug.exceptions import SMDebugValueError
from smdebug.tables.scan import Scan

__all__ = ["number_of", "scan_of"]

# Options of `smdebug.scan` that take several values, and their names in a scan.
_SEVERAL = {
    "columns": "column",
    "modes": "mode",
    "paths": "path",
    "regex": "regex",
    "rules": "rule",
    "tensors": "tensor",
    "trials": "trial",
    "workers": "worker",
}
_OF_READERS = frozenset({"maxfilespertrigger", "numpartitions"})


def scan_of(given: Mapping[str, str], columns: Optional[List[str]] = None) -> Scan:
    """Makes the scan of a data source, with these columns if any are given."""
    named = {name.lower(): value for name, value in given.items()}
    options = {name: value for name, value in named.items() if name not in _OF_READERS}
    table = options.pop("table", "tensors")
    if not {"path", "paths"} & options.keys():
        raise SMDebugValueError('the data source "smdebug" needs a path, as .load("s3://jobs/*")')
    if columns is not None:
        options["columns"] = json.dumps(columns)
    return Scan(table, list(_scan_options(options)))


def number_of(options: Mapping[str, str], name: str, default: int) -> int:
    """Returns the number from 1 that an option holds."""
    value = options.get(name)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 2**31):
        raise SMDebugValueError(f"the option {name} is {value!r}; it must be a whole number from 1")
    return int(value)


def _scan_options(options: Mapping[str, str]) -> Iterator[Tuple[str, str]]:
    for name, value in options.items():
        if name not in _SEVERAL:
            yield name, value
            continue
        for each in _list_in(name, value):
            yield _SEVERAL[name], each


def _list_in(name: str, value: str) -> List[str]:
    if not value.startswith("["):
        return [value]
    try:
        values = json.loads(value)
    except ValueError:
        values = None if name not in ("regex", "trials") else [value]
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise SMDebugValueError(f"the option {name} is {value!r}; it must be a JSON list of texts")
    return values
