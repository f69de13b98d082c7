"""What one task of Spark reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Sequence

from pyspark.sql.datasource import InputPartition

from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Part", "read_part"]


class Part(InputPartition):
    """The scans that one task reads."""

    def __init__(self, scans: Sequence[Scan]) -> None:
        super().__init__(scans)


def read_part(partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Reads one part; Spark makes a part of None where there is nothing to read."""
    import pyarrow as pa

    for scan in partition.value or ():
        yield from pa.RecordBatchReader.from_stream(scan)
