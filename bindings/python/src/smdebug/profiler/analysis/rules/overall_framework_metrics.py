"""The original's rule OverallFrameworkMetrics."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["OverallFrameworkMetrics"]


class OverallFrameworkMetrics(OriginalRule):
    """OverallFrameworkMetrics of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "OverallFrameworkMetrics"
