"""Tests the pages "Additional Hook Config APIs": SaveConfig and ReductionConfig."""

import json

import numpy as np
import pytest
import smdebug as smd
from smdebug import ReductionConfig, SaveConfig, create_trial
from smdebug.exceptions import TensorUnavailable, TensorUnavailableForStep

REDUCTIONS = "min max median mean std variance sum prod l1 l2".split()
X = np.array([[3.0, -1.0, 2.0], [-6.0, 4.0, 1.0]])


def saved_steps(out_dir, last, mode=smd.modes.TRAIN, **settings):
    """Returns the steps that a job of steps 0 to `last` saves."""
    with smd.Hook(out_dir=out_dir, **settings) as hook:
        hook.set_mode(mode)
        for step in range(last + 1):
            with hook.step():
                hook.save("loss", step)
    return create_trial(out_dir).steps(mode)


def reductions_of_x(out_dir, **settings):
    """Returns the saved reductions of X by name."""
    every_step = SaveConfig(save_interval=1)
    with smd.Hook(out_dir=out_dir, save_all=True, save_config=every_step, **settings) as hook:
        with hook.step():
            hook.save("x", X)
    tensor = create_trial(out_dir).tensor("x")
    return {
        ("abs_" if absolute else "") + name: value.item()
        for (name, absolute), value in tensor.reduction_values(0).items()
    }


# ---- SaveConfig ---------------------------------------------------------------------


def test_save_config_with_all_its_arguments(out_dir):
    save_config = smd.SaveConfig(
        mode_save_configs=None,
        save_interval=100,
        start_step=0,
        end_step=None,
        save_steps=None,
    )
    assert saved_steps(out_dir, 400, save_config=save_config) == [0, 100, 200, 300, 400]


@pytest.mark.parametrize(
    ("save_config", "last", "steps"),
    [
        (SaveConfig(), 1000, [0, 500, 1000]),
        (SaveConfig(save_interval=1), 20, list(range(21))),
        (SaveConfig(save_interval=100, end_step=200), 500, [0, 100]),
        (SaveConfig(save_interval=100, end_step=201), 500, [0, 100, 200]),
        (SaveConfig(save_interval=100, start_step=150), 400, [200, 300, 400]),
        (SaveConfig(save_steps=[3, 7]), 600, [0, 3, 7, 500]),
    ],
)
def test_save_config_examples(out_dir, save_config, last, steps):
    assert saved_steps(out_dir, last, save_config=save_config) == steps


def test_a_hook_without_a_save_config_saves_each_500th_step(out_dir):
    assert saved_steps(out_dir, 1001) == [0, 500, 1000]


def test_a_collection_has_a_save_config_of_its_own(out_dir):
    save_config = SaveConfig(save_interval=10)
    with smd.Hook(out_dir, include_collections=["weights"], save_config=save_config) as hook:
        hook.get_collection("weights").save_config = SaveConfig(save_interval=20)
        for _ in range(41):
            with hook.step():
                hook.save("loss", 1.0)
                hook.save("conv0.weight", X)
    trial = create_trial(out_dir)
    assert trial.tensor("loss").steps() == [0, 10, 20, 30, 40]
    assert trial.tensor("conv0.weight").steps() == [0, 20, 40]


@pytest.mark.parametrize("mode", smd.modes)
def test_a_save_config_for_each_mode(out_dir, mode):
    save_config = smd.SaveConfig(
        mode_save_configs={
            smd.modes.TRAIN: smd.SaveConfigMode(save_interval=1),
            smd.modes.EVAL: smd.SaveConfigMode(save_interval=2),
            smd.modes.PREDICT: smd.SaveConfigMode(save_interval=3),
            smd.modes.GLOBAL: smd.SaveConfigMode(save_interval=4),
        }
    )
    steps = saved_steps(out_dir, 12, mode, save_config=save_config)
    assert steps == list(range(0, 13, mode.value))


def test_a_missing_mode_has_the_default_configuration(out_dir):
    save_config = SaveConfig(mode_save_configs={smd.modes.TRAIN: smd.SaveConfigMode(1)})
    assert saved_steps(out_dir, 501, smd.modes.EVAL, save_config=save_config) == [0, 500]


def test_a_mode_takes_the_same_four_parameters_and_defaults(out_dir):
    mode = smd.SaveConfigMode(start_step=400, end_step=501, save_steps=[3])
    save_config = SaveConfig(mode_save_configs={smd.modes.TRAIN: mode})
    assert saved_steps(out_dir, 1000, save_config=save_config) == [3, 500]


# ---- ReductionConfig ----------------------------------------------------------------


def test_reduction_config_with_all_its_arguments(out_dir):
    reduction_config = smd.ReductionConfig(
        reductions=None,
        abs_reductions=None,
        norms=None,
        abs_norms=None,
        save_raw_tensor=False,
    )
    with pytest.raises(TensorUnavailable):  # neither the tensor nor a reduction was saved
        reductions_of_x(out_dir, reduction_config=reduction_config)


def test_reduction_config_example(out_dir):
    reduction_config = ReductionConfig(
        reductions=["std", "variance"], abs_reductions=["mean"], norms=["l1"]
    )
    saved = reductions_of_x(out_dir, reduction_config=reduction_config)
    expected = {"std": X.std(), "variance": X.var(), "abs_mean": abs(X).mean(), "l1": 17.0}
    assert saved == pytest.approx(expected)


def test_each_reduction_of_the_list(out_dir):
    names = ReductionConfig(
        reductions=REDUCTIONS[:8],
        abs_reductions=REDUCTIONS[:8],
        norms=REDUCTIONS[8:],
        abs_norms=REDUCTIONS[8:],
    )
    saved = reductions_of_x(out_dir, reduction_config=names)
    compute = {"variance": np.var, "l1": lambda x: abs(x).sum(), "l2": np.linalg.norm}
    for name in REDUCTIONS:
        function = compute.get(name) or getattr(np, name)
        assert saved[name] == pytest.approx(function(X)), name
        assert saved[f"abs_{name}"] == pytest.approx(function(abs(X))), name


def test_reductions_instead_of_the_tensor_or_with_it(out_dir):
    for suffix, raw in (("_reduced", False), ("_both", True)):
        config = ReductionConfig(reductions=["min", "max"], save_raw_tensor=raw)
        saved = reductions_of_x(out_dir + suffix, reduction_config=config)
        assert saved == {"min": -6.0, "max": 4.0}
        tensor = create_trial(out_dir + suffix).tensor("x")
        if raw:
            assert tensor.value(0).tolist() == X.tolist()
        else:
            with pytest.raises(TensorUnavailableForStep):
                tensor.value(0)


def test_a_collection_has_a_reduction_config_of_its_own(out_dir):
    with smd.Hook(out_dir, include_collections=["weights", "biases"]) as hook:
        hook.get_collection("weights").reduction_config = ReductionConfig(norms=["l2"])
        with hook.step():
            hook.save("conv0.weight", X)
            hook.save("conv0.bias", X)
    trial = create_trial(out_dir)
    assert list(trial.tensor("conv0.weight").reduction_values(0)) == [("l2", False)]
    assert trial.tensor("conv0.bias").value(0).shape == (2, 3)


def test_the_list_of_reductions():
    names = [*REDUCTIONS, *(f"abs_{name}" for name in REDUCTIONS)]
    config = smd.ReductionConfig.from_dict({"reductions": ",".join(names)})
    assert config.reductions == config.abs_reductions == REDUCTIONS[:8]
    assert config.norms == config.abs_norms == REDUCTIONS[8:]


def test_reductions_in_the_parameters_of_a_hook_and_of_a_collection(tmp_path, out_dir):
    names = [*REDUCTIONS, *(f"abs_{name}" for name in REDUCTIONS)]
    path = tmp_path / "configuration.json"
    path.write_text(
        json.dumps(
            {
                "LocalPath": out_dir,
                "HookParameters": {"reductions": ",".join(names), "include_regex": "x"},
                "CollectionConfigurations": [
                    {
                        "CollectionName": "weights",
                        "CollectionParameters": {"reductions": "min,abs_l1"},
                    }
                ],
            }
        )
    )
    with smd.Hook.create_from_json_file(str(path)) as hook, hook.step():
        hook.save("x", X)
        hook.save("conv0.weight", X)
    trial = create_trial(out_dir)
    assert len(trial.tensor("x").reduction_values(0)) == 20
    assert set(trial.tensor("conv0.weight").reduction_values(0)) == {("min", False), ("l1", True)}
