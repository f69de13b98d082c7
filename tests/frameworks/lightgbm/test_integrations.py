"""Trainings of LightGBM that one line records."""

import os
import pickle

import lightgbm as lgb
import pytest
import smdebug.lightgbm as smd
from smdebug.exceptions import SMDebugValueError
from smdebug.integrations import LightGBMCallback
from stopping import imported_by, stopping
from test_hook import EVERY_ROUND, PARAMS, data, numbers, train


def train_with(callbacks, rounds=4, params=PARAMS):
    """Returns the metrics of a training, by data and name."""
    results = {}
    x, y = data()
    dataset = lgb.Dataset(x, y)
    lgb.train(
        params,
        dataset,
        rounds,
        valid_sets=[dataset, dataset.create_valid(*data(60, seed=1))],
        valid_names=["train", "test"],
        callbacks=[*callbacks, lgb.record_evaluation(results)],
    )
    return results


def fail(env):
    """Raises after two rounds."""
    if env.iteration == 2:
        raise ZeroDivisionError


def test_a_training(out_dir):
    callback = LightGBMCallback(out_dir, save_config=EVERY_ROUND)
    assert callback.hook is None
    results = train_with([callback])
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1, 2, 3]
    for of_data in ("train", "test"):
        for metric in ("auc", "binary_logloss"):
            assert numbers(trial, f"{of_data}-{metric}") == results[of_data][metric]
    assert trial.tensor_names(collection="losses") == [
        "test-binary_logloss",
        "train-binary_logloss",
    ]
    assert numbers(trial, "learning_rate") == [0.1] * 4
    assert callback.hook.failures == 0


@pytest.mark.parametrize("name", ["learning_rate", "eta", "shrinkage_rate"])
def test_learning_rates_are_those_of_the_round(out_dir, name):
    rates = [0.4, 0.3, 0.2]
    schedule = lgb.reset_parameter(learning_rate=rates)
    callback = LightGBMCallback(out_dir, save_config=EVERY_ROUND)
    train_with([schedule, callback], 3, {**PARAMS, name: 0.5})
    assert numbers(smd.create_trial(out_dir), "learning_rate") == rates


@pytest.mark.parametrize("name", ["learning_rate", "eta", "shrinkage_rate"])
def test_the_learning_rate_has_several_names(out_dir, name):
    train_with([LightGBMCallback(out_dir)], 1, {**PARAMS, name: 0.5})
    assert numbers(smd.create_trial(out_dir), "learning_rate") == [0.5]


def test_a_rule_stops_the_training(out_dir):
    callback = LightGBMCallback(out_dir, rules=stopping(), save_config=EVERY_ROUND)
    model = train(callback, 20)
    assert model.num_trees() == 2
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]
    assert callback.hook.stop_finding.tensor.endswith("binary_logloss")


def test_early_stopping_finishes_the_trial_of_a_deleted_callback(out_dir):
    model = train(LightGBMCallback(out_dir, save_config=EVERY_ROUND), 200, early_stopping=2)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps() == list(range(model.best_iteration + 2))


def test_a_second_training_is_not_recorded(out_dir, caplog):
    callback = LightGBMCallback(out_dir, save_config=EVERY_ROUND)
    rounds = train(callback, 200, early_stopping=2).best_iteration + 2
    callback.hook.flush()
    trial = smd.create_trial(out_dir)
    assert not trial.loaded_all_steps
    assert train(callback, 5).num_trees() == 5
    assert "holds a finished trial: this training is not recorded" in caplog.text
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == list(range(rounds))


def test_an_exception_finishes_the_trial(out_dir):
    fail.order = 10
    with pytest.raises(ZeroDivisionError):
        with LightGBMCallback(out_dir, save_config=EVERY_ROUND) as callback:
            train_with([fail, callback])
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]


def test_an_estimator(out_dir):
    x, y = data()
    estimator = lgb.LGBMClassifier(n_estimators=3, learning_rate=0.3, verbose=-1, n_jobs=1)
    estimator.fit(
        x, y, eval_set=[(x, y)], callbacks=[LightGBMCallback(out_dir, save_config=EVERY_ROUND)]
    )
    trial = smd.create_trial(out_dir)
    losses = next(iter(estimator.evals_result_.values()))["binary_logloss"]
    [name] = trial.tensor_names(collection="losses")
    assert numbers(trial, name) == losses and trial.loaded_all_steps
    assert numbers(trial, "learning_rate") == [0.3] * 3


def test_cross_validation(out_dir):
    callback = LightGBMCallback(out_dir, save_config=EVERY_ROUND)
    table = lgb.cv(PARAMS, lgb.Dataset(*data()), 3, nfold=3, callbacks=[callback])
    trial = smd.create_trial(out_dir)
    means = [trial.tensor("valid-auc").value(step)[0] for step in range(3)]
    assert means == table["valid auc-mean"] and trial.loaded_all_steps


def test_a_rule_stops_a_cross_validation(out_dir):
    callback = LightGBMCallback(out_dir, rules=stopping(), save_config=EVERY_ROUND)
    table = lgb.cv(PARAMS, lgb.Dataset(*data()), 20, nfold=3, callbacks=[callback])
    assert {len(values) for values in table.values()} == {2}
    assert callback.hook.stop_finding.tensor == "valid-binary_logloss-mean"
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]


def test_a_copy_records_nothing(out_dir, caplog):
    callback = pickle.loads(pickle.dumps(LightGBMCallback(out_dir)))
    assert train(callback, 2).num_trees() == 2
    assert callback.hook is None and not os.path.exists(out_dir)
    assert not caplog.text


def test_a_forked_child_leaves_the_trial_open(out_dir):
    callback = LightGBMCallback(out_dir, save_config=EVERY_ROUND)
    train(callback, 200, early_stopping=2)
    child = os.fork()
    if child == 0:
        del callback
        os._exit(0)
    os.waitpid(child, 0)
    assert not smd.create_trial(out_dir).loaded_all_steps
    callback.close()
    assert smd.create_trial(out_dir).loaded_all_steps


def test_a_hook_instead_of_a_folder(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"])
    train(LightGBMCallback(hook=hook), 2)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.tensor_names(collection="trees")
    assert not trial.has_tensor("learning_rate")


def test_wrong_arguments(out_dir):
    with pytest.raises(SMDebugValueError, match="either out_dir or hook"):
        LightGBMCallback()
    with pytest.raises(SMDebugValueError, match="settings of a hook that exists"):
        LightGBMCallback(hook=smd.Hook(out_dir), save_all=True)


def test_lightgbm_is_imported_when_it_is_used():
    program = "import smdebug.integrations"
    assert imported_by(program, "lightgbm", "numpy") == "[]"
    assert imported_by(f"{program} as i; i.LightGBMCallback", "lightgbm") == "['lightgbm']"
