"""Rules: a question asked of a trial at one step after another."""

from smdebug.core.verdict import Action, Verdict, VerdictStatus
from smdebug.rules.builtin import BuiltinRule
from smdebug.rules.panel import Panel
from smdebug.rules.req_tensors import RequiredTensors, RequiredTensorsForTrial
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = [
    "Action",
    "BuiltinRule",
    "Panel",
    "RequiredTensors",
    "RequiredTensorsForTrial",
    "Rule",
    "Verdict",
    "VerdictStatus",
    "invoke_rule",
]
