"""Many trials as tables, for DuckDB, Polars, pandas, Spark, Ray and Dask.

`scan` reads tables of trials; its result is an Arrow stream, which these take as it is.
"""

from smdebug.tables.scan import Scan, scan

__all__ = ["Scan", "scan"]
