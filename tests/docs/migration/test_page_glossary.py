"""Tests the page "glossary": the terms and their calls."""

import re

import numpy as np
import pytest
import smdebug as smd


@pytest.mark.parametrize("framework", ["mxnet", "pytorch", "tensorflow", "xgboost"])
def test_framework_modules_exist(framework):
    """Without the framework, the import fails with one sentence; other tests use the frameworks."""
    try:
        module = __import__(f"smdebug.{framework}", fromlist=["Hook"])
    except ModuleNotFoundError as error:
        assert re.match(rf"smdebug.{framework} needs \w+, which is not installed", str(error))
    else:
        assert module.SaveConfig is smd.SaveConfig and module.modes is smd.modes


def test_a_step_is_the_work_for_one_batch(out_dir):
    save_config = smd.SaveConfig(save_interval=10)
    hook = smd.Hook(out_dir=out_dir, save_config=save_config)
    for _ in range(25):
        with hook.step():
            hook.save("loss", 0.5)
    hook.close()
    trial = smd.create_trial(out_dir=out_dir)
    assert trial.steps() == [0, 10, 20]


def test_a_hook_does_not_add_to_a_trial_of_another_job(out_dir):
    smd.Hook(out_dir=out_dir).close()
    with pytest.raises(smd.exceptions.SMDebugRuntimeError, match="finished"):
        smd.Hook(out_dir=out_dir)


def test_modes(out_dir):
    train_mode = smd.modes.TRAIN
    hook = smd.Hook(out_dir=out_dir)
    assert hook.mode is smd.modes.GLOBAL, "the default"
    hook.set_mode(train_mode)
    with hook.step():
        hook.save("loss", 0.5)
    hook.close()
    assert smd.create_trial(out_dir).modes() == [smd.modes.TRAIN]
    assert {mode.name.lower() for mode in smd.modes} == {"train", "eval", "predict", "global"}


def test_collections(out_dir):
    hook = smd.Hook(out_dir=out_dir)
    collection = hook.get_collection("losses")
    assert collection.name == "losses"
    collection.include("perplexity")
    with hook.step():
        hook.save("perplexity", 20.0)
    hook.close()
    assert smd.create_trial(out_dir).collection("losses").tensor_names == {"perplexity"}


def test_reductions_are_simple_floats(out_dir):
    reduction_config = smd.ReductionConfig(reductions=["min", "max", "mean"], norms=["l1"])
    with smd.Hook(out_dir, save_all=True, reduction_config=reduction_config) as hook:
        with hook.step():
            hook.save("x", np.array([[-1.0, 2.0], [3.0, 4.0]], np.float32))
    saved = smd.create_trial(out_dir).tensor("x").reduction_values(0)
    values = {name: float(value[0]) for (name, _), value in saved.items()}
    assert values == {"min": -1.0, "max": 4.0, "mean": 2.0, "l1": 10.0}
