"""The original's ProfilerReport."""

from __future__ import annotations

import os
from typing import Dict, List

from smdebug.exceptions import NoMoreProfilerData, RuleEvaluationConditionMet
from smdebug.profiler.analysis.rules.evaluation import ProfileEvaluation
from smdebug.trials.profiler_trial import ProfilerTrial

__all__ = ["ProfilerReport"]


class ProfilerReport:
    """Evaluates all rules of the profile "aws", and writes a JSON file for each.

    Parameters
    ----------
    base_trial : ProfilerTrial
        What `create_trial(path, profiler=True)` returns.  The files are in "profiler-reports" of
        its `output_dir`.
    scan_interval_us : int
        Microseconds that one call of `invoke` evaluates.
    **parameters
        Parameters of rules, such as ``CPUBottleneck_threshold=40``.
    """

    rule_name = "ProfilerReport"

    def __init__(
        self,
        base_trial: ProfilerTrial,
        scan_interval_us: int = 60_000_000,
        opt_out_telemetry: bool = False,
        **parameters: object,
    ) -> None:
        del opt_out_telemetry  # nothing is sent
        self.base_trial = base_trial
        self.scan_interval_us = scan_interval_us
        self.last_timestamp = base_trial.first_timestamp
        self.report_dir = os.path.join(base_trial.output_dir, "profiler-reports")
        self.rule_condition_met = False
        given: Dict[str, object] = dict(parameters)
        self._evaluation = ProfileEvaluation(base_trial.path, "aws", parameters=given)

    def invoke_for_timerange(self, timestamp_start: int, timestamp_end: int) -> bool:
        """Evaluates a range of time, and writes the files.  Returns whether a rule fired."""
        fired: List[str] = self._evaluation.scan(int(timestamp_start), int(timestamp_end))
        self._evaluation.write_reports(self.report_dir)
        return bool(fired)

    def invoke(self, step: int) -> None:
        """Evaluates the next `scan_interval_us`, when they are there.

        Raises
        ------
        RuleEvaluationConditionMet
            At the end of the job, if a rule fired.
        NoMoreProfilerData
            At the end of the job, if none did.
        """
        end = self.last_timestamp + self.scan_interval_us
        try:
            self.base_trial.wait_for_data(end, self.last_timestamp)
        except NoMoreProfilerData:
            if self.rule_condition_met:
                raise RuleEvaluationConditionMet(self.rule_name, step) from None
            raise
        self.rule_condition_met |= self.invoke_for_timerange(self.last_timestamp, end)
        self.last_timestamp = end
