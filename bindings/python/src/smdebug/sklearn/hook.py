"""The hook for scikit-learn, which records estimators while they are fitted."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional, Tuple

from smdebug.core import singleton_utils
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.utils import match_inc
from smdebug.core.step_scope import discard_after_error
from smdebug.sklearn.scores import learning_rate, round_scores, unscored

__all__ = ["Hook", "get_hook"]

# Attributes that some estimators compute on access, which is slow.
_COMPUTED = ("coef_", "intercept_", "feature_importances_")


class Hook(FrameworkHook):
    """Records estimators of scikit-learn, or of any library that follows its conventions.

    A job calls `record` after each `partial_fit`, or each `fit` of an estimator with
    `warm_start`.  The hook can also be passed as the `monitor` of the `fit` of
    `GradientBoostingClassifier`.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Without a save_config every step is saved.
        Losses and scores are always saved.

    Examples
    --------
    >>> with smd.Hook("run", include_collections=["weights"]) as hook:
    ...     for epoch in range(20):
    ...         model.partial_fit(x, y, classes=classes)
    ...         hook.record(model, accuracy=model.score(x_test, y_test))
    """

    _builtin_collections = {
        CollectionKeys.ALL: [],
        CollectionKeys.DEFAULT: [],
        CollectionKeys.LOSSES: [r"(?i)^(?!hyperparameters/).*loss_?$"],
        CollectionKeys.METRICS: [],
        CollectionKeys.WEIGHTS: [r"(^|/)coefs?_(/\d+)?$"],
        CollectionKeys.BIASES: [r"(^|/)intercepts?_(/\d+)?$"],
        CollectionKeys.FEATURE_IMPORTANCE: [r"(^|/)feature_importances_$"],
        CollectionKeys.HYPERPARAMETERS: [r"^hyperparameters/"],
        "learning_rate": [r"^learning_rate$"],
    }
    _always_saved = (CollectionKeys.LOSSES, CollectionKeys.METRICS)
    _save_interval = 1

    _has_told_of_scores = False

    @guarded
    def record(self, estimator: Any, **scores: Any) -> None:
        """Records the current state of an estimator as one step.

        Fitted attributes become tensors of the same names: `coef_`, `loss_`, `coefs_/0`.
        In a pipeline the step's name comes first, as `scaler/mean_`.  Parameters become
        `hyperparameters/<name>`.

        Parameters
        ----------
        estimator
            The estimator.
        **scores
            Numbers to record with it, in the collection "metrics": accuracy=0.9.  A function
            without arguments is called only if its number is saved.
        """
        self._tell_if_unscored(estimator, scores)
        scores = {**round_scores(estimator), **scores}
        for name in scores:
            metrics = self.get_collection(CollectionKeys.METRICS)
            if not match_inc(name, metrics.include_regex):
                metrics.add_tensor_name(name)
        self._next_step()
        try:
            if self._saves_step:
                for name, value in scores.items():
                    self._save(name, value)
                rate = learning_rate(estimator) if self.wants("learning_rate") else None
                if rate is not None and "learning_rate" not in scores:
                    self._save("learning_rate", rate)
                for name, value in _parameters(estimator):
                    self._save(f"hyperparameters/{name}", value)
                for name, value in _attributes(estimator, self.wants):
                    self._save(name, value)
        except BaseException:
            discard_after_error(self)
            raise
        self._finish_step()

    @guarded(returns=False)
    def __call__(self, iteration: int, estimator: Any, variables: Mapping[str, Any]) -> bool:
        """Records a boosting round with its loss.  Returns True if a rule requests the end."""
        self.record(estimator, loss=estimator.train_score_[iteration])
        if self.stop_finding is None:
            return False
        # The result reports the finding, so that no later step raises it.
        self._has_raised = True
        return True

    def _tell_if_unscored(self, estimator: Any, scores: Mapping[str, Any]) -> None:
        reason = None if scores or self._has_told_of_scores else unscored(estimator)
        if reason is not None:
            self._has_told_of_scores = True
            self.logger.warning("%s", reason)

    def _as_saveable(self, value: Any) -> Any:
        if callable(value):
            return value()
        return value.toarray() if hasattr(value, "toarray") else value


def _parameters(estimator: Any) -> Iterator[Tuple[str, Any]]:
    for name, value in estimator.get_params(deep=False).items():
        yield name, value if isinstance(value, (int, float, str)) else str(value)


def _attributes(
    estimator: Any, wants: Callable[[str], bool], prefix: str = ""
) -> Iterator[Tuple[str, Any]]:
    """Returns the tensors among an estimator's fitted attributes, by name."""
    for step, of_step in getattr(estimator, "named_steps", {}).items():
        yield from _attributes(of_step, wants, f"{prefix}{step}/")
    # The step of a pipeline may be the text "passthrough".
    fitted = getattr(estimator, "__dict__", {})
    for name, value in fitted.items():
        if name.endswith("_") and not name.startswith("_"):
            yield from _tensors(prefix + name, value)
    for name in _COMPUTED:
        if name not in fitted and wants(prefix + name):
            yield from _tensors(prefix + name, getattr(estimator, name, None))


def _tensors(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """Returns a tensor under its name, or the tensors in a value: name/0, name/1, ..."""
    if isinstance(value, (int, float)) or getattr(value, "dtype", "O") != "O":
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _tensors(f"{name}/{key}", item)
    elif isinstance(value, (list, tuple)) and value:
        if all(isinstance(item, (int, float)) for item in value):
            yield name, list(value)
        else:
            for i, item in enumerate(value):
                yield from _tensors(f"{name}/{i}", item)


def get_hook(
    json_config_path: Optional[str] = None, create_if_not_exists: bool = False
) -> Optional[Hook]:
    """Returns the process's hook: see `smdebug.core.singleton_utils.get_hook`."""
    hook: Optional[Hook] = singleton_utils.get_hook(json_config_path, Hook, create_if_not_exists)
    return hook
