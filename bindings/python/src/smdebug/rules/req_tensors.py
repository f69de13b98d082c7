"""The tensors that a rule needs at a step."""

from __future__ import annotations

from typing import Dict, Iterable, KeysView, List, Optional, Sequence, Tuple, ValuesView

from smdebug.core.tensor import Tensor
from smdebug.exceptions import TensorUnavailable
from smdebug.trials.trial import Trial

__all__ = ["RequiredTensors", "RequiredTensorsForTrial"]


class RequiredTensorsForTrial:
    """The required tensors of one trial, each with the steps at which it is needed."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.logger = trial.logger
        self._steps: Dict[str, List[int]] = {}
        self._tensors: Dict[str, Tensor] = {}

    def add(self, name: str, steps: Iterable[int], should_match_regex: bool = False) -> None:
        """Requires a tensor at some steps, or all matching tensors if the name is a regex.

        Raises
        ------
        TensorUnavailable
            If no tensor of that name has been saved yet.
        """
        wanted = list(steps)
        for found in self.trial.tensor_names(regex=[name]) if should_match_regex else [name]:
            if not self.trial.has_tensor(found):
                raise TensorUnavailable(found)
            self._steps.setdefault(found, []).extend(wanted)
            self._tensors.setdefault(found, self.trial.tensor(found))

    def get_tensor_steps(self, name: str) -> List[int]:
        """Returns the steps at which a tensor is needed."""
        return self._steps[name]

    def get_names(self) -> KeysView[str]:
        """Returns the names of the required tensors."""
        return self._steps.keys()

    def get(self) -> ValuesView[Tensor]:
        """Returns the required tensors."""
        return self._tensors.values()

    def clear(self) -> None:
        """Removes all requirements."""
        self._steps.clear()
        self._tensors.clear()

    def fetch(self) -> None:
        """Waits for the steps and checks that each value exists.

        Raises
        ------
        As `Trial.wait_for_steps` and `Tensor.value`.
        """
        self.trial.wait_for_steps(
            sorted({step for steps in self._steps.values() for step in steps})
        )
        # Tensors needed at the same steps are read together.
        names: Dict[Tuple[int, ...], List[str]] = {}
        for name, steps in self._steps.items():
            names.setdefault(tuple(sorted(set(steps))), []).append(name)
        for steps_of_all, together in names.items():
            self.trial.prefetch(together, steps_of_all)


class RequiredTensors:
    """The required tensors of a rule's trials.  Methods default to the base trial."""

    def __init__(self, base_trial: Trial, other_trials: Optional[Sequence[Trial]] = None) -> None:
        self.base_trial = base_trial
        self._per_trial: Dict[Trial, RequiredTensorsForTrial] = {
            trial: RequiredTensorsForTrial(trial) for trial in (base_trial, *(other_trials or ()))
        }

    def add(
        self,
        name: str,
        steps: Iterable[int],
        trial: Optional[Trial] = None,
        should_match_regex: bool = False,
    ) -> None:
        """Requires a tensor at some steps, or all matching tensors if the name is a regex.

        Raises
        ------
        TensorUnavailable
            If no tensor of that name has been saved yet.
        """
        self._of(trial).add(name, steps, should_match_regex)

    def get_tensor_steps(self, name: str, trial: Optional[Trial] = None) -> List[int]:
        """Returns the steps at which a tensor is needed."""
        return self._of(trial).get_tensor_steps(name)

    def get_names(self, trial: Optional[Trial] = None) -> KeysView[str]:
        """Returns the names of the required tensors."""
        return self._of(trial).get_names()

    def get(self, trial: Optional[Trial] = None) -> ValuesView[Tensor]:
        """Returns the required tensors."""
        return self._of(trial).get()

    def clear(self) -> None:
        """Removes all requirements, for all trials."""
        for tensors in self._per_trial.values():
            tensors.clear()

    def fetch(self) -> None:
        """Waits for the steps and checks that each value exists.

        Raises
        ------
        As `Trial.wait_for_steps` and `Tensor.value`.
        """
        for tensors in self._per_trial.values():
            tensors.fetch()

    def _of(self, trial: Optional[Trial]) -> RequiredTensorsForTrial:
        return self._per_trial[self.base_trial if trial is None else trial]
