"""The original's rule MaxInitializationTime."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["MaxInitializationTime"]


class MaxInitializationTime(OriginalRule):
    """MaxInitializationTime of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "MaxInitializationTime"
