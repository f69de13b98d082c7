"""Engines read trials in a bucket."""

from __future__ import annotations

import json

import farm as farms
import pyarrow as pa
import pytest
from farm import expected, rows_of

import smdebug
import smdebug.dask
import smdebug.ray
from smdebug.rules import RuleSet, evaluate_many


def test_spark(spark, server, bucket):
    """Patterns name the trials, and parts carry what workers need to reach them."""
    frame = (
        spark.read.format("smdebug").options(table="scalars", **server.options())
        .load(f"{bucket}/run-*").where("step < 2")
    )  # fmt: skip
    wanted = expected(bucket, "scalars", end=2, options=server.options())
    assert rows_of(frame.toArrow()) == wanted and len(wanted) == 8


def test_ray(ray_cluster, server, bucket):
    data = smdebug.ray.read(bucket, "scalars", options=server.options())
    wanted = expected(bucket, "scalars", options=server.options())
    assert rows_of(pa.Table.from_pylist(data.take_all())) == wanted


def test_dask(dask_client, server, bucket):
    frame = smdebug.dask.read(bucket, "scalars", options=server.options())
    assert frame["value"].sum().compute() == pytest.approx(
        sum(row["value"] for row in expected(bucket, "scalars", options=server.options()))
    )


@pytest.mark.parametrize("engine", ["local", "dask", "spark", "ray"])
def test_evaluate_many(request, server, bucket, engine):
    clusters = {"spark": "spark", "ray": "ray_cluster", "dask": "dask_client"}
    if engine in clusters:
        request.getfixturevalue(clusters[engine])
    by_scan, step_by_step = (
        evaluate_many(bucket, RuleSet().add("ExplodingTensor", action=action), engine,
                      options=server.options())
        for action in ("warn", "stop")
    )  # fmt: skip
    for found in (by_scan, step_by_step):
        assert [(row["trial"], row["step"]) for row in found.to_pylist()] == [
            ("run-0003", step) for step in range(farms.NAN_FROM, farms.STEPS)
        ]


def test_bucket_that_refuses(server, bucket):
    """One sentence says what happened; secrets are not in it."""
    refused = {**server.options(), "s3_secret_key": "not/the+key"}
    for read in (smdebug.dask.read, evaluate_many):
        with pytest.raises(PermissionError, match="403") as raised:
            read(bucket, options=refused)
        assert "not/the+key" not in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1


def test_paths_of_spark(server, bucket):
    """Several paths come as Spark passes them: a JSON list."""
    from pyspark_smdebug import DefaultSource

    paths = json.dumps([f"{bucket}/run-0000", f"{bucket}/run-0001"])
    source = DefaultSource({"paths": paths, "table": "trials", **server.options()})
    parts = source.reader(Fields(["trial"])).partitions()
    names = [scan.options for part in parts for scan in part.value]
    assert [dict(each)["name"] for each in names] == ["run-0000", "run-0001"]


class Fields:
    """A schema with these columns."""

    def __init__(self, names):
        self.names = names

    def fieldNames(self):
        return self.names
