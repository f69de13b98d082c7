"""SQL over the tables of trials, which DuckDB runs."""

from __future__ import annotations

import os
import re
import tempfile
import weakref
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.tables.conditions import Option, narrowing
from smdebug.tables.scan import Path, Scan, paths_of
from smdebug.tables.sql import TABLES, is_column, parse, tables_in, unknown_tables

__all__ = ["Query", "connect", "interrupt_all", "open_source"]

_ROWS_AT_ONCE = 4096
# Options of a scan that only some tables take.
_OF_FINDINGS = frozenset({"rule", "profile"})
_OF_TENSORS = frozenset({"compute"})

Row = Tuple[Any, ...]

_connections: weakref.WeakSet[Any] = weakref.WeakSet()


class _Source:
    """A scan, as an engine reads it, which keeps the error that the engine rewrites."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self.error: Optional[Exception] = None

    def __arrow_c_schema__(self) -> object:
        return self._scan.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        try:
            return self._scan.__arrow_c_stream__(requested_schema)
        except Exception as error:
            self.error = error
            raise


def connect(user: str) -> Any:
    """Returns a connection to an empty DuckDB in memory, which loads nothing from the network and
    sees no variables of Python."""
    duckdb = import_framework("duckdb", "'libsmdebug[sql]'", user)
    connection = duckdb.connect()
    _connections.add(connection)
    for setting in (
        "python_enable_replacements=false",
        "autoinstall_known_extensions=false",
        f"temp_directory={quoted(os.path.join(tempfile.gettempdir(), f'smdebug-{os.getpid()}'))}",
    ):
        connection.execute(f"set {setting}")
    return connection


def interrupt_all() -> None:
    """Ends what any thread computes on a connection."""
    for connection in list(_connections):
        connection.interrupt()


def quoted(text: str) -> str:
    """Returns a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def open_source(connection: Any, name: str, scan: Scan) -> _Source:
    """Makes a scan a table of a connection."""
    # DuckDB reads dictionaries three times as fast, and treats them as texts.
    source = _Source(scan.with_options([("texts", "dictionary")]))
    connection.register(name, source)
    return source


class Query:
    """A SELECT statement over the tables in `TABLES`.

    Parameters
    ----------
    sql : str
        The statement.
    paths : str, path, or several
        Trials, folders or buckets that hold trials, or patterns of such.
    options : iterable of (str, str)
        Further options of the scans, as `smd_scan_add` takes them.

    Raises
    ------
    SMDebugValueError
        If the SQL does not parse, or names a table or column that is not there.
    ImportError
        If DuckDB is missing; the message says what to install.
    """

    def __init__(self, sql: str, paths: Union[Path, Iterable[Path]], options: Iterable[Option] = ()) -> None:
        self._sql = sql
        self._sources: List[_Source] = []
        self._connection = connect("smdebug query")
        statement = parse(self._connection, sql)
        self._tables: Dict[str, Scan] = {}
        common = [("path", path) for path in paths_of(paths)]
        given = list(options)
        for use in tables_in(statement):
            fitting = [each for each in given if _fits(use.table, each[0])]
            columns = [("column", column) for column in use.columns]
            scan = Scan(use.table, [*common, *fitting, *columns])
            scan = scan.with_options(narrowing(fitting, use.conditions))
            self._tables[use.table] = scan
            self._sources.append(open_source(self._connection, use.table, scan))
        self._unknown = unknown_tables(statement)
        self._relation = self._run(lambda: self._connection.sql(sql))

    def close(self) -> None:
        """Closes the connection, and removes its temporary files."""
        self._connection.close()

    @property
    def scans(self) -> Dict[str, Scan]:
        """The scans of the tables that the SQL uses."""
        return dict(self._tables)

    @property
    def columns(self) -> List[str]:
        """The names of the result's columns."""
        return [str(name) for name in self._relation.columns]

    def rows(self) -> Iterator[Sequence[Row]]:
        """Yields the rows of the result, some at a time."""
        result = self._run(lambda: self._connection.execute(self._sql))
        while True:
            some = self._run(lambda: result.fetchmany(_ROWS_AT_ONCE))
            if not some:
                return
            yield some

    def write_parquet(self, path: str) -> None:
        """Writes the result to a file in the format Parquet."""
        self._run(lambda: self._relation.write_parquet(path, compression="zstd"))

    def _run(self, action: Any) -> Any:
        duckdb = import_framework("duckdb", "'libsmdebug[sql]'", "smdebug query")
        try:
            return action()
        except duckdb.Error as error:
            for source in self._sources:
                if source.error is not None:
                    raise source.error from None
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> Exception:
        """Returns DuckDB's error as one sentence."""
        text = str(error)
        missing = re.search(r"Table with name \"?(.+?)\"? does not exist", text)
        if missing and missing[1] in self._unknown:
            try:
                Scan(missing[1], [])
            except (SMDebugValueError, SMDebugTypeError) as better:
                return better
        column = re.search(r'olumn (?:named )?"([^"]+)"', text)
        tables = list(self._tables)
        if column and "Binder Error" in text and tables:
            name = column[1]
            if not name.isidentifier():
                return SMDebugValueError(
                    f'"{name}" is no column; a text is written in single quotes: {quoted(name)}'
                )
            if len(tables) == 1 and not is_column(tables[0], name):
                try:
                    Scan(tables[0], [("column", name)])
                except (SMDebugValueError, SMDebugTypeError) as better:
                    return better
        kind, _, first = text.split("\n")[0].partition(" Error: ")
        return SMDebugValueError(f"the SQL cannot be run: {first or kind}")


def _fits(table: str, option: str) -> bool:
    assert table in TABLES
    if option in _OF_FINDINGS:
        return table == "findings"
    return option not in _OF_TENSORS or table == "tensors"
