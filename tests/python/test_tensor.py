"""Tensor: values, shapes and reductions at a step."""

import os

import numpy as np
import pytest
from helpers import Recorder, record
from smdebug import ReductionConfig, modes
from smdebug.core.writer import FileWriter
from smdebug.exceptions import (
    InvalidWorker,
    NoMoreData,
    ShapeUnavailableForStep,
    SMDebugNotImplementedError,
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
