"""The original's rule CPUBottleneck."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["CPUBottleneck"]


class CPUBottleneck(OriginalRule):
    """CPUBottleneck of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "CPUBottleneck"
