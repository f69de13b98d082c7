"""Tensor: values, shapes and reductions at a step."""

import concurrent.futures
import gc
import os

import numpy as np
import pytest
import smdebug as smd
from helpers import Recorder, record
from smdebug import ReductionConfig, SaveConfig, modes
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    InvalidWorker,
    NoMoreData,
    ShapeUnavailableForStep,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)


@pytest.fixture
def tensor(recorder):
    """A tensor saved at TRAIN steps 0, 1 and EVAL step 0 of a running job."""
    recorder.step(0, mode=modes.TRAIN, mode_step=0)
    recorder.step(2, mode=modes.TRAIN, mode_step=1)
    recorder.step(4, mode=modes.EVAL, mode_step=0)
    return recorder.open().tensor("foo")


def test_a_value_is_asked_for_by_global_or_mode_step(tensor):
    assert tensor.value(2)[0, 0] == 2
    assert tensor.value(1, mode=modes.TRAIN)[0, 0] == 2
    assert tensor.value(0, modes.EVAL)[0, 0] == 4
    assert tensor.value(4, mode=None)[0, 0] == 4
    assert tensor.value(np.int64(2))[0, 0] == 2


def test_values_of_a_mode_by_step(tensor):
    assert {step: value[0, 0] for step, value in tensor.values(modes.TRAIN).items()} == {0: 0, 1: 2}
    assert list(tensor.values()) == [0, 2, 4]


def test_values_of_a_range_of_steps(tensor):
    assert list(tensor.values(first=1)) == [2, 4]
    assert list(tensor.values(end=4)) == [0, 2]
    assert list(tensor.values(modes.TRAIN, first=0, end=1)) == [0]
    assert tensor.values(first=9) == {} == tensor.values(first=4, end=2)
    assert list(tensor.values(None, "worker_0", first=np.int64(2), end=4)) == [2]
    with pytest.raises(TypeError):
        tensor.values(first="0")
    with pytest.raises(SMDebugValueError, match="64 bits"):
        tensor.values(end=1 << 63)


def saved(tmp_path, arrays, **settings):
    """A tensor "x" with these arrays, a step each."""
    path = str(tmp_path / "run")
    with smd.Hook(path, save_all=True, save_config=SaveConfig(save_interval=1), **settings) as hook:
        for array in arrays:
            with hook.step():
                hook.save("x", array)
    return smd.create_trial(path).tensor("x")


ARRAYS = {
    "numbers": [np.float32(i) for i in range(700)],
    "small": [np.full((2, 3), i, np.int16) for i in range(700)],
    "of other shapes": [np.arange(i % 4, dtype=np.float64) for i in range(50)],
    "of other types": [np.full(3, 1, t) for t in ("u1", "f8", "u1", "?", "c16", "f2")],
    "large": [np.full(5000, i, np.float32) for i in range(5)],
    "not finite": [np.array([np.nan, np.inf, -0.0], np.float32) for _ in range(5)],
    "text": [np.array(["a", "bc"]) for _ in range(3)],
    "of 32 dimensions": [np.full((1,) * 32, i, np.int8) for i in range(5)],
}


@pytest.mark.parametrize("what", ARRAYS)
def test_values_are_what_single_calls_return(tmp_path, what):
    tensor = saved(tmp_path, ARRAYS[what])
    values = tensor.values()
    assert list(values) == list(range(len(ARRAYS[what])))
    for step, array in values.items():
        alone = tensor.value(step)
        assert (array.dtype, array.shape) == (alone.dtype, alone.shape)
        assert array.flags.writeable == alone.flags.writeable
        np.testing.assert_array_equal(array, alone)


def test_values_belong_to_the_caller(tmp_path):
    tensor = saved(tmp_path, ARRAYS["small"])
    values = tensor.values()
    last = values[699]
    values[1][:] = -1
    assert values[2][0, 0] == 2 and not np.shares_memory(values[1], values[2])
    del values, tensor
    gc.collect()
    assert last[1, 2] == 699 and memoryview(last).nbytes == 12


def test_values_of_half_precision_come_as_float32(tmp_path):
    ones = np.full(3, 1, pytest.importorskip("ml_dtypes").bfloat16)
    tensor = saved(tmp_path, [ones] * 4)
    values = tensor.values()
    assert len(values) == 4
    assert all(array.dtype == np.float32 and (array == 1).all() for array in values.values())
    assert tensor.reductions("max") == {step: 1 for step in range(4)}


@pytest.mark.parametrize("is_saved", [True, False])
def test_reductions_are_what_single_calls_return(tmp_path, is_saved):
    settings = {"reduction_config": ReductionConfig(reductions=["mean"])} if is_saved else {}
    tensor = saved(tmp_path, ARRAYS["small"][:300], **settings)
    means = tensor.reductions("mean", first=10)
    assert list(means) == list(range(10, 300))
    for step, mean in means.items():
        alone = tensor.reduction_value(step, "mean")
        assert type(mean) is type(alone) and mean == alone
        assert mean.dtype == alone.dtype


def test_reductions_that_cannot_be(tensor, tmp_path):
    with pytest.raises(SMDebugValueError, match="average"):
        tensor.reductions("average")
    with pytest.raises(SMDebugTypeError):
        saved(tmp_path, ARRAYS["text"]).reductions("mean")


def test_the_first_step_that_cannot_be_read_raises(recorder, tmp_path):
    path = tmp_path / "run"
    tensor = saved(tmp_path, ARRAYS["small"][:5])
    event_file = next((path / "events").glob("*3/*.tfevents"))
    event_file.write_bytes(event_file.read_bytes()[:40])
    with pytest.raises(SMDebugRuntimeError, match="000000000003"):
        tensor.values()
    assert list(tensor.values(end=3)) == [0, 1, 2]
    with pytest.raises(InvalidWorker):
        tensor.values(worker="nobody")


def test_values_where_only_reductions_were_saved(tmp_path):
    reductions = ReductionConfig(reductions=["min"])
    tensor = saved(tmp_path, ARRAYS["small"][:3], reduction_config=reductions)
    with pytest.raises(TensorUnavailableForStep) as caught:
        tensor.values()
    assert (caught.value.step, caught.value.has_reductions) == (0, True)


def test_values_of_a_trial_that_keeps_them(tmp_path):
    saved(tmp_path, ARRAYS["small"][:4])
    trial = smd.create_trial(str(tmp_path / "run"))
    tensor = trial.tensor("x")
    tensor.cache = True
    assert tensor.values()[2] is tensor.value(2)
    assert list(tensor.values(first=1, end=3)) == [1, 2]


def test_a_read_of_many_values_lets_other_threads_run(tmp_path):
    tensor = saved(tmp_path, ARRAYS["small"])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: len(tensor.values()), range(12)))
    assert results == [700] * 12


def test_steps_of_a_tensor(tensor):
    assert tensor.steps() == [0, 2, 4]
    assert tensor.steps(modes.TRAIN) == [0, 1]
    assert tensor.steps(mode=modes.PREDICT) == []


def test_previous_steps(tensor):
    assert tensor.prev_steps(4, 2) == [2, 4]
    assert tensor.prev_steps(3, n=5) == [0, 2]
    assert tensor.prev_steps(3) == [0, 2]
    assert tensor.prev_steps(3, 0) == [0, 2]
    assert tensor.prev_steps(0, 1, mode=modes.TRAIN) == [0]


def test_shape_of_a_value(tensor):
    assert tensor.shape(0) == (2, 3)
    assert tensor.shape(1, mode=modes.TRAIN, worker="worker_0") == (2, 3)


def test_a_step_that_was_not_saved(tensor):
    with pytest.raises(StepUnavailable) as caught:
        tensor.value(1)
    assert (caught.value.step, caught.value.mode) == (1, modes.GLOBAL)
    with pytest.raises(StepNotYetAvailable) as caught:
        tensor.value(5, mode=modes.TRAIN)
    assert (caught.value.step, caught.value.mode) == (5, modes.TRAIN)


def test_a_step_after_the_end_of_the_job(recorder):
    tensor = recorder.step(0).end().open().tensor("foo")
    with pytest.raises((NoMoreData, StepUnavailable)):
        tensor.value(1)


def test_a_step_without_this_tensor(recorder):
    tensor = recorder.step(0).step(1, names=["bar"]).open().tensor("foo")
    with pytest.raises(TensorUnavailableForStep) as caught:
        tensor.value(1)
    error = caught.value
    assert (error.tname, error.step, error.mode) == ("foo", 1, modes.GLOBAL)
    assert not error.has_reductions


def test_a_worker_that_did_not_save_it(out_dir):
    recorder = Recorder(out_dir, workers=2)
    recorder.step(0).step(1, workers=["worker_1"]).step(2)
    tensor = recorder.open().tensor("foo")
    assert tensor.workers(0) == ["worker_0", "worker_1"]
    assert tensor.workers(1) == ["worker_1"]
    assert tensor.value(1)[0, 0] == 1
    with pytest.raises(InvalidWorker) as caught:
        tensor.value(1, worker="worker_0")
    assert caught.value.worker == "worker_0"
    with pytest.raises(TensorUnavailableForStep):
        tensor.workers(9)


def test_a_value_is_the_callers_own(tensor):
    first, second = tensor.value(0), tensor.value(0)
    first += 1
    assert second[0, 0] == 0
    assert tensor.value(0)[0, 0] == 0


def test_a_cached_value_is_shared_and_read_only(recorder):
    tensor = recorder.step(0).open(cache=True).tensor("foo")
    assert tensor.value(0) is tensor.value(0)
    with pytest.raises(ValueError, match="read-only"):
        tensor.value(0)[0, 0] = 1


# ---- buffers ----------------------------------------------------------------------


def test_a_buffer_needs_no_numpy_and_no_copy(tensor):
    buffer = tensor.buffer(2)
    assert (buffer.dtype, buffer.shape, buffer.nbytes) == ("float32", (2, 3), 24)
    view = memoryview(buffer)
    assert (view.format, view.shape, view.readonly) == ("f", (2, 3), True)
    assert view.tolist() == [[2, 2, 2], [2, 2, 2]]
    array = np.asarray(buffer)
    assert not array.flags.writeable
    assert np.shares_memory(array, np.from_dlpack(buffer))


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0)])
def test_a_buffer_is_lent_by_dlpack(tensor, version):
    buffer = tensor.buffer(2)
    assert buffer.__dlpack_device__() == (1, 0)
    capsule = buffer.__dlpack__(max_version=version)
    name = "dltensor_versioned" if version == (1, 0) else "dltensor"
    assert f'"{name}"' in repr(capsule)


def test_a_buffer_cannot_be_copied_by_dlpack(tensor):
    with pytest.raises(BufferError):
        tensor.buffer(2).__dlpack__(copy=True)


def test_text_has_no_buffer_but_elements(recorder):
    buffer = recorder.step(0, value=["a", "bc"]).open().tensor("foo").buffer(0)
    assert (buffer.dtype, buffer.shape) == ("string", (2,))
    assert buffer.strings() == ["a", "bc"]
    with pytest.raises(BufferError):
        memoryview(buffer)


# ---- reductions ---------------------------------------------------------------------

DATA = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], np.float32)


@pytest.fixture
def raw(out_dir):
    return record(out_dir, [{"t": DATA}]).tensor("t")


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("min", np.min),
        ("max", np.max),
        ("median", np.median),
        ("mean", np.mean),
        ("std", np.std),
        ("variance", np.var),
        ("sum", np.sum),
        ("prod", np.prod),
        ("l1", lambda a: np.abs(a).sum()),
        ("l2", lambda a: np.sqrt((a * a).sum())),
    ],
)
def test_reductions_are_computed_from_the_value(raw, name, function):
    value = raw.reduction_value(0, name)
    assert isinstance(value, np.float32)
    assert value == pytest.approx(function(DATA), rel=1e-6)
    absolute = raw.reduction_value(0, name, abs=True)
    assert absolute == pytest.approx(function(np.abs(DATA)), rel=1e-6)


def test_saved_reductions_come_first(out_dir):
    config = ReductionConfig(reductions=["max"], abs_reductions=["mean"])
    tensor = record(out_dir, [{"t": DATA}], reduction_config=config).tensor("t")
    saved = tensor.reduction_value(0, "mean", abs=True)
    assert isinstance(saved, np.ndarray)
    assert saved.tolist() == [3.5]
    assert tensor.reduction_value(0, "max").tolist() == [5.0]
    assert set(tensor.reduction_values(0)) == {("max", False), ("mean", True)}


def test_a_reduction_that_is_neither_saved_nor_computable(out_dir):
    config = ReductionConfig(reductions=["max"])
    tensor = record(out_dir, [{"t": DATA}], reduction_config=config).tensor("t")
    with pytest.raises(TensorUnavailableForStep):
        tensor.reduction_value(0, "min")
    with pytest.raises(TensorUnavailableForStep) as caught:
        tensor.value(0)
    assert caught.value.has_reductions
    assert "reduction" in str(caught.value)
    with pytest.raises(ShapeUnavailableForStep):
        tensor.shape(0)


def test_without_saved_reductions_there_are_none(raw):
    assert raw.reduction_values(0) == {}


@pytest.mark.parametrize("name", ["average", "abs_mean", "", "l3"])
def test_an_unknown_reduction_is_refused(raw, name):
    with pytest.raises(SMDebugValueError):
        raw.reduction_value(0, name)


def test_text_and_nothing_do_not_reduce(out_dir):
    trial = record(out_dir, [{"text": ["a"], "nothing": np.zeros(0)}])
    with pytest.raises(TypeError):
        trial.tensor("text").reduction_value(0, "mean")
    with pytest.raises(ValueError, match="min"):
        trial.tensor("nothing").reduction_value(0, "min")
    assert trial.tensor("nothing").reduction_value(0, "sum") == 0


def test_integers_reduce_as_numpy_reduces_them(out_dir):
    data = np.array([-3, 4, 5], np.int32)
    tensor = record(out_dir, [{"t": data}]).tensor("t")
    for name in ("min", "max", "mean", "std", "sum", "prod"):
        value = tensor.reduction_value(0, name)
        expected = getattr(np, name)(data)
        assert value.dtype == expected.dtype
        assert value == pytest.approx(expected)


# ---- shapes -----------------------------------------------------------------------


def test_saved_shapes_and_the_frameworks_name(recorder):
    with FileWriter(recorder.path, worker="worker_0", step=0) as writer:
        writer.write_shape("w", (4, 5), original_name="dense/kernel:0")
    tensor = recorder.open().tensor("w")
    assert tensor.shape(0) == (4, 5)
    assert tensor.original_name == "dense/kernel:0"
    with pytest.raises(TensorUnavailableForStep):
        tensor.value(0)


def test_a_shape_without_a_value_makes_no_event_file(out_dir):
    trial = record(out_dir, [{"t": DATA}], reduction_config=ReductionConfig(save_shape=True))
    assert trial.tensor("t").shape(0) == (2, 3)
    assert not os.path.exists(os.path.join(out_dir, "events", "000000000000"))


def test_facts_about_a_tensor(raw):
    assert raw.name == "t"
    assert raw.trial.tensor("t") is raw
    assert raw.cache is False
    assert repr(raw) == "<Tensor 't' of trial 'run'>"
    with pytest.raises(SMDebugNotImplementedError):
        raw.step(0)
