"""Tensors of which each worker saves a part, and their statistics as a whole."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from smdebug import Hook, ReductionConfig, SaveConfig, create_trial
from smdebug.core.placement import Placement
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError, TensorUnavailableForStep

WHOLE = np.random.default_rng(5).normal(3, 2, (9, 6)).astype("float32")
# Rows over the second dimension of the mesh, replicated over the first.
ROWS = {0: slice(0, 5), 1: slice(5, 9)}
ALL_REDUCTIONS = ["min", "max", "mean", "std", "variance", "sum", "prod", "median"]


def record(out_dir, parts, reduction_config=None, value=WHOLE):
    """Records each part, a slice of the rows with a placement, as a worker."""
    hooks = [
        Hook(
            out_dir,
            reduction_config=reduction_config,
            save_config=SaveConfig(save_interval=1),
            save_all=True,
            worker=f"worker_{rank}",
            num_workers=len(parts),
            include_workers="all",
        )
        for rank in range(len(parts))
    ]
    for hook, (rows, placement) in zip(hooks, parts):
        with hook.step():
            if placement is not None:
                hook.set_placement("w", placement)
            hook.save("w", np.ascontiguousarray(value[rows]))
    for hook in hooks:
        hook.close()
    return create_trial(out_dir).tensor("w")


def rows_of_mesh():
    """Returns the parts of a mesh of 2 x 2."""
    return [
        (
            ROWS[column],
            Placement(
                WHOLE.shape,
                (ROWS[column].start, 0),
                WHOLE[ROWS[column]].shape,
                mesh=(2, 2),
                split=(-1, 0),
            ),
        )
        for _ in range(2)
        for column in range(2)
    ]


def test_parts_and_replicas_make_a_whole(out_dir):
    parts = rows_of_mesh()
    tensor = record(out_dir, parts)
    np.testing.assert_array_equal(tensor.full_value(0), WHOLE)
    assert tensor.full_shape(0) == WHOLE.shape
    assert tensor.placement("worker_3") == parts[3][1]
    assert not tensor.placement("worker_3").is_whole
    assert tensor.placement("worker_4") is None
    assert tensor.full_reduction(0, "median") == np.median(WHOLE)
    assert tensor.value(0, worker="worker_1").shape == (4, 6)


def test_statistics_of_parts_merge(out_dir):
    reductions = ReductionConfig(
        reductions=ALL_REDUCTIONS,
        abs_reductions=["mean", "std", "max"],
        norms=["l1", "l2"],
    )
    tensor = record(out_dir, rows_of_mesh(), reductions)
    numbers = WHOLE.astype("float64")
    found = tensor.full_statistics(0)
    assert found["count"] == WHOLE.size
    assert (found["min"], found["max"]) == (WHOLE.min(), WHOLE.max())
    expected = {
        "sum": numbers.sum(),
        "mean": numbers.mean(),
        "variance": numbers.var(),
        "std": numbers.std(),
        "l1": np.abs(numbers).sum(),
        "l2": np.sqrt((numbers**2).sum()),
    }
    for name, number in expected.items():
        np.testing.assert_allclose(found[name], number, rtol=1e-6, err_msg=name)
        assert found[name] == tensor.full_reduction(0, name)
    prod = tensor.full_reduction(0, "prod")
    np.testing.assert_allclose(prod, numbers.prod(), rtol=1e-5)
    assert tensor.full_reduction(0, "max", abs=True) == np.abs(WHOLE).max()
    np.testing.assert_allclose(
        tensor.full_reduction(0, "variance", abs=True), np.abs(numbers).var(), rtol=1e-6
    )
    with pytest.raises(SMDebugRuntimeError, match="save the raw value"):
        tensor.full_reduction(0, "median")
    with pytest.raises(TensorUnavailableForStep):
        tensor.full_value(0)


def test_statistics_of_elements_are_those_of_the_whole(out_dir):
    tensor = record(out_dir, rows_of_mesh())
    found = tensor.full_statistics(0)
    assert found["count"] == WHOLE.size
    np.testing.assert_allclose(found["std"], WHOLE.astype("float64").std(), rtol=1e-6)
    assert set(found) == {"count", "min", "max", "sum", "mean", "variance", "std", "l1", "l2"}


def test_what_was_not_saved_is_named(out_dir):
    tensor = record(out_dir, rows_of_mesh(), ReductionConfig(reductions=["max", "std"]))
    assert set(tensor.full_statistics(0)) == {"count", "max"}
    with pytest.raises(SMDebugRuntimeError, match="'mean', and 'variance' or 'std'"):
        tensor.full_reduction(0, "std")
    with pytest.raises(SMDebugValueError):
        tensor.full_reduction(0, "average")


def test_a_missing_part_is_named(out_dir):
    parts = rows_of_mesh()
    tensor = record(out_dir, [parts[0], parts[2]])
    for refused in (
        lambda: tensor.full_value(0),
        lambda: tensor.full_shape(0),
        lambda: tensor.full_reduction(0, "sum"),
        lambda: tensor.full_statistics(0),
    ):
        with pytest.raises(SMDebugRuntimeError, match='30 of 54 .* include_workers="all"'):
            refused()


def test_workers_without_placements_must_agree(out_dir):
    tensor = record(out_dir, [(slice(0, 9), None)] * 2)
    np.testing.assert_array_equal(tensor.full_value(0), WHOLE)
    assert tensor.full_reduction(0, "max") == WHOLE.max()


def test_workers_without_placements_that_differ_are_refused(out_dir):
    tensor = record(out_dir, [(slice(0, 4), None), (slice(4, 9), None)])
    with pytest.raises(SMDebugRuntimeError, match="not how they fit together"):
        tensor.full_value(0)
    with pytest.raises(SMDebugRuntimeError, match="not how they fit together"):
        tensor.full_statistics(0)


def test_wrong_placements_are_refused(out_dir):
    with Hook(out_dir) as hook:
        for wrong in (
            Placement((4,), (3,), (2,)),
            Placement((4,), (0, 0), (2,)),
            Placement((4,), (0,), (4,), mesh=(2,)),
            Placement((4,) * 40, (0,) * 40, (4,) * 40),
            Placement((4, 4), (15,), (2,), is_flat=True),
        ):
            with pytest.raises(SMDebugValueError):
                hook.set_placement("w", wrong)


def test_placements_are_in_the_metadata_of_a_collections_file(out_dir):
    record(out_dir, rows_of_mesh())
    path = os.path.join(out_dir, "collections", "000000000", "worker_1_collections.json")
    with open(path, encoding="utf-8") as file:
        meta = json.load(file)["_meta"]
    assert {key: meta[key] for key in ("num_workers", "placements")} == {
        "num_workers": 4,
        "placements": {
            "w": {
                "shape": [9, 6],
                "offset": [5, 0],
                "part": [4, 6],
                "mesh": [2, 2],
                "split": [-1, 0],
            }
        },
    }
