"""The original's rule BatchSize."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["BatchSize"]


class BatchSize(OriginalRule):
    """BatchSize of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "BatchSize"
