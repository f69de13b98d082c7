"""Opens a trial."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugTypeError
from smdebug.trials.local_trial import LocalTrial
from smdebug.trials.s3_trial import S3Trial
from smdebug.trials.trial import Trial

if TYPE_CHECKING:
    from smdebug.trials.profiler_trial import ProfilerTrial

__all__ = ["create_trial"]

Path = Union[str, os.PathLike]  # type: ignore[type-arg]


@overload
def create_trial(
    path: Optional[Path] = None,
    name: Optional[str] = None,
    profiler: Literal[False] = False,
    output_dir: str = ...,
    *,
    out_dir: Optional[Path] = None,
    **kwargs: Any,
) -> Trial: ...
@overload
def create_trial(
    path: Optional[Path] = None,
    name: Optional[str] = None,
    *,
    profiler: Literal[True],
    output_dir: str = ...,
    out_dir: Optional[Path] = None,
    **kwargs: Any,
) -> ProfilerTrial: ...
def create_trial(
    path: Optional[Path] = None,
    name: Optional[str] = None,
    profiler: bool = False,
    output_dir: str = "/opt/ml/processing/outputs/",
    *,
    out_dir: Optional[Path] = None,
    **kwargs: Any,
) -> Union[Trial, ProfilerTrial]:
    """Opens the trial at a path: a folder, or s3://bucket/prefix.

    Waits for the collection files of all workers.  A job writes them with its first step.

    Parameters
    ----------
    path : str or path
        The location of the trial.  `out_dir` is another name for this parameter.
    name : str, optional
        Any name.  Defaults to the last part of the path.
    profiler : bool
        Whether the path is that of a profiler folder; then returns a `ProfilerTrial`.
    output_dir : str
        Of a profiler folder: where rules write.
    **kwargs
        `range_steps`, `cache`, `timeout` and `options`, as `Trial` takes them.

    Raises
    ------
    MissingCollectionFiles
        If the collection files did not appear within `timeout` seconds.
    """
    if (path is None) == (out_dir is None):
        raise SMDebugTypeError("create_trial() needs either path or out_dir")
    where = os.fspath(path if path is not None else out_dir)  # type: ignore[arg-type]
    if not isinstance(where, str):
        raise SMDebugTypeError(f"a path is a str, not a {type(where).__name__}")
    where = where.strip()
    on_s3, bucket, prefix = is_s3(where)
    if name is None:
        name = os.path.basename(where)
    if profiler:
        from smdebug.trials.profiler_trial import ProfilerTrial

        return ProfilerTrial(name, where, output_dir, **kwargs)
    if on_s3:
        return S3Trial(name, bucket or "", prefix or "", **kwargs)
    return LocalTrial(name, where, **kwargs)
