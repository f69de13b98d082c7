"""The data source, and how a DataFrame reads it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Mapping, Optional, Tuple

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

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
_OF_STREAMS = frozenset({"maxfilespertrigger"})


class DefaultSource(DataSource):
    """Tables of trials.

    Its options are the parameters of `smdebug.scan`: "table", "columns" and so on.  One that takes
    several values takes one, or a JSON list.  The columns are also those of a schema that is given:
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
        return Reader(self._scan(schema.fieldNames()))

    def streamReader(self, schema: StructType) -> StreamReader:
        """Returns the reader of a streaming DataFrame."""
        from smdebug.spark.stream import StreamReader

        most = self.options.get("maxFilesPerTrigger")
        return StreamReader(self._scan(schema.fieldNames()), most)

    def _scan(self, columns: Optional[List[str]] = None) -> Scan:
        given = {name.lower(): value for name, value in self.options.items()}
        options = {name: value for name, value in given.items() if name not in _OF_STREAMS}
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
    """A part of a scan that one task reads."""

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan)


def read_part(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Reads one part; Spark makes a part of None where there is nothing to read."""
    import pyarrow as pa

    if partition.value is not None:
        yield from pa.RecordBatchReader.from_stream(partition.value)


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

    def __init__(self, scan: Scan) -> None:
        self.scan: Optional[Scan] = scan
        self.pushFilters = _Pushes(self)

    def partitions(self) -> List[Part]:
        """Returns what each task reads."""
        return [Part(part) for part in self.scan.partitions()] if self.scan is not None else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part."""
        return read_part(partition)
