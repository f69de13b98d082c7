"""The hook in LightGBM trainings."""

import math
import subprocess
import sys

import lightgbm as lgb
import numpy as np
import pytest
import smdebug.lightgbm as smd
from pages import run_page
from profiled import configure, steps_in
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import RuleSet, invoke_rule

PARAMS = {
    "objective": "binary",
    "metric": ["auc", "binary_logloss"],
    "num_leaves": 5,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "seed": 1,
    "verbose": -1,
}
EVERY_ROUND = smd.SaveConfig(save_interval=1)
EVERYTHING = ["hyperparameters", "predictions", "labels", "feature_importance", "trees"]


def data(rows=200, seed=0, classes=2):
    x = np.random.RandomState(seed).rand(rows, 4)
    x[:, 3] = np.floor(x[:, 3] * 6)
    return x, np.floor(((x[:, 0] + x[:, 1]) / 2 + x[:, 3] % 2) / 2 * classes)


def train(hook, rounds=3, params=None, classes=2, early_stopping=None, **options):
    x, y = data(classes=classes)
    dataset = lgb.Dataset(x, y, feature_name=["a", "b", "c", "d"], categorical_feature=["d"])
    validation = dataset.create_valid(*data(60, seed=1, classes=classes))
    callbacks = [hook]
    if early_stopping:
        callbacks.insert(0, lgb.early_stopping(early_stopping, verbose=False))
    return lgb.train(
        {**PARAMS, **(params or {})},
        dataset,
        rounds,
        valid_sets=[dataset, validation],
        valid_names=["train", "test"],
        callbacks=callbacks,
        **options,
    )


@pytest.fixture
def record(out_dir):
    """Trains with a hook that saves every round, and opens the trial."""

    def run(rounds=3, include_collections=None, validation_data=None, **training):
        with smd.Hook(
            out_dir,
            save_config=EVERY_ROUND,
            include_collections=include_collections,
            validation_data=validation_data,
        ) as hook:
            model = train(hook, rounds, **training)
        return model, smd.create_trial(out_dir)

    return run


def numbers(trial, name):
    tensor = trial.tensor(name)
    return [tensor.value(step).item() for step in tensor.steps()]


def columns(trial, step):
    names = trial.tensor_names(collection="trees")
    return {name.partition("/")[2]: trial.tensor(name).value(step).tolist() for name in names}


def test_metrics_are_saved_every_tenth_round(out_dir):
    results = {}
    with smd.Hook(out_dir) as hook:
        x, y = data()
        dataset = lgb.Dataset(x, y)
        callbacks = [hook, lgb.record_evaluation(results)]
        lgb.train(PARAMS, dataset, 12, valid_sets=[dataset], callbacks=callbacks)
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 10]
    assert trial.tensor_names() == ["training-auc", "training-binary_logloss"]
    assert trial.tensor_names(collection="metrics") == trial.tensor_names()
    assert trial.tensor_names(collection="losses") == ["training-binary_logloss"]
    assert numbers(trial, "training-auc") == [results["training"]["auc"][i] for i in (0, 10)]


def test_rounds_are_readable_when_the_training_is_over(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(hook)
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]
    hook.close()


def test_early_stopping(record):
    model, trial = record(200, early_stopping=2)
    assert model.best_iteration < 198
    assert trial.steps() == list(range(model.best_iteration + 2))
    assert numbers(trial, "test-auc")[model.best_iteration - 1] == model.best_score["test"]["auc"]


def ends(trial):
    """Returns what a trial holds about early stopping, and the steps of it."""
    found = {
        name.partition("/")[2]: trial.tensor(name)
        for name in trial.tensor_names(regex="^early_stopping/")
    }
    steps = {step for tensor in found.values() for step in tensor.steps()}
    return {name: tensor.value(max(steps)).item() for name, tensor in found.items()}, steps


def test_early_stopping_is_recorded_with_the_last_round(out_dir):
    with smd.Hook(out_dir) as hook:
        model = train(hook, 200, early_stopping=2)
        # A second training reports the first one's end, and has none of its own.
        train(hook, 3)
    trial = smd.create_trial(out_dir)
    last = model.best_iteration + 1
    best = {
        f"{data}-{metric}": value
        for data, of_data in model.best_score.items()
        for metric, value in of_data.items()
    }
    found, steps = ends(trial)
    assert len(best) == 4 and steps == {last} and last % 10
    assert found == {"best_iteration": last - 2, "last_iteration": last, **best}
    assert set(trial.tensor_names(regex="^early_stopping/")) <= set(
        trial.tensor_names(collection="metrics")
    )
    # The last round's metrics are saved whatever the save config.
    assert last in trial.tensor("test-auc").steps()


def test_a_training_that_is_not_stopped_early_has_no_such_end(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        train(hook, 3)
        train(hook, 2, early_stopping=100)
    assert ends(smd.create_trial(out_dir)) == ({}, set())


def test_early_stopping_of_a_cross_validation(out_dir):
    stop = lgb.early_stopping(2, verbose=False)
    with smd.Hook(out_dir) as hook:
        table = lgb.cv(PARAMS, lgb.Dataset(*data()), 200, nfold=3, callbacks=[stop, hook])
    best = len(table["valid auc-mean"])
    found, steps = ends(smd.create_trial(out_dir))
    assert found == {"best_iteration": best - 1, "last_iteration": best + 1}
    assert steps == {best + 1}


def test_early_stopping_with_rules_is_logged(out_dir, caplog):
    caplog.set_level("INFO", "smdebug")
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        hook.attach(RuleSet("aws").add("LossNotDecreasing"))
        model = train(hook, 200, early_stopping=2)
    trial = smd.create_trial(out_dir)
    assert trial.steps() == list(range(model.best_iteration + 2))
    assert f"the best round is {model.best_iteration - 1}" in caplog.text


def test_cross_validation_saves_means_and_deviations(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND, save_all=True) as hook:
        table = lgb.cv(PARAMS, lgb.Dataset(*data()), 3, nfold=3, callbacks=[hook])
    trial = smd.create_trial(out_dir)
    losses = {f"valid-binary_logloss{part}" for part in ("", "-mean")}
    rest = {"valid-binary_logloss-std", "valid-auc", "valid-auc-mean", "valid-auc-std"}
    assert set(trial.tensor_names(collection="metrics")) == losses | rest
    assert set(trial.tensor_names(collection="losses")) == losses
    values = [trial.tensor("valid-auc").value(step).tolist() for step in range(3)]
    assert values == [list(pair) for pair in zip(table["valid auc-mean"], table["valid auc-stdv"])]
    assert numbers(trial, "valid-auc-mean") == table["valid auc-mean"]
    assert numbers(trial, "valid-auc-std") == table["valid auc-stdv"]
    assert trial.tensor("hyperparameters/num_leaves").value(0).tolist() == [5]


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_an_estimator_of_scikit_learn(out_dir):
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        estimator = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
        estimator.fit(*data(), eval_set=[data(60, seed=1)], callbacks=[hook])
    trial = smd.create_trial(out_dir)
    (results,) = estimator.evals_result_["valid_0"].values()
    assert numbers(trial, "valid_0-binary_logloss") == results


def test_predictions_labels_and_hyperparameters(record):
    x, y = data(30, seed=2)
    model, trial = record(include_collections=EVERYTHING, validation_data=(x, y))
    assert np.array_equal(trial.tensor("predictions").value(2), model.predict(x))
    assert np.array_equal(trial.tensor("predictions").value(0), model.predict(x, num_iteration=1))
    assert np.array_equal(trial.tensor("labels").value(1), y)
    assert trial.tensor("hyperparameters/objective").value(0).tolist() == ["binary"]
    assert trial.tensor("hyperparameters/metric").value(0).tolist() == PARAMS["metric"]


def test_the_importances_of_a_kind_have_the_sum_1(record):
    model, trial = record(include_collections=EVERYTHING)
    for kind in ("split", "gain"):
        scores = model.feature_importance(kind)
        saved = [
            trial.tensor(f"feature_importance/{kind}/{name}").value(2).item() for name in "abcd"
        ]
        assert math.isclose(sum(saved), 1)
        assert np.allclose(saved, scores / scores.sum())


def predicted(rows, row):
    """Returns the prediction of recorded trees for a row: the sum of the leaves it reaches."""
    nodes = dict(zip(rows["node_index"], range(len(rows["node_index"]))))
    total = 0
    for root in (i for i, parent in enumerate(rows["parent_index"]) if parent == "nan"):
        node = root
        while rows["split_feature"][node] != "nan":
            value = row["abcd".index(rows["split_feature"][node])]
            if rows["decision_type"][node] == "==":
                goes_left = str(int(value)) in rows["categories"][node].split("||")
            else:
                goes_left = value <= rows["threshold"][node]
            node = nodes[rows["left_child" if goes_left else "right_child"][node]]
        total += rows["value"][node]
    return total


def test_recorded_trees_predict_as_the_model(record):
    model, trial = record(include_collections=["trees"])
    x, _ = data(40, seed=3)
    for step in range(3):
        rows = columns(trial, step)
        assert set(rows["tree_index"]) == {step}
        assert rows["count"][0] == 200
        assert {"==", "<="} & set(rows["decision_type"])
        wanted = model.predict(x, raw_score=True, start_iteration=step, num_iteration=1)
        assert np.allclose([predicted(rows, row) for row in x], wanted)


def test_a_round_of_several_trees(record):
    params = {"objective": "multiclass", "num_class": 3, "metric": "multi_logloss"}
    x, y = data(classes=3)
    model, trial = record(
        params=params, classes=3, include_collections=EVERYTHING, validation_data=x
    )
    assert set(columns(trial, 1)["tree_index"]) == {3, 4, 5}
    assert trial.tensor("predictions").value(2).shape == (200, 3)
    assert np.array_equal(trial.tensor("predictions").value(2), model.predict(x))


def test_a_tree_that_is_one_leaf(record):
    _, trial = record(params={"min_data_in_leaf": 150}, include_collections=EVERYTHING)
    rows = columns(trial, 0)
    assert rows["node_index"] == ["0-L0"]
    assert rows["split_feature"] == ["nan"]
    assert trial.tensor("feature_importance/gain/a").value(0).item() == 0


def test_a_training_that_goes_on_counts_on(out_dir):
    dataset = lgb.Dataset(*data(), feature_name=["a", "b", "c", "d"], free_raw_data=False)
    first = lgb.train(PARAMS, dataset, 3)
    with smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"]) as hook:
        lgb.train(PARAMS, dataset, 2, init_model=first, callbacks=[hook])
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [3, 4]
    assert len(columns(trial, 4)["node_index"]) == 2 * 5 - 1


def test_the_model_is_the_same_as_without_a_hook(record):
    model, _ = record(5, include_collections=EVERYTHING, validation_data=data())
    assert model.model_to_string() == train(lgb.log_evaluation(0), 5).model_to_string()


def test_what_is_not_given_is_said_once(record, caplog):
    record(include_collections=EVERYTHING)
    assert caplog.messages == [
        "nothing is saved in predictions: the hook was not given validation_data",
        "nothing is saved in labels: the hook was not given labels in validation_data",
    ]


def test_a_failure_does_not_stop_the_training(out_dir):
    with smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        save_all=True,
        validation_data=np.ones((2, 9)),
        raise_errors=False,
    ) as hook:
        train(hook)
    assert hook.failures == 3
    names = smd.create_trial(out_dir).tensor_names()
    assert "predictions" not in names
    assert {"test-auc", "trees/value"} <= set(names)


class Overfit(smd.Rule):
    """The loss of the test data is some times that of the training."""

    def __init__(self, base_trial, ratio):
        super().__init__(base_trial)
        self.ratio = ratio

    def set_required_tensors(self, step):
        for data_name in ("train", "test"):
            self.req_tensors.add(f"{data_name}-binary_logloss", steps=[step])

    def invoke_at_step(self, step):
        of_train, of_test = (tensor.value(step).item() for tensor in self.req_tensors.get())
        return of_test > self.ratio * of_train


def test_a_rule_judges_the_training(record):
    _, trial = record(80)
    with pytest.raises(RuleEvaluationConditionMet):
        invoke_rule(Overfit(trial, 1.05), raise_eval_cond=True)
    with pytest.raises(NoMoreData):
        invoke_rule(Overfit(trial, 1000), raise_eval_cond=True)


def test_the_page(tmp_path):
    run_page("lightgbm.md", tmp_path)


def test_lightgbm_is_imported_only_by_what_needs_it():
    program = (
        "import sys, smdebug\n"
        "assert 'lightgbm' not in sys.modules\n"
        "sys.modules['lightgbm'] = None\n"
        "try: import smdebug.lightgbm\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == (
        "smdebug.lightgbm needs lightgbm, which is not installed: pip install lightgbm"
    ), done.stderr


def test_the_rounds_of_a_profiled_training(out_dir, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    with smd.Hook(out_dir) as hook:
        train(hook, rounds=5)
    assert steps_in(profile) == {"Step:ModeKeys.GLOBAL": [0, 1, 2, 3, 4]}
