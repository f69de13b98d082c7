"""Files that mark the state of a job, in a folder or a bucket."""

from __future__ import annotations

import os
import time
from typing import List, Union

from smdebug.core.access_layer.s3handler import DeleteRequest, S3Handler
from smdebug.core.buckets import open_bucket
from smdebug.core.logger import get_logger
from smdebug.core.sagemaker_utils import is_sagemaker_job
from smdebug.core.utils import is_s3, read_file, write_file
from smdebug.exceptions import SMDebugError, SMDebugPermissionError

__all__ = [
    "DEFAULT_GRACETIME_FOR_RULE_STOP_SEC",
    "END_OF_JOB_FILENAME",
    "ENV_RULE_STOP_SIGNAL_FILENAME",
    "check_dir_exists",
    "delete_s3_prefixes",
    "file_exists",
    "has_training_ended",
    "is_rule_signalled_gracetime_passed",
    "is_s3",
    "training_has_ended",
]

END_OF_JOB_FILENAME = "training_job_end.ts"
ENV_RULE_STOP_SIGNAL_FILENAME = "SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE"
DEFAULT_GRACETIME_FOR_RULE_STOP_SEC = 60


def training_has_ended(trial_prefix: str) -> None:
    """Marks the trial's job as ended, unless SageMaker runs it and does so itself."""
    if not is_sagemaker_job():
        write_file(os.path.join(trial_prefix, END_OF_JOB_FILENAME), "")


def has_training_ended(trial_prefix: str) -> bool:
    """Returns whether the trial's job is marked as ended."""
    return file_exists(os.path.join(trial_prefix, END_OF_JOB_FILENAME))


def check_dir_exists(path: str) -> bool:
    """Returns whether there is a finished trial."""
    return has_training_ended(path)


def file_exists(file_path: str) -> bool:
    """Returns whether a file exists, in a folder or a bucket.

    A bucket that does not exist or cannot be reached is logged, and has no files.

    Raises
    ------
    SMDebugPermissionError
        If the service refuses to look.
    """
    on_s3, bucket, key = is_s3(file_path)
    if not on_s3:
        return os.path.exists(file_path)
    try:
        return open_bucket(str(bucket)).has(str(key))
    except SMDebugPermissionError:
        raise
    except SMDebugError as error:
        get_logger().warning("cannot look for %s: %s", file_path, error)
        return False


def is_rule_signalled_gracetime_passed(trial_prefix: str) -> bool:
    """Returns whether the service told the rules to stop, and their time is up.

    The variable SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE names a file in the trial's folder,
    which holds the moment as seconds since 1970.  Rules have 60 seconds from then on, or
    as many as the variable rule_stop_grace_time_secs says.  A file that holds no such
    number means that the time is up.
    """
    name = os.environ.get(ENV_RULE_STOP_SIGNAL_FILENAME)
    if name is None:
        return False
    path = os.path.join(trial_prefix, name)
    if not file_exists(path):
        return False
    try:
        told_at = int(read_file(path))
        grace = int(
            os.environ.get("rule_stop_grace_time_secs", DEFAULT_GRACETIME_FOR_RULE_STOP_SEC)
        )
    except (OSError, ValueError) as error:
        get_logger().warning("%s does not say when rules have to stop: %s", path, error)
        return True
    return time.time() > told_at + grace


def delete_s3_prefixes(bucket: str, keys: Union[str, List[str]]) -> None:
    """Deletes all objects of a bucket whose keys begin with one of `keys`."""
    prefixes = [keys] if isinstance(keys, str) else keys
    S3Handler.delete_prefixes([DeleteRequest(bucket, prefix) for prefix in prefixes])
