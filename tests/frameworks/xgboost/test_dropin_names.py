"""Names of the original for XGBoost that only its own tests import."""

import numpy as np
import pytest
import xgboost as xgb

from smdebug.core.utils import FRAMEWORK, is_framework_version_supported
from smdebug.xgboost.utils import (
    is_xgb_1_3_and_later,
    is_xgb_1_5_and_later,
    is_xgb_1_7_and_later,
    parse_tree_model,
)


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(7).normal(size=(80, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def booster(data):
    matrix = xgb.DMatrix(data, label=(data[:, 0] * data[:, 1] > 0).astype(float))
    return xgb.train({"max_depth": 3, "base_score": 0.5}, matrix, num_boost_round=3)


def leaf_of(tree, row):
    """Returns the value of the leaf that a row of data reaches in a tree of columns."""
    places = {name: place for place, name in enumerate(tree["ID"].tolist())}
    place = places[f"{tree['Tree'][0]}-0"]
    while tree["Feature"][place] != "Leaf":
        feature = int(tree["Feature"][place][1:])
        answer = "Yes" if row[feature] < np.float32(tree["Split"][place]) else "No"
        place = places[tree[answer][place]]
    return tree["Gain"][place]


def test_trees_predict_what_the_model_predicts(booster, data):
    trees = [parse_tree_model(booster, iteration) for iteration in range(3)]
    for number, tree in enumerate(trees):
        assert all(isinstance(column, np.ndarray) for column in tree.values())
        assert set(tree["Tree"].tolist()) == {number}
        assert tree["Node"].tolist() == sorted(tree["Node"].tolist())
        assert tree["Cover"][0] == 80 and set(tree["Category"].tolist()) == {"nan"}
    expected = booster.predict(xgb.DMatrix(data))
    for row, prediction in zip(data, expected):
        assert 0.5 + sum(leaf_of(tree, row) for tree in trees) == pytest.approx(
            float(prediction), abs=1e-5
        )


def test_a_tree_that_is_not_there_has_no_nodes(booster):
    assert all(column.size == 0 for column in parse_tree_model(booster, 3).values())


def test_versions():
    assert is_xgb_1_3_and_later() and is_xgb_1_5_and_later() and is_xgb_1_7_and_later()
    assert is_framework_version_supported(FRAMEWORK.XGBOOST) is True
