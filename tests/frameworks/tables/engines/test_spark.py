"""Spark reads tables of trials as DataFrames and as streams."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import farm as farms
import pyarrow as pa
import pytest
from farm import expected, rows_of
from pyspark.sql import functions as F

import smdebug
from smdebug.tables.scan import Scan


def load(spark: Any, path: object, **options: str) -> Any:
    return spark.read.format("smdebug").options(**options).load(str(path))


def test_all_rows_without_registering(spark, farm):
    """Spark finds the source by the name of a package; parts are read by two tasks."""
    frame = load(spark, farm, table="scalars", numPartitions="4")
    assert frame.rdd.getNumPartitions() == 4
    assert rows_of(frame.toArrow()) == expected(farm, "scalars")


@pytest.mark.whole
@pytest.mark.parametrize("table", ["tensors", "findings", "trials"])
def test_other_tables(spark, farm, table):
    options = {"damage": "skip"}
    got = rows_of(load(spark, farm, table=table, **options).toArrow())
    assert no_nan(got) == no_nan(expected(farm, table))


def no_nan(rows):
    def plain(value):
        return None if isinstance(value, float) and math.isnan(value) else value

    return [{name: plain(value) for name, value in row.items()} for row in rows]


def test_schema_selects_columns(spark, farm):
    """Columns of a schema that is given are the only ones that are read."""
    columns = ["trial", "step", "shape", "value", "bytes", "time"]
    frame = (
        spark.read.format("smdebug")
        .schema("trial string, step bigint, shape array<bigint>, value array<double>,"
                " bytes binary, time timestamp_ntz")
        .load(str(farm / "run-0000"))
    )  # fmt: skip
    assert rows_of(frame.toArrow()) == expected(farm / "run-0000", "tensors", columns=columns)


def test_filters_are_pushed(spark, farm):
    """The plan holds only the filters that the source does not evaluate."""
    frame = load(spark, farm, table="scalars").where(
        "trial in ('run-0003', 'run-0004') and name = 'scalar/loss' and step >= 2 and step < 4"
        " and collection = 'losses' and value < 0.3"
    )
    plan = frame._jdf.queryExecution().executedPlan().toString()
    filters = next(line for line in plan.splitlines() if "Filter (" in line)
    assert "value" in filters and "collection" in filters
    assert "= run-" not in filters and "IN (run" not in filters and "step" not in filters.replace(
        "isnotnull(step", ""
    )
    wanted = [
        row
        for row in expected(farm, "scalars", first=2, end=4)
        if row["trial"] in ("run-0003", "run-0004") and row["value"] < 0.3
    ]
    assert rows_of(frame.toArrow()) == wanted and wanted


def test_filters_without_a_row(spark, farm):
    assert load(spark, farm, table="scalars").where("step > 4 and step < 2").count() == 0
    assert load(spark, farm, table="scalars").where("worker = ''").count() == 0


def test_settings_are_off(spark, farm):
    """Without the setting the same rows come; Spark evaluates the filters."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        frame = load(spark, farm, table="scalars").where("trial = 'run-0000' and step = 1")
        wanted = expected(farm / "run-0000", "scalars", first=1, end=2)
        assert rows_of(frame.toArrow()) == wanted and wanted
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"table": "tensor"}, "there is no table 'tensor'"),
        ({"columns": '["stepp"]'}, "has no column 'stepp'"),
        ({"columns": "[1"}, "the option columns is '[1'; it must be a JSON list of texts"),
        ({"first": "soon"}, "first is 'soon'; it must be a whole number"),
        ({"modes": "TRAINING"}, "mode is 'TRAINING'; it must be TRAIN, EVAL, PREDICT or GLOBAL"),
        ({"tensorz": "a"}, "a scan has no option 'tensorz'; did you mean"),
        ({"path": "/nowhere/at/all"}, "there is no such folder"),
    ],
)
def test_bad_options(farm, options, says):
    """The source says so in the last line of its error."""
    from pyspark_smdebug import DefaultSource

    with pytest.raises((ValueError, OSError)) as raised:
        DefaultSource({"path": str(farm), **options}).schema()
    assert says in str(raised.value)


def test_errors_reach_the_user(spark, farm):
    with pytest.raises(Exception, match="there is no table 'tensor'; there are tensors, scalars"):
        load(spark, farm, table="tensor")
    with pytest.raises(Exception, match='needs a path, as .load'):
        spark.read.format("smdebug").load()


def offsets(reader, start, most):
    from pyspark.sql.streaming.datasource import ReadMaxFiles

    return reader.latestOffset(start, ReadMaxFiles(most))


def test_offsets_are_bounded(tmp_path):
    """Each batch reads at most so many steps of workers; none is read twice or left out."""
    from smdebug.spark.stream import StreamReader

    hooks = [farms.hook_for(tmp_path / "run", f"worker_{i}", num_workers=2) for i in (0, 1)]
    farms.save(hooks[0], range(7))
    farms.save(hooks[1], range(2))
    reader = StreamReader(Scan("scalars", [("path", str(tmp_path))]), 2)
    rows, offset, batches = [], reader.initialOffset(), 0
    while batches < 20:
        after = offsets(reader, offset, 3)
        parts = reader.partitions(offset, after)
        if not parts:
            break
        batch = [row for part in parts for each in reader.read(part) for row in each.to_pylist()]
        assert 0 < len(batch) <= 3
        rows += batch
        offset, batches = after, batches + 1
        if batches == 2:  # a worker that lags catches up
            farms.save(hooks[1], range(2, 7))
    for hook in hooks:
        hook.close()
    assert batches == 5
    assert rows_of(pa.Table.from_pylist(rows)) == expected(tmp_path, "scalars")


def test_offsets_of_sparse_steps(tmp_path):
    """Steps far apart count by their files, not by their numbers."""
    from smdebug.spark.stream import StreamReader

    hook = smdebug.Hook(str(tmp_path / "run"), save_all=True,
                        save_config=smdebug.SaveConfig(save_interval=300))  # fmt: skip
    farms.save(hook, range(1_501))
    hook.close()
    reader = StreamReader(Scan("scalars", [("path", str(tmp_path))]), 2)
    first = offsets(reader, {}, 2)
    assert first[str(tmp_path / "run")]["workers"] == {"worker_0": 600}
    assert offsets(reader, first, 100)[str(tmp_path / "run")]["workers"] == {"worker_0": 1_501}


def test_bad_streams(farm):
    from pyspark_smdebug import DefaultSource

    class Fields:
        def fieldNames(self):
            return ["trial"]

    with pytest.raises(ValueError, match="findings cannot be read as a stream; tensors and scal"):
        DefaultSource({"path": str(farm), "table": "findings"}).streamReader(Fields())
    for option in ("maxFilesPerTrigger", "numPartitions"):
        source = DefaultSource({"path": str(farm), option: "0"})
        with pytest.raises(ValueError, match=f"{option} is '0'; it must be a whole number from 1"):
            source.streamReader(Fields())


def test_stream_of_a_running_job(spark, tmp_path):
    """A query sees the steps of jobs that run, also after it is started again, and of the first."""

    def run() -> None:
        query = (
            spark.readStream.format("smdebug").option("table", "scalars")
            .option("maxFilesPerTrigger", "4").load(str(tmp_path / "runs"))
            .writeStream.format("parquet").option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="100 milliseconds").start()
        )  # fmt: skip
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    (tmp_path / "runs").mkdir()
    run()
    hook = farms.hook_for(tmp_path / "runs/a")
    farms.save(hook, range(3))
    run()
    farms.save(hook, range(3, 5))
    farms.record(tmp_path / "runs/b")
    run()
    hook.close()
    read = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(read.toArrow()) == expected(tmp_path / "runs", "scalars")
    assert read.agg(F.count("*")).first()[0] == 5 + farms.STEPS


def test_a_stream_waits_for_the_first_job(tmp_path):
    from smdebug.spark.stream import StreamReader

    reader = StreamReader(Scan("scalars", [("path", str(tmp_path))]), 2)
    nothing = offsets(reader, reader.initialOffset(), 10)
    assert nothing == {} and list(reader.partitions(reader.initialOffset(), nothing)) == []
    farms.record(tmp_path / "run")
    after = offsets(reader, nothing, 100)
    rows = [row for part in reader.partitions(nothing, after) for each in reader.read(part) for row in each.to_pylist()]
    assert rows_of(pa.Table.from_pylist(rows)) == expected(tmp_path, "scalars")
