"""Counts the steps whose gradients a parameter adds up."""

from __future__ import annotations

__all__ = ["GradientSum"]


class GradientSum:
    """Counts the steps whose gradients a parameter holds the sum of."""

    __slots__ = ("_applied", "_first", "_last", "_updates", "applied")

    def __init__(self) -> None:
        self._first = 0
        self._last = -1
        self._updates = 0  # of all optimizers, when the sum began
        self._applied = 0  # the count of the last sum that an update applied
        #: The larger one of the last two counts: networks may be trained in turns.
        self.applied = 0

    def add(self, step: int, is_added: bool, updates: int) -> int:
        """Notes a backward pass; returns the count.

        Parameters
        ----------
        step : int
            The open step, by the numbers of its mode.
        is_added : bool
            Whether the pass adds to the gradient of the pass before.
        updates : int
            How many updates there were so far.
        """
        if updates != self._updates:
            applied = self._last - self._first + 1
            self.applied, self._applied = max(applied, self._applied), applied
        if not is_added or updates != self._updates:
            self._first, self._updates = step, updates
        self._last = step
        return step - self._first + 1
