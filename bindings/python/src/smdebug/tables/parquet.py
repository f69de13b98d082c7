"""Trials as files of Parquet, in folders by trial, to which later exports add what is new."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from pathlib import Path as FilePath
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)
from urllib.parse import quote, unquote

from smdebug.exceptions import SMDebugValueError
from smdebug.tables.conditions import Option
from smdebug.tables.query import connect, open_source, quoted
from smdebug.tables.scan import Path, Scan, paths_of

__all__ = ["EXPORTED", "Written", "export"]

# Rows of the other tables change while a job runs, so that they cannot be added to.
EXPORTED = ("tensors", "scalars")
_LOCK = ".smdebug-export.lock"
_UNFINISHED = ".unfinished-"
_PATH = "smdebug.path"
# What file systems without links answer.
_WITHOUT_LINKS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP)
_NAME = re.compile(r"(?P<worker>.+)\.(?P<first>\d{12,})-(?P<last>\d{12,})\.parquet")


class Written(NamedTuple):
    """What an export wrote."""

    trials: int
    files: int
    rows: int


class _Part(NamedTuple):
    """What one worker of a trial recorded from a step on."""

    trial: str
    path: str
    worker: str
    first: int
    end: Optional[int]


def export(
    paths: Union[Path, Iterable[Path]],
    folder: Path,
    *,
    tables: Sequence[str] = EXPORTED,
    columns: Optional[Sequence[str]] = None,
    options: Union[Mapping[str, str], Iterable[Option]] = (),
) -> Written:
    """Writes what trials recorded to Parquet: FOLDER/TABLE/trial=NAME/WORKER.FIRST-LAST.parquet.

    A later export to the same folder writes the trials and steps that are new, into new files; no
    file is changed.  A trial keeps its folder, also where the trials that are exported with it make
    its name longer.  A file appears when it is complete.  Of a job that still runs, the last step
    waits for the next export.

    Parameters
    ----------
    paths : str, path, or several
        Trials, folders or buckets that hold trials, or patterns: "runs", "s3://jobs/2026-*".
    folder : str or path
        The local folder to write to.
    tables : sequence of str
        "tensors", "scalars", or both.
    columns : sequence of str, optional
        The columns, besides "trial", which is the folder's name.  Defaults to those of a scan.
    options : mapping, or iterable of (str, str)
        Further options of the scans, as `smd_scan_add` takes them.

    Raises
    ------
    SMDebugValueError
        If the folder holds other columns, or another trial of the same name.
    ImportError
        If DuckDB is missing; the message says what to install.
    """
    given = list(options.items() if isinstance(options, Mapping) else options)
    root = FilePath(_checked(os.fspath(folder), tables))
    with contextlib.closing(connect("smdebug export")) as connection:
        return _export(connection, root, paths_of(paths), tables, columns, given)


def _export(
    connection: Any,
    root: FilePath,
    paths: Sequence[str],
    tables: Sequence[str],
    columns: Optional[Sequence[str]],
    given: List[Option],
) -> Written:
    found = _trials(connection, [("path", path) for path in paths], given)
    root.mkdir(parents=True, exist_ok=True)
    written = []
    with _locked(root):
        for table in tables:
            writer = _Writer(connection, root / table, table, columns, given)
            written.append(writer.write(found))
    return Written(len(found), sum(w[0] for w in written), sum(w[1] for w in written))


def _checked(folder: str, tables: Sequence[str]) -> str:
    for table in tables:
        if table not in EXPORTED:
            raise SMDebugValueError(
                f"the table {table!r} cannot be exported; there are {' and '.join(EXPORTED)}, "
                "and `smdebug query -o` writes the others"
            )
    if "://" in folder:
        raise SMDebugValueError(f"{folder}: an export writes to a local folder only")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise SMDebugValueError(f"{folder}: it exists and is no folder")
    return folder


@contextlib.contextmanager
def _locked(root: FilePath) -> Iterator[None]:
    """Holds the folder, so that one export at a time writes to it."""
    with open(root / _LOCK, "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SMDebugValueError(f"{root}: another export writes to it") from None
        yield


def _trials(
    connection: Any, paths: List[Option], options: List[Option]
) -> Dict[str, Tuple[str, Optional[int]]]:
    """Returns the path of each trial by its name, and the step at which to end if its job runs."""
    columns = ("trial", "path", "state", "last_step")
    fitting = [each for each in options if each[0].startswith("s3_")]
    scan = Scan("trials", [*paths, *fitting, *(("column", name) for name in columns)])
    return {
        name: (path, last if state == "running" else None)
        for name, path, state, last in _rows_of(connection, scan)
    }


def _rows_of(connection: Any, scan: Scan) -> List[Tuple[Any, ...]]:
    source = open_source(connection, "rows_of_scan", scan)
    try:
        return list(connection.execute("select * from rows_of_scan").fetchall())
    except Exception:
        if source.error is not None:
            raise source.error from None
        raise


class _Writer:
    """Writes one table."""

    def __init__(
        self,
        connection: Any,
        root: FilePath,
        table: str,
        columns: Optional[Sequence[str]],
        options: Sequence[Option],
    ) -> None:
        self._connection = connection
        self._root = root
        self._table = table
        wanted = list(columns or Scan(table, []).schema)
        self._columns = [name for name in dict.fromkeys([*wanted, "step"]) if name != "trial"]
        Scan(table, [("column", name) for name in self._columns])  # fails if there is none
        self._options = [each for each in options if each[0] != "compute" or table == "tensors"]

    def write(self, trials: Dict[str, Tuple[str, Optional[int]]]) -> Tuple[int, int]:
        """Returns the number of files and rows."""
        files = rows = 0
        folders = self._folders({name: path for name, (path, _) in trials.items()})
        for name, (path, end) in trials.items():
            folder = folders[name]
            known = self._known(folder, path)
            for worker in self._workers(path, name):
                part = _Part(name, path, worker, known.get(worker, -1) + 1, end)
                count = self._write(folder, part)
                files += count > 0
                rows += count
        return files, rows

    def _folders(self, trials: Mapping[str, str]) -> Dict[str, FilePath]:
        """Returns the folder of each trial.

        A trial has the name that tells it from those exported with it, so an earlier export may
        have written it under another name.
        """
        folders = {name: self._root / f"trial={quote(name, safe='')}" for name in trials}
        new = [name for name, folder in folders.items() if not folder.is_dir()]
        if not new:
            return folders
        others = set(self._root.glob("trial=*")) - set(folders.values())
        exported = {self._path_in(folder): folder for folder in others}
        return {**folders, **{n: exported[trials[n]] for n in new if trials[n] in exported}}

    def _path_in(self, folder: FilePath) -> Optional[str]:
        """Returns the path of the trial that a folder holds."""
        file = next((each for each in folder.iterdir() if _NAME.fullmatch(each.name)), None)
        return None if file is None else self._path_of(file)

    def _path_of(self, file: FilePath) -> Optional[str]:
        facts = self._query(
            f"select decode(value) from parquet_kv_metadata({quoted(str(file))}) "
            f"where decode(key) = '{_PATH}'"
        )
        return str(facts[0][0]) if facts else None

    def _known(self, folder: FilePath, path: str) -> Dict[str, int]:
        """Returns the last exported step of each worker."""
        known: Dict[str, int] = {}
        if not folder.is_dir():
            return known
        for file in sorted(folder.iterdir()):
            if file.name.startswith(_UNFINISHED):
                file.unlink()  # left by an export that was killed
                continue
            match = _NAME.fullmatch(file.name)
            if match is None:
                continue
            if not known:
                self._check(file, path)
            worker = unquote(match["worker"])
            known[worker] = max(known.get(worker, -1), int(match["last"]))
        return known

    def _check(self, file: FilePath, path: str) -> None:
        """Checks that a file is of the same trial, and has the same columns."""
        exported = self._path_of(file)
        if exported is not None and exported != path:
            raise SMDebugValueError(
                f"{file.parent} holds the trial {exported}; export {path} to another folder"
            )
        described = self._query(
            f"describe select * from read_parquet({quoted(str(file))}, hive_partitioning=false)"
        )
        columns = [row[0] for row in described]
        if columns != self._columns:
            raise SMDebugValueError(
                f"{file.parent} holds the columns {', '.join(columns)}; export others to another folder"
            )

    def _workers(self, path: str, name: str) -> List[str]:
        scan = self._scan(path, name, [])
        # A trial that cannot be listed has one part, without a worker: reading it says why.
        listed = (dict(part.options).get("worker", "") for part in scan.partitions())
        return list(dict.fromkeys(listed))

    def _scan(self, path: str, name: str, more: Sequence[Option]) -> Scan:
        place = [("path", path), ("name", name)]
        columns = [("column", column) for column in self._columns]
        return Scan(self._table, [*place, *columns, *self._options, *more])

    def _write(self, folder: FilePath, part: _Part) -> int:
        """Writes the steps of a part to one file, and returns the number of rows."""
        if part.end is not None and part.end <= part.first:
            return 0
        range_of: List[Option] = [("first", str(part.first))]
        if part.worker:
            range_of.append(("worker", part.worker))
        if part.end is not None:
            range_of.append(("end", str(part.end)))
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{_UNFINISHED}{os.getpid()}"
        try:
            self._copy(self._scan(part.path, part.trial, range_of), part.path, unfinished)
            [(count, first, last)] = self._query(
                f"select count(*), min(step), max(step) from "
                f"read_parquet({quoted(str(unfinished))}, hive_partitioning=false)"
            )
            if count > 0:
                worker = quote(part.worker, safe="")
                _finish(unfinished, folder / f"{worker}.{first:012d}-{last:012d}.parquet")
            return int(count)
        finally:
            unfinished.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()  # if nothing is in it

    def _copy(self, scan: Scan, path: str, out: FilePath) -> None:
        source = open_source(self._connection, "rows_of_scan", scan)
        try:
            self._query(
                f"copy (select * from rows_of_scan) to {quoted(str(out))} "
                f"(format parquet, compression zstd, kv_metadata {{'{_PATH}': {quoted(path)}}})"
            )
        except Exception:
            if source.error is not None:
                raise source.error from None
            raise

    def _query(self, sql: str) -> List[Tuple[Any, ...]]:
        return list(self._connection.execute(sql).fetchall())


def _finish(unfinished: FilePath, file: FilePath) -> None:
    """Gives a complete file its name, once it is on the disk."""
    with open(unfinished, "rb") as written:
        os.fsync(written.fileno())
    try:
        os.link(unfinished, file)  # unlike a rename, never in place of another file
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        os.rename(unfinished, file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
