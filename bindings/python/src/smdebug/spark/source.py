"""The data source, and how a DataFrame reads it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Optional

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from smdebug._slices import default_tasks, slices
from smdebug.exceptions import SMDebugFileNotFoundError
from smdebug.spark.filters import push
from smdebug.spark.options import number_of, scan_of
from smdebug.spark.part import Part, read_part
from smdebug.spark.stream import StreamReader
from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]

# As many as Spark's shuffles have.
MOST_TASKS = 200


class DefaultSource(DataSource):
    """Tables of trials.

    Its options are the parameters of `smdebug.scan`: "table", "columns" and so on.  One that takes
    several values takes one, or a JSON list.  A schema that is given selects the columns:
    ``.schema("trial string, step bigint")``.  "numPartitions" limits the tasks of a read or of a
    batch (200 or fewer by default), "maxFilesPerTrigger" the index files of a batch.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "smdebug"

    def schema(self) -> str:
        """Returns the columns, as Spark declares them."""
        import pyarrow as pa

        scan = scan_of(self.options)
        try:
            fields = pa.RecordBatchReader.from_stream(scan).schema
        except SMDebugFileNotFoundError:
            # A stream may be started before the first job.
            if not all(_may_get_trials(value) for name, value in scan.options if name == "path"):
                raise
            fields = pa.schema(scan)
        return ", ".join(f"`{field.name}` {_type_in_spark(field.type)}" for field in fields)

    def reader(self, schema: StructType) -> Reader:
        """Returns the reader of a DataFrame."""
        most = number_of(self.options, "numPartitions", 0)
        return Reader(scan_of(self.options, schema.fieldNames()), most)

    def streamReader(self, schema: StructType) -> StreamReader:
        """Returns the reader of a streaming DataFrame."""
        most_parts = number_of(self.options, "numPartitions", MOST_TASKS)
        most_files = number_of(self.options, "maxFilesPerTrigger", 0) or None
        return StreamReader(scan_of(self.options, schema.fieldNames()), most_parts, most_files)


def _may_get_trials(path: str) -> bool:
    return path.startswith("s3://") or os.path.isdir(path)


def _type_in_spark(given: Any) -> str:
    import pyarrow as pa

    names = {
        pa.string(): "string",
        pa.int64(): "bigint",
        pa.float64(): "double",
        pa.binary(): "binary",
        pa.timestamp("us"): "timestamp_ntz",
    }
    if pa.types.is_list(given):
        return f"array<{names[given.value_type]}>"
    return names[given]


class _Pushes:
    """The method `pushFilters` of a reader.

    Spark refuses readers with a method of their own while the setting
    spark.sql.python.filterPushdown.enabled is off, which it is by default.  It takes this for the
    inherited method, and calls it only where the setting is on.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __call__(self, filters: List[Filter]) -> Iterable[Filter]:
        if self._reader.scan is None:
            return filters
        self._reader.scan, left = push(self._reader.scan, filters)
        return left


class Reader(DataSourceReader):
    """Reads a scan, part by part; `scan` is None if filters leave no row."""

    def __init__(self, scan: Scan, most: int = 0) -> None:
        self.scan: Optional[Scan] = scan
        self._most = most
        self.pushFilters = _Pushes(self)

    def partitions(self) -> List[Part]:
        """Returns what each task reads."""
        if self.scan is None:
            return []
        scans = self.scan.partitions()
        most = self._most or min(MOST_TASKS, default_tasks(scans))
        return [Part(each) for each in slices(scans, most)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part."""
        return read_part(partition)
