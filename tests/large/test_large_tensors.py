"""A tensor of more than 2 GiB, whole: 2.2 GiB of memory several times, and as much disk."""

from __future__ import annotations

import numpy as np

from smdebug import Hook, ReductionConfig, SaveConfig, create_trial

SHAPE = (2_200, 1 << 20)
EVERY_STEP = SaveConfig(save_interval=1)


def large():
    array = np.zeros(SHAPE, "int8")  # pages that are only read take no memory
    array[0, 0] = 1
    array[-1, -1] = -2
    return array


def test_statistics_of_a_large_tensor(tmp_path):
    reductions = ReductionConfig(reductions=["min", "max", "sum"], norms=["l1"], save_shape=True)
    path = str(tmp_path / "run")
    with Hook(path, save_all=True, save_config=EVERY_STEP, reduction_config=reductions) as hook:
        with hook.step():
            hook.save("w", large())
    tensor = create_trial(path).tensor("w")
    assert tensor.shape(0) == SHAPE
    expected = {"min": -2, "max": 1, "sum": -1, "l1": 3}
    assert {name: tensor.reduction_value(0, name) for name in expected} == expected


def test_value_of_a_large_tensor(tmp_path):
    path = str(tmp_path / "run")
    with Hook(path, save_all=True, save_config=EVERY_STEP) as hook, hook.step():
        hook.save("w", large())
    trial = create_trial(path)
    assert trial.tensor_names() == ["w"]
    value = trial.tensor("w").value(0)
    assert value.shape == SHAPE
    assert (value[0, 0], value[-1, -1]) == (1, -2)
    assert np.count_nonzero(value) == 2
