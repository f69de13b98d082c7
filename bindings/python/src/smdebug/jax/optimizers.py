"""What the states of Optax's optimizers tell: learning rates, and batches that are summed up."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Tuple

__all__ = ["learning_rates", "summed_batches"]


def learning_rates(opt_state: Any) -> List[Tuple[str, Any]]:
    """Returns the learning rates of `optax.inject_hyperparams`, with their names.

    No other optimizer of Optax keeps its rate in its state.  A single rate is called
    "learning_rate", several "learning_rate_0", "learning_rate_1", ...
    """
    rates = list(_rates(opt_state))
    if len(rates) == 1:
        return [("learning_rate", rates[0])]
    return [(f"learning_rate_{i}", rate) for i, rate in enumerate(rates)]


def summed_batches(opt_state: Any) -> List[Any]:
    """Returns how many batches each `optax.MultiSteps` has summed up since its last update."""
    return [state.mini_step for state in _states(opt_state) if hasattr(state, "mini_step")]


def _rates(state: Any) -> Iterator[Any]:
    for each in _states(state):
        hyperparameters = getattr(each, "hyperparams", None)
        if isinstance(hyperparameters, Mapping) and "learning_rate" in hyperparameters:
            yield hyperparameters["learning_rate"]


def _states(state: Any) -> Iterator[Any]:
    """Returns a state and, after it, those inside of it."""
    yield state
    if isinstance(state, Mapping):
        state = list(state.values())
    if isinstance(state, (list, tuple)):
        for item in state:
            yield from _states(item)
