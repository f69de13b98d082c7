"""The base class of rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Dict, List, Optional, Sequence, Union

from smdebug.analysis.utils import no_refresh
from smdebug.core.logger import get_logger
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugTypeError
from smdebug.rules.action.action import Actions
from smdebug.rules.req_tensors import RequiredTensors
from smdebug.trials.trial import Trial

__all__ = ["Rule"]


class Rule(ABC):
    """A condition that is evaluated over the steps of a trial.

    A rule overrides `invoke_at_step`, and `set_required_tensors` if it requires tensors.
    Its own parameters arrive as str if they come from a configuration.

    Parameters
    ----------
    base_trial : Trial
        The trial that is evaluated.
    action_str : str
        Actions to take when the condition is met, as `smdebug.rules.action.Actions` takes
        them.
    other_trials : sequence of Trial, optional
        Trials to compare with.  They may also be the second positional argument.

    Attributes
    ----------
    trials : list of Trial
        The base trial and the others.
    req_tensors : RequiredTensors
        The tensors that the rule requires at the current step.
    rule_name : str
        The name of the rule's class.
    report : dict
        For the rule to fill.
    """

    def __init__(
        self,
        base_trial: Trial,
        action_str: Union[str, Sequence[Trial], None] = "",
        other_trials: Optional[Sequence[Trial]] = None,
    ) -> None:
        if other_trials is None and action_str and not isinstance(action_str, str):
            other_trials, action_str = action_str, ""
        if not hasattr(base_trial, "wait_for_steps"):
            raise SMDebugTypeError(f"base_trial is a Trial, not a {type(base_trial).__name__}")
        self.base_trial = base_trial
        self.other_trials = other_trials
        self.trials: List[Trial] = [base_trial, *(other_trials or ())]
        self.req_tensors = RequiredTensors(base_trial, other_trials)
        self.rule_name = type(self).__name__
        self.logger = get_logger()
        self.report: Dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }
        self._actions = Actions(action_str if isinstance(action_str, str) else "", self.rule_name)

    def set_required_tensors(self, step: int) -> None:
        """Declares the tensors required at `step`, with `self.req_tensors.add`."""

    @abstractmethod
    def invoke_at_step(self, step: int) -> Optional[bool]:
        """Evaluates a global step.  Returns True if the condition is met.

        Queries see only data that was recorded before the step was complete.
        """

    def invoke(self, step: int) -> None:
        """Waits for a global step, then evaluates it and takes the rule's actions.

        Raises
        ------
        RuleEvaluationConditionMet
            If the condition is met.
        StepUnavailable, NoMoreData
            If the step was not saved, or the job has ended before it.
        TensorUnavailable, TensorUnavailableForStep
            If a required tensor is not available.
        """
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            met = self.invoke_at_step(step)
        if met:
            self._actions.invoke()
            raise RuleEvaluationConditionMet(self.rule_name, step)
