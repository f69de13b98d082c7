"""The original's rule IOBottleneck."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["IOBottleneck"]


class IOBottleneck(OriginalRule):
    """IOBottleneck of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "IOBottleneck"
