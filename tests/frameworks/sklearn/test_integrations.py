"""Trainings of scikit-learn that one line records."""

import numpy as np
import pytest
import smdebug.sklearn as smd
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from smdebug.exceptions import TrainingStopped
from smdebug.integrations import sklearn_recording
from stopping import imported_by, stopping

X, Y = load_iris(return_X_y=True)


def numbers(trial, name):
    tensor = trial.tensor(name)
    return [tensor.value(step).item() for step in tensor.steps()]


# ---- monitors -----------------------------------------------------------------------------


def test_a_monitor(out_dir):
    model = GradientBoostingClassifier(n_estimators=4, learning_rate=0.3)
    with sklearn_recording(out_dir) as hook:
        model.fit(X, Y, monitor=hook)
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and numbers(trial, "loss") == model.train_score_.tolist()
    assert numbers(trial, "learning_rate") == [0.3] * 4


def test_a_rule_stops_a_monitored_fit(out_dir):
    model = GradientBoostingClassifier(n_estimators=20)
    with sklearn_recording(out_dir, rules=stopping()) as hook:
        model.fit(X, Y, monitor=hook)
        assert hook.stop_finding.tensor == "loss"
    assert len(model.estimators_) == 2 and model.predict(X).shape == Y.shape
    assert smd.create_trial(out_dir).loaded_all_steps


def test_a_hook_that_stopped_a_fit_raises_nothing_later(out_dir):
    with smd.Hook(out_dir) as hook:
        hook.attach(stopping())
        model = GradientBoostingClassifier(n_estimators=20).fit(X, Y, monitor=hook)
        hook.record(model, accuracy=1.0)
    assert len(model.estimators_) == 2
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]


# ---- loops --------------------------------------------------------------------------------


def loop(hook, epochs=3):
    model = MLPClassifier((4,), random_state=1, learning_rate_init=0.02)
    losses = []
    for _ in range(epochs):
        model.partial_fit(X, Y, classes=np.unique(Y))
        losses.append(model.loss_)
        hook.record(model)
        if hook.stop_finding is not None:
            break
    return losses


def test_a_loop(out_dir):
    with sklearn_recording(out_dir) as hook:
        losses = loop(hook)
    trial = smd.create_trial(out_dir)
    assert numbers(trial, "loss_") == losses and trial.loaded_all_steps
    assert numbers(trial, "learning_rate") == [0.02] * 3


def test_a_loop_reads_the_finding(out_dir):
    with sklearn_recording(out_dir, rules=stopping()) as hook:
        assert len(loop(hook, 20)) == 2
        hook.record(MLPClassifier())
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1, 2]


def test_without_a_recording_the_hook_raises(out_dir):
    with smd.Hook(out_dir) as hook:
        hook.attach(stopping())
        loop(hook)
        with pytest.raises(TrainingStopped):
            hook.record(MLPClassifier())


def test_an_exception_finishes_the_trial(out_dir):
    with pytest.raises(ZeroDivisionError):
        with sklearn_recording(out_dir) as hook:
            loop(hook)
            raise ZeroDivisionError
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps() == [0, 1, 2]


def test_a_learning_rate_that_is_no_number(out_dir):
    with sklearn_recording(out_dir) as hook:
        hook.record(SGDClassifier().fit(X, Y))
        hook.record(SGDClassifier(learning_rate="constant", eta0=0.5).fit(X, Y))
        hook.record(SGDClassifier().fit(X, Y), learning_rate=0.25)
    trial = smd.create_trial(out_dir)
    assert trial.tensor("learning_rate").steps() == [1, 2]
    assert numbers(trial, "learning_rate") == [0.5, 0.25]


def test_a_pipeline_without_a_last_estimator(out_dir):
    with sklearn_recording(out_dir, include_regex="mean_") as hook:
        hook.record(make_pipeline(StandardScaler(), "passthrough").fit(X))
    assert hook.failures == 0
    assert smd.create_trial(out_dir).tensor_names() == ["standardscaler/mean_"]


# ---- boosted histograms --------------------------------------------------------------------


def test_boosted_histograms_with_defaults_say_why_they_have_no_loss(out_dir, caplog):
    with sklearn_recording(out_dir) as hook:
        for _ in range(2):
            hook.record(HistGradientBoostingClassifier(max_iter=2).fit(X, Y))
    assert caplog.text.count("HistGradientBoostingClassifier kept no loss") == 1
    assert "early_stopping='auto'" in caplog.text and "early_stopping=True" in caplog.text
    assert numbers(smd.create_trial(out_dir), "learning_rate") == [0.1, 0.1]


def test_boosted_histograms_with_a_score_of_the_caller(out_dir, caplog):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    with sklearn_recording(out_dir) as hook:
        hook.record(model, loss=lambda: log_loss(Y, model.predict_proba(X)))
    assert "kept no loss" not in caplog.text
    [loss] = numbers(smd.create_trial(out_dir), "loss")
    assert loss == log_loss(Y, model.predict_proba(X))


def test_boosted_histograms_with_losses(out_dir, caplog):
    settings = {"warm_start": True, "early_stopping": True, "random_state": 1}
    model = HistGradientBoostingRegressor(validation_fraction=None, **settings)
    errors = []
    with sklearn_recording(out_dir) as hook:
        for rounds in (1, 2, 3):
            model.set_params(max_iter=rounds).fit(X, Y)
            errors.append(np.mean((model.predict(X) - Y) ** 2) / 2)
            hook.record(model)
    trial = smd.create_trial(out_dir)
    np.testing.assert_allclose(numbers(trial, "loss"), errors, rtol=1e-5)
    assert trial.tensor_names(collection="losses") == ["loss"]
    assert "kept no loss" not in caplog.text


def test_boosted_histograms_of_a_pipeline_with_scores(out_dir):
    model = HistGradientBoostingClassifier(max_iter=2, early_stopping=True, scoring="accuracy")
    with sklearn_recording(out_dir) as hook:
        hook.record(make_pipeline(StandardScaler(), model).fit(X, Y))
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == []
    assert numbers(trial, "train_score") == [model.train_score_[-1]]
    assert numbers(trial, "validation_score") == [model.validation_score_[-1]]


def test_boosted_histograms_that_keep_losses_of_a_validation(out_dir):
    model = HistGradientBoostingClassifier(max_iter=2, early_stopping=True).fit(X, Y)
    with sklearn_recording(out_dir) as hook:
        hook.record(model)
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names(collection="losses") == ["loss", "val_loss"]
    assert numbers(trial, "val_loss") == [-model.validation_score_[-1]]


def test_scikit_learn_is_not_imported():
    program = "import smdebug.integrations as i; i.sklearn_recording"
    assert imported_by(program, "sklearn", "jax", "numpy") == "[]"
