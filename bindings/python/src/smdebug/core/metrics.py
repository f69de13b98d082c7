"""The file by which a job of the training service reports metrics."""

from __future__ import annotations

from typing import Any, Optional

from smdebug.core.modes import ModeKeys
from smdebug.core.sagemaker_utils import is_sagemaker_job
from smdebug.core.utils import make_numpy_array

__all__ = ["MetricsFile"]


class MetricsFile:
    """Losses and metrics, as the service's package `smexperiments` writes them.

    Parameters
    ----------
    writer
        That package's writer.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    @classmethod
    def of_job(cls) -> Optional[MetricsFile]:
        """The job's file; None outside of a job, or without the service's package."""
        if not is_sagemaker_job():
            return None
        try:
            from smexperiments.metrics import (  # type: ignore[import-not-found]
                SageMakerFileMetricsWriter,
            )
        except ImportError:
            return None
        return cls(SageMakerFileMetricsWriter())

    def log(
        self,
        name: str,
        value: Any,
        mode: ModeKeys,
        step: int,
        timestamp: Optional[float] = None,
    ) -> None:
        """Reports the mean of a tensor as the metric `<name>_<mode>`."""
        mean = float(make_numpy_array(value).mean())
        self._writer.log_metric(
            f"{name}_{mode.name}", mean, timestamp=timestamp, iteration_number=step
        )

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()
