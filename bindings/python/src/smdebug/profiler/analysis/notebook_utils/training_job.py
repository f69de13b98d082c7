"""A training job of the service, and the readers of its profile."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Optional, Tuple

from smdebug.core.utils import import_framework
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.algorithm_metrics_reader import S3AlgorithmMetricsReader
from smdebug.profiler.system_metrics_reader import S3SystemMetricsReader
from smdebug.profiler.utils import us_since_epoch_to_human_readable_time

__all__ = ["TrainingJob"]

_POLL_SECONDS = 10.0
_ENDED = ("Completed", "Failed", "Stopped")


class TrainingJob:
    """Finds the profile of a job of the service.

    Parameters
    ----------
    training_job_name : str
        The job.
    region : str, optional
        Its region.  Defaults to that of boto3's configuration.

    Attributes
    ----------
    profiler_s3_output_path : str
        Where the profile is.
    profiler_config : dict
        How the service profiles the job.

    Raises
    ------
    ModuleNotFoundError
        If boto3 is missing.
    SMDebugValueError
        If the job is not profiled.
    """

    def __init__(self, training_job_name: str, region: Optional[str] = None) -> None:
        boto3 = import_framework("boto3", "boto3", "TrainingJob")
        self.name = training_job_name
        self.profiler_config: Optional[Dict[str, Any]] = None
        self.profiler_s3_output_path: Optional[str] = None
        self.sm_client: Any = boto3.client("sagemaker", region_name=region)
        self.get_config_and_profiler_s3_output_path()
        self.system_metrics_reader: Optional[S3SystemMetricsReader] = None
        self.framework_metrics_reader: Optional[S3AlgorithmMetricsReader] = None

    def get_systems_metrics_reader(self) -> Optional[S3SystemMetricsReader]:
        """Returns the reader of samples; None before they were waited for."""
        return self.system_metrics_reader

    def get_framework_metrics_reader(self) -> Optional[S3AlgorithmMetricsReader]:
        """Returns the reader of events; None before they were waited for."""
        return self.framework_metrics_reader

    def get_sm_client(self) -> Any:
        """Returns boto3's client."""
        return self.sm_client

    def describe_training_job(self) -> Any:
        """Returns what the service says about the job."""
        return self.sm_client.describe_training_job(TrainingJobName=self.name)

    def get_config_and_profiler_s3_output_path(
        self,
    ) -> Tuple[Optional[Dict[str, Any]], Optional[str]]:
        """Returns how the job is profiled, and where the profile is."""
        if self.profiler_config is None:
            config = self.describe_training_job().get("ProfilerConfig", {})
            if "S3OutputPath" not in config:
                raise SMDebugValueError(
                    f"the job {self.name} has no profile: its ProfilerConfig has no S3OutputPath"
                )
            self.profiler_config = config
            self.profiler_s3_output_path = os.path.join(
                config["S3OutputPath"], self.name, "profiler-output"
            )
            print(f"ProfilerConfig:{self.profiler_config}")
            print(f"s3 path:{self.profiler_s3_output_path}")
        return self.profiler_config, self.profiler_s3_output_path

    def wait_for_sys_profiling_data_to_be_available(self) -> None:
        """Waits until there are system metrics.

        Raises
        ------
        SMDebugValueError
            If the job ends without any.
        """
        self.system_metrics_reader = S3SystemMetricsReader(str(self.profiler_s3_output_path))
        self._await(self.system_metrics_reader, "system")
        print("Profiler data from system is available")

    def wait_for_framework_profiling_data_to_be_available(self) -> None:
        """Waits until there are events.

        Raises
        ------
        SMDebugValueError
            If the job ends without any.
        """
        reader = S3AlgorithmMetricsReader(str(self.profiler_s3_output_path))
        self.framework_metrics_reader = reader
        self._await(reader, "framework")
        last = reader.get_timestamp_of_latest_available_file()
        print(
            f"Profiler data from framework is available, up to {last} microseconds since 1970 "
            f"({us_since_epoch_to_human_readable_time(last)} UTC)"
        )

    def _await(self, reader: Any, kind: str) -> None:
        last = None
        while reader.get_timestamp_of_latest_available_file() == 0:
            job = self.describe_training_job()
            status = job.get("TrainingJobStatus"), job.get("SecondaryStatus")
            reader.refresh_event_file_list()
            if status[0] in _ENDED and reader.get_timestamp_of_latest_available_file() == 0:
                raise SMDebugValueError(
                    f"the job {self.name} has ended ({status[0]}) without {kind} metrics in "
                    f"{self.profiler_s3_output_path}"
                )
            if status != last:
                print(f"Profiler data from {kind} is not available yet; the job is {status[0]}")
                last = status
            if reader.get_timestamp_of_latest_available_file() == 0:
                time.sleep(_POLL_SECONDS)
