"""A trial in a bucket."""

from __future__ import annotations

import os
from typing import Mapping, Optional

from smdebug.trials.trial import RangeSteps, Trial

__all__ = ["S3Trial"]


class S3Trial(Trial):
    """A trial under a prefix of a bucket.

    Parameters
    ----------
    name : str or None
        Any name; the last part of the prefix, if None or empty.
    bucket_name, prefix_name : str
        Where it is: s3://bucket/prefix.
    range_steps, cache, timeout, options
        As `Trial` takes them.
    check, index_mode : bool
        Not looked at.

    Raises
    ------
    SMDebugPermissionError, SMDebugConnectionError, SMDebugFileNotFoundError
        If the bucket cannot be read; `smdebug.doctor.examine` tells more.
    """

    def __init__(
        self,
        name: Optional[str],
        bucket_name: str,
        prefix_name: str,
        range_steps: RangeSteps = None,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        *,
        timeout: Optional[float] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.bucket_name = bucket_name
        self.prefix_name = os.path.join(prefix_name, "")
        path = f"s3://{bucket_name}/{self.prefix_name}"
        super().__init__(name, path, range_steps, cache, timeout, options)
