"""The original's rule StepOutlier."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["StepOutlier"]


class StepOutlier(OriginalRule):
    """StepOutlier of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "StepOutlier"
