"""The learning rates in the states of Optax's optimizers."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Tuple

__all__ = ["learning_rates"]


def learning_rates(opt_state: Any) -> List[Tuple[str, Any]]:
    """Returns the learning rates of `optax.inject_hyperparams`, with their names.

    No other optimizer of Optax keeps its rate in its state.  A single rate is called
    "learning_rate", several "learning_rate_0", "learning_rate_1", ...
    """
    rates = list(_rates(opt_state))
    if len(rates) == 1:
        return [("learning_rate", rates[0])]
    return [(f"learning_rate_{i}", rate) for i, rate in enumerate(rates)]


def _rates(state: Any) -> Iterator[Any]:
    hyperparameters = getattr(state, "hyperparams", None)
    if isinstance(hyperparameters, Mapping) and "learning_rate" in hyperparameters:
        yield hyperparameters["learning_rate"]
    if isinstance(state, Mapping):
        state = list(state.values())
    if isinstance(state, (list, tuple)):
        for item in state:
            yield from _rates(item)
