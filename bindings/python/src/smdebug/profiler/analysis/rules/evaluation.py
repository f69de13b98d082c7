"""Evaluates rules over a profile, and tells where the time of its steps goes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from smdebug import _raw
from smdebug._handles import ProfileRulesHandle, check, out, out_strings, out_text, text
from smdebug.core.finding import Finding, RuleResult, RuleStatus, finding_of
from smdebug.rules.rule_set import RuleInfo, RuleParameter

__all__ = ["Phase", "ProfileEvaluation", "evaluate_profile", "profile_rules"]


@dataclass(frozen=True)
class Phase:
    """What a worker's steps spend on one thing.

    Attributes
    ----------
    worker : str
        The worker.
    name : str
        What the time is spent on.
    kind : str
        "step" is the whole.  A "part" is one of those that add up to it: each moment counts for
        the innermost event.  An "overlap" is beside the parts; a "phase" is a row of the timeline.
    count : int
        Steps; of a "phase" events.
    share : float
        Part of the steps' time.
    total, p50, p95, p99, max : float
        Microseconds, in all and of a step; the quantiles of a "phase" are 0.
    """

    worker: str
    name: str
    kind: str
    count: int
    share: float
    total: float
    p50: float
    p95: float
    p99: float
    max: float


class ProfileEvaluation:
    """Rules over one profile.

    Parameters
    ----------
    path : str or os.PathLike
        The folder that holds "system" or "framework", or s3://bucket/prefix.
    profile : str
        "calibrated", whose rules rarely report a healthy job, or "aws": the rules as the
        original's history defines them.
    rules : iterable of str, optional
        The rules to evaluate; by default all of the profile.
    parameters : mapping, optional
        Parameters such as ``{"CPUBottleneck_threshold": 40}``, and options of the library such as
        ``{"s3_region": "eu-west-1"}``.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        profile: str = "calibrated",
        rules: Iterable[str] = (),
        parameters: Optional[Mapping[str, object]] = None,
    ) -> None:
        self._handle = ProfileRulesHandle(
            out(
                "profile_rules",
                _raw.smd_profile_rules_new,
                text(os.fspath(path), "path"),
                text(profile, "profile"),
            )
        )
        for rule in rules:
            self._set("rule", rule)
        for name, value in (parameters or {}).items():
            self._set(name, str(value))

    def _set(self, name: str, value: str) -> None:
        check(_raw.smd_profile_rules_set(self._handle, text(name, "name"), text(value, name)))

    def evaluate(self) -> ProfileEvaluation:
        """Evaluates the whole profile, and returns this object."""
        check(_raw.smd_profile_rules_evaluate(self._handle))
        return self

    def scan(self, start: int, end: int) -> List[str]:
        """Evaluates the rules of the profile "aws" over a range of time, both ends included, in
        microseconds since 1970.  Returns the rules that fired."""
        return out_strings(_raw.smd_profile_rules_scan, self._handle, start, end)

    @property
    def findings(self) -> List[Finding]:
        """What the rules found.  `worker` is the node, `tensor` the culprit."""
        return [finding_of(raw) for raw in _raw.profile_findings(self._handle)]

    @property
    def results(self) -> List[RuleResult]:
        """The summary of each rule."""
        return [
            RuleResult(rule, RuleStatus(status), count, message, first and finding_of(first), looks)
            for rule, status, count, message, first, looks in _raw.profile_results(self._handle)
        ]

    @property
    def phases(self) -> List[Phase]:
        """The table of what steps spend their time on."""
        return [Phase(*row) for row in _raw.profile_phases(self._handle)]

    def report(self, rule: str) -> Dict[str, Any]:
        """Returns a rule's file of the original's ProfilerReport."""
        written = out_text(_raw.smd_profile_rules_report, self._handle, text(rule, "rule"))
        report: Dict[str, Any] = json.loads(written)
        return report

    def write_reports(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the report of each rule to `folder`, as <Rule>.json."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for result in self.results:
            written = out_text(_raw.smd_profile_rules_report, self._handle, result.rule)
            temporary = Path(folder) / f".{result.rule}.json.tmp"
            temporary.write_text(written, "utf-8")
            temporary.replace(Path(folder) / f"{result.rule}.json")

    def charts(self) -> Dict[str, Any]:
        """Returns the figures of charts: phases over steps, samples over time, spans of a step."""
        charts: Dict[str, Any] = json.loads(
            out_text(_raw.smd_profile_rules_charts, self._handle)
        )
        return charts

    def write_timeline(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes all timelines and samples as one trace, which Perfetto opens."""
        check(_raw.smd_profile_rules_write_timeline(self._handle, text(os.fspath(path), "path")))


def evaluate_profile(
    path: Union[str, "os.PathLike[str]"],
    profile: str = "calibrated",
    rules: Iterable[str] = (),
    parameters: Optional[Mapping[str, object]] = None,
) -> ProfileEvaluation:
    """Evaluates rules over a profile; the parameters are those of `ProfileEvaluation`.

    Examples
    --------
    >>> for finding in evaluate_profile("profile").findings:
    ...     print(finding.rule, finding.message)
    """
    return ProfileEvaluation(path, profile, rules, parameters).evaluate()


def profile_rules() -> List[RuleInfo]:
    """Returns the rules over profiles.  `set` is "calibrated" for those that "aws" lacks."""
    return [
        RuleInfo(name, summary, tuple(RuleParameter(*each) for each in parameters), of_set)
        for name, summary, parameters, of_set in _raw.profile_rules()
    ]
