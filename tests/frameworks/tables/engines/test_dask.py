"""Dask reads tables of trials."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from farm import expected, rows_of

import smdebug
import smdebug.dask


def as_rows(frame: pd.DataFrame, like: str, farm: object) -> list:
    schema = pa.RecordBatchReader.from_stream(smdebug.scan(farm, like)).schema
    return rows_of(pa.Table.from_pandas(frame, schema, preserve_index=False))


@pytest.mark.parametrize("table", ["scalars", "findings", "trials"])
def test_all_rows(dask_client, farm, table):
    frame = smdebug.dask.read(farm, table, npartitions=5)
    assert frame.npartitions == 5
    computed = frame.compute()
    assert list(computed.dtypes) == list(frame.dtypes)
    assert as_rows(computed, table, farm) == expected(farm, table)


def test_only_used_columns_are_read(farm):
    """The graph's reads name the columns that are used."""
    frame = smdebug.dask.read(farm, "tensors", trials="run-0003")
    used = frame[["step", "tensor"]].optimize(fuse=False)
    assert list(used.expr.columns) == ["step", "tensor"]
    assert "step" in repr(used.expr.operand("columns"))
    assert len(frame) == len(expected(farm, "tensors", trials="run-0003"))


def test_aggregation(dask_client, farm):
    least = smdebug.dask.read(farm, "scalars").groupby("trial")["value"].min().compute()
    wanted = {}
    for row in expected(farm, "scalars"):
        wanted[row["trial"]] = min(row["value"], wanted.get(row["trial"], 1e9))
    assert least.to_dict() == wanted


def test_no_rows(farm):
    frame = smdebug.dask.read(farm, "scalars", first=1_000_000)
    assert len(frame) == 0
    assert "value" in frame.columns


def test_bad_input(farm):
    with pytest.raises(ValueError, match="has no column 'valu'; did you mean 'value'"):
        smdebug.dask.read(farm, "scalars", columns="valu")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        smdebug.dask.read("/nowhere/at/all")
