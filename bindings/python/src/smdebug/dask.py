"""Tables of trials as Dask DataFrames: ``smdebug.dask.read("s3://jobs/*", "scalars")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Sequence, Union

from smdebug._slices import default_tasks, slices
from smdebug.core.utils import import_framework
from smdebug.tables.scan import Path, Scan, as_scan

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd
    import pyarrow as pa

__all__ = ["read"]


def read(
    paths: Union[Path, Iterable[Path], Scan],
    table: str = "tensors",
    *,
    npartitions: Optional[int] = None,
    **conditions: Any,
) -> dd.DataFrame:
    """Returns a table of trials as a Dask DataFrame.

    Its partitions hold adjacent partitions of the scan.  Only the columns that a computation uses
    are read.  Each computation reads the trials again.

    Parameters
    ----------
    paths : str, path, several, or Scan
        As `smdebug.scan` takes them; or a scan, which has its table and conditions.
    table : str
        The table, such as "tensors" or "scalars"; docs/tables.md lists them.
    npartitions : int, optional
        The most partitions of the DataFrame.  Defaults to one for each partition of the scan, or
        for each eight in tables other than "tensors", whose rows are few.
    **conditions
        Conditions and options, as `smdebug.scan` takes them.

    Raises
    ------
    ModuleNotFoundError
        If Dask is not installed.
    SMDebugValueError
        If a scan is given, and a table or conditions too.

    Examples
    --------
    >>> losses = smdebug.dask.read("runs/*", "scalars", tensors="loss")
    >>> losses.groupby("trial")["value"].min().compute()
    """
    frames = import_framework("dask.dataframe", "'libsmdebug[dask]'", "smdebug.dask")
    import_framework("pyarrow", "pyarrow", "smdebug.dask")
    given = as_scan(paths, table, conditions)
    meta = _frame(_schema(given).empty_table())
    parts = given.partitions()
    tasks = slices(parts, npartitions or default_tasks(parts))
    if not tasks:
        return frames.from_pandas(meta, npartitions=1)
    return frames.from_map(_read, tasks, meta=meta, label="smdebug", enforce_metadata=False)


def _schema(given: Scan) -> pa.Schema:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(given).schema


def _read(parts: Sequence[Scan], columns: Optional[List[str]] = None) -> pd.DataFrame:
    """Reads one partition; Dask passes the columns that are used."""
    import pyarrow as pa

    if columns is not None:
        # A scan returns all columns if none is named, and rows are counted without any.
        parts = [_with_columns(part, columns or ["trial"]) for part in parts]
    frame = _frame(pa.concat_tables([pa.table(part) for part in parts]))
    return frame if columns is None else frame[list(columns)]


def _with_columns(part: Scan, columns: Sequence[str]) -> Scan:
    fixed = [each for each in part.options if each[0] != "column"]
    return Scan(part.table, fixed + [("column", name) for name in columns])


def _frame(table: pa.Table) -> pd.DataFrame:
    """Converts rows so that each part has the same types, whether or not it has null."""
    import pandas as pd
    import pyarrow as pa

    types: Callable[[pa.DataType], Any] = {pa.int64(): pd.Int64Dtype()}.get
    return table.to_pandas(types_mapper=types)
