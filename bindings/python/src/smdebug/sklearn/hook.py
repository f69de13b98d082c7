"""The hook for scikit-learn: it records estimators while they learn."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional, Tuple

from smdebug.core import singleton_utils
from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.utils import match_inc

__all__ = ["Hook", "get_hook"]

# What some estimators compute, at some cost, when they are asked for it.
_COMPUTED = ("coef_", "intercept_", "feature_importances_")


class Hook(FrameworkHook):
    """Records estimators of scikit-learn, or of any library that follows its conventions.

    A job calls `record` after each `partial_fit`, or each `fit` of an estimator with
    `warm_start`.  The hook is also a `monitor`, as the `fit` of `GradientBoostingClassifier`
    takes one.

    Parameters
    ----------
    out_dir, export_tensorboard, tensorboard_dir, dry_run, reduction_config, save_config, \
include_regex, include_collections, save_all, include_workers, raise_errors, options
        As `smdebug.Hook` takes them.  Every step is saved, if no save_config is given;
        losses and scores are always saved.

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
    }
    _always_saved = (CollectionKeys.LOSSES, CollectionKeys.METRICS)
    _save_interval = 1

    @guarded
    def record(self, estimator: Any, **scores: Any) -> None:
        """Records an estimator as it is now, as one step.

        Its fitted attributes are tensors of their names: `coef_`, `loss_`, `coefs_/0`; those
        of the steps of a pipeline begin with the step's name, as `scaler/mean_`.  Its
        parameters are `hyperparameters/<name>`.

        Parameters
        ----------
        estimator
            The estimator.
        **scores
            Numbers to record with it, in the collection "metrics": accuracy=0.9.  A function
            without arguments is called if its number is wanted.
        """
        for name in scores:
            metrics = self.get_collection(CollectionKeys.METRICS)
            if not match_inc(name, metrics.include_regex):
                metrics.add_tensor_name(name)
        self._next_step()
        if self._saves_step:
            for name, value in scores.items():
                self._save(name, value)
            for name, value in _parameters(estimator):
                self._save(f"hyperparameters/{name}", value)
            for name, value in _attributes(estimator, self.wants):
                self._save(name, value)
        self._finish_step()

    @guarded(returns=False)
    def __call__(self, iteration: int, estimator: Any, variables: Mapping[str, Any]) -> bool:
        """Records a boosting round with its loss; never ends the training."""
        self.record(estimator, loss=estimator.train_score_[iteration])
        return False

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
    """The tensors among an estimator's fitted attributes, by name."""
    for step, of_step in getattr(estimator, "named_steps", {}).items():
        yield from _attributes(of_step, wants, f"{prefix}{step}/")
    fitted = vars(estimator)
    for name, value in fitted.items():
        if name.endswith("_") and not name.startswith("_"):
            yield from _tensors(prefix + name, value)
    for name in _COMPUTED:
        if name not in fitted and wants(prefix + name):
            yield from _tensors(prefix + name, getattr(estimator, name, None))


def _tensors(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """A value, if it is a tensor, or the tensors in it: name/0, name/1, ..."""
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
    """The process's hook; `smdebug.core.singleton_utils.get_hook` says which."""
    hook: Optional[Hook] = singleton_utils.get_hook(json_config_path, Hook, create_if_not_exists)
    return hook
