"""Rules that stop a training of XGBoost."""

import numpy as np
import xgboost as xgb

import smdebug.xgboost as smd
from smdebug.rules import RuleSet


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
