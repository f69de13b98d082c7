"""Trains XGBoost on the diabetes data of scikit-learn, records it, and evaluates the training.

python train_diabetes.py [FOLDER]    the folder of the trial; "diabetes" if not given
"""

import sys

import smdebug.xgboost as smd
import xgboost as xgb
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import Rule, invoke_rule

ROUNDS = 60
PARAMS = {"objective": "reg:squarederror", "eta": 0.2, "max_depth": 4, "seed": 1, "nthread": 2}


def train(folder):
    data = load_diabetes()
    split = train_test_split(data.data, data.target, test_size=0.3, random_state=1)
    x_train, x_test, y_train, y_test = split
    train = xgb.DMatrix(x_train, y_train, feature_names=data.feature_names)
    test = xgb.DMatrix(x_test, y_test, feature_names=data.feature_names)
    hook = smd.Hook(
        folder,
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["hyperparameters", "feature_importance", "average_shap", "trees"],
        hyperparameters=PARAMS,
        train_data=train,
    )
    with hook:
        evals = [(train, "train"), (test, "test")]
        xgb.train(PARAMS, train, ROUNDS, evals=evals, callbacks=[hook], verbose_eval=False)


class Overfit(Rule):
    """Holds if the error of the test data has not fallen for some saved rounds."""

    def __init__(self, base_trial, patience=5):
        super().__init__(base_trial)
        self.patience = patience

    def set_required_tensors(self, step):
        self.req_tensors.add("test-rmse", [step])

    def invoke_at_step(self, step):
        error = self.base_trial.tensor("test-rmse")
        past = [error.value(s).item() for s in error.steps() if s <= step]
        return len(past) > self.patience and min(past[-self.patience :]) >= past[-self.patience - 1]


def finding(rule):
    try:
        invoke_rule(rule, raise_eval_cond=True)
    except RuleEvaluationConditionMet as met:
        return f"met at round {met.step}"
    except NoMoreData:
        return "never met"


folder = sys.argv[1] if len(sys.argv) > 1 else "diabetes"
train(folder)

trial = smd.create_trial(folder)
last = trial.steps()[-1]
print(f"recorded {len(trial.steps())} rounds of {len(trial.tensor_names())} tensors")
for name in trial.tensor_names(collection="metrics"):
    values = trial.tensor(name).values()
    print(f"{name} {values[0].item():.0f} at first, {values[last].item():.0f} at last")
gains = {
    name.rpartition("/")[2]: trial.tensor(name).value(last).item()
    for name in trial.tensor_names(regex="^feature_importance/total_gain/")
}
print("most is gained by", ", ".join(sorted(gains, key=gains.get, reverse=True)[:3]))
print("Overfit:", finding(Overfit(trial)))
