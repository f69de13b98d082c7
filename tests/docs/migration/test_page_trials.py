"""Tests the page "programming model": trials and tensors."""

import os

import numpy as np
import pytest
import smdebug as smd
from jobs import record_resnet
from smdebug import modes
from smdebug.core.tensor import StepState, Tensor
from smdebug.exceptions import NoMoreData, StepUnavailable, TensorUnavailableForStep
from smdebug.trials import LocalTrial, S3Trial, create_trial

CONV, RELU, LOSS = "conv0.weight", "relu0_output_0", "CrossEntropyLoss_output_0"


@pytest.fixture
def trial(resnet):
    return create_trial(path=resnet, name="resnet_training_run")


# ---- creating a trial ---------------------------------------------------------------


def test_a_trial_in_s3(s3):
    s3("smdebug-testing-bucket")
    record_resnet("s3://smdebug-testing-bucket/outputs/resnet", 11)
    trial = create_trial(
        path="s3://smdebug-testing-bucket/outputs/resnet", name="resnet_training_run"
    )
    assert isinstance(trial, S3Trial) and trial.name == "resnet_training_run"
    assert trial.steps(modes.TRAIN) == [0, 10]
    assert trial.tensor(CONV).value(10, modes.TRAIN).tolist() == [[10] * 3] * 3


def test_a_range_of_steps_in_s3(s3):
    s3("smdebug-testing-bucket")
    path = "s3://smdebug-testing-bucket/outputs/longer"
    record_resnet(path, 251, interval=50)
    tr = create_trial(path=path, name="resnet_training", range_steps=(100, 200))
    assert tr.steps() and all(100 <= step < 200 for step in tr.steps())


def test_a_trial_in_a_folder(resnet):
    trial = create_trial(path=resnet, name="resnet_training_run")
    assert isinstance(trial, LocalTrial) and trial.name == "resnet_training_run"
    assert create_trial(path=resnet).name == os.path.basename(resnet)
    assert {"collections", "events", "index"} <= set(os.listdir(resnet))


@pytest.mark.parametrize(
    ("range_steps", "is_in"),
    [
        ((100, None), lambda step: step >= 100),
        ((None, 100), lambda step: step < 100),
        ((100, 120), lambda step: 100 <= step < 120),
        (None, lambda step: True),
    ],
)
def test_a_range_of_steps(resnet, trial, range_steps, is_in):
    steps = create_trial(path=resnet, range_steps=range_steps).steps()
    assert steps == [step for step in trial.steps() if is_in(step)]


# ---- names --------------------------------------------------------------------------


def test_all_tensor_names(trial):
    assert trial.tensor_names() == sorted(
        [CONV, "gradient/conv0.weight", RELU, "softmax_output_0", LOSS]
    )
    assert trial.tensor_names(step=None, mode=modes.GLOBAL, regex=None, collection=None) == (
        trial.tensor_names()
    )


def test_tensor_names_of_a_step(trial):
    assert trial.tensor_names(step=10, mode=modes.TRAIN) == trial.tensor_names()
    assert trial.tensor_names(step=10, mode=modes.EVAL) == [LOSS]
    assert trial.tensor_names(step=1) == [LOSS], "without a mode, the step is global"


def test_tensor_names_by_regex(trial):
    assert trial.tensor_names(regex="relu") == [RELU]
    assert trial.tensor_names(regex=["relu", "^soft"]) == [RELU, "softmax_output_0"]


def test_tensor_names_of_a_collection(trial):
    gradients = ["gradient/conv0.weight"]
    assert trial.tensor_names(collection="gradients") == gradients
    assert trial.tensor_names(collection=trial.collection("gradients")) == gradients
    with pytest.raises(ValueError):
        trial.tensor_names(collection="gradients", regex="relu")


def test_tensor_names_meet_all_conditions(trial):
    assert trial.tensor_names(step=10, mode=modes.TRAIN, regex="softmax") == ["softmax_output_0"]
    assert trial.tensor_names(step=10, mode=modes.EVAL, regex="softmax") == []


def test_one_tensor(trial):
    tname = RELU
    assert isinstance(trial.tensor(tname), Tensor) and trial.tensor(tname).name == tname
    assert trial.has_tensor(tname) and not trial.has_tensor("relu1_output_0")


# ---- steps, modes, workers, collections ---------------------------------------------


def test_steps_of_all_modes_and_of_one(trial):
    assert trial.steps(mode=None) == trial.steps() == trial.steps(mode=modes.GLOBAL)
    assert len(trial.steps()) == 13 + 2, "the evaluations' steps 0 and 10 too"
    assert trial.steps(mode=modes.TRAIN) == list(range(0, 121, 10))
    assert trial.steps(mode=modes.EVAL) == [0, 10]


def test_global_steps_and_those_of_modes(trial):
    assert set(trial.modes()) == {modes.TRAIN, modes.EVAL}
    assert trial.mode(global_step=1) == modes.EVAL and trial.mode_step(global_step=1) == 0
    # The 10 training steps, and the evaluation after the first step.
    assert trial.mode(global_step=11) == modes.TRAIN and trial.mode_step(global_step=11) == 10
    assert trial.global_step(mode=modes.TRAIN, mode_step=100) == 110
    assert trial.global_step(mode=modes.GLOBAL, mode_step=100) == 100
    for step in trial.steps():
        assert trial.global_step(trial.mode(step), trial.mode_step(step)) == step


def test_workers(trial):
    assert trial.workers() == ["worker_0"]


def test_the_collections_of_a_trial(trial):
    assert {"default", "weights", "biases", "gradients", "losses"} <= trial.collections().keys()
    coll_name = "gradients"
    assert trial.collection(coll_name).name == coll_name
    # A collection may exist without tensors.
    assert trial.tensor_names(collection="biases") == []


def test_waiting_for_steps(trial):
    required_steps = [0, 10, 20]
    assert trial.wait_for_steps(required_steps, mode=modes.TRAIN) is None
    with pytest.raises(StepUnavailable):
        trial.wait_for_steps([0, 5], mode=modes.TRAIN)
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([130], mode=modes.TRAIN)


def test_has_passed_step(trial, tmp_path):
    assert trial.has_passed_step(10, mode=modes.TRAIN) is StepState.AVAILABLE
    assert trial.has_passed_step(15, mode=modes.TRAIN) is StepState.UNAVAILABLE
    with smd.Hook(tmp_path / "running", save_config=smd.SaveConfig(save_interval=5)) as hook:
        for _ in range(6):
            with hook.step():
                hook.save("loss", 1.0)
        hook.flush()
        running = create_trial(tmp_path / "running")
        assert running.has_passed_step(5, mode=modes.GLOBAL) is StepState.AVAILABLE
        assert running.has_passed_step(3, mode=modes.GLOBAL) is StepState.UNAVAILABLE
        assert running.has_passed_step(10, mode=modes.GLOBAL) is StepState.NOT_YET_AVAILABLE


# ---- tensors ------------------------------------------------------------------------


def test_steps_of_a_tensor(trial):
    steps = trial.tensor(RELU).steps(mode=modes.GLOBAL, show_incomplete_steps=False)
    assert steps == [trial.global_step(modes.TRAIN, step) for step in trial.steps(modes.TRAIN)]
    assert trial.tensor(LOSS).steps(modes.EVAL) == [0, 10]


def test_the_value_of_a_tensor(trial):
    value = trial.tensor(RELU).value(11, mode=modes.GLOBAL, worker=None)
    assert isinstance(value, np.ndarray) and value.dtype == np.float32
    assert value.tolist() == [10] * 4
    assert trial.tensor(RELU).value(10, modes.TRAIN, worker="worker_0").tolist() == [10] * 4


def test_a_reduction_that_was_not_saved_is_computed(trial):
    gradient = trial.tensor("gradient/conv0.weight")
    mean = gradient.reduction_value(10, "mean", mode=modes.TRAIN, worker=None, abs=False)
    assert mean == pytest.approx(-0.01)
    assert gradient.reduction_value(10, "mean", modes.TRAIN, abs=True) == pytest.approx(0.01)
    for name in "min max mean std sum variance prod l1 l2".split():
        assert np.isfinite(gradient.reduction_value(10, name, modes.TRAIN))
    assert gradient.reduction_values(10, mode=modes.TRAIN, worker=None) == {}


def test_saved_reductions(out_dir):
    config = smd.ReductionConfig(reductions=["mean"], abs_reductions=["max"])
    with smd.Hook(out_dir, save_all=True, reduction_config=config) as hook:
        with hook.step():
            hook.save("x", np.array([-3.0, 1.0]))
    tensor = create_trial(out_dir).tensor("x")
    saved = tensor.reduction_values(0)
    assert saved.keys() == {("mean", False), ("max", True)}
    assert saved["mean", False] == -1 and saved["mean", False].size == 1
    assert tensor.reduction_value(0, "max", abs=True) == 3
    with pytest.raises(TensorUnavailableForStep):
        tensor.reduction_value(0, "min")


def test_the_values_of_all_steps(trial):
    values = trial.tensor(RELU).values(mode=modes.TRAIN, worker=None)
    assert list(values) == list(range(0, 121, 10))
    assert all(values[step].tolist() == [step] * 4 for step in values)


def test_the_workers_of_a_step(out_dir):
    settings = {"num_workers": 2, "include_workers": "all", "save_all": True}
    hooks = [smd.Hook(out_dir, worker=f"worker_{rank}", **settings) for rank in range(2)]
    for rank, hook in enumerate(hooks):
        with hook.step():
            hook.save("rank", rank)
            if rank == 0:
                hook.save("alone", rank)
        hook.close()
    trial = create_trial(out_dir)
    assert trial.workers() == ["worker_0", "worker_1"]
    assert sorted(trial.tensor("rank").workers(0, mode=modes.GLOBAL)) == trial.workers()
    assert trial.tensor("alone").workers(0) == ["worker_0"]
    assert trial.tensor("rank").value(0, worker="worker_1").tolist() == [1]


def test_previous_steps(trial):
    tensor = trial.tensor(RELU)
    assert tensor.prev_steps(35, 2, mode=modes.TRAIN) == [20, 30]
    assert tensor.prev_steps(30, 3, mode=modes.TRAIN) == [10, 20, 30]
    assert tensor.prev_steps(10, 5, mode=modes.TRAIN) == [0, 10], "returns fewer steps at the start"
