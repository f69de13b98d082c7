"""Tables of trials as Arrow streams."""

from __future__ import annotations

import json
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from smdebug import _raw
from smdebug._handles import ScanHandle, check, out, text
from smdebug.core.modes import ModeKeys
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.tables.lazy import lazy_frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Path", "RuleLike", "Scan", "as_scan", "paths_of", "scan"]

Path = Union[str, "os.PathLike[str]"]
RuleLike = Union[str, Tuple[str, Mapping[str, object]]]
_Texts = Union[str, Iterable[str], None]


class Scan:
    """A table of trials, read when it is asked for; `scan` makes it.

    It is an Arrow stream for all that know the protocol: ``duckdb.sql("select ... from s")``,
    ``polars.DataFrame(s)``, ``pyarrow.table(s)``.  Each use reads the trials again.  Scans can be
    pickled, and sent to other machines that reach the same paths.
    """

    __slots__ = ("_options", "_table")

    def __init__(self, table: str, options: Sequence[Tuple[str, str]]) -> None:
        self._table = table
        self._options = tuple(options)
        self._handle()  # fails here, not at the first use

    @property
    def table(self) -> str:
        """The name of the table."""
        return self._table

    @property
    def options(self) -> List[Tuple[str, str]]:
        """The options and their values, as `smd_scan_add` takes them."""
        return list(self._options)

    @property
    def schema(self) -> Dict[str, str]:
        """The columns and their types, as Arrow names these: {"step": "int64", ...}.

        Reads nothing.  ``pyarrow.schema(scan)`` and ``polars.Schema(scan)`` work too.
        """
        return {
            name: f"list<{_TYPES[of_items]}>" if of_items else _TYPES[of_column]
            for name, of_column, of_items in _raw.scan_columns(self._handle())
        }

    def _handle(self) -> ScanHandle:
        handle = ScanHandle(out("scan", _raw.smd_scan_new, text(self._table, "table")))
        check(_raw.raw_scan_log(handle))
        for option, value in self._options:
            check(_raw.smd_scan_add(handle, text(option, "option"), text(value, option)))
        return handle

    def __arrow_c_schema__(self) -> object:
        """Returns the types of the columns without looking for trials."""
        return _raw.scan_schema(self._handle())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Opens the stream.  The columns have the types of the table, whatever is requested."""
        return _raw.scan_stream(self._handle())

    def partitions(self) -> List[Scan]:
        """Divides the scan into scans whose rows together are its rows.

        Each reads what one worker of a trial recorded in a thousand steps, or for findings and
        trials, one trial.
        """
        fixed = [each for each in self._options if each[0] not in _OF_PARTITION]
        parts = []
        for path, name, worker, first, end in _raw.scan_partitions(self._handle()):
            place = [("path", path), ("name", name), ("first", str(first))]
            if worker:
                place.append(("worker", worker))
            else:
                place += [each for each in self._options if each[0] == "worker"]
            if end >= 0:
                place.append(("end", str(end)))
            parts.append(Scan(self._table, fixed + place))
        return parts

    def with_options(self, options: Iterable[Tuple[str, object]]) -> Scan:
        """Returns the same scan with further options, as `smd_scan_add` takes them."""
        added = [(name, value if isinstance(value, str) else str(value)) for name, value in options]
        return Scan(self._table, [*self._options, *added])

    def to_arrow(self) -> pa.Table:
        """Reads all rows into a pyarrow.Table.

        Raises
        ------
        ImportError
            If pyarrow is missing; the message says what to install.
        """
        return import_framework("pyarrow", "pyarrow", "Scan.to_arrow()").table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Reads all rows into a pandas.DataFrame.

        Raises
        ------
        ImportError
            If pandas or pyarrow is missing; the message says what to install.
        """
        import_framework("pandas", "pandas pyarrow", "Scan.to_pandas()")
        import_framework("pyarrow", "pandas pyarrow", "Scan.to_pandas()")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Reads all rows into a polars.DataFrame.

        Raises
        ------
        ImportError
            If polars is missing; the message says what to install.
        """
        return import_framework("polars", "polars", "Scan.to_polars()").DataFrame(self)

    def lazy(self) -> pl.LazyFrame:
        """Returns a polars.LazyFrame, which reads the trials when it is collected.

        It reads the columns that the query uses, one partition after the other.  Trials, steps and
        tensors that a filter excludes by plain comparisons are not read.

        Raises
        ------
        ImportError
            If polars is missing; the message says what to install.
        """
        return lazy_frame(self, lambda options: Scan(self._table, options))

    def __reduce__(self) -> Tuple[Any, ...]:
        return Scan, (self._table, self._options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scan):
            return NotImplemented
        return (self._table, self._options) == (other._table, other._options)

    def __hash__(self) -> int:
        return hash((self._table, self._options))

    def __repr__(self) -> str:
        options = ", ".join(
            f"{name}={'...' if name in _SECRETS else repr(value)}" for name, value in self._options
        )
        return f"<Scan of {self._table}: {options}>" if options else f"<Scan of {self._table}>"


# Types by the format strings of Arrow's C data interface.
_TYPES = {
    "u": "string",
    "i": "dictionary",
    "l": "int64",
    "g": "double",
    "tsu:": "timestamp[us]",
    "z": "binary",
}
_SECRETS = frozenset({"s3_access_key", "s3_secret_key", "s3_session_token"})
_OF_PARTITION = frozenset({"path", "name", "trial", "worker", "first", "end"})


def scan(
    paths: Union[Path, Iterable[Path]],
    table: str = "tensors",
    *,
    columns: _Texts = None,
    trials: _Texts = None,
    tensors: _Texts = None,
    regex: _Texts = None,
    collection: Optional[str] = None,
    modes: Union[ModeKeys, str, Iterable[Union[ModeKeys, str]], None] = None,
    workers: _Texts = None,
    first: Optional[int] = None,
    end: Optional[int] = None,
    compute: bool = False,
    rules: Union[RuleLike, Iterable[RuleLike], None] = None,
    profile: Optional[str] = None,
    damage: str = "skip",
    options: Optional[Mapping[str, object]] = None,
) -> Scan:
    """Makes a table of trials.  The conditions narrow its rows together.

    Parameters
    ----------
    paths : str, path, or several
        Trials, folders or buckets that hold trials, or patterns: "runs", "s3://jobs/2026-*".
    table : str
        "tensors": a row for each tensor, step and worker, with its statistics; "scalars": for
        each tensor of one element; "findings": for each finding of rules; "trials": for each
        trial, with its state; "profile_events" and "system_metrics": for each event and sample
        in profiler folders.  docs/tables.md lists the columns.
    columns : str or several, optional
        The columns.  Defaults to all but "value", "bytes", "configuration" and "metadata".
    trials, regex : str or several, optional
        Regular expressions, of which one is found in the trial's, or the tensor's, name.
    tensors, workers : str or several, optional
        Names.
    collection : str, optional
        The collection that holds the tensors.
    modes : ModeKeys or str, or several, optional
        Such as `modes.TRAIN` or "EVAL".
    first, end : int, optional
        Global steps: first <= step < end.
    compute : bool
        Whether statistics that were not saved are computed from saved values; else they are null.
    rules : str, (str, mapping), or several, optional
        For "findings": built-in rules by name, with parameters if wanted.  Defaults to all whose
        defaults suffice.
    profile : str, optional
        "calibrated" (the default), "aws" or "llm": the defaults of the rules, and which there are.
    damage : str
        "skip": what cannot be read is logged and left out.  "fail": reading it raises.
    options : mapping, optional
        Further options of `smd_scan_add`, such as "batch_rows" and "s3_endpoint".

    Raises
    ------
    SMDebugValueError
        If there is no such table, column or rule, or an expression does not compile.
    """
    if collection is not None and not isinstance(collection, str):
        raise SMDebugTypeError(
            f"the collection must be a str, not {type(collection).__name__}; a scan has one"
        )
    given: List[Tuple[str, str]] = [("path", path) for path in paths_of(paths)]
    for name, values in (
        ("column", columns),
        ("trial", trials),
        ("tensor", tensors),
        ("regex", regex),
        ("collection", collection),
        ("worker", workers),
    ):
        given += [(name, value) for value in _several(values, name)]
    given += [("mode", mode) for mode in _modes(modes)]
    for name, number in (("first", first), ("end", end)):
        if number is not None:
            given.append((name, str(number)))
    if compute:
        given.append(("compute", "true"))
    given += [("rule", rule) for rule in _rules(rules)]
    if profile is not None:
        given.append(("profile", profile))
    if damage != "skip":
        given.append(("damage", damage))
    given += [(name, str(value)) for name, value in (options or {}).items()]
    return Scan(table, given)


def paths_of(paths: Union[Path, Iterable[Path]]) -> List[str]:
    """Returns the paths as texts.

    Raises SMDebugValueError if one is empty, SMDebugTypeError for other types.
    """
    several = [paths] if isinstance(paths, (str, os.PathLike)) else _listed(paths, "path")
    for path in several:
        if not isinstance(path, (str, os.PathLike)):
            raise SMDebugTypeError(f"the path must be a str or a path, not {type(path).__name__}")
    listed = [os.fspath(path) for path in several]
    if not all(listed):
        raise SMDebugValueError("the path is empty; name a trial, a folder or a bucket")
    return listed


def _several(values: _Texts, what: str) -> List[str]:
    if values is None:
        return []
    listed = [values] if isinstance(values, str) else _listed(values, what)
    for value in listed:
        if not isinstance(value, str):
            raise SMDebugTypeError(f"the {what} must be a str, not {type(value).__name__}")
    return listed


def _listed(values: Any, what: str) -> List[Any]:
    if not isinstance(values, Iterable):
        raise SMDebugTypeError(
            f"the {what} must be a str, or several, not {type(values).__name__}"
        )
    return list(values)


def _modes(modes: Union[ModeKeys, str, Iterable[Union[ModeKeys, str]], None]) -> List[str]:
    if modes is None:
        return []
    listed = [modes] if isinstance(modes, (str, ModeKeys)) else _listed(modes, "mode")
    return [mode.name if isinstance(mode, ModeKeys) else mode for mode in listed]


def _rules(rules: Union[RuleLike, Iterable[RuleLike], None]) -> List[str]:
    if rules is None:
        return []
    is_one = isinstance(rules, str) or (
        isinstance(rules, tuple) and len(rules) == 2 and isinstance(rules[1], Mapping)
    )
    listed: Any = [rules] if is_one else _listed(rules, "rule")
    return [_rule(rule) for rule in listed]


def _rule(rule: RuleLike) -> str:
    if isinstance(rule, str):
        return rule
    name, parameters = rule
    return f"{name} {json.dumps({key: str(value) for key, value in parameters.items()})}"


def as_scan(
    paths: Union[Path, Iterable[Path], Scan], table: str, conditions: Mapping[str, Any]
) -> Scan:
    """Returns the scan that is given, or makes one.

    Raises
    ------
    SMDebugValueError
        If a scan is given, and a table or conditions too.
    """
    if not isinstance(paths, Scan):
        return scan(paths, table, **conditions)
    given = [f"table={table!r}"] if table not in ("tensors", paths.table) else []
    given += [f"{name}={value!r}" for name, value in conditions.items()]
    if given:
        raise SMDebugValueError(
            f"a scan has its table and conditions; give {', '.join(given)} to smdebug.scan()"
        )
    return paths
