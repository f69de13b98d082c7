"""The marker of a job that has ended."""

from __future__ import annotations

import os

from smdebug.core.sagemaker_utils import is_sagemaker_job
from smdebug.core.utils import write_file

__all__ = ["END_OF_JOB_FILENAME", "check_dir_exists", "has_training_ended", "training_has_ended"]

END_OF_JOB_FILENAME = "training_job_end.ts"


def training_has_ended(trial_prefix: str) -> None:
    """Marks the trial's job as ended, unless SageMaker runs it and does so itself."""
    if not is_sagemaker_job():
        write_file(os.path.join(trial_prefix, END_OF_JOB_FILENAME), "")


def has_training_ended(trial_prefix: str) -> bool:
    """Whether the trial's job is marked as ended."""
    return os.path.exists(os.path.join(trial_prefix, END_OF_JOB_FILENAME))


def check_dir_exists(path: str) -> bool:
    """Whether a finished trial is there."""
    return has_training_ended(path)
