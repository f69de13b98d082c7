"""Many trials as tables, for DuckDB, Polars, pandas, Spark, Ray and Dask.

`scan` reads tables of trials; its result is an Arrow stream, which these take as it is.  `export`
writes them as Parquet.
"""

from typing import TYPE_CHECKING, Any

from smdebug.tables.scan import Scan, scan

if TYPE_CHECKING:
    from smdebug.tables.parquet import export

__all__ = ["Scan", "export", "scan"]


def __getattr__(name: str) -> Any:
    # Jobs that record need none of it.
    if name == "export":
        from smdebug.tables.parquet import export

        return export
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
