"""The hook in scikit-learn trainings."""

import subprocess
import sys

import numpy as np
import pytest
import smdebug.sklearn as smd
from pages import run_page
from profiled import configure, steps_in
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import invoke_rule

X, Y = load_iris(return_X_y=True)
CLASSES = np.unique(Y)


@pytest.fixture
def recorded(out_dir):
    """Returns the trial of an estimator that was recorded once."""

    def run(estimator, **options):
        with smd.Hook(out_dir, **{"save_all": True, **options}) as hook:
            hook.record(estimator)
        return smd.create_trial(out_dir)

    return run


def value(trial, name, step=0):
    return trial.tensor(name).value(step)


def test_a_loop_of_partial_fits(out_dir):
    model = MLPClassifier((8,), random_state=1)
    losses, weights, scores = [], [], []
    with smd.Hook(out_dir, include_collections=["weights", "biases"]) as hook:
        for _ in range(5):
            model.partial_fit(X, Y, classes=CLASSES)
            losses.append(model.loss_)
            weights.append([layer.copy() for layer in model.coefs_])
            scores.append(model.score(X, Y))
            hook.record(model, accuracy=scores[-1])
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2, 3, 4]
    assert trial.tensor_names() == [
        "accuracy",
        "best_loss_",
        "coefs_/0",
        "coefs_/1",
        "intercepts_/0",
        "intercepts_/1",
        "loss_",
    ]
    assert trial.tensor_names(collection="metrics") == ["accuracy"]
    assert trial.tensor_names(collection="weights") == ["coefs_/0", "coefs_/1"]
    for step in range(5):
        assert value(trial, "loss_", step).item() == losses[step]
        assert value(trial, "accuracy", step).item() == scores[step]
        for layer in range(2):
            assert np.array_equal(value(trial, f"coefs_/{layer}", step), weights[step][layer])


def test_modes_and_save_configs(out_dir):
    model = SGDClassifier(random_state=1)
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=2)) as hook:
        hook.set_mode(smd.modes.TRAIN)
        for _ in range(4):
            hook.record(model.partial_fit(X, Y, classes=CLASSES), accuracy=model.score(X, Y))
    assert smd.create_trial(out_dir).steps(mode=smd.modes.TRAIN) == [0, 2]


def test_a_score_is_computed_only_if_it_is_wanted(out_dir):
    calls = []
    model = SGDClassifier(random_state=1).fit(X, Y)
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=3)) as hook:
        for step in range(6):
            hook.record(model, accuracy=lambda step=step: calls.append(step) or 0.5)
    assert calls == [0, 3]
    assert value(smd.create_trial(out_dir), "accuracy", 3).item() == 0.5


def test_warm_starts_and_curves(recorded):
    model = GradientBoostingClassifier(n_estimators=4, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=6).fit(X, Y)
    trial = recorded(model)
    assert np.array_equal(value(trial, "train_score_"), model.train_score_)
    assert len(model.train_score_) == 6
    assert np.array_equal(value(trial, "feature_importances_"), model.feature_importances_)


def test_a_monitor_of_boosting_rounds(out_dir):
    model = GradientBoostingClassifier(n_estimators=5, random_state=1)
    with smd.Hook(out_dir) as hook:
        model.fit(X, Y, monitor=hook)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["loss"]
    assert [value(trial, "loss", step).item() for step in range(5)] == model.train_score_.tolist()


@pytest.mark.parametrize("sparse", [False, True])
def test_linear_models(recorded, sparse):
    model = SGDClassifier(penalty="l1", random_state=1).fit(X, Y)
    weights = model.coef_.copy()
    trial = recorded(model.sparsify() if sparse else model)
    assert np.array_equal(value(trial, "coef_"), weights)
    assert trial.tensor_names(collection="biases") == ["intercept_"]
    assert value(trial, "hyperparameters/penalty").tolist() == ["l1"]
    assert value(trial, "hyperparameters/alpha").tolist() == [0.0001]
    assert value(trial, "hyperparameters/class_weight").tolist() == ["None"]


def test_what_estimators_compute_is_asked_for_if_it_is_wanted(out_dir, recorded, monkeypatch):
    model = RandomForestClassifier(3, random_state=1).fit(X, Y)
    importances = model.feature_importances_
    trial = recorded(model, save_all=False, include_collections=["feature_importance"])
    assert np.array_equal(value(trial, "feature_importances_"), importances)
    asked = []
    monkeypatch.setattr(RandomForestClassifier, "feature_importances_", property(asked.append))
    with smd.Hook(out_dir + "2", include_collections=["weights"]) as hook:
        hook.record(model)
    assert not asked


def test_the_steps_of_a_pipeline(recorded):
    model = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, Y)
    trial = recorded(model)
    assert np.array_equal(value(trial, "standardscaler/mean_"), model[0].mean_)
    assert trial.tensor_names(collection="weights") == ["svc/coef_"]
    assert np.array_equal(value(trial, "svc/coef_"), model[1].coef_)


def test_results_of_a_search_and_centres_of_clusters(out_dir):
    search = GridSearchCV(SGDClassifier(random_state=1), {"alpha": [0.1, 0.01]}, cv=2).fit(X, Y)
    clusters = MiniBatchKMeans(3, random_state=1).fit(X)
    with smd.Hook(out_dir, save_all=True) as hook:
        hook.record(search)
        hook.record(clusters)
    trial = smd.create_trial(out_dir)
    saved = value(trial, "cv_results_/mean_test_score")
    assert np.array_equal(saved, search.cv_results_["mean_test_score"])
    assert np.array_equal(value(trial, "cluster_centers_", 1), clusters.cluster_centers_)


def test_an_estimator_that_is_not_fitted(recorded):
    trial = recorded(SVC())
    assert all(name.startswith("hyperparameters/") for name in trial.tensor_names())


def test_a_failure_does_not_stop_the_training(out_dir, caplog):
    with smd.Hook(out_dir, raise_errors=False) as hook:
        for _ in range(3):
            hook.record(SVC(), accuracy=object())
        hook.record(SVC(), accuracy=1.0)
    assert hook.failures == 3
    assert len(caplog.messages) == 1
    assert value(smd.create_trial(out_dir), "accuracy", 3).item() == 1


class Plateau(smd.Rule):
    """The loss has hardly fallen since the last step."""

    def __init__(self, base_trial, least):
        super().__init__(base_trial)
        self.least = least

    def set_required_tensors(self, step):
        if step > 0:
            self.req_tensors.add("loss_", steps=[step - 1, step])

    def invoke_at_step(self, step):
        if step == 0:
            return False
        before, now = (self.base_trial.tensor("loss_").value(s).item() for s in (step - 1, step))
        return now > (1 - self.least) * before


def test_a_rule_judges_the_training(out_dir):
    model = MLPClassifier((8,), learning_rate_init=0.02, random_state=1)
    losses = []
    with smd.Hook(out_dir) as hook:
        for _ in range(40):
            hook.record(model.partial_fit(X, Y, classes=CLASSES))
            losses.append(model.loss_)
    trial = smd.create_trial(out_dir)
    with pytest.raises(RuleEvaluationConditionMet) as met:
        invoke_rule(Plateau(trial, 0.02), raise_eval_cond=True)
    wanted = next(i for i in range(1, 40) if losses[i] > 0.98 * losses[i - 1])
    assert met.value.step == wanted
    with pytest.raises(NoMoreData):
        invoke_rule(Plateau(trial, -10), raise_eval_cond=True)


def test_the_page(tmp_path):
    run_page("sklearn.md", tmp_path)


def test_the_hook_needs_no_framework():
    program = "import sys, smdebug.sklearn; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_the_passes_of_a_profiled_training(out_dir, tmp_path, monkeypatch):
    profile = configure(monkeypatch, tmp_path)
    model = MLPClassifier((8,), random_state=1)
    with smd.Hook(out_dir) as hook:
        for _ in range(4):
            model.partial_fit(X, Y, classes=CLASSES)
            hook.record(model)
    assert steps_in(profile) == {"Step:ModeKeys.GLOBAL": [0, 1, 2, 3]}
