"""Tables of trials as Ray Datasets: ``smdebug.ray.read("s3://jobs/*", "scalars")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from smdebug.core.utils import import_framework
from smdebug.tables.scan import Path, Scan, as_scan

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["read"]


def read(
    paths: Union[Path, Iterable[Path], Scan],
    table: str = "tensors",
    *,
    concurrency: Optional[int] = None,
    override_num_blocks: Optional[int] = None,
    **conditions: Any,
) -> Dataset:
    """Returns a table of trials as a Ray Dataset.

    Tasks read the partitions of the scan; only selected columns are read.

    Parameters
    ----------
    paths : str, path, several, or Scan
        As `smdebug.scan` takes them; or a scan, which has its table and conditions.
    table : str
        The table, such as "tensors" or "scalars"; docs/tables.md lists them.
    concurrency, override_num_blocks : int, optional
        As `ray.data.read_datasource` takes them.
    **conditions
        Conditions and options, as `smdebug.scan` takes them.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.
    SMDebugValueError
        If a scan is given, and a table or conditions too.

    Examples
    --------
    >>> losses = smdebug.ray.read("runs/*", "scalars", tensors="loss")
    >>> losses.groupby("trial").min("value").to_pandas()
    """
    data = import_framework("ray.data", "'libsmdebug[ray]'", "smdebug.ray")
    from smdebug.ray.source import TrialsDatasource

    given = as_scan(paths, table, conditions)
    return data.read_datasource(
        TrialsDatasource(given), concurrency=concurrency, override_num_blocks=override_num_blocks
    )
