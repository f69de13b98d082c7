"""Calls a function for each of many scans, on one machine or several."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Sequence

from smdebug._slices import slices
from smdebug.core.utils import import_framework
from smdebug.tables.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ENGINES"]

_Evaluate = Callable[[Scan], "pa.Table"]
_Engine = Callable[[_Evaluate, Sequence[Scan]], List["pa.Table"]]

# Enough for the processors of a cluster, and few enough that starting tasks costs little.
_MOST_TASKS = 256


def _evaluate_slice(evaluate: _Evaluate, parts: Sequence[Scan]) -> List[pa.Table]:
    return [evaluate(part) for part in parts]


def _in_this_process(evaluate: _Evaluate, parts: Sequence[Scan]) -> List[pa.Table]:
    from concurrent.futures import ThreadPoolExecutor

    # The library evaluates without the interpreter lock; rules in Python take one thread.
    with ThreadPoolExecutor(getattr(evaluate, "most_threads", None)) as pool:
        return list(pool.map(evaluate, parts))


def _on_spark(evaluate: _Evaluate, parts: Sequence[Scan]) -> List[pa.Table]:
    sql = import_framework("pyspark.sql", "'libsmdebug[spark]'", "the engine 'spark'")
    session = sql.SparkSession.getActiveSession() or sql.SparkSession.builder.getOrCreate()
    tasks = slices(parts, _MOST_TASKS)
    if not tasks:
        return []
    numbers = session.range(0, len(tasks), 1, len(tasks))
    # Without an RDD: sessions on another machine (Spark Connect) have none.
    evaluated = numbers.mapInArrow(
        partial(_evaluate_batches, evaluate, tasks), "number bigint, findings binary"
    )
    rows = sorted(evaluated.collect(), key=lambda row: int(row["number"]))
    return [_table(row["findings"]) for row in rows]


def _evaluate_batches(
    evaluate: _Evaluate, tasks: Sequence[Sequence[Scan]], batches: Iterator[Any]
) -> Iterator[Any]:
    """Evaluates the tasks whose numbers Spark gives."""
    import pyarrow as pa

    for batch in batches:
        for number in batch.column(0).to_pylist():
            table = pa.concat_tables(_evaluate_slice(evaluate, tasks[number]))
            yield pa.RecordBatch.from_pydict({"number": [number], "findings": [_bytes(table)]})


def _bytes(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _table(data: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(bytes(data)).read_all()


def _on_ray(evaluate: _Evaluate, parts: Sequence[Scan]) -> List[pa.Table]:
    ray = import_framework("ray", "'libsmdebug[ray]'", "the engine 'ray'")
    task = ray.remote(_evaluate_slice)
    known = ray.put(evaluate)
    results = ray.get([task.remote(known, each) for each in slices(parts, _MOST_TASKS)])
    return [table for tables in results for table in tables]


def _on_dask(evaluate: _Evaluate, parts: Sequence[Scan]) -> List[pa.Table]:
    dask = import_framework("dask", "'libsmdebug[dask]'", "the engine 'dask'")
    task = dask.delayed(partial(_evaluate_slice, evaluate), pure=False)
    results = dask.compute(*(task(each) for each in slices(parts, _MOST_TASKS)))
    return [table for tables in results for table in tables]


ENGINES: Dict[str, _Engine] = {
    "local": _in_this_process,
    "spark": _on_spark,
    "ray": _on_ray,
    "dask": _on_dask,
}
