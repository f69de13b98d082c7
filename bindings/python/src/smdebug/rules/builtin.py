"""The rules that the C library implements."""

from __future__ import annotations

from typing import Mapping, Optional

from smdebug import _raw
from smdebug._handles import text
from smdebug.core.finding import Level
from smdebug.rules.rule import Rule
from smdebug.rules.rule_set import RuleSet
from smdebug.trials.trial import Trial

__all__ = ["BuiltinRule"]


class BuiltinRule(Rule):
    """A rule of the C library, which runs like one written in Python.

    Parameters
    ----------
    base_trial : Trial
        The trial to evaluate.
    name : str
        The rule's name, such as "VanishingGradient"; `builtin_rules` lists them.
    parameters : mapping of str to str, optional
        Its parameters, such as {"threshold": "1e-7"}.  The others have their defaults.
    profile : str
        Which defaults: "calibrated" or "aws", as `RuleSet` explains.

    Raises
    ------
    SMDebugValueError
        If there is no such rule or profile, or the rule has no such parameter.
    """

    def __init__(
        self,
        base_trial: Trial,
        name: str,
        parameters: Optional[Mapping[str, str]] = None,
        profile: str = "calibrated",
    ) -> None:
        super().__init__(base_trial)
        self.rule_name = text(name, "rule's name")
        self._rules = RuleSet(profile).add(name, parameters)
        self._last = -1
        self._last_finding = ""

    def invoke_at_step(self, step: int) -> bool:
        """Evaluates a global step.  Returns True if the condition is met.

        The rule keeps the history of earlier steps.  It starts again if it evaluates an earlier
        step than the last one.
        """
        if step <= self._last:
            self._rules.reset()
        self._last = step
        flags = _raw.SMD_EVALUATE_INCOMPLETE
        evaluated = self._rules._evaluate(self.base_trial, step, step, flags)
        found = [each for each in evaluated if each.level is Level.FINDING]
        self._last_finding = found[-1].message if found else self._last_finding
        return bool(found)

    @property
    def last_finding(self) -> str:
        """The message of the last finding, or "" if there is none yet."""
        return self._last_finding
