"""A trial in a bucket."""

from __future__ import annotations

import os
from typing import Mapping, Optional

from smdebug.core.index_reader import S3IndexReader
from smdebug.core.logger import log_ignored
from smdebug.trials.trial import RangeSteps, Trial

__all__ = ["S3Trial"]


class S3Trial(Trial):
    """A trial under a prefix of a bucket.

    Parameters
    ----------
    name : str or None
        The trial's name.  Defaults to the last part of the prefix.
    bucket_name, prefix_name : str
        The location: s3://bucket/prefix.
    range_steps, cache, timeout, options
        As `Trial` accepts them.
    check, index_mode : bool
        Ignored.

    Raises
    ------
    SMDebugPermissionError, SMDebugConnectionError, SMDebugFileNotFoundError
        If the bucket cannot be read; `smdebug.doctor.examine` reports details.
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
        self.index_reader = S3IndexReader(path)
        super().__init__(name, path, range_steps, cache, timeout, options)
        log_ignored("S3Trial", check=check, index_mode=not index_mode)

    @property
    def _index_root(self) -> str:
        return self.prefix_name
