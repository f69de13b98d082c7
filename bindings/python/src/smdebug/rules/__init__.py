"""Rules: conditions that are checked at one step of a trial after another."""

from smdebug.core.diagnosis import Cause, Evidence
from smdebug.core.finding import Action, Finding, Level, RuleResult, RuleStatus
from smdebug.rules.builtin import BuiltinRule
from smdebug.rules.evaluate_many_trials import evaluate_many
from smdebug.rules.req_tensors import RequiredTensors, RequiredTensorsForTrial
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule
from smdebug.rules.rule_set import RuleInfo, RuleParameter, RuleSet, builtin_rules

__all__ = [
    "Action",
    "BuiltinRule",
    "Cause",
    "Evidence",
    "Finding",
    "Level",
    "RequiredTensors",
    "RequiredTensorsForTrial",
    "Rule",
    "RuleInfo",
    "RuleParameter",
    "RuleResult",
    "RuleSet",
    "RuleStatus",
    "builtin_rules",
    "evaluate_many",
    "invoke_rule",
]
