"""The scores that estimators of boosted histograms compute of their rounds."""

from __future__ import annotations

from typing import Any, Dict, Optional

__all__ = ["learning_rate", "round_scores", "unscored"]

_NAMES = {"train_score_": "train_score", "validation_score_": "validation_score"}
_LOSSES = {"train_score_": "loss", "validation_score_": "val_loss"}


def round_scores(estimator: Any) -> Dict[str, float]:
    """Returns the scores of the last round of a `HistGradientBoosting` estimator, by name.

    With scoring="loss", the default, these are "loss" and "val_loss".
    """
    estimator = _last(estimator)
    if not _is_histogram(estimator):
        return {}
    is_loss = estimator.scoring == "loss"
    names = _LOSSES if is_loss else _NAMES
    scores = {names[name]: getattr(estimator, name) for name in names}
    # A loss is kept as a score, the greater the better.
    return {
        name: -float(of_rounds[-1]) if is_loss else float(of_rounds[-1])
        for name, of_rounds in scores.items()
        if len(of_rounds)
    }


def unscored(estimator: Any) -> Optional[str]:
    """Returns why a `HistGradientBoosting` estimator has no scores, or None if it has."""
    estimator = _last(estimator)
    if not _is_histogram(estimator) or round_scores(estimator):
        return None
    return (
        f"{type(estimator).__name__} kept no loss: with early_stopping="
        f"{estimator.early_stopping!r} it scored no round of this training; set "
        "early_stopping=True, or pass a score to record, as "
        "loss=lambda: log_loss(y, model.predict_proba(x))"
    )


def learning_rate(estimator: Any) -> Optional[float]:
    """Returns the learning rate that an estimator keeps for the whole training, if it has one."""
    estimator = _last(estimator)
    # The last step of a pipeline may be the text "passthrough".
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    rate = parameters.get("learning_rate")
    if rate == "constant":
        rate = parameters.get("learning_rate_init", parameters.get("eta0"))
    return float(rate) if isinstance(rate, (int, float)) else None


def _is_histogram(estimator: Any) -> bool:
    return hasattr(estimator, "do_early_stopping_") and hasattr(estimator, "validation_score_")


def _last(estimator: Any) -> Any:
    """Returns the estimator itself, or the last one of a pipeline."""
    steps = getattr(estimator, "named_steps", None)
    return list(steps.values())[-1] if steps else estimator
