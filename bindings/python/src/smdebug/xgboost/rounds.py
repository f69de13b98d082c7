"""A boosting round as XGBoost passes it to callbacks."""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, List, Mapping, Optional, Tuple

__all__ = ["Round", "count_rounds", "is_loss", "last_values", "learning_rate_of"]

# All metrics of XGBoost that should fall, and the usual names of a user's own.
_LOSS = re.compile(
    "loss|err|rms|mse|msle|mae|mape|mphe|nloglik|nll|deviance|quantile|expectile|pinball"
    "|entropy|perplexity|divergence|brier|crps|cost",
    re.IGNORECASE,
)
# As "neg_mean_squared_error" of scikit-learn.
_NEGATED = re.compile("neg_", re.IGNORECASE)


class Round:
    """A round that has begun.

    Attributes
    ----------
    iteration : int
        Its number.
    evals_log : mapping
        All metrics of the training, to which XGBoost adds those of the round.
    rounds : int
        The number of rounds that the model had.
    """

    def __init__(self, model: Any, iteration: int, evals_log: Mapping[str, Any]) -> None:
        self.iteration = iteration
        self.evals_log = evals_log
        self.rounds = count_rounds(model, iteration - 1)
        self._values = self._count()

    def is_over(self) -> bool:
        """Returns True if the round has metrics."""
        return self._count() > self._values

    def _count(self) -> int:
        logs = self.evals_log.values()
        return sum(len(values) for of_data in logs for values in of_data.values())


def count_rounds(model: Any, iteration: int) -> int:
    """Returns the number of rounds of a model, which XGBoost before 1.4 does not report.

    Parameters
    ----------
    model : xgboost.Booster
        The model.
    iteration : int
        The round that has ended, from which the number is derived for XGBoost before 1.4.
    """
    return int(getattr(model, "num_boosted_rounds", lambda: iteration + 1)())


def last_values(evals_log: Mapping[str, Any]) -> List[Tuple[str, Any]]:
    """Returns the metrics of the last round, by name: "<data>-<metric>"."""
    return [
        (f"{data}-{metric}", values[-1])
        for data, of_data in evals_log.items()
        for metric, values in of_data.items()
    ]


def is_loss(name: str) -> bool:
    """Returns True if a metric is known to fall in a healthy training.

    XGBoost does not report the direction of a metric: only the name shows it.

    Parameters
    ----------
    name : str
        "<data>-<metric>"; XGBoost takes the data's name to end at the first "-".
    """
    metric = name.partition("-")[2]
    return _LOSS.search(metric) is not None and not _NEGATED.match(metric)


def learning_rate_of(model: Any) -> Optional[float]:
    """Returns the rate of a model's next round; None if its version does not report it.

    Parameters
    ----------
    model : xgboost.Booster or the models of xgboost.cv
        The model; of several, the first.
    """
    folds = getattr(model, "cvfolds", None)
    config = (folds[0].bst if folds else model).save_config()
    return next(_rates(json.loads(config)["learner"]["gradient_booster"]), None)


def _rates(config: Mapping[str, Any]) -> Iterator[float]:
    if "eta" in config:
        yield float(config["eta"])
    for value in config.values():
        if isinstance(value, dict):
            yield from _rates(value)
