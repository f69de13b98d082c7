"""Statistics that the caller computed, and tensors in the memory of a device."""

from __future__ import annotations

import numpy as np
import pytest

from smdebug import Hook, ReductionConfig, SaveConfig, create_trial
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

REDUCTIONS = ["min", "max", "mean", "std", "variance", "sum"]
SETTINGS = {"save_config": SaveConfig(save_interval=1), "save_all": True}
STATISTICS_ONLY = ReductionConfig(reductions=REDUCTIONS, norms=["l1", "l2"], save_shape=True)


def statistics_of(array):
    numbers = array.astype("float64")
    return {
        "min": numbers.min(),
        "max": numbers.max(),
        "mean": numbers.mean(),
        "variance": numbers.var(),
        "sum": numbers.sum(),
        "l1": np.abs(numbers).sum(),
        "l2": np.sqrt((numbers**2).sum()),
        "nan_count": 0,
        "inf_count": 0,
        "zero_count": int((numbers == 0).sum()),
    }


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8"])
def test_given_statistics_are_recorded_as_if_computed(out_dir, dtype):
    array = np.array([[1, 2, 0], [4, 8, 16]], dtype)
    with Hook(out_dir, reduction_config=STATISTICS_ONLY, **SETTINGS) as hook, hook.step():
        hook.save("computed", array)
        hook.save_statistics("given", array.shape, array.dtype, statistics_of(array))
    trial = create_trial(out_dir)
    computed, given = trial.tensor("computed"), trial.tensor("given")
    assert given.shape(0) == computed.shape(0) == (2, 3)
    for name in [*REDUCTIONS, "l1", "l2"]:
        value, expected = given.reduction_value(0, name), computed.reduction_value(0, name)
        assert value.dtype == expected.dtype
        assert value == expected


def test_a_raw_value_is_refused(out_dir):
    array = np.ones(3, "float32")
    with Hook(out_dir, **SETTINGS) as hook:
        with hook.step(), pytest.raises(SMDebugNotImplementedError, match="raw value"):
            hook.save_statistics("w", (3,), "float32", statistics_of(array))
        with pytest.raises(SMDebugRuntimeError):
            hook.save_statistics("w", (3,), "float32", statistics_of(array))


def test_bad_statistics_are_refused(out_dir):
    statistics = statistics_of(np.ones(3, "float32"))
    missing = {name: each for name, each in statistics.items() if name != "mean"}
    one_count = {"nan_count": 0}
    with Hook(out_dir, reduction_config=STATISTICS_ONLY, **SETTINGS) as hook, hook.step():
        for given in (missing, one_count, {**statistics, "minimum": 1}):
            with pytest.raises(SMDebugValueError):
                hook.save_statistics("w", (3,), "float32", given)
        with pytest.raises(SMDebugTypeError, match="float31"):
            hook.save_statistics("w", (3,), "float31", statistics)
        for sample in (np.ones(2), np.ones((1, 2), "float32"), np.ones(4, "float32")[::2]):
            with pytest.raises(SMDebugValueError):
                hook.save_statistics("w", (3,), np.float32, statistics, sample)
        hook.save_statistics("w", (3,), np.float32, statistics, np.ones(2, "float32"))


class OnCuda:
    """A tensor of a device, of a library that copies none by itself."""

    def __dlpack__(self, **unused):
        raise BufferError("no stream")

    def __dlpack_device__(self):
        return (2, 1)


def test_the_device_of_a_tensor_is_named(out_dir):
    with Hook(out_dir, **SETTINGS) as hook, hook.step():
        with pytest.raises(SMDebugTypeError, match=r"on cuda:1; copy it .* save_statistics\(\)"):
            hook.save("w", OnCuda())
