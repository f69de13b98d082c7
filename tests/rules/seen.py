"""What a diagnosis sees of a run: findings and clues, by rule and check."""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, List, Optional

from smdebug import _raw
from smdebug.core.finding import Finding, finding_of
from smdebug.rules import RuleSet

__all__ = ["seen_by_diagnosis"]


def seen_by_diagnosis(rules: RuleSet, findings: Iterable[Finding]) -> List[Dict[str, Any]]:
    """Returns the first finding or clue of each rule and check, and how many there are.

    `findings` are all findings of the rules; what is not among them is a clue.
    """
    found = {(each.rule, each.check) for each in findings}
    seen = []
    for raw, count, tensors in _raw.diagnosis_seen(rules._handle):
        first = finding_of(raw)
        seen.append(
            {
                "rule": first.rule, "check": first.check, "tensor": first.tensor,
                "step": first.step, "value": number(first.value), "limit": number(first.limit),
                "count": count, "tensors": tensors,
                "is_clue": (first.rule, first.check) not in found,
            }
        )  # fmt: skip
    return seen


def number(value: Optional[float]) -> Optional[float]:
    return float(value) if value is not None and math.isfinite(value) else None
