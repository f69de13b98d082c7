"""Many trials as tables, for DuckDB, Polars, pandas, Spark, Ray and Dask.

`scan` reads tables of trials; its result is an Arrow stream, which these take as it is.  `export`
writes them as Parquet.
"""

from smdebug.tables.export import export
from smdebug.tables.scan import Scan, scan

__all__ = ["Scan", "export", "scan"]
