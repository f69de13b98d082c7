"""Trains the same models for any smdebug: trainings.py FOLDER [CASE...]

Each case becomes a trial in the folder.  It runs with the original and with this library.
"""

import json
import os
import sys

import numpy as np
import smdebug.xgboost as smd
import xgboost as xgb

PARAMS = {"max_depth": 3, "eta": 0.4, "seed": 1, "nthread": 1, "tree_method": "exact"}
BINARY = {**PARAMS, "objective": "binary:logistic", "eval_metric": "auc"}
EVERY_ROUND = smd.SaveConfig(save_interval=1)
EVERYTHING = [
    "metrics",
    "losses",
    "hyperparameters",
    "predictions",
    "labels",
    "feature_importance",
    "average_shap",
    "full_shap",
    "trees",
]


def features(rows=120, seed=0):
    return np.random.RandomState(seed).rand(rows, 4).astype(np.float32)


def labels(x, classes=2):
    return np.floor((x[:, 0] + x[:, 1] * x[:, 2]) / 2 * classes)


def matrix(rows=120, seed=0, classes=2, **kwargs):
    x = features(rows, seed)
    return xgb.DMatrix(x, labels(x, classes), **kwargs)


def train(hook, params, train=None, validation=None, rounds=7, before=(), after=(), **kwargs):
    """Trains with the hook among the callbacks."""
    train = train or matrix()
    evals = [(train, "train"), (validation or matrix(40, seed=1), "validation")]
    return xgb.train(params, train, rounds, evals=evals, callbacks=[*before, hook, *after],
                     verbose_eval=False, **kwargs)  # fmt: skip


def default(out_dir, as_callback):
    train(as_callback(smd.Hook(out_dir)), {**BINARY, "eval_metric": ["logloss", "auc"]}, rounds=12)


def everything(out_dir, as_callback):
    data, validation = matrix(), matrix(40, seed=1)
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=EVERYTHING,
        hyperparameters=BINARY,
        train_data=data,
        validation_data=validation,
    )
    hook.set_mode(smd.modes.TRAIN)
    train(as_callback(hook), {**BINARY, "eval_metric": ["logloss", "auc", "map"]}, data, validation)


def names_of_features(out_dir, as_callback):
    names = ["a b", "c/d", "é", "over"]
    data, validation = (matrix(seed=seed, feature_names=names) for seed in (0, 1))
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_steps=[1, 3], save_interval=5),
        save_all=True,
        train_data=data,
        validation_data=validation,
    )
    train(as_callback(hook), {**PARAMS, "booster": "dart", "rate_drop": 0.3}, data, validation)


def classes(out_dir, as_callback):
    data, validation = matrix(classes=3), matrix(40, seed=1, classes=3)
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=3),
        include_collections=[name for name in EVERYTHING if name != "trees"],
        include_regex=["^train-merror"],
        train_data=data,
        validation_data=validation,
        hyperparameters={"num_class": 3, "weights": [0.5, 1.0], "names": ["a", "b"], "c": True},
    )
    params = {**PARAMS, "objective": "multi:softprob", "num_class": 3}
    train(as_callback(hook), {**params, "eval_metric": ["mlogloss", "merror"]}, data, validation)


def from_files(out_dir, as_callback):
    x = features(30)
    rows = list(zip(labels(x).astype(int), x.tolist()))
    svm, comma = out_dir + ".svm", out_dir + ".csv"
    with open(svm, "w") as file:
        for label, row in rows:
            file.write(f"{label} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(row)) + "\n")
    with open(comma, "w") as file:
        for label, row in rows:
            file.write(",".join(map(repr, [label, *row])) + "\n")
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfigMode(save_interval=5),
        include_collections=["average_shap", "predictions", "labels"],
        train_data=(svm, "text/libsvm"),
        validation_data=(comma, "csv"),
    )
    train(as_callback(hook), BINARY)


def from_json(out_dir, as_callback):
    path = out_dir + ".json"
    collections = [
        {"CollectionName": "feature_importance", "CollectionParameters": {"save_interval": "3"}},
        {"CollectionName": "gains", "CollectionParameters": {"include_regex": "^trees/Gain"}},
        {"CollectionName": "trees", "CollectionParameters": {"save_steps": "4"}},
    ]
    settings = {
        "LocalPath": out_dir,
        "HookParameters": {"save_interval": "2", "include_regex": "logloss"},
        "CollectionConfigurations": collections,
    }
    with open(path, "w") as file:
        json.dump(settings, file)
    hook = smd.get_hook(json_config_path=path)
    train(as_callback(hook), {**BINARY, "eval_metric": "logloss"})


def early_stopping(out_dir, as_callback):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(as_callback(hook), BINARY, rounds=100, early_stopping_rounds=2)


def cross_validation(out_dir, as_callback):
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=2))
    params = {**BINARY, "eval_metric": ["logloss", "auc"]}
    xgb.cv(params, matrix(), 5, nfold=3, seed=1, callbacks=[as_callback(hook)])


CASES = {
    case.__name__: case
    for case in (
        default,
        everything,
        names_of_features,
        classes,
        from_files,
        from_json,
        early_stopping,
        cross_validation,
    )
}


def main(folder, *cases):
    hooks = []

    def as_callback(hook):
        hooks.append(hook)
        # XGBoost up to 1.5 accepts plain functions if there is no other callback.
        return hook._callback if os.environ.get("PLAIN_FUNCTIONS") else hook

    for case in cases or CASES:
        CASES[case](os.path.join(folder, case), as_callback)
        hooks.pop().close()
        smd.del_hook()


if __name__ == "__main__":
    main(*sys.argv[1:])
