"""The rules under the names of the original's classes."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Optional, Sequence

from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.profiler.analysis.rules.evaluation import ProfileEvaluation
from smdebug.trials.profiler_trial import ProfilerTrial

__all__ = ["OriginalRule"]


class OriginalRule:
    """A rule of the profile "aws" over a trial of the profiler's files.

    Parameters
    ----------
    base_trial : ProfilerTrial
        What `create_trial(path, profiler=True)` returns.
    scan_interval_us : int
        Microseconds that one call of `invoke` evaluates.
    **parameters
        Parameters of the rule.

    Attributes
    ----------
    report : dict
        RuleTriggered, Violations, Details, Datapoints and RuleParameters, as the original's
        ProfilerReport writes them.
    """

    rule_name: ClassVar[str] = ""

    def __init__(
        self,
        base_trial: ProfilerTrial,
        scan_interval_us: int = 60_000_000,
        **parameters: object,
    ) -> None:
        self.base_trial = base_trial
        self.scan_interval_us = scan_interval_us
        self.last_timestamp = base_trial.first_timestamp
        given = {f"{self.rule_name}_{name}": value for name, value in parameters.items()}
        self._evaluation = ProfileEvaluation(
            base_trial.path, "aws", rules=[self.rule_name], parameters=given
        )
        self.report: Dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }

    def invoke_for_timerange(
        self,
        timestamp_start: int,
        timestamp_end: int,
        sys_events: Optional[Sequence[Any]] = None,
        framework_events: Optional[Sequence[Any]] = None,
    ) -> bool:
        """Evaluates a range of time, both ends included, in microseconds since 1970.

        Returns whether the rule fired in this range; the original returns True forever after the
        first time.  Reads the trial's files: events that are passed are ignored.
        """
        fired = self._evaluation.scan(int(timestamp_start), int(timestamp_end))
        self.report = self._evaluation.report(self.rule_name)
        return bool(fired)

    def invoke(self, step: int) -> None:
        """Evaluates the next `scan_interval_us`, when they are there.

        Raises
        ------
        RuleEvaluationConditionMet
            If the rule fires.
        NoMoreProfilerData
            At the end of the job.
        """
        end = self.last_timestamp + self.scan_interval_us
        self.base_trial.wait_for_data(end, self.last_timestamp)
        fired = self.invoke_for_timerange(self.last_timestamp, end)
        self.last_timestamp = end
        if fired:
            raise RuleEvaluationConditionMet(self.rule_name, step)
