"""The hook in trainings of every kind."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import smdebug.xgboost as smd
import xgboost as xgb
from profiled import configure, steps_in
from sklearn.base import clone
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugRuntimeError,
)
from smdebug.rules import Rule, invoke_rule
from trainings import BINARY, EVERY_ROUND, EVERYTHING, PARAMS, features, labels, matrix, train


def numbers(trial, name):
    tensor = trial.tensor(name)
    return [tensor.value(step).item() for step in tensor.steps()]


def test_metrics_are_saved_every_tenth_round(out_dir):
    results = {}
    with smd.Hook(out_dir) as hook:
        train(hook, {**BINARY, "eval_metric": ["logloss", "auc"]}, rounds=12, evals_result=results)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names() == [
        "train-auc",
        "train-logloss",
        "validation-auc",
        "validation-logloss",
    ]
    assert trial.steps() == [0, 10]
    assert numbers(trial, "train-auc") == [results["train"]["auc"][step] for step in (0, 10)]
    assert trial.tensor_names(collection="losses") == ["train-logloss", "validation-logloss"]


def test_a_collection_of_a_configuration_is_saved_every_500th_round(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    collections = [
        {"CollectionName": "feature_importance"},
        {"CollectionName": "predictions", "CollectionParameters": {"start_step": 1}},
        {"CollectionName": "labels", "CollectionParameters": {"save_interval": 4}},
    ]
    settings = {"LocalPath": out_dir, "CollectionConfigurations": collections}
    path.write_text(json.dumps(settings))
    data = matrix()
    hook = smd.Hook.create_from_json_file(str(path))
    hook.validation_data = data
    with hook:
        train(hook, BINARY, data, data, rounds=21)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("train-auc").steps() == [0, 10, 20]
    assert trial.tensor("feature_importance/weight/f0").steps() == [0]
    assert trial.tensor("labels").steps() == [0, 4, 8, 12, 16, 20]
    assert not trial.has_tensor("predictions")


def test_the_hooks_interval_in_a_configuration_is_that_of_its_collections(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    collections = [{"CollectionName": "feature_importance"}]
    settings = {"LocalPath": out_dir, "CollectionConfigurations": collections}
    path.write_text(json.dumps({**settings, "HookParameters": {"save_interval": 3}}))
    with smd.Hook.create_from_json_file(str(path)) as hook:
        train(hook, BINARY, rounds=7)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("train-auc").steps() == [0, 3, 6]
    assert trial.tensor("feature_importance/weight/f0").steps() == [0, 3, 6]


def test_collections_list_what_was_saved(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND, save_all=True) as hook:
        train(hook, BINARY, rounds=2)
    trial = smd.create_trial(out_dir)
    for collection in trial.collections().values():
        assert collection.tensor_names <= set(trial.tensor_names()), collection


def test_the_model_is_the_same_as_without_a_hook(record):
    data = matrix()
    model, _ = record(train_data=data, validation_data=data, rounds=5, save_all=True)
    assert model.get_dump() == xgb.train(BINARY, data, 5).get_dump()


def test_modes_are_the_users(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        for mode in (smd.modes.TRAIN, smd.modes.EVAL):
            hook.set_mode(mode)
            train(hook, BINARY, rounds=2)
    trial = smd.create_trial(out_dir)
    # A second training continues the step numbers.
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1]


def test_rounds_are_readable_when_the_training_is_over(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(hook, BINARY, rounds=3)
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]
    hook.close()


def test_early_stopping(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        model = train(hook, BINARY, rounds=200, early_stopping_rounds=2)
    trial = smd.create_trial(out_dir)
    assert model.num_boosted_rounds() < 200
    assert trial.steps() == list(range(model.num_boosted_rounds()))
    assert trial.loaded_all_steps


@pytest.mark.parametrize("save_best", [False, True])
@pytest.mark.parametrize("is_first", [False, True])
def test_early_stopping_is_recorded_with_the_last_round(out_dir, save_best, is_first):
    results = {}
    stop = xgb.callback.EarlyStopping(rounds=2, save_best=save_best)
    order = {"before": [stop]} if is_first else {"after": [stop]}
    with smd.Hook(out_dir) as hook:
        model = train(hook, BINARY, rounds=200, evals_result=results, **order)
        # A training that resumes from the model has no early stopping of its own.
        train(hook, BINARY, rounds=2, xgb_model=model)
    last = len(results["train"]["auc"]) - 1
    trial = smd.create_trial(out_dir)
    found = {name: trial.tensor(name) for name in trial.tensor_names(regex="^early_stopping/")}
    assert {name.partition("/")[2]: each.value(last).item() for name, each in found.items()} == {
        "best_iteration": model.best_iteration,
        "best_score": pytest.approx(model.best_score),
        "last_iteration": last,
    }
    assert all(tensor.steps() == [last] for tensor in found.values()) and last % 10
    assert last in trial.tensor("train-auc").steps()
    assert set(found) <= set(trial.tensor_names(collection="metrics"))


def test_early_stopping_of_a_cross_validation(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        table = xgb.cv(
            BINARY, matrix(), 200, nfold=3, early_stopping_rounds=2, callbacks=[hook],
            as_pandas=False,
        )  # fmt: skip
    trial = smd.create_trial(out_dir)
    best = len(table["test-auc-mean"]) - 1
    assert numbers(trial, "early_stopping/best_iteration") == [best]
    assert numbers(trial, "early_stopping/last_iteration") == [best + 2]


@pytest.mark.parametrize("save_best", [False, True])
def test_the_round_at_which_an_earlier_callback_ends_the_training(out_dir, save_best):
    data, results = matrix(), {}
    stop = xgb.callback.EarlyStopping(rounds=2, save_best=save_best)
    options = {"include_collections": ["predictions"], "validation_data": data}
    with smd.Hook(out_dir, save_config=EVERY_ROUND, **options) as hook:
        model = train(hook, BINARY, rounds=200, before=[stop], evals_result=results)
    trial = smd.create_trial(out_dir)
    last = len(results["train"]["auc"]) - 1
    assert numbers(trial, "validation-auc") == results["validation"]["auc"]
    # A model that is cut to its best rounds is not the model of the last round.
    assert trial.tensor("predictions").steps()[-1] == (last - 1 if save_best else last)
    assert model.num_boosted_rounds() == (last - 1 if save_best else last + 1)


def test_a_round_that_does_not_begin_is_not_recorded(out_dir):
    class Stop(xgb.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            return epoch == 3

    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        callbacks = [hook, Stop()]
        xgb.train(BINARY, matrix(), 9, evals=[(matrix(), "train")], callbacks=callbacks,
                  verbose_eval=False)  # fmt: skip
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]


def test_an_estimator_of_scikit_learn(out_dir):
    x = features()
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        estimator = xgb.XGBClassifier(
            n_estimators=3, n_jobs=1, eval_metric="logloss", callbacks=[hook]
        )
        estimator.fit(x, labels(x), eval_set=[(x, labels(x))], verbose=False)
    trial = smd.create_trial(out_dir)
    results = estimator.evals_result()["validation_0"]["logloss"]
    for collection in ("metrics", "losses"):
        assert trial.tensor_names(collection=collection) == ["validation_0-logloss"]
    assert numbers(trial, "validation_0-logloss") == results


def test_a_copy_of_an_estimator_trains_and_records_nothing(out_dir):
    x = features()
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        estimator = xgb.XGBClassifier(n_estimators=2, n_jobs=1, callbacks=[hook])
        for other in (clone(estimator), pickle.loads(pickle.dumps(estimator))):
            other.fit(x, labels(x), eval_set=[(x, labels(x))], verbose=False)
        assert hook.step == -1
        assert not copy.deepcopy(hook).after_iteration(None, 0, {})


def test_cross_validation_saves_means_and_deviations(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND, save_all=True, train_data=matrix()) as hook:
        table = xgb.cv(BINARY, matrix(), 3, nfold=3, callbacks=[hook], as_pandas=False)
    trial = smd.create_trial(out_dir)
    names = [f"{data}-auc{part}" for data in ("test", "train") for part in ("", "-mean", "-std")]
    assert trial.tensor_names() == trial.tensor_names(collection="metrics") == names
    assert trial.tensor_names(collection="losses") == []
    values = [trial.tensor("test-auc").value(step) for step in range(3)]
    assert np.array_equal(values, np.stack([table["test-auc-mean"], table["test-auc-std"]], axis=1))
    for name in ("test-auc-mean", "test-auc-std"):
        assert numbers(trial, name) == table[name]


def test_a_training_without_evaluations(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"]) as hook:
        xgb.train(BINARY, matrix(), 2, callbacks=[hook])
    assert set(smd.create_trial(out_dir).tensor_names(collection="trees")) == set(
        smd.create_trial(out_dir).tensor_names()
    )


def test_what_a_collection_needs_is_said_once(record, caplog):
    _, trial = record(include_collections=EVERYTHING)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        f"nothing is saved in {name}"
        for name in ("hyperparameters", "predictions", "labels", "average_shap")
    ]
    assert "train-auc" in trial.tensor_names()


def test_a_failure_costs_its_own_tensors_only(out_dir, caplog):
    wide = xgb.DMatrix(np.ones((3, 9)), np.zeros(3))
    with smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        save_all=True,
        validation_data=wide,
        hyperparameters={"eta": 0.4},
        raise_errors=False,
    ) as hook:
        train(hook, BINARY, rounds=3)
    assert hook.failures == 3
    (error,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "_save_predictions failed" in error.message
    names = smd.create_trial(out_dir).tensor_names()
    assert "predictions" not in names
    assert {"labels", "train-auc", "hyperparameters/eta", "trees/Gain"} <= set(names)


def test_failures_are_raised_if_asked_for(out_dir):
    wide = xgb.DMatrix(np.ones((3, 9)), np.zeros(3))
    hook = smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        include_collections=["predictions"],
        validation_data=wide,
        raise_errors=True,
    )
    with pytest.raises(xgb.core.XGBoostError, match="columns"):
        train(hook, BINARY)


def test_a_collection_that_includes_nothing_is_refused(out_dir):
    hook = smd.Hook(out_dir, include_collections=["mine"], raise_errors=False)
    hook.get_collection("mine")
    with pytest.raises(InvalidCollectionConfiguration):
        train(hook, BINARY)


def test_a_finished_trial_is_not_overwritten(out_dir, record):
    record()
    with pytest.raises(SMDebugRuntimeError, match="finished trial"):
        smd.Hook(out_dir)


def test_reductions_are_those_of_collections(out_dir, caplog):
    maximum = smd.ReductionConfig(reductions=["max"])
    data = matrix()
    with smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        reduction_config=maximum,
        include_collections=["predictions", "labels"],
        validation_data=data,
    ) as hook:
        hook.get_collection("predictions").reduction_config = maximum
        model = train(hook, BINARY, data, rounds=2)
    assert "reduction_config" in caplog.text
    trial = smd.create_trial(out_dir)
    assert trial.tensor("predictions").reduction_values(1) == {
        ("max", False): model.predict(data).max()
    }
    assert trial.tensor("labels").value(1).shape == (120,)


def test_scalars_and_tensors_of_the_user(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        hook.save_scalar("lr", 0.1)
        hook.save_tensor("weights", np.ones(3))
        train(hook, BINARY, rounds=2)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("scalar/lr").value(0).tolist() == [0.1]
    assert trial.tensor("weights").value(0).tolist() == [1.0, 1.0, 1.0]


def test_the_hook_of_a_configuration(out_dir, tmp_path, monkeypatch):
    path = tmp_path / "hook.json"
    assert smd.get_hook(str(path)) is None
    path.write_text(f'{{"LocalPath": "{out_dir}"}}')
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    hook = smd.get_hook()
    assert smd.get_hook() is hook
    assert hook.save_config.get_save_config(smd.modes.TRAIN).save_interval == 10
    assert hook.has_default_hook_configuration()
    smd.del_hook()
    assert smd.get_hook(create_if_not_exists=False) is None


def test_what_is_given_after_the_hook_was_made(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    path.write_text(
        f'{{"LocalPath": "{out_dir}", "CollectionConfigurations": '
        '[{"CollectionName": "hyperparameters"}, {"CollectionName": "labels"}]}'
    )
    with smd.Hook.hook_from_config(str(path)) as hook:
        hook.hyperparameters, hook.validation_data = PARAMS, matrix()
        train(hook, PARAMS, rounds=1)
    names = smd.create_trial(out_dir).tensor_names()
    assert {"labels", "hyperparameters/seed"} <= set(names)


class Overfit(Rule):
    """The loss of the validation is several times that of the training."""

    def __init__(self, base_trial, ratio):
        super().__init__(base_trial)
        self.ratio = ratio

    def set_required_tensors(self, step):
        for name in ("train-logloss", "validation-logloss"):
            self.req_tensors.add(name, steps=[step])

    def invoke_at_step(self, step):
        train_loss, validation_loss = (each.value(step)[0] for each in self.req_tensors.get())
        return validation_loss > self.ratio * train_loss


def test_a_rule_judges_the_training(record):
    _, trial = record({**BINARY, "eval_metric": "logloss"}, rounds=30)
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(Overfit(trial, 1.5), raise_eval_cond=True)
    pairs = zip(numbers(trial, "train-logloss"), numbers(trial, "validation-logloss"))
    assert met.value.step == next(i for i, (a, b) in enumerate(pairs) if b > 1.5 * a)
    with pytest.raises(NoMoreData):
        invoke_rule(Overfit(trial, 1000.0), raise_eval_cond=True)


@pytest.mark.parametrize(
    ("statement", "prints"),
    [
        ("import smdebug; print('xgboost' in sys.modules)", "False"),
        (
            "sys.modules['xgboost'] = None\n"
            "try: import smdebug.xgboost\n"
            "except ImportError as error: print(error)",
            "smdebug.xgboost needs xgboost, which is not installed: pip install xgboost-cpu",
        ),
    ],
)
def test_xgboost_is_imported_only_by_what_needs_it(statement, prints):
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{statement}"], capture_output=True, text=True
    )
    assert done.stdout.strip() == prints, done.stderr


def test_the_rounds_of_a_profiled_training(out_dir, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    with smd.Hook(out_dir, raise_errors=True) as hook:
        train(hook, BINARY, rounds=5)
    assert steps_in(profile) == {"Step:ModeKeys.GLOBAL": [0, 1, 2, 3, 4]}
