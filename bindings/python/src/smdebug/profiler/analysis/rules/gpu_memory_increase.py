"""The original's rule GPUMemoryIncrease."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["GPUMemoryIncrease"]


class GPUMemoryIncrease(OriginalRule):
    """GPUMemoryIncrease of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "GPUMemoryIncrease"
