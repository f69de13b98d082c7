"""The part of a hook that rule sets are attached to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from smdebug import _raw
from smdebug._handles import check
from smdebug.core.finding import Action, Finding, finding_of
from smdebug.exceptions import SMDebugTypeError

if TYPE_CHECKING:
    from smdebug.rules.rule_set import RuleSet

__all__ = ["Attachable"]


class Attachable:
    """The part of a hook that attaches rules."""

    _handle: Any

    # Whether a rule set is attached.
    _has_rules = False

    def attach(self, rule_set: RuleSet) -> None:
        """Attaches a rule set: from the next step on, its rules evaluate each step as it ends.

        The rules see every tensor of the job, whatever is saved: `wants` is also true for
        the tensors that they want.

        Parameters
        ----------
        rule_set : smdebug.rules.RuleSet
            Built-in rules.  Replaces the rule set attached before.

        Raises
        ------
        SMDebugRuntimeError
            If a step is open, or the rule set belongs to a trial or another hook.
        SMDebugValueError
            If the rule set has a rule written in Python, which reads a trial.
        """
        handle = getattr(rule_set, "_handle", None)
        if handle is None:
            raise SMDebugTypeError(f"expected a RuleSet, not a {type(rule_set).__name__}")
        check(_raw.smd_hook_attach(self._handle, handle))
        self._has_rules = True

    @property
    def action(self) -> Action:
        """The most severe action that the findings of the last step recommend."""
        return Action(_raw.smd_hook_action(self._handle))

    def take_findings(self) -> List[Finding]:
        """Returns the findings since the last call, up to the newest 10,000."""
        return [finding_of(raw) for raw in _raw.take_findings(self._handle)]
