"""The original's rule OverallSystemUsage."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["OverallSystemUsage"]


class OverallSystemUsage(OriginalRule):
    """OverallSystemUsage of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "OverallSystemUsage"
