"""The file in which a training job of SageMaker reports metrics."""

from __future__ import annotations

from typing import Any, Optional

from smdebug.core.logger import get_logger
from smdebug.core.modes import ModeKeys
from smdebug.core.sagemaker_utils import is_sagemaker_job
from smdebug.core.utils import make_numpy_array

__all__ = ["MetricsFile"]


class MetricsFile:
    """Losses and metrics, written by the service's package `smexperiments`.

    Parameters
    ----------
    writer
        That package's writer.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    @classmethod
    def of_job(cls) -> Optional[MetricsFile]:
        """Returns the job's file; None outside of a job, or without a working package."""
        if not is_sagemaker_job():
            return None
        try:
            from smexperiments.metrics import (  # type: ignore[import-not-found]
                SageMakerFileMetricsWriter,
            )

            return cls(SageMakerFileMetricsWriter())
        except ModuleNotFoundError:
            return None
        except Exception as error:
            # A broken package of the service costs its metrics, not the training.
            get_logger().warning("no metrics are reported: smexperiments failed: %r", error)
            return None

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
