"""How a streaming DataFrame reads trials that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from smdebug._slices import slices
from smdebug.exceptions import SMDebugFileNotFoundError, SMDebugValueError
from smdebug.spark.part import Part, read_part
from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StreamReader"]

# {path of a trial: {"name": its name, "workers": {worker: the next global step to read}}}
_Offset = Dict[str, Dict[str, Any]]

_OF_PART = frozenset({"path", "name", "trial", "worker", "first", "end"})


class _News(NamedTuple):
    """What a worker has recorded from its offset on."""

    path: str
    worker: str
    name: str
    first: int  # the offset
    end: int  # the step after the last one
    files: int  # one for each step


class StreamReader(DataSourceStreamReader):
    """Reads each step of each worker once, in the order of steps.

    A batch reads at most `most_files` index files, if that is given; a worker has one for each
    step.  A step that is recorded after a later one of its worker was read is never read.
    """

    def __init__(self, scan: Scan, most_parts: int, most_files: Optional[int] = None) -> None:
        if scan.table not in ("tensors", "scalars"):
            raise SMDebugValueError(
                f"the table {scan.table} cannot be read as a stream; tensors and scalars can"
            )
        self._scan = scan
        self._most_parts = most_parts
        self._most_files = most_files
        self._first = int(dict(scan.options).get("first", "0"))

    def initialOffset(self) -> _Offset:
        """Returns the offset before all steps."""
        return {}

    def getDefaultReadLimit(self) -> Any:
        """Returns the limit of maxFilesPerTrigger."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

        return ReadAllAvailable() if self._most_files is None else ReadMaxFiles(self._most_files)

    def latestOffset(self, start: Optional[_Offset] = None, limit: Any = None) -> _Offset:
        """Returns the offset after the steps that the next batch reads."""
        offset: _Offset = {}
        for path, trial in (start or {}).items():
            offset[path] = {"name": trial["name"], "workers": dict(trial["workers"])}
        left = getattr(limit, "max_files", None)
        news = sorted(self._news(offset), key=lambda each: each.first)  # none waits for ever
        for i, each in enumerate(news):
            share = each.files if left is None else min(each.files, -(-left // (len(news) - i)))
            if left is not None:
                left -= share
            if share:
                workers = offset.setdefault(each.path, {"name": each.name, "workers": {}})
                workers["workers"][each.worker] = self._after(each, share)
        return offset

    def _news(self, offset: _Offset) -> Iterator[_News]:
        last: Dict[Tuple[str, str], Dict[str, str]] = {}
        for part in self._parts():
            options = dict(part.options)
            last[options["path"], options.get("worker", "")] = options
        for (path, worker), options in last.items():
            workers = offset.get(path, {}).get("workers", {})
            first = workers.get(worker, self._first)
            if not worker or first >= int(options["end"]):  # not readable, or nothing new
                continue
            news = _News(path, worker, options["name"], first, int(options["end"]), 0)
            steps, end = self._count(news)
            if steps:
                yield news._replace(end=end, files=steps)

    def _parts(self) -> List[Scan]:
        """Returns the partitions in the order of steps; none before the first job."""
        try:
            return self._scan.partitions()
        except SMDebugFileNotFoundError:
            return []

    def _count(self, news: _News) -> Tuple[int, int]:
        """Returns how many steps there are, and the step after the last one."""
        import pyarrow as pa

        conditions = [("path", news.path), ("worker", news.worker)]
        conditions += [("first", str(news.first)), ("end", str(news.end))]
        conditions += [("column", "steps"), ("column", "last_step")]
        conditions += [each for each in self._scan.options if each[0].startswith("s3_")]
        rows = pa.table(Scan("trials", conditions)).to_pylist()
        found = [row for row in rows if row["steps"]]
        return (found[0]["steps"], found[0]["last_step"] + 1) if found else (0, news.first)

    def _after(self, news: _News, most: int) -> int:
        """Returns the greatest end with at most `most` steps before it."""
        low, high = min(news.first + most, news.end), news.end
        if most >= news.files:
            return high
        while low < high:
            middle = (low + high + 1) // 2
            if self._count(news._replace(end=middle))[0] <= most:
                low = middle
            else:
                high = middle - 1
        return low

    def partitions(self, start: _Offset, end: _Offset) -> List[Part]:
        """Returns what each task reads of a batch."""
        fixed = [each for each in self._scan.options if each[0] not in _OF_PART]
        scans = []
        for path, trial in end.items():
            before = start.get(path, {}).get("workers", {})
            for worker, last in trial["workers"].items():
                first = before.get(worker, self._first)
                if first < last:
                    place = [("path", path), ("name", trial["name"]), ("worker", worker),
                             ("first", str(first)), ("end", str(last))]  # fmt: skip
                    scans.append(Scan(self._scan.table, fixed + place))
        return [Part(each) for each in slices(scans, self._most_parts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a part."""
        return read_part(partition)
