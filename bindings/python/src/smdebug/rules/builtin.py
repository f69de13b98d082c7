"""The rules that the C library brings."""

from __future__ import annotations

import json
from typing import Mapping, Optional

from smdebug import _raw
from smdebug._handles import RuleHandle, out, out_steps, text
from smdebug.rules.rule import Rule
from smdebug.trials.trial import Trial

__all__ = ["BuiltinRule"]


class BuiltinRule(Rule):
    """A rule of the C library, which runs like one written in Python.

    Parameters
    ----------
    base_trial : Trial
        The trial that is judged.
    name : str
        The rule's name, as "VanishingGradient"; `Panel.rules` lists them.
    parameters : mapping of str to str, optional
        Its parameters, as {"threshold": "1e-7"}; those not given have their defaults.

    Raises
    ------
    SMDebugValueError
        If there is no such rule, or it has no such parameter.
    """

    def __init__(
        self, base_trial: Trial, name: str, parameters: Optional[Mapping[str, str]] = None
    ) -> None:
        super().__init__(base_trial)
        self.rule_name = text(name, "rule's name")
        self._rule = RuleHandle(
            out("rule", _raw.smd_rule_new_builtin, name, json.dumps(dict(parameters or {})))
        )

    def invoke_at_step(self, step: int) -> bool:
        """Judges a global step: True if the condition is met."""
        trial = self.base_trial._handle
        return bool(out_steps(_raw.smd_rule_run, self._rule, trial, step, step + 1, 0))

    @property
    def last_finding(self) -> str:
        """What the rule found last, in words; "" before it did."""
        return _raw.smd_rule_last_finding(self._rule)
