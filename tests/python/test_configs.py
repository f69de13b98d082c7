"""SaveConfig and ReductionConfig: when and what to save."""

import json

import pytest
from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


def saved_steps(config, last, mode=modes.GLOBAL):
    return [step for step in range(last + 1) if config.should_save_step(mode, step)]


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, [0, 500, 1000]),
        ({"save_interval": 400}, [0, 400, 800]),
        ({"save_interval": 100, "end_step": 200}, [0, 100]),
        ({"save_interval": 100, "end_step": 201}, [0, 100, 200]),
        ({"save_interval": 300, "start_step": 150}, [300, 600, 900]),
        ({"save_interval": 500, "save_steps": [3, 7]}, [0, 3, 7, 500, 1000]),
        ({"save_interval": 500, "end_step": 5, "save_steps": [700]}, [0, 700]),
        ({"save_interval": "500", "start_step": "1", "end_step": "600"}, [500]),
    ],
)
def test_which_steps_are_saved(settings, steps):
    assert saved_steps(SaveConfig(**settings), 1000) == steps


def test_each_mode_has_its_own_settings():
    config = SaveConfig(
        mode_save_configs={
            modes.TRAIN: SaveConfigMode(save_interval=2),
            modes.EVAL: SaveConfigMode(save_interval=3),
        }
    )
    assert saved_steps(config, 6, modes.TRAIN) == [0, 2, 4, 6]
    assert saved_steps(config, 6, modes.EVAL) == [0, 3, 6]


def test_a_mode_not_given_takes_what_the_config_is_merged_with():
    config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2)})
    defaults = SaveConfig({modes.EVAL: SaveConfigMode(save_interval=5)})
    config.merge_default_save_config(defaults)
    assert config.get_save_config(modes.TRAIN).save_interval == 2
    assert config.get_save_config(modes.EVAL).save_interval == 5
    assert config.get_save_config(modes.PREDICT) == SaveConfigMode()


def test_the_dict_of_modes_that_was_given_is_not_changed():
    given = {modes.TRAIN: SaveConfigMode(save_interval=2)}
    SaveConfig(given)
    assert list(given) == [modes.TRAIN]


def test_save_config_as_text():
    assert SaveConfig(save_interval=2, end_step=9, save_steps=[1]).to_json() == (
        '{"TRAIN": {"save_interval": 2, "save_steps": [1], "start_step": 0, "end_step": 9}, '
        '"EVAL": {"save_interval": 2, "save_steps": [1], "start_step": 0, "end_step": 9}, '
        '"PREDICT": {"save_interval": 2, "save_steps": [1], "start_step": 0, "end_step": 9}, '
        '"GLOBAL": {"save_interval": 2, "save_steps": [1], "start_step": 0, "end_step": 9}}'
    )
    partial = SaveConfig({modes.EVAL: SaveConfigMode(save_interval=2)})
    assert list(json.loads(partial.to_json())) == ["EVAL", "TRAIN", "PREDICT", "GLOBAL"]


@pytest.mark.parametrize(
    "config",
    [
        SaveConfig(),
        SaveConfig(save_interval=11, start_step=10, save_steps=[50]),
        SaveConfig({modes.TRAIN: SaveConfigMode(end_step=3)}),
    ],
)
def test_save_config_survives_its_text(config):
    assert SaveConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    "settings",
    [
        {"TRAIN": {"save_interval": 2}, "EVAL": None},
        {modes.TRAIN: {"save_interval": 2}},
        {"TRAIN": SaveConfigMode(save_interval=2)},
        {modes.TRAIN: SaveConfigMode(save_interval=2), modes.EVAL: None},
    ],
)
def test_save_config_from_a_dict_of_modes_or_their_names(settings):
    config = SaveConfig.parse(settings)
    assert config.get_save_config(modes.TRAIN) == SaveConfigMode(save_interval=2)
    assert config.mode_save_configs[modes.EVAL] is None


def test_parameters_missing_in_a_dict_come_from_default_values():
    config = SaveConfig.from_dict({"TRAIN": {"end_step": 7}}, {"save_interval": 3})
    assert config.get_save_config(modes.TRAIN) == SaveConfigMode(save_interval=3, end_step=7)


def test_what_stands_for_a_save_config():
    config = SaveConfig(save_interval=2)
    assert SaveConfig.parse(config) is config
    assert SaveConfig.parse(SaveConfigMode(save_interval=2)) == config
    assert SaveConfig.parse(None) == SaveConfig()
    with pytest.raises(SMDebugTypeError):
        SaveConfig.parse(2)


@pytest.mark.parametrize(
    "settings",
    [
        {"save_interval": 0},
        {"save_interval": -1},
        {"save_interval": "often"},
        {"save_interval": 1.5},
        {"save_steps": 3},
        {"save_steps": (1, 2)},
        {"save_steps": ["1"]},
        {"mode_save_configs": {"TRAIN": SaveConfigMode()}},
        {"mode_save_configs": {modes.TRAIN: 5}},
    ],
)
def test_bad_save_settings_are_refused_at_once(settings):
    with pytest.raises(SMDebugValueError):
        SaveConfig(**settings)


def test_negative_steps_count_as_0_with_a_warning(caplog):
    config = SaveConfigMode(save_interval=2, start_step=-4, end_step="-1", save_steps=[3, -2])
    assert [step for step in range(6) if config.should_save_step(step)] == [3]
    assert config == SaveConfigMode(2, 0, 0, [3])
    assert [line.levelname for line in caplog.records] == ["WARNING"] * 3


def test_save_configs_are_compared_by_what_they_say():
    assert SaveConfig(save_interval=2) == SaveConfig(save_interval="2")
    assert SaveConfig(save_interval=2) != SaveConfig(save_interval=3)
    assert SaveConfigMode(save_steps=[1]) != SaveConfigMode()
    assert "save_interval=2" in repr(SaveConfig(save_interval=2))


# ---- reductions ----------------------------------------------------------------


def test_reduction_config_of_the_documentation():
    config = ReductionConfig(
        reductions=["std", "variance"], abs_reductions=["mean"], norms=["l1"], save_raw_tensor=True
    )
    assert config.to_json_dict() == {
        "save_raw_tensor": True,
        "reductions": "std,variance,l1_norm,abs_mean",
        "save_shape": False,
    }
    assert config.to_json() == (
        '{"save_raw_tensor": true, "reductions": "std,variance,l1_norm,abs_mean", '
        '"save_shape": false}'
    )


def test_every_documented_reduction_is_taken():
    names = ["min", "max", "median", "mean", "std", "variance", "sum", "prod"]
    config = ReductionConfig(names, names, ["l1", "l2"], ["l1", "l2"], save_shape=True)
    assert ReductionConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    "text",
    ["min,abs_max,l1_norm,abs_l2_norm", "min,abs_max,l1,abs_l2", " min , abs_max,l1 ,abs_l2,"],
)
def test_reductions_as_a_comma_separated_list(text):
    assert ReductionConfig.from_dict({"reductions": text}) == ReductionConfig(
        reductions=["min"], abs_reductions=["max"], norms=["l1"], abs_norms=["l2"]
    )


def test_switches_may_be_texts():
    config = ReductionConfig.from_dict({"save_raw_tensor": "True", "save_shape": "false"})
    assert config.save_raw_tensor is True
    assert config.save_shape is False


@pytest.mark.parametrize(
    "settings",
    [
        {"reductions": ["average"]},
        {"reductions": ["l1"]},
        {"reductions": "min"},
        {"abs_reductions": [3]},
        {"norms": ["min"]},
        {"abs_norms": ["l3"]},
        {"save_raw_tensor": "yes"},
        {"save_shape": 1},
    ],
)
def test_bad_reduction_settings_are_refused(settings):
    with pytest.raises(SMDebugValueError):
        ReductionConfig(**settings)


@pytest.mark.parametrize(
    "params", [5, {"reductions": "mode"}, {"reductions": ["min"]}, {"save_raw_tensor": "perhaps"}]
)
def test_bad_reduction_dicts_are_refused(params):
    with pytest.raises(SMDebugValueError):
        ReductionConfig.from_dict(params)


def test_texts_that_are_not_json_are_refused():
    for config_class in (SaveConfig, ReductionConfig):
        with pytest.raises(SMDebugValueError):
            config_class.from_json("{")


def test_nothing_stays_nothing():
    assert SaveConfig.from_dict(None) is None
    assert SaveConfigMode.from_dict(None) is None
    assert ReductionConfig.from_dict(None) is None
