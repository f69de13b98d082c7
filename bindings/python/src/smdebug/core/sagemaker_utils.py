"""Detects jobs of SageMaker."""

from __future__ import annotations

import os

__all__ = ["is_sagemaker_job"]


def is_sagemaker_job() -> bool:
    """Returns whether this process is part of a SageMaker training job."""
    return "TRAINING_JOB_NAME" in os.environ
