"""Stops a training job of SageMaker."""

from __future__ import annotations

from typing import Any, List

from smdebug.core.logger import get_logger
from smdebug.rules.action.services import service_client

__all__ = ["StopTrainingAction"]

# The number of pages of the list of jobs that are searched.
_MOST_PAGES = 50


class StopTrainingAction:
    """Stops the one running job whose name begins with a prefix.

    The job is looked up when the action is created.  If several jobs match, none is stopped.
    Failures are logged and stop no rule.

    Parameters
    ----------
    rule_name : str
        The rule that stops the job.
    training_job_prefix : str
        The beginning of the job's name.
    """

    def __init__(self, rule_name: str, training_job_prefix: str) -> None:
        self._rule_name = rule_name
        self._training_job_prefix = training_job_prefix
        self._logger = get_logger()
        self._sm_client: Any = None
        self._found_jobs: List[str] = []
        try:
            self._sm_client = service_client("sagemaker")
        except Exception as error:
            self._logger.warning("rule %s stops no training job: %s", rule_name, error)
            return
        self._found_jobs = self._get_sm_tj_jobs_with_prefix()

    def invoke(self, message: str) -> None:
        """Stops the job."""
        self._stop_training_job(message)

    def _get_sm_tj_jobs_with_prefix(self) -> List[str]:
        found: List[str] = []
        pages = self._sm_client.get_paginator("list_training_jobs").paginate(
            NameContains=self._training_job_prefix,
            SortBy="CreationTime",
            SortOrder="Descending",
            StatusEquals="InProgress",
        )
        try:
            for number, page in enumerate(pages, 1):
                names = (job["TrainingJobName"] for job in page["TrainingJobSummaries"])
                found += [name for name in names if name.startswith(self._training_job_prefix)]
                if found or number == _MOST_PAGES:
                    break
        except Exception as error:
            self._logger.warning(
                "rule %s cannot list the training jobs: %s", self._rule_name, error
            )
        return list(dict.fromkeys(found))

    def _stop_training_job(self, message: str) -> None:
        if len(self._found_jobs) != 1:
            self._logger.warning(
                "rule %s stops no job: %d running jobs have names that begin with %s",
                self._rule_name,
                len(self._found_jobs),
                self._training_job_prefix,
            )
            return
        try:
            self._sm_client.stop_training_job(TrainingJobName=self._found_jobs[0])
        except Exception as error:
            self._logger.error(
                "rule %s cannot stop the job %s: %s", self._rule_name, self._found_jobs[0], error
            )
