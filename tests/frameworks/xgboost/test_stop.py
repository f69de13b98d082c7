"""Rules that stop a training of XGBoost."""

import numpy as np
import pytest
import xgboost as xgb
from stopping import stopping
from trainings import BINARY, EVERY_ROUND, matrix

import smdebug.xgboost as smd
from smdebug.integrations import XGBoostCallback
from smdebug.rules import RuleSet

LOGLOSS = {**BINARY, "eval_metric": "logloss"}


def test_a_finding_ends_the_training(out_dir):
    random = np.random.default_rng(1)
    data = xgb.DMatrix(random.normal(size=(50, 3)), label=random.integers(0, 2, 50))
    hook = smd.Hook(out_dir)
    # The rule evaluates means; the mean of this "gradient" is the metric itself.
    hook.get_collection("gradients").include("^train-")
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="stop"))
    model = xgb.train(
        {"objective": "binary:logistic"}, data, 10, evals=[(data, "train")], callbacks=[hook]
    )
    assert model.num_boosted_rounds() == 1
    assert hook.stop_finding.tensor == "train-logloss"
    hook.close()


def grouped(rows=1000):
    """Returns data with groups, of which a model of stumps learns a little in each round."""
    x = np.random.default_rng(0).random((rows, 4))
    data = xgb.DMatrix(x, x.sum(axis=1) > 2.8, nthread=1)
    data.set_group([20] * (rows // 20))
    return data


def recall(predictions, data):
    positive = data.get_label() > 0
    found = predictions > np.sort(predictions)[-int(positive.sum())]
    return "recall", float((found & positive).sum() / positive.sum())


def run_to_the_end(out_dir, params, rounds=100, **kwargs):
    """Trains with a rule that stops a training whose losses do not fall."""
    rules = RuleSet().add("LossNotDecreasing", action="stop")
    callback = XGBoostCallback(out_dir, rules=rules, save_config=EVERY_ROUND)
    data = grouped()
    model = xgb.train(
        {"eta": 0.1, "max_depth": 1, "nthread": 1, "objective": "binary:logistic", **params},
        data, rounds, evals=[(data, "train")], callbacks=[callback], verbose_eval=False, **kwargs,
    )  # fmt: skip
    assert callback.hook.stop_finding is None and not callback.hook.take_findings()
    assert model.num_boosted_rounds() == rounds
    return smd.create_trial(out_dir)


@pytest.mark.parametrize("metric", ["auc", "aucpr", "map", "map@5", "pre", "pre@10", "ndcg@5"])
def test_a_rising_metric_is_no_loss(out_dir, metric):
    trial = run_to_the_end(out_dir, {"eval_metric": metric})
    assert trial.tensor_names(collection="metrics") == [f"train-{metric}"]
    assert trial.tensor_names(collection="losses") == []


def test_rising_metrics_of_a_ranking_are_no_losses(out_dir):
    metrics = ["ndcg", "ndcg@5-", "map@3", "pre@5"]
    trial = run_to_the_end(out_dir, {"objective": "rank:ndcg", "eval_metric": metrics})
    assert len(trial.tensor_names(collection="metrics")) == 4
    assert trial.tensor_names(collection="losses") == []


def test_a_custom_metric_of_unknown_direction_is_no_loss(out_dir):
    trial = run_to_the_end(out_dir, {"disable_default_eval_metric": 1}, custom_metric=recall)
    assert trial.tensor_names(collection="metrics") == ["train-recall"]
    assert trial.tensor_names(collection="losses") == []


@pytest.mark.parametrize(
    "name, expected",
    [("my_MAE", True), ("focal-loss", True), ("PyError", True), ("neg_log_loss", False)],
)
def test_the_name_of_a_custom_metric_tells_whether_it_is_a_loss(out_dir, name, expected):
    data = matrix()
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        xgb.train(
            {**BINARY, "disable_default_eval_metric": 1}, data, 2, evals=[(data, "loss")],
            callbacks=[hook], custom_metric=lambda predictions, data: (name, 1.0),
            verbose_eval=False,
        )  # fmt: skip
    losses = smd.create_trial(out_dir).tensor_names(collection="losses")
    assert (f"loss-{name}" in losses) is expected
    assert "loss-auc" not in losses


def test_a_custom_metric_becomes_a_loss_on_request(out_dir):
    data = matrix()
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        hook.get_collection("losses").include("-my_metric$")
        xgb.train(
            BINARY, data, 2, evals=[(data, "train")], callbacks=[hook],
            custom_metric=lambda predictions, data: ("my_metric", 1.0), verbose_eval=False,
        )  # fmt: skip
    assert smd.create_trial(out_dir).tensor_names(collection="losses") == ["train-my_metric"]


@pytest.mark.parametrize(
    "objective, metrics",
    [
        ("reg:squarederror", ["rmse", "rmsle", "mae", "mape", "mphe"]),
        ("reg:gamma", ["gamma-nloglik", "gamma-deviance"]),
        ("reg:tweedie", ["tweedie-nloglik@1.5"]),
        ("count:poisson", ["poisson-nloglik"]),
        ("survival:cox", ["cox-nloglik"]),
        ("binary:logistic", ["logloss", "error", "error@0.3"]),
    ],
)
def test_all_losses_of_xgboost_are_losses(out_dir, objective, metrics):
    x = np.random.default_rng(0).random((60, 3))
    data = xgb.DMatrix(x, (x[:, 0] > 0.5) if objective.startswith("binary") else x[:, 0] + 0.1)
    params = {"objective": objective, "eval_metric": metrics, "nthread": 1}
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        xgb.train(params, data, 2, evals=[(data, "a")], callbacks=[hook], verbose_eval=False)
    losses = smd.create_trial(out_dir).tensor_names(collection="losses")
    assert losses == sorted(f"a-{metric}" for metric in metrics)


def cross_validate(callback, **kwargs):
    table = xgb.cv(LOGLOSS, matrix(), 20, nfold=3, callbacks=[callback], as_pandas=False, **kwargs)
    (rounds,) = {len(values) for values in table.values()}
    return rounds


@pytest.mark.parametrize("early_stopping", [None, 5])
def test_a_rule_stops_a_cross_validation(out_dir, early_stopping):
    callback = XGBoostCallback(out_dir, rules=stopping(), save_config=EVERY_ROUND)
    rounds = cross_validate(callback, early_stopping_rounds=early_stopping)
    # Early stopping has not seen the last round if the rule stops first.
    assert rounds == 2 or (early_stopping and rounds == 1)
    assert callback.hook.stop_finding.tensor.endswith("logloss-mean")
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1]
    assert trial.tensor_names(regex="^early_stopping/") == []


def test_a_metric_that_is_not_finite_stops_a_cross_validation(out_dir):
    seen = []

    def custom(predictions, data):
        seen.append(None)
        return "mine", float("nan") if len(seen) > 12 else 1.0

    rules = RuleSet().add("FirstNonFinite", action="stop")
    callback = XGBoostCallback(out_dir, rules=rules, save_config=EVERY_ROUND)
    # Two sets of data and three folds: six calls a round.
    assert cross_validate(callback, custom_metric=custom) == 3
    assert callback.hook.stop_finding.tensor.startswith(("train-mine", "test-mine"))
