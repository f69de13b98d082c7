"""The examples of the documentation, as they stand there."""

import numpy as np
import pytest
import smdebug as smd
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.exceptions import *  # noqa: F403
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial


def saved(config, last=1000):
    return [step for step in range(last + 1) if config.should_save_step(smd.modes.TRAIN, step)]


def test_the_save_config_with_all_its_arguments():
    config = smd.SaveConfig(
        mode_save_configs=None,
        save_interval=100,
        start_step=0,
        end_step=None,
        save_steps=None,
    )
    assert saved(config, 300) == [0, 100, 200, 300]


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        (smd.SaveConfig(), [0, 500]),
        (smd.SaveConfig(save_interval=1), [0, 1]),
        (smd.SaveConfig(save_interval=100, end_step=200), [0, 100]),
        (smd.SaveConfig(save_interval=100, end_step=201), [0, 100, 200]),
        (smd.SaveConfig(save_interval=100, start_step=150), [200, 300]),
        (smd.SaveConfig(save_steps=[3, 7]), [0, 3, 7, 500]),
    ],
)
def test_the_examples_of_save_configs(config, steps):
    assert saved(config)[: len(steps)] == steps


def test_the_save_config_of_each_mode():
    config = smd.SaveConfig(
        mode_save_configs={
            smd.modes.TRAIN: smd.SaveConfigMode(save_interval=1),
            smd.modes.EVAL: smd.SaveConfigMode(save_interval=2),
            smd.modes.PREDICT: smd.SaveConfigMode(save_interval=3),
            smd.modes.GLOBAL: smd.SaveConfigMode(save_interval=4),
        }
    )
    intervals = [config.get_save_config(mode).save_interval for mode in smd.modes]
    assert intervals == [1, 2, 3, 4]


def test_the_reduction_config_with_all_its_arguments():
    smd.ReductionConfig(
        reductions=None,
        abs_reductions=None,
        norms=None,
        abs_norms=None,
        save_raw_tensor=False,
    )
    smd.ReductionConfig(reductions=["std", "variance"], abs_reductions=["mean"], norms=["l1"])
    smd.ReductionConfig(reductions=["min", "max", "mean"], norms=["l1"])


def test_the_list_of_reductions():
    names = "min max median mean std variance sum prod l1 l2".split()
    text = ",".join([*names, *(f"abs_{name}" for name in names)])
    config = smd.ReductionConfig.from_dict({"reductions": text})
    assert len(config.to_json_dict()["reductions"].split(",")) == 20


@pytest.fixture
def job(out_dir):
    """A job as the glossary tells of it; its path."""
    hook = smd.Hook(out_dir=out_dir, save_config=smd.SaveConfig(save_interval=10), save_all=True)
    assert hook.get_collection("losses").name == "losses"
    for step in range(31):
        hook.set_mode(smd.modes.TRAIN)
        with hook.step():
            hook.save("relu0_output_0", np.full(4, step, np.float32))
            hook.save("gradient/relu0", np.full(4, 1.0))
            hook.save("Loss_output_0", 1.0 / (step + 1))
    hook.close()
    return out_dir


def test_the_trial_of_the_glossary(job):
    trial = smd.create_trial(out_dir=job)
    assert trial.steps() == [0, 10, 20, 30]


def test_the_methods_of_a_trial(job):
    modes = smd.modes
    trial = create_trial(path=job, name="resnet_training_run")
    assert len(trial.tensor_names()) == 3
    assert trial.tensor_names(step=10, mode=modes.TRAIN) == trial.tensor_names()
    assert trial.tensor_names(regex="relu") == ["gradient/relu0", "relu0_output_0"]
    assert trial.tensor_names(collection="gradients") == ["gradient/relu0"]
    assert trial.tensor_names(step=10, mode=modes.TRAIN, regex="Loss") == ["Loss_output_0"]
    assert trial.has_tensor("relu0_output_0")
    assert trial.steps(mode=None) == [0, 10, 20, 30]
    assert list(trial.modes()) == [modes.TRAIN]
    assert trial.mode(global_step=10) == modes.TRAIN
    assert trial.mode_step(global_step=10) == 10
    assert trial.global_step(mode=modes.GLOBAL, mode_step=10) == 10
    assert trial.workers() == ["worker_0"]
    assert "gradients" in trial.collections()
    assert trial.collection("gradients").name == "gradients"
    trial.wait_for_steps([0, 10], mode=modes.TRAIN)
    assert trial.has_passed_step(10, mode=modes.GLOBAL).name == "AVAILABLE"


@pytest.mark.parametrize(
    ("range_steps", "steps"),
    [((10, None), [10, 20, 30]), ((None, 10), [0]), ((10, 30), [10, 20]), (None, [0, 10, 20, 30])],
)
def test_ranges_of_steps(job, range_steps, steps):
    assert create_trial(path=job, name="resnet", range_steps=range_steps).steps() == steps


def test_the_methods_of_a_tensor(job):
    modes = smd.modes
    tensor = create_trial(job).tensor("relu0_output_0")
    assert tensor.steps(mode=modes.GLOBAL, show_incomplete_steps=False) == [0, 10, 20, 30]
    assert tensor.value(10, mode=modes.GLOBAL, worker=None).tolist() == [10] * 4
    assert tensor.reduction_value(10, "mean", mode=modes.GLOBAL, worker=None, abs=False) == 10
    assert tensor.reduction_values(10, mode=modes.GLOBAL, worker=None) == {}
    assert len(tensor.values(mode=modes.GLOBAL, worker=None)) == 4
    assert tensor.workers(10, mode=modes.GLOBAL) == ["worker_0"]
    assert tensor.prev_steps(25, 2, mode=modes.GLOBAL) == [10, 20]


def test_the_rule(job):
    class VanishingGradientRule(Rule):
        def __init__(self, base_trial, threshold=0.0000001):
            super().__init__(base_trial, other_trials=None)
            self.threshold = float(threshold)

        def invoke_at_step(self, step):
            for tensorname in self.base_trial.tensors(collection="gradients"):
                tensor = self.base_trial.tensor(tensorname)
                abs_mean = tensor.reduction_value(step, "mean", abs=True)
                if abs_mean < self.threshold:
                    return True
                else:
                    return False

    trial = create_trial(job)
    invoke_rule(VanishingGradientRule(trial, threshold=0.0001), start_step=0, end_step=31)
    with pytest.raises(RuleEvaluationConditionMet):  # noqa: F405
        invoke_rule(
            VanishingGradientRule(trial, threshold="20.0"), end_step=31, raise_eval_cond=True
        )


def test_refreshing(job):
    trials = [create_trial(job)]
    with no_refresh(trials):
        pass
    with refresh(trials):
        pass
    with no_refresh(trials[0]) as trial:
        assert trial is trials[0]
