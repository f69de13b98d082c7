"""The original's rule LoadBalancing."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["LoadBalancing"]


class LoadBalancing(OriginalRule):
    """LoadBalancing of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "LoadBalancing"
