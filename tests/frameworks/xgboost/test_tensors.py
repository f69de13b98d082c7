"""The tensors that are saved for models of every kind."""

import json
import math

import numpy as np
import pytest
import smdebug.xgboost as smd
import xgboost as xgb
from trainings import BINARY, EVERY_ROUND, EVERYTHING, PARAMS, features, labels, matrix, train


def column(trial, name, step):
    return trial.tensor(f"trees/{name}").value(step).tolist()


def columns(trial, step):
    names = [name.partition("/")[2] for name in trial.tensor_names(collection="trees")]
    return {name: column(trial, name, step) for name in names}


def nodes(tree):
    yield tree
    for child in tree.get("children", ()):
        yield from nodes(child)


def test_predictions_and_labels_are_those_of_the_validation_data(record):
    validation = matrix(40, seed=1)
    model, trial = record(include_collections=EVERYTHING, validation_data=validation)
    assert np.array_equal(trial.tensor("predictions").value(2), model.predict(validation))
    first = model.predict(validation, iteration_range=(0, 1))
    assert np.array_equal(trial.tensor("predictions").value(0), first)
    assert np.array_equal(trial.tensor("labels").value(1), validation.get_label())


def test_the_importances_of_a_kind_have_the_sum_1(record):
    model, trial = record(include_collections=["feature_importance"], rounds=5)
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        scores = model.get_score(importance_type=kind)
        saved = {
            feature: trial.tensor(f"feature_importance/{kind}/{feature}").value(4).item()
            for feature in scores
        }
        assert math.isclose(sum(saved.values()), 1)
        assert saved == {name: score / sum(scores.values()) for name, score in scores.items()}


def test_trees_are_those_of_the_model(record):
    model, trial = record(include_collections=["trees"])
    for step, dump in enumerate(model.get_dump(dump_format="json", with_stats=True)):
        tree = sorted(nodes(json.loads(dump)), key=lambda node: node["nodeid"])
        assert columns(trial, step)["Node"] == [node["nodeid"] for node in tree]
        assert column(trial, "Tree", step) == [step] * len(tree)
        assert column(trial, "ID", step) == [f"{step}-{node['nodeid']}" for node in tree]
        assert column(trial, "Cover", step) == [node["cover"] for node in tree]
        assert column(trial, "Feature", step) == [node.get("split", "Leaf") for node in tree]
        assert column(trial, "Gain", step) == [node.get("gain", node.get("leaf")) for node in tree]
        for name in ("yes", "no", "missing"):
            wanted = [f"{step}-{node[name]}" if name in node else "nan" for node in tree]
            assert column(trial, name.title(), step) == wanted
        thresholds = [node.get("split_condition", math.nan) for node in tree]
        assert np.array_equal(column(trial, "Split", step), thresholds, equal_nan=True)


def test_a_round_of_several_trees(record):
    params = {**PARAMS, "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2}
    data = matrix(classes=3)
    model, trial = record(params, data, data, include_collections=["trees"])
    assert len(model.get_dump()) == 18
    assert sorted(set(column(trial, "Tree", 1))) == list(range(6, 12))
    roots = [id for id in column(trial, "ID", 1) if id.endswith("-0")]
    assert roots == [f"{tree}-0" for tree in range(6, 12)]


def test_a_training_that_goes_on(out_dir):
    first = xgb.train(BINARY, matrix(), 3)
    with smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"]) as hook:
        model = train(hook, BINARY, rounds=2, xgb_model=first)
    trial = smd.create_trial(out_dir)
    assert set(column(trial, "Tree", 1)) == {4}
    assert column(trial, "Cover", 1) == [
        node["cover"]
        for node in sorted(
            nodes(json.loads(model.get_dump(dump_format="json", with_stats=True)[4])),
            key=lambda node: node["nodeid"],
        )
    ]


def test_categories_and_indicators(record):
    x = features()
    x[:, 3] = np.random.RandomState(2).randint(0, 5, len(x))
    x[:, 2] = x[:, 2] > 0.5
    y = np.isin(x[:, 3], (1, 3)) + 2 * x[:, 2] + x[:, 0]
    data = xgb.DMatrix(x, y, feature_types=["q", "q", "i", "c"], enable_categorical=True)
    params = {**PARAMS, "tree_method": "hist", "max_cat_to_onehot": 1}
    _, trial = record(params, data, data, include_collections=["trees"])
    rows = columns(trial, 0)
    for feature, category, split in zip(rows["Feature"], rows["Category"], rows["Split"]):
        if feature == "f3":
            assert set(category.split(",")) <= set("01234")
        else:
            assert category == "nan"
        assert math.isnan(split) == (feature in ("Leaf", "f2", "f3"))
    assert {"f2", "f3"} <= set(rows["Feature"])


@pytest.mark.parametrize("names", [None, ["a b", "r:s,t=u", "é", "radius"]])
def test_shap_values(out_dir, names):
    data = matrix(feature_names=names)
    with smd.Hook(
        out_dir, save_config=EVERY_ROUND, include_collections=EVERYTHING, train_data=data
    ) as hook:
        model = train(hook, BINARY, data, data, rounds=2)
    trial = smd.create_trial(out_dir)
    contributions = model.predict(data, pred_contribs=True)
    names = names or ["f0", "f1", "f2", "f3"]
    for kind in ("average_shap", "full_shap"):
        assert trial.tensor_names(collection=kind) == sorted(f"{kind}/{name}" for name in names)
    for i, name in enumerate(names):
        average = trial.tensor(f"average_shap/{name}").value(1)
        assert average.tolist() == [contributions.mean(axis=0)[i]]
        assert np.array_equal(trial.tensor(f"full_shap/{name}").value(1), contributions)
    assert {"Leaf", *column(trial, "Feature", 0)} <= {"Leaf", *names}


def test_shap_values_of_classes(record):
    data = matrix(classes=3)
    params = {**PARAMS, "objective": "multi:softprob", "num_class": 3}
    model, trial = record(params, data, data, include_collections=["average_shap", "full_shap"])
    contributions = model.predict(data, pred_contribs=True)
    assert contributions.shape == (120, 3, 5)
    assert trial.tensor("full_shap/f1").value(2).shape == (120, 3, 5)
    average = trial.tensor("average_shap/f1").value(2).item()
    assert average == contributions.mean(axis=(0, 1))[1]


def test_what_is_not_wanted_is_not_computed(out_dir, monkeypatch):
    calls = []
    for method in ("predict", "get_score", "get_dump"):
        real = getattr(xgb.Booster, method)

        def counted(self, *args, real=real, method=method, **kwargs):
            calls.append((method, *kwargs))
            return real(self, *args, **kwargs)

        monkeypatch.setattr(xgb.Booster, method, counted)

    def calls_with(**options):
        calls.clear()
        data = matrix()
        path = f"{out_dir}{options}"
        with smd.Hook(path, train_data=data, validation_data=data, **options) as hook:
            train(hook, BINARY, data, rounds=11)
        return calls

    assert calls_with() == []
    assert calls_with(include_collections=["average_shap"]) == [("predict", "pred_contribs")] * 2
    assert calls_with(include_regex="importance/gain") == [("get_score", "importance_type")] * 2
    assert calls_with(include_collections=["predictions"]) == [("predict",)] * 2


def test_a_dart(record):
    data = matrix()
    params = {**BINARY, "booster": "dart", "rate_drop": 0.5}
    model, trial = record(params, data, data, rounds=6, include_collections=EVERYTHING)
    assert np.array_equal(trial.tensor("predictions").value(5), model.predict(data))
    assert set(column(trial, "Tree", 5)) == {5}


def test_a_linear_model_has_no_trees(record, caplog):
    data = matrix()
    params = {"booster": "gblinear", "nthread": 1}
    model, trial = record(params, data, data, include_collections=EVERYTHING, hyperparameters={})
    assert not trial.tensor_names(regex="^(trees|feature_importance)/")
    assert caplog.messages == [
        "nothing is saved in feature_importance: a gblinear has no trees",
        "nothing is saved in trees: a gblinear has no trees",
    ]
    contributions = model.predict(data, pred_contribs=True)
    assert np.array_equal(trial.tensor("full_shap/f0").value(2), contributions)


def test_a_quantile_matrix(record):
    x = features()
    data = xgb.QuantileDMatrix(x, labels(x))
    params = {**BINARY, "tree_method": "hist"}
    model, trial = record(params, data, data, include_collections=EVERYTHING)
    assert np.array_equal(trial.tensor("predictions").value(2), model.predict(data))
    assert np.array_equal(trial.tensor("labels").value(2), data.get_label())


@pytest.mark.parametrize("metric", ["ndcg@5", "error@0.7", "map@3"])
def test_metrics_with_a_parameter(out_dir, metric):
    data = matrix()
    data.set_group([60, 60])
    objective = "binary:logistic" if metric.startswith("error") else "rank:ndcg"
    with smd.Hook(out_dir, save_config=EVERY_ROUND) as hook:
        xgb.train(
            {**BINARY, "objective": objective, "eval_metric": metric},
            data,
            2,
            evals=[(data, "train")],
            callbacks=[hook],
            verbose_eval=False,
        )
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="metrics") == [f"train-{metric}"]


def test_hyperparameters_of_every_type(record):
    given = {
        "eta": 0.3,
        "max_depth": 3,
        "verbose": True,
        "objective": "binary:logistic",
        "eval_metric": ["auc", "logloss"],
        "monotone": (1, 0, -1),
        "base_score": np.float32(0.5),
        "missing": None,
        "nested": {"a": 1},
        "mixed": [1, "a"],
    }
    _, trial = record(include_collections=["hyperparameters"], hyperparameters=given)
    saved = {name: trial.tensor(f"hyperparameters/{name}").value(0).tolist() for name in given}
    assert saved == {
        "eta": [0.3],
        "max_depth": [3],
        "verbose": [True],
        "objective": ["binary:logistic"],
        "eval_metric": ["auc", "logloss"],
        "monotone": [1, 0, -1],
        "base_score": [0.5],
        "missing": ["None"],
        "nested": ["{'a': 1}"],
        "mixed": ["[1, 'a']"],
    }
