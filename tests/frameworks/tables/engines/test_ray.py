"""Ray Data reads tables of trials."""

from __future__ import annotations

import pyarrow as pa
import pytest
from farm import expected, rows_of

import smdebug
import smdebug.ray


def test_all_rows(ray_cluster, farm):
    data = smdebug.ray.read(farm, "scalars", override_num_blocks=4)
    assert rows_of(pa.Table.from_pylist(data.take_all())) == expected(farm, "scalars")


def test_only_selected_columns_are_read(ray_cluster, farm):
    """The projection is part of the read."""
    data = smdebug.ray.read(farm, "scalars", trials="run-000[34]").select_columns(["step", "value"])
    wanted = expected(farm, "scalars", trials="run-000[34]", columns=["step", "value"])
    assert rows_of(pa.Table.from_pylist(data.take_all())) == wanted and wanted
    assert data.count() == len(wanted)


def test_projection_reaches_the_scan(farm):
    from smdebug.ray.source import TrialsDatasource

    source = TrialsDatasource(smdebug.scan(farm, "scalars", trials="run-0000"))
    (task,) = source.apply_projection({"step": "step"}).get_read_tasks(1)
    assert [block.column_names for block in task()] == [["step"]]


def test_no_rows_have_a_schema(ray_cluster, farm):
    data = smdebug.ray.read(farm, "scalars", first=1_000_000)
    assert data.count() == 0
    assert data.schema().names == pa.table(smdebug.scan(farm / "run-0000", "scalars")).column_names


def test_a_scan_is_taken_as_it_is(ray_cluster, farm):
    scan = smdebug.scan(farm, "trials", columns=["trial", "state"])
    data = smdebug.ray.read(scan)
    assert rows_of(pa.Table.from_pylist(data.take_all())) == rows_of(scan)


def test_bad_input(ray_cluster, farm):
    with pytest.raises(ValueError, match="there is no table 'tensor'"):
        smdebug.ray.read(farm, "tensor")
    with pytest.raises(TypeError, match="the tensor must be a str, not int"):
        smdebug.ray.read(farm, tensors=[1])
