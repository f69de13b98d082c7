"""The hook for LightGBM, which records boosting rounds."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from smdebug.core import singleton_utils
from smdebug.core.boosting_hook import BoostingHook, Metric, with_parts
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.hook import Regexes
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveSettings
from smdebug.core.utils import import_framework
from smdebug.lightgbm.trees import COLUMNS, tree_columns

__all__ = ["Hook", "get_hook"]

lgb = import_framework("lightgbm", "lightgbm", "smdebug.lightgbm")


# The first of these names counts.
_RATES = ("learning_rate", "shrinkage_rate", "eta")
_DEFAULT_RATE = 0.1


class Hook(BoostingHook):
    """Records trainings with LightGBM.  One boosting round is a step.

    Pass it in the `callbacks` of `lightgbm.train`, of `lightgbm.cv` (which passes metrics
    only), or of the `fit` of an estimator, as `lightgbm.LGBMClassifier`.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, include_regex, \
include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Metrics are always saved.
    save_config : SaveConfig, SaveConfigMode or dict, optional
        The rounds to save.  Defaults to every 10th.
    validation_data : matrix or tuple of a matrix and labels, optional
        The data that predictions are made for, as `lightgbm.Booster.predict` takes them.
    """

    _builtin_collections = {
        CollectionKeys.ALL: [],
        CollectionKeys.DEFAULT: [],
        CollectionKeys.METRICS: [r"^[^/]+-[^/]+$"],
        # LightGBM reports which metrics are losses only with their first values.
        CollectionKeys.LOSSES: [],
        CollectionKeys.HYPERPARAMETERS: [r"^hyperparameters/"],
        CollectionKeys.PREDICTIONS: [r"^predictions$"],
        CollectionKeys.LABELS: [r"^labels$"],
        CollectionKeys.FEATURE_IMPORTANCE: [r"^feature_importance/"],
        CollectionKeys.TREES: [r"^trees/"],
    }
    _always_saved = (CollectionKeys.METRICS, CollectionKeys.LOSSES)

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
        validation_data: Any = None,
        *,
        raise_errors: Optional[bool] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        super().__init__(
            out_dir=out_dir,
            export_tensorboard=export_tensorboard,
            tensorboard_dir=tensorboard_dir,
            dry_run=dry_run,
            reduction_config=reduction_config,
            save_config=save_config,
            include_regex=include_regex,
            include_collections=include_collections,
            save_all=save_all,
            include_workers=include_workers,
            raise_errors=raise_errors,
            options=options,
        )
        self.validation_data = validation_data
        self.validation_labels: Any = None
        if isinstance(validation_data, tuple):
            self.validation_data, self.validation_labels = validation_data
        # The model, the number and the metrics of the last round.
        self._last_round: Optional[Tuple[Any, int, List[Metric]]] = None
        # LightGBM calls in this order: before early_stopping, which may end the training.
        self.order = 20

    def __call__(self, env: Any) -> None:
        """Records a boosting round.  Ends the training if a rule requests it."""
        self._record_round(env)
        if self.stop_finding is not None:
            results = env.evaluation_result_list or []
            raise lgb.callback.EarlyStopException(env.iteration, results)

    @guarded
    def _record_round(self, env: Any) -> None:
        results = with_parts(_metric(*result) for result in env.evaluation_result_list or ())
        if env.iteration == env.begin_iteration:
            self._end_training()
        self._include_metrics((result.name, result.is_loss) for result in results)
        self._begin_round(env.iteration)
        if self._saves_step:
            for result in results:
                self._save(result.name, result.value)
            self._save_learning_rate(_learning_rate(env.params))
            self._save_hyperparameters(env.params)
            # lightgbm.cv trains several models at once, so there is no one tree or prediction.
            if isinstance(env.model, lgb.Booster):
                self._save_predictions(env.model)
                self._save_labels()
                self._save_feature_importance(env.model)
                self._save_trees(env.model)
        self._last_round = env.model, env.iteration, results
        if env.iteration + 1 < env.end_iteration:
            self._end_round()
        else:
            self._end_training()
            self._wait()

    @guarded(even_if_disabled=True)
    def _end_training(self) -> None:
        """Ends the last round.  Early stopping has told the model, but no callback."""
        if self._last_round is None:
            return
        model, last, results = self._last_round
        self._last_round = None
        # Not positive: nothing observed the best round.
        if model.best_iteration > 0 and self.stop_finding is None:
            metrics = {result.name: result.value for result in results}
            self._save_early_stopping(model.best_iteration - 1, last, _best_scores(model), metrics)
        self._finish_step()

    def close(self) -> None:
        self._end_training()
        super().close()

    @guarded
    def _save_predictions(self, model: Any) -> None:
        if self.validation_data is None:
            self._miss(CollectionKeys.PREDICTIONS, "validation_data")
        elif self.wants("predictions"):
            self._save("predictions", model.predict(self.validation_data, num_iteration=-1))

    @guarded
    def _save_labels(self) -> None:
        if self.validation_labels is None:
            self._miss(CollectionKeys.LABELS, "labels in validation_data")
        else:
            self._save("labels", self.validation_labels)

    @guarded
    def _save_feature_importance(self, model: Any) -> None:
        features = model.feature_name()
        for kind in self._wanted_importances(("split", "gain"), features):
            scores = model.feature_importance(importance_type=kind, iteration=-1)
            self._save_importances(kind, dict(zip(features, scores.tolist())))

    @guarded
    def _save_trees(self, model: Any) -> None:
        if any(self.wants(f"trees/{column}") for column in COLUMNS):
            for column, values in tree_columns(model, model.current_iteration() - 1).items():
                self._save(f"trees/{column}", values)


def _learning_rate(params: Mapping[str, Any]) -> float:
    """Returns the rate among the parameters, which LightGBM knows by three names."""
    rates = [params[name] for name in _RATES if params.get(name) is not None]
    return float(rates[0]) if rates else _DEFAULT_RATE


def _best_scores(model: Any) -> Dict[str, float]:
    """Returns the metrics of the best round, "<data>-<metric>"; none for lightgbm.cv."""
    if not isinstance(model, lgb.Booster):
        return {}
    return {
        f"{data}-{metric}": value
        for data, of_data in model.best_score.items()
        for metric, value in of_data.items()
    }


def _metric(data: str, metric: str, value: float, rises: bool, *deviation: float) -> Metric:
    """Returns a result of LightGBM, which in cross-validation has a standard deviation."""
    # LightGBM 4.0's cross-validation puts both names into one.
    name = metric.replace(" ", "-", 1) if data == "cv_agg" else f"{data}-{metric}"
    return Metric(name, [value, *deviation] if deviation else value, not rises)


def get_hook(
    json_config_path: Optional[str] = None, create_if_not_exists: bool = False
) -> Optional[Hook]:
    """Returns the process's hook: see `smdebug.core.singleton_utils.get_hook`."""
    hook: Optional[Hook] = singleton_utils.get_hook(json_config_path, Hook, create_if_not_exists)
    return hook
