"""Trainings of XGBoost that one line records."""

import numpy as np
import pytest
import smdebug.xgboost as smd
import xgboost as xgb
from smdebug.exceptions import SMDebugRuntimeError, SMDebugValueError
from smdebug.integrations import XGBoostCallback
from stopping import imported_by, stopping
from trainings import BINARY, EVERY_ROUND, features, labels, matrix, train

LOSSES = {**BINARY, "eval_metric": ["logloss", "auc"]}


def numbers(trial, name):
    tensor = trial.tensor(name)
    return [tensor.value(step).item() for step in tensor.steps()]


class Failing(xgb.callback.TrainingCallback):
    """Raises after two rounds."""

    # Not after a round: XGBoost calls callbacks in any order there.
    def before_iteration(self, model, epoch, evals_log):
        if epoch == 2:
            raise ZeroDivisionError
        return False


def test_a_training(out_dir):
    results = {}
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    assert callback.hook is None
    train(callback, LOSSES, rounds=4, evals_result=results)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1, 2, 3]
    for data in ("train", "validation"):
        assert numbers(trial, f"{data}-logloss") == results[data]["logloss"]
    assert trial.tensor_names(collection="losses") == ["train-logloss", "validation-logloss"]
    assert numbers(trial, "learning_rate") == pytest.approx([0.4] * 4)
    assert callback.hook.failures == 0


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_learning_rates_are_those_of_the_round(out_dir, booster):
    schedule = xgb.callback.LearningRateScheduler([0.3, 0.2, 0.1])
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    params = {"booster": booster, "eta": 0.4, "nthread": 1}
    train(callback, params, rounds=3, before=[schedule])
    # XGBoost sets a scheduled rate after the round.
    rates = numbers(smd.create_trial(out_dir), "learning_rate")
    assert rates == pytest.approx([0.4, 0.3, 0.2])


def test_a_rule_stops_the_training(out_dir):
    callback = XGBoostCallback(out_dir, rules=stopping(), save_config=EVERY_ROUND)
    model = train(callback, LOSSES, rounds=20)
    assert model.num_boosted_rounds() == 2
    assert callback.hook.stop_finding.tensor.endswith("logloss")
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]


def test_a_second_training_is_not_recorded(out_dir, caplog):
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    train(callback, BINARY, rounds=2)
    assert train(callback, BINARY, rounds=3).num_boosted_rounds() == 3
    assert "holds a finished trial: this training is not recorded" in caplog.text
    assert smd.create_trial(out_dir).steps() == [0, 1]


def test_an_exception_finishes_the_trial(out_dir):
    with pytest.raises(ZeroDivisionError):
        with XGBoostCallback(out_dir, save_config=EVERY_ROUND) as callback:
            train(callback, BINARY, before=[Failing()])
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]


def test_a_deleted_callback_finishes_the_trial(out_dir):
    def run():
        train(XGBoostCallback(out_dir, save_config=EVERY_ROUND), BINARY, before=[Failing()])

    with pytest.raises(ZeroDivisionError) as raised:
        run()
    del raised
    assert smd.create_trial(out_dir).loaded_all_steps


def test_a_training_after_an_exception_is_not_recorded(out_dir, caplog):
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    with pytest.raises(ZeroDivisionError):
        train(callback, BINARY, before=[Failing()])
    train(callback, BINARY, rounds=5)
    assert "this training is not recorded" in caplog.text
    assert smd.create_trial(out_dir).steps() == [0, 1]


def test_another_callback_stops_the_training(out_dir):
    early = xgb.callback.EarlyStopping(rounds=1, metric_name="auc", data_name="validation")
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    model = train(callback, BINARY, rounds=200, before=[early])
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and len(trial.steps()) == model.num_boosted_rounds() < 200


def test_estimators_and_their_copies(out_dir):
    from sklearn.base import clone

    x = features()
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    estimator = xgb.XGBClassifier(n_estimators=3, callbacks=[callback])
    copy = clone(estimator)
    for each in (copy, estimator):
        each.fit(x, labels(x), eval_set=[(x, labels(x))], verbose=False)
    trial = smd.create_trial(out_dir)
    losses = estimator.evals_result()["validation_0"]["logloss"]
    assert numbers(trial, "validation_0-logloss") == losses


def test_cross_validation(out_dir):
    callback = XGBoostCallback(out_dir, save_config=EVERY_ROUND)
    table = xgb.cv(BINARY, matrix(), 3, nfold=3, callbacks=[callback], as_pandas=False)
    trial = smd.create_trial(out_dir)
    means = [trial.tensor("test-auc").value(step)[0] for step in range(3)]
    assert means == table["test-auc-mean"] and trial.loaded_all_steps
    assert numbers(trial, "learning_rate") == pytest.approx([0.4] * 3)


def test_a_hook_instead_of_a_folder(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"])
    train(XGBoostCallback(hook=hook), BINARY, rounds=2)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.tensor_names(collection="trees")


def test_wrong_arguments(out_dir):
    with pytest.raises(SMDebugValueError, match="either out_dir or hook"):
        XGBoostCallback()
    with pytest.raises(SMDebugValueError, match="settings of a hook that exists"):
        XGBoostCallback(hook=smd.Hook(out_dir), save_all=True)


def test_a_folder_with_a_finished_trial(out_dir):
    train(XGBoostCallback(out_dir), BINARY, rounds=1)
    with pytest.raises(SMDebugRuntimeError, match="finished"):
        train(XGBoostCallback(out_dir), BINARY, rounds=1)


def test_xgboost_is_imported_when_it_is_used():
    program = "import smdebug.integrations"
    assert imported_by(program, "xgboost", "numpy") == "[]"
    assert imported_by(f"{program} as i; i.XGBoostCallback", "xgboost") == "['xgboost']"


def test_no_losses_without_data(out_dir):
    data = xgb.DMatrix(np.zeros((4, 1)), label=[0, 1, 0, 1])
    xgb.train(BINARY, data, 2, callbacks=[XGBoostCallback(out_dir, save_config=EVERY_ROUND)])
    assert smd.create_trial(out_dir).tensor_names() == ["learning_rate"]
