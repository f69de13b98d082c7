"""Samples as matrices with a column for each metric, and the files that they are written to."""

from __future__ import annotations

import os
import pickle
from typing import Any, Tuple

from smdebug.core.buckets import open_bucket
from smdebug.core.utils import is_s3

__all__ = ["Samples", "filled_forward", "ragged", "write_array"]

_MOST = 2**31 - 1


class Samples:
    """The samples of one node, one array for each property: column, time in microseconds, value."""

    def __init__(self, columns: Any, times: Any, values: Any) -> None:
        self.columns, self.times, self.values = columns, times, values

    def where(self, chosen: Any) -> "Samples":
        return Samples(self.columns[chosen], self.times[chosen], self.values[chosen])

    def by_column(self, width: int, most: int) -> Tuple[Any, Any, Any]:
        """Returns the row of each sample in its column, the columns' lengths, and which samples are
        among the first `most` of their column."""
        import numpy as np

        order = np.argsort(self.columns, kind="stable")
        counts = np.bincount(self.columns, minlength=width)
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        rows = np.empty(len(order), np.int64)
        rows[order] = np.arange(len(order)) - begins
        return rows, np.minimum(counts, most).astype(np.int32), rows < most


def filled_forward(matrix: Any, most: int) -> Any:
    """Returns a copy in which up to `most` NaNs after a number are that number."""
    import numpy as np

    rows = np.arange(len(matrix))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(matrix), -1, rows), axis=0)
    is_near = (last >= 0) & (rows - last <= most)
    return np.where(is_near, np.take_along_axis(matrix, np.maximum(last, 0), axis=0), np.nan)


def ragged(samples: Samples, rows: Any, shape: Tuple[int, int], empty: int) -> Tuple[Any, Any]:
    """Returns matrices of values and of times."""
    import numpy as np

    values, times = np.full(shape, empty, np.int32), np.full(shape, empty, np.int64)
    values[rows, samples.columns] = np.clip(np.nan_to_num(samples.values), -_MOST, _MOST)
    times[rows, samples.columns] = samples.times
    return values, times


def write_array(store: str, folder: str, name: str, array: Any) -> None:
    """Writes `name` below `folder`: pickled in a bucket, as bare numbers in a folder."""
    on_s3, bucket, prefix = is_s3(store)
    if on_s3:
        key = os.path.join(prefix or "", folder, name)
        open_bucket(str(bucket)).write(key, pickle.dumps(array))
        return
    path = os.path.join(store, folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "wb") as file:
        file.write(array.tobytes())
    os.replace(path + ".tmp", path)
