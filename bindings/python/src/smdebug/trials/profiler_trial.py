"""A trial of the profiler's files."""

from __future__ import annotations

import os
import time
from typing import Any, List, Union

from smdebug.core.access_layer.utils import has_training_ended, is_rule_signalled_gracetime_passed
from smdebug.core.logger import get_logger
from smdebug.core.utils import is_s3
from smdebug.exceptions import NoMoreProfilerData, SMDebugTimeoutError, SMDebugValueError
from smdebug.profiler.algorithm_metrics_reader import (
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader, S3SystemMetricsReader
from smdebug.profiler.utils import Time

__all__ = ["ProfilerTrial"]

_POLL_SECONDS = 1.0
_WAIT_VARIABLE, _WAIT_SECONDS = "SMDEBUG_TRIAL_WAIT_SECONDS", 600


class ProfilerTrial:
    """The profiler folder of a job.

    Waits until there is a file: at most SMDEBUG_TRIAL_WAIT_SECONDS, or 600.

    Parameters
    ----------
    name : str
        Any name.
    trial_dir : str
        The folder, or s3://bucket/prefix.
    output_dir : str
        Where rules write; made if it is missing.

    Attributes
    ----------
    first_timestamp : int
        The time in the first file's name, in microseconds.

    Raises
    ------
    SMDebugTimeoutError
        If there is no file in time.
    SMDebugValueError
        If the folder holds tensors instead, or the job has ended without a file.
    """

    def __init__(self, name: str, trial_dir: str, output_dir: str) -> None:
        self.name = name
        self.path = trial_dir
        self.logger = get_logger()
        self.system_metrics_reader: Union[LocalSystemMetricsReader, S3SystemMetricsReader]
        self.framework_metrics_reader: Union[LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader]
        if is_s3(trial_dir)[0]:
            self.system_metrics_reader = S3SystemMetricsReader(trial_dir)
            self.framework_metrics_reader = S3AlgorithmMetricsReader(trial_dir)
        else:
            self.system_metrics_reader = LocalSystemMetricsReader(trial_dir)
            self.framework_metrics_reader = LocalAlgorithmMetricsReader(trial_dir)
        self.first_timestamp = 0
        self.get_first_timestamp()
        self.output_dir = output_dir
        self.temp_dir = os.path.join(output_dir, ".sagemaker-ignore")
        os.makedirs(self.temp_dir, exist_ok=True)

    def job_finished(self) -> bool:
        """Returns whether the job has ended, or the service told rules to stop."""
        return (
            has_training_ended(self.path + "/system")
            or has_training_ended(self.path + "/framework")
            or is_rule_signalled_gracetime_passed(self.path)
        )

    def get_first_timestamp(self) -> None:
        """Sets `first_timestamp`; waits until there is a file."""
        end = time.monotonic() + float(os.environ.get(_WAIT_VARIABLE) or _WAIT_SECONDS)
        while True:
            times = [
                reader.get_timestamp_of_first_available_file()
                for reader in (self.system_metrics_reader, self.framework_metrics_reader)
            ]
            self.first_timestamp = min((each for each in times if each), default=0)
            if self.first_timestamp:
                return
            if self.job_finished() or self._holds_tensors():
                raise SMDebugValueError(
                    f"{self.path} holds no files of a profiler, and none will come"
                )
            if time.monotonic() >= end:
                raise SMDebugTimeoutError(
                    f"{self.path} holds no files of a profiler. Is this the folder given to the "
                    "profiler?"
                )
            self.logger.info("%s: waiting for files of the profiler", self.path)
            time.sleep(_POLL_SECONDS)
            self._refresh()

    def _holds_tensors(self) -> bool:
        return not is_s3(self.path)[0] and os.path.isdir(os.path.join(self.path, "collections"))

    def get_latest_timestamp(self) -> int:
        """Returns the time up to which there are both system metrics and events, where the job
        records both, in microseconds."""
        self._refresh()
        times = (
            self.system_metrics_reader.get_timestamp_of_latest_available_file(),
            self.framework_metrics_reader.get_timestamp_of_latest_available_file(),
        )
        return min((each for each in times if each), default=0)

    def wait_for_data(self, end_time: Time, start_time: Time) -> None:
        """Waits until there are files up to a time, or the job has ended.

        Raises
        ------
        NoMoreProfilerData
            If the job has ended, and `start_time` lies after its last file.
        """
        if end_time < self.get_latest_timestamp():
            return
        while end_time > self.get_latest_timestamp() and not self.job_finished():
            self.logger.info("%s: waiting for files up to %s", self.path, end_time)
            time.sleep(_POLL_SECONDS)
        if self.job_finished() and start_time >= self.get_latest_timestamp():
            raise NoMoreProfilerData(end_time)

    def get_system_metrics(self, start_time: Time, end_time: Time) -> List[Any]:
        """Returns the system metrics between two times in microseconds."""
        return self.system_metrics_reader.get_events(start_time, end_time)

    def get_framework_metrics(self, start_time: Time, end_time: Time) -> List[Any]:
        """Returns the events between two times in microseconds."""
        return self.framework_metrics_reader.get_events(start_time, end_time)

    def _refresh(self) -> None:
        self.system_metrics_reader.refresh_event_file_list()
        self.framework_metrics_reader.refresh_event_file_list()
