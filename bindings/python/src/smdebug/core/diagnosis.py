"""The likely causes of what rules have found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Tuple

from smdebug import _raw
from smdebug.core.finding import Finding, finding_of

__all__ = ["Cause", "Evidence", "diagnosis"]


@dataclass(frozen=True)
class Evidence:
    """The findings of one check of a rule, which speak for a cause.

    Attributes
    ----------
    first : Finding
        The one with the lowest step.
    finding_count, tensor_count : int
        How many findings there are, and in how many tensors.
    """

    first: Finding
    finding_count: int
    tensor_count: int


@dataclass(frozen=True)
class Cause:
    """A likely cause of what rules have found.

    Attributes
    ----------
    id : str
        Such as "rate_too_high"; docs/diagnosis.md lists all.
    title : str
        The cause in a few words.
    confidence : float
        The chance that this is the cause, from 0 to 1.
    advice : str
        What to do, in two sentences.
    link : str
        The section of the documentation that says more.
    evidence : tuple of Evidence
        What speaks for the cause, the strongest first.
    missing : tuple of str
        Rules without tensors or data, whose findings would make it surer.
    """

    id: str
    title: str
    confidence: float
    advice: str
    link: str
    evidence: Tuple[Evidence, ...]
    missing: Tuple[str, ...]

    def __str__(self) -> str:
        first = self.evidence[0].first
        return f"{self.title} ({self.confidence:.0%}): {first}"

    def _repr_html_(self) -> str:
        from smdebug.notebook.cards import cause_card

        return cause_card(self)


def diagnosis(handle: Any) -> List[Cause]:
    """The likely causes of what the rule set with this handle has found."""
    return [_cause_of(raw) for raw in _raw.diagnose(handle)]


def _cause_of(raw: Any) -> Cause:
    """The cause of a tuple that the native module returns."""
    id, title, confidence, advice, link, evidence, missing = raw
    return Cause(
        id=id,
        title=title,
        confidence=confidence,
        advice=advice,
        link=link,
        evidence=tuple(
            Evidence(finding_of(first), findings, tensors) for first, findings, tensors in evidence
        ),
        missing=tuple(missing),
    )
