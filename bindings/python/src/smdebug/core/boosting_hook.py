"""The common base of the hooks for libraries of boosted trees."""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from smdebug.core.collection import CollectionKeys
from smdebug.core.error_policy import guarded
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.utils import match_inc

__all__ = ["BoostingHook", "Metric", "with_parts"]

# Both a tensor and the collection that holds it; recorded only if the collection is included.
_LEARNING_RATE = "learning_rate"


class Metric(NamedTuple):
    """The value of a metric after a round.

    Attributes
    ----------
    name : str
        "<data>-<metric>".
    value : float or sequence of float
        The value; in cross-validation the mean and the standard deviation.
    is_loss : bool
        Whether a smaller value is better.
    """

    name: str
    value: Any
    is_loss: bool


def with_parts(metrics: Iterable[Metric]) -> List[Metric]:
    """Returns metrics; after each pair of a cross-validation also its two numbers.

    Rules for losses evaluate tensors of one element: the mean, not the pair.
    """
    found = []
    for metric in metrics:
        found.append(metric)
        if isinstance(metric.value, (list, tuple)) and len(metric.value) == 2:
            mean, deviation = metric.value
            found.append(Metric(f"{metric.name}-mean", mean, metric.is_loss))
            found.append(Metric(f"{metric.name}-std", deviation, False))
    return found


class BoostingHook(FrameworkHook):
    """A hook whose steps are boosting rounds.

    Parameters
    ----------
    **arguments
        As `FrameworkHook` takes them.
    """

    _save_interval = 10

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._seen_names: Set[str] = set()
        self._told: Set[str] = set()

    @property
    def _stops_by_raising(self) -> bool:
        return False

    def has_default_hook_configuration(
        self, default_saved_collections: Optional[Sequence[str]] = None
    ) -> bool:
        return super().has_default_hook_configuration(
            default_saved_collections or self._always_saved
        )

    def _begin_round(self, iteration: int) -> None:
        # A training that resumes from a checkpoint may begin with the number of a later round.
        if self._selects_learning_rate and self._is_new(_LEARNING_RATE):
            self._include(_LEARNING_RATE, _LEARNING_RATE)
        while self.step + 1 < iteration:
            self._next_step()
        self._next_step()

    def _end_round(self) -> None:
        """Lets attached rules evaluate the round.

        Without rules the step stays open until the next round begins or the training ends:
        what ends the training is reported after the callbacks of its last round.
        """
        if self._has_rules:
            self._finish_step()

    @guarded
    def _save_early_stopping(
        self, best: int, last: int, scores: Mapping[str, Any], metrics: Mapping[str, Any]
    ) -> None:
        """Records the end of a training that early stopping observes, with its last round.

        Parameters
        ----------
        best, last : int
            The best and the last round.
        scores : mapping
            The metrics of the best round, by their names within "early_stopping/".
        metrics : mapping
            The metrics of the last round, which is saved whatever the save config.
        """
        self.logger.info("early stopping: the best round is %d, the last %d", best, last)
        if not self._step_is_open:
            return
        ends = {"best_iteration": best, "last_iteration": last, **scores}
        values = {f"early_stopping/{name}": value for name, value in ends.items()}
        self._include_metrics((name, False) for name in values)
        if not self._saves_step:
            values.update(metrics)
        self._add_to_step(*self._always_saved)
        for name, value in values.items():
            self._save(name, value)

    @guarded
    def _wait(self) -> None:
        """Waits until all rounds are written."""
        self.flush()

    # ---- tensors -----------------------------------------------------------------

    def _include_metrics(self, names: Iterable[Tuple[str, bool]]) -> None:
        """Adds metrics to their collections, whether or not regular expressions match them.

        Parameters
        ----------
        names : iterable of (str, bool)
            The name of each metric, and whether it is a loss.
        """
        for name, is_loss in names:
            if self._is_new(name):
                self._include(CollectionKeys.METRICS, name)
                if is_loss:
                    self._include(CollectionKeys.LOSSES, name)

    @property
    def _selects_learning_rate(self) -> bool:
        return _LEARNING_RATE in self.include_collections

    @guarded
    def _save_learning_rate(self, rate: Optional[float]) -> None:
        if self._selects_learning_rate and rate is not None:
            self._save(_LEARNING_RATE, rate)

    @guarded
    def _save_hyperparameters(self, hyperparameters: Mapping[str, Any]) -> None:
        for name, value in hyperparameters.items():
            self._save(f"hyperparameters/{name}", _as_tensor(value))

    def _wanted_importances(self, kinds: Sequence[str], features: Sequence[str]) -> List[str]:
        """The kinds of feature importance that the open step saves for any feature."""
        return [
            kind
            for kind in kinds
            if any(self.wants(f"feature_importance/{kind}/{feature}") for feature in features)
        ]

    def _save_importances(self, kind: str, scores: Mapping[str, float]) -> None:
        """Saves the importances of features, scaled so that their sum is 1."""
        total = sum(scores.values())
        for feature, score in scores.items():
            share = score / total if total else 0.0
            self._save(f"feature_importance/{kind}/{feature}", share)

    # ---- collections -------------------------------------------------------------

    def _is_new(self, name: str) -> bool:
        is_new = name not in self._seen_names
        self._seen_names.add(name)
        return is_new

    def _include(self, collection_name: str, name: str) -> None:
        collection = self.get_collection(collection_name)
        if not match_inc(name, collection.include_regex):
            collection.add_tensor_name(name)

    def _miss(self, collection_name: str, argument: str) -> None:
        """Logs that a collection cannot be saved without an argument, if this step saves it."""
        if self._saves_now(self.get_collection(collection_name)):
            self._tell(collection_name, f"the hook was not given {argument}")

    def _tell(self, collection_name: str, reason: str) -> None:
        """Logs, once, why a selected collection is empty."""
        if collection_name not in self._told:
            self._told.add(collection_name)
            self.logger.warning("nothing is saved in %s: %s", collection_name, reason)


def _as_tensor(value: Any) -> Any:
    """Returns a hyperparameter as it is, or as text if it cannot be saved as a tensor."""
    if isinstance(value, (int, float, str)) or hasattr(value, "dtype"):
        return value
    if isinstance(value, (list, tuple)) and value:
        for kind in (int, float), str:
            if all(isinstance(item, kind) for item in value):
                return list(value)
    return str(value)
