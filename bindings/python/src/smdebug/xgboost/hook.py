"""The hook for XGBoost, which records boosting rounds."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from smdebug.core.boosting_hook import BoostingHook, Metric, with_parts
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.hook import Regexes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import DEFAULT_SAVE_CONFIG_INTERVAL, SaveSettings
from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugError
from smdebug.xgboost.collection import COLLECTIONS
from smdebug.xgboost.rounds import Round, count_rounds, is_loss, last_values, learning_rate_of
from smdebug.xgboost.trees import COLUMNS, parse_tree_model
from smdebug.xgboost.utils import get_content_type, get_dmatrix, validate_data_file_path

__all__ = ["Hook"]

xgb = import_framework("xgboost", "xgboost-cpu", "smdebug.xgboost")

_IMPORTANCE_TYPES = ("weight", "gain", "cover", "total_gain", "total_cover")

# XGBoost before 1.3 has no such class, and calls plain functions.
_TrainingCallback: Any = getattr(xgb.callback, "TrainingCallback", object)


class Hook(BoostingHook, _TrainingCallback):  # type: ignore[misc]
    """Records trainings with XGBoost.  One boosting round is a step.

    Pass it in the `callbacks` of `xgboost.train`, of `xgboost.cv` (which passes metrics
    only), or of an estimator, as `xgboost.XGBClassifier`.  XGBoost before 1.6 also takes
    plain functions: there it calls the hook with the environment of the round.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, include_regex, \
include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Metrics are always saved.
    reduction_config : ReductionConfig, optional
        Ignored.  Set the reduction_config of a collection instead.
    save_config : SaveConfig, SaveConfigMode or dict, optional
        The rounds to save.  Defaults to every 10th.
    hyperparameters : dict, optional
        The values to save in the collection "hyperparameters".
    train_data, validation_data : xgboost.DMatrix or tuple of str, optional
        The data for SHAP values, and the data for predictions and labels: a matrix, or the
        path of a file and "csv" or "libsvm".

    Raises
    ------
    SMDebugRuntimeError
        If no out_dir is given, or it already holds a finished trial.
    SMDebugError
        If data is neither a matrix nor a readable file.
    """

    _builtin_collections = COLLECTIONS
    _always_saved = (CollectionKeys.METRICS,)
    # As in the original: a hook defaults to 10 rounds, a collection of a file does not.
    _listed_save_interval = DEFAULT_SAVE_CONFIG_INTERVAL

    def __init__(
        self,
        out_dir: Any = None,
        export_tensorboard: bool = False,
        tensorboard_dir: Optional[str] = None,
        dry_run: bool = False,
        reduction_config: Optional[ReductionConfig] = None,
        save_config: SaveSettings = None,
        include_regex: Regexes = None,
        include_collections: Optional[List[Any]] = None,
        save_all: bool = False,
        include_workers: str = "one",
        hyperparameters: Optional[Mapping[str, Any]] = None,
        train_data: Any = None,
        validation_data: Any = None,
        *,
        raise_errors: Optional[bool] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.hyperparameters = hyperparameters
        self.train_data = _matrix("train_data", train_data)
        self.validation_data = _matrix("validation_data", validation_data)
        super().__init__(
            out_dir=out_dir,
            export_tensorboard=export_tensorboard,
            tensorboard_dir=tensorboard_dir,
            dry_run=dry_run,
            save_config=save_config,
            include_regex=include_regex,
            include_collections=include_collections,
            save_all=save_all,
            include_workers=include_workers,
            raise_errors=raise_errors,
            options=options,
        )
        self._begun: Optional[Round] = None
        self._rate: Optional[float] = None
        # The number and the metrics of the last round; the best one that the model begins with.
        self._last_round: Optional[Tuple[int, Mapping[str, Any]]] = None
        self._best_before: Optional[int] = None
        # The model, where XGBoost calls plain functions.
        self._plain_model: Any = None
        if reduction_config not in (None, ReductionConfig(save_raw_tensor=True)):
            self.logger.warning("the XGBoost hook ignores reduction_config")

    @classmethod
    def hook_from_config(cls, json_config_path: Optional[str] = None) -> Hook:
        """Another name of `create_from_json_file`."""
        return cls.create_from_json_file(json_config_path)

    # ---- called by XGBoost ----------------------------------------------------------

    @guarded(returns=False)
    def before_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Notes the round.  Never stops the training."""
        self._finish_step()
        if epoch == 0:
            self._best_before = _best_iteration(model)
        self._begun = Round(model, epoch, evals_log)
        if self._selects_learning_rate:
            # Another callback may set the next round's before this round is recorded.
            self._rate = learning_rate_of(model)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Records a boosting round.  Returns True, to stop the training, if a rule requests it."""
        self._record_round(model, epoch, evals_log)
        if self.stop_finding is None:
            return False
        self._note_last_round(model, epoch)
        return True

    @guarded(even_if_disabled=True)
    def _note_last_round(self, model: Any, epoch: int) -> None:
        # xgboost.cv, if it is stopped, returns the rounds up to the best one, and fails without.
        if not isinstance(model, xgb.Booster) and _best_iteration(model) is None:
            model.set_attr(best_iteration=str(epoch))

    @guarded
    def _record_round(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> None:
        self._begun = None
        self._record(model, epoch, last_values(evals_log))

    def after_training(self, model: Any) -> Any:
        """Records a last round that was not reported, and waits until all are written."""
        self._record_untold(model)
        self._record_early_stopping(model)
        self._finish_training()
        return model

    def __call__(self, env: Any) -> None:
        """Records a boosting round of an XGBoost version that calls plain functions."""
        self._callback(env)

    @guarded
    def _callback(self, env: Any) -> None:
        # In xgboost.cv a result is a name, a mean and a standard deviation.
        metrics = [
            (result[0], result[1] if len(result) == 2 else result[1:])
            for result in env.evaluation_result_list or ()
        ]
        if env.iteration == env.begin_iteration:
            self._end_plain_training()
        self._record(env.model, env.iteration, metrics)
        self._plain_model = env.model
        if env.iteration + 1 == env.end_iteration:
            self._end_plain_training()

    @guarded(even_if_disabled=True)
    def _end_plain_training(self) -> None:
        """Ends a training that reports no end to plain functions: early stopping may end it."""
        model, self._plain_model = self._plain_model, None
        if model is not None:
            self._record_early_stopping(model)
            self._finish_training()

    def close(self) -> None:
        self._end_plain_training()
        super().close()

    @guarded
    def _record_early_stopping(self, model: Any) -> None:
        best = _best_iteration(model)
        # A model that the training resumes from may have a best round of its own.
        if best is None or best == self._best_before or self._last_round is None:
            return
        score = model.attr("best_score")
        # Without a score, a rule has stopped xgboost.cv.
        if score is not None:
            scores = {"best_score": float(score)}
            self._save_early_stopping(best, self._last_round[0], scores, self._last_round[1])

    @guarded
    def _finish_training(self) -> None:
        self._last_round = None
        self._finish_step()
        self._wait()

    @guarded
    def _record_untold(self, model: Any) -> None:
        # If a callback stops the training, XGBoost calls no other callback for the round.
        begun, self._begun = self._begun, None
        if begun is not None and begun.is_over():
            # If a callback cut the model to its best rounds, it is not the model of this round.
            is_whole = count_rounds(model, begun.iteration) == begun.rounds + 1
            metrics = last_values(begun.evals_log)
            self._record(model if is_whole else None, begun.iteration, metrics)

    # ---- one round -----------------------------------------------------------------

    def _place(self) -> Tuple[str, int]:
        group = xgb.collective if hasattr(xgb, "collective") else xgb.rabit
        return f"worker_{group.get_rank()}", group.get_world_size()

    def _record(self, model: Any, iteration: int, values: List[Tuple[str, Any]]) -> None:
        metrics = with_parts(Metric(name, value, is_loss(name)) for name, value in values)
        # The collections' regular expressions miss "validation_0-logloss" and "train-ndcg@5".
        self._include_metrics((metric.name, metric.is_loss) for metric in metrics)
        self._begin_round(iteration)
        if self._saves_step:
            self._save_round(model, iteration, metrics)
        rounds = count_rounds(model, iteration) if isinstance(model, xgb.Booster) else iteration + 1
        self._last_round = rounds - 1, {metric.name: metric.value for metric in metrics}
        self._end_round()

    def _save_round(self, model: Any, iteration: int, metrics: List[Metric]) -> None:
        for metric in metrics:
            self._save(metric.name, metric.value)
        self._save_learning_rate(self._rate)
        if self.hyperparameters is None:
            self._miss(CollectionKeys.HYPERPARAMETERS, "hyperparameters")
        else:
            self._save_hyperparameters(self.hyperparameters)
        # xgboost.cv trains several models at once, so there is no one tree or prediction.
        if not isinstance(model, xgb.Booster):
            return
        self._save_predictions(model)
        self._save_labels()
        self._save_feature_importance(model)
        self._save_trees(model, iteration)
        self._save_shap(model)

    @guarded
    def _save_predictions(self, model: Any) -> None:
        if self.validation_data is None:
            self._miss(CollectionKeys.PREDICTIONS, "validation_data")
        elif self.wants("predictions"):
            self._save("predictions", model.predict(self.validation_data))

    @guarded
    def _save_labels(self) -> None:
        if self.validation_data is None:
            self._miss(CollectionKeys.LABELS, "validation_data")
        elif self.wants("labels"):
            self._save("labels", self.validation_data.get_label())

    @guarded
    def _save_feature_importance(self, model: Any) -> None:
        kinds = self._wanted_importances(_IMPORTANCE_TYPES, _feature_names(model))
        if kinds and self._has_trees(model, CollectionKeys.FEATURE_IMPORTANCE):
            for kind in kinds:
                self._save_importances(kind, model.get_score(importance_type=kind))

    @guarded
    def _save_trees(self, model: Any, iteration: int) -> None:
        names = [f"trees/{column}" for column in COLUMNS]
        if not any(map(self.wants, names)) or not self._has_trees(model, CollectionKeys.TREES):
            return
        # A model may begin with rounds of an earlier training.
        for column, values in parse_tree_model(model, count_rounds(model, iteration) - 1).items():
            self._save(f"trees/{column}", values)

    @guarded
    def _save_shap(self, model: Any) -> None:
        features = [*_feature_names(model), "bias"]
        if self.train_data is not None:
            self._include_shap(features[:-1])
        names = [
            f"{kind}/{feature}" for kind in ("average_shap", "full_shap") for feature in features
        ]
        wanted = [name for name in names if self.wants(name)]
        if not wanted:
            return
        if self.train_data is None:
            self._miss(wanted[0].partition("/")[0], "train_data")
            return
        # (rows, features) or, with several classes, (rows, classes, features).
        values = model.predict(self.train_data, pred_contribs=True)
        means = dict(zip(features, values.mean(axis=tuple(range(values.ndim - 1)))))
        for name in wanted:
            kind, _, feature = name.partition("/")
            self._save(name, values if kind == CollectionKeys.FULL_SHAP else means[feature])

    def _include_shap(self, features: Iterable[str]) -> None:
        """Adds features such as "radius": the regular expressions drop more than the bias."""
        for collection in (CollectionKeys.AVERAGE_SHAP, CollectionKeys.FULL_SHAP):
            # A collection lists what was saved.
            if not self._saves_now(self.get_collection(collection)):
                continue
            for feature in features:
                name = f"{collection}/{feature}"
                if self._is_new(name):
                    self._include(collection, name)

    def _has_trees(self, model: Any, collection_name: str) -> bool:
        booster = json.loads(model.save_config())["learner"]["gradient_booster"]["name"]
        if booster != "gblinear":
            return True
        self._tell(collection_name, "a gblinear has no trees")
        return False


def _matrix(argument: str, data: Any) -> Any:
    """Returns the user's data as a matrix: a matrix, None, or a path and its content type."""
    if data is None or isinstance(data, xgb.DMatrix):
        return data
    if not isinstance(data, tuple) or len(data) != 2 or not isinstance(data[0], str):
        raise SMDebugError(
            f"{argument} is an xgboost.DMatrix, or a tuple of a path and a type of content"
        )
    path = os.path.expanduser(data[0])
    if not os.path.isfile(path):
        raise SMDebugError(f"{argument}: {path} is not a local file")
    content_type = get_content_type(data[1])
    validate_data_file_path(path, content_type)
    return get_dmatrix(path, content_type)


def _best_iteration(model: Any) -> Optional[int]:
    """Returns the best round that early stopping has noted in a model."""
    value = model.attr("best_iteration")
    return None if value is None else int(value)


def _feature_names(model: Any) -> List[str]:
    return model.feature_names or [f"f{i}" for i in range(model.num_features())]
