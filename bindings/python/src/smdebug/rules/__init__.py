"""Rules: a question asked of a trial at one step after another."""

from smdebug.rules.builtin import BuiltinRule
from smdebug.rules.req_tensors import RequiredTensors, RequiredTensorsForTrial
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = ["BuiltinRule", "RequiredTensors", "RequiredTensorsForTrial", "Rule", "invoke_rule"]
