"""The original's rule Dataloader."""

from smdebug.profiler.analysis.rules.original_rule import OriginalRule

__all__ = ["Dataloader"]


class Dataloader(OriginalRule):
    """Dataloader of the profile "aws"; docs/profiler_rules.md lists its parameters."""

    rule_name = "Dataloader"
