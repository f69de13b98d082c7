"""The data source, and how a DataFrame reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from smdebug._slices import slices
from smdebug.exceptions import SMDebugValueError
from smdebug.spark.filters import push
from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from smdebug.spark.stream import StreamReader

__all__ = ["DefaultSource", "Part", "read_part"]

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

# As many as Spark's shuffles have.
_PARTITIONS = 200


class DefaultSource(DataSource):
    """Tables of trials.

    Its options are the parameters of `smdebug.scan`: "table", "columns" and so on.  One that takes
    several values takes one, or a JSON list.  "numPartitions" limits the tasks of a read or of a
    batch (default 200), "maxFilesPerTrigger" the index files of a batch.  The columns are also those of a schema that is given:
    ``.schema("trial string, step bigint")``.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "smdebug"

    def schema(self) -> str:
        """Returns the columns, as Spark declares them."""
        import pyarrow as pa

        fields = pa.RecordBatchReader.from_stream(self._scan()).schema
        return ", ".join(f"`{field.name}` {_type_in_spark(field.type)}" for field in fields)

    def reader(self, schema: StructType) -> Reader:
        """Returns the reader of a DataFrame."""
        return Reader(self._scan(schema.fieldNames()), self._number("numPartitions", _PARTITIONS))

    def streamReader(self, schema: StructType) -> StreamReader:
        """Returns the reader of a streaming DataFrame."""
        from smdebug.spark.stream import StreamReader

        most_parts = self._number("numPartitions", _PARTITIONS)
        most_files = self._number("maxFilesPerTrigger", 0) or None
        return StreamReader(self._scan(schema.fieldNames()), most_parts, most_files)

    def _number(self, option: str, default: int) -> int:
        value = self.options.get(option)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and 0 < int(value) < 2**31):
            raise SMDebugValueError(
                f"the option {option} is {value!r}; it must be a whole number from 1"
            )
        return int(value)

    def _scan(self, columns: Optional[List[str]] = None) -> Scan:
        given = {name.lower(): value for name, value in self.options.items()}
        options = {name: value for name, value in given.items() if name not in _OF_READERS}
        table = options.pop("table", "tensors")
        if not {"path", "paths"} & options.keys():
            raise SMDebugValueError('the data source "smdebug" needs a path, as .load("s3://jobs/*")')
        if columns is not None:
            options["columns"] = json.dumps(columns)
        return Scan(table, list(_scan_options(options)))


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


class Part(InputPartition):
    """The scans that one task reads."""

    def __init__(self, scans: Sequence[Scan]) -> None:
        super().__init__(scans)


def read_part(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Reads one part; Spark makes a part of None where there is nothing to read."""
    import pyarrow as pa

    for scan in partition.value or ():
        yield from pa.RecordBatchReader.from_stream(scan)


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
        self._reader.scan, left = push(self._reader.scan, filters)
        return left


class Reader(DataSourceReader):
    """Reads a scan, part by part; `scan` is None if filters leave no row."""

    def __init__(self, scan: Scan, most: int = _PARTITIONS) -> None:
        self.scan: Optional[Scan] = scan
        self._most = most
        self.pushFilters = _Pushes(self)

    def partitions(self) -> List[Part]:
        """Returns what each task reads."""
        scans = [] if self.scan is None else self.scan.partitions()
        return [Part(each) for each in slices(scans, self._most)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part."""
        return read_part(partition)
