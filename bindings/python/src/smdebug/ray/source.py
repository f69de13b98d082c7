"""How Ray reads a scan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Sequence

import pyarrow as pa
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from smdebug._slices import slices
from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    from ray.data import DataContext

__all__ = ["TrialsDatasource"]


class TrialsDatasource(Datasource):
    """Reads a scan in as many tasks as Ray wants, at most one for each of its partitions."""

    def __init__(self, scan: Scan) -> None:
        super().__init__()
        self._projection_map: Optional[Dict[str, str]] = None  # where Ray keeps what it selects
        self._scan = scan

    def get_name(self) -> str:
        """Returns the name that Ray shows."""
        return "smdebug"

    def supports_projection_pushdown(self) -> bool:
        """Returns True: columns that are not selected are not read."""
        return True

    def estimate_inmemory_data_size(self) -> Optional[int]:
        """Returns None: what the trials hold is found by reading them."""
        return None

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: Optional[int] = None,
        data_context: Optional[DataContext] = None,
    ) -> List[ReadTask]:
        """Returns what each task reads: adjacent partitions."""
        scan = self._projected()
        schema = pa.RecordBatchReader.from_stream(scan).schema
        return [
            ReadTask(
                partial(_read, each, schema),
                BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None),
                schema=schema,
                per_task_row_limit=per_task_row_limit,
            )
            for each in slices(scan.partitions(), parallelism) or [[]]
        ]

    def _projected(self) -> Scan:
        columns = self._get_data_columns()
        if columns is None:
            return self._scan
        fixed = [each for each in self._scan.options if each[0] != "column"]
        # A scan returns all columns if none is named, and rows are counted without any.
        return Scan(self._scan.table, fixed + [("column", name) for name in columns or ["trial"]])


def _read(parts: Sequence[Scan], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yields the rows of the parts; a table without rows if there are none."""
    is_empty = True
    for part in parts:
        for batch in pa.RecordBatchReader.from_stream(part):
            is_empty = False
            yield pa.Table.from_batches([batch])
    if is_empty:
        yield schema.empty_table()
