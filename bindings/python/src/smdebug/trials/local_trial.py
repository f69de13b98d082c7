"""A trial in a folder."""

from __future__ import annotations

import os
from typing import Mapping, Optional, Union

from smdebug.core.index_reader import LocalIndexReader
from smdebug.core.logger import log_ignored
from smdebug.trials.trial import RangeSteps, Trial

__all__ = ["LocalTrial"]


class LocalTrial(Trial):
    """A trial in a folder.

    Parameters
    ----------
    name : str or None
        The trial's name.  Defaults to the folder's.
    dirname : str or path
        The folder.
    range_steps, cache, timeout, options
        As `Trial` accepts them.
    parallel, check, index_mode : bool
        Ignored.
    """

    def __init__(
        self,
        name: Optional[str],
        dirname: Union[str, os.PathLike[str]],
        range_steps: RangeSteps = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        *,
        timeout: Optional[float] = None,
        options: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.trial_dir = os.path.expanduser(os.fspath(dirname))
        self.index_reader = LocalIndexReader(self.trial_dir)
        super().__init__(name, self.trial_dir, range_steps, cache, timeout, options)
        log_ignored("LocalTrial", parallel=not parallel, check=check, index_mode=not index_mode)
