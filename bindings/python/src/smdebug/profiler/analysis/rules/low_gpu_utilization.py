"""The original's rule LowGPUUtilization."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["LowGPUUtilization"]


class LowGPUUtilization(OriginalRule):
    """LowGPUUtilization of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "LowGPUUtilization"
