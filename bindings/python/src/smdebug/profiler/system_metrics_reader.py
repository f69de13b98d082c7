"""Reads system metrics."""

from __future__ import annotations

import bisect
from logging import Logger
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from smdebug.core.utils import is_s3
from smdebug.exceptions import SMDebugValueError
from smdebug.profiler.metrics_reader_base import MetricsReaderBase, ReadsBucket, ReadsFolder
from smdebug.profiler.sample_matrices import Samples, filled_forward, ragged, write_array
from smdebug.profiler.system_profiler_file_parser import ProfilerSystemEvent
from smdebug.profiler.utils import (
    Time,
    TimeUnits,
    convert_utc_timestamp_to_microseconds,
    get_utctimestamp_us_since_epoch_from_system_profiler_file,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "LocalSystemMetricsReader",
    "S3NumpySystemMetricsReader",
    "S3SystemMetricsReader",
    "SystemMetricsReader",
]

_NANOSECONDS = 1000 * 1000 * 1000
_MINUTE = 60 * 1000 * 1000
# Samples are missing for at most as long where a profile was not interrupted, in milliseconds.
_INTERRUPTION = 3 * 60 * 1000
# The samples a minute at the highest frequency.
_MOST_A_MINUTE = 600

# The number of samples of each column, in files that begin at these times.
Files = List[List[Any]]


class SystemMetricsReader(MetricsReaderBase):
    """Reads system metrics as `ProfilerSystemEvent`."""

    _table = "system_metrics"
    prefix = "system"

    def _stamp_of(self, name: str) -> Optional[int]:
        return get_utctimestamp_us_since_epoch_from_system_profiler_file(name)

    def _files_between(self, start: Time, end: Time, timestamps: List[int]) -> Tuple[int, int]:
        # A file holds what was sampled after its stamp.
        first = max(bisect.bisect_right(timestamps, start) - 1, 0)
        return first, bisect.bisect_left(timestamps, end) + 1

    def _columns(self) -> Sequence[str]:
        return ("type", "name", "dimension", "value", "node", "timestamp")

    def _events(self, columns: Dict[str, List[Any]]) -> List[Any]:
        return list(map(ProfilerSystemEvent, *(columns[column] for column in self._columns())))

    def arrays_between(self, start: Time, end: Time) -> Optional[Dict[str, Any]]:
        """Returns the samples between about two times in microseconds, as an array for each
        attribute: some may lie outside.  None if there are no files."""
        found = self._read_arrays(start, end, self._columns(), {})
        return None if found is None else found[0]

    def _is_between(self, event: Any, start: Time, end: Time) -> bool:
        # As the original rounds.
        return bool(int(start * 1000) <= int(event.timestamp * _NANOSECONDS) <= int(end * 1000))

    def _all_between(self, columns: Dict[str, List[Any]], start: Time, end: Time) -> bool:
        times = columns["timestamp"]
        first, last = int(min(times) * _NANOSECONDS), int(max(times) * _NANOSECONDS)
        return int(start * 1000) <= first and last <= int(end * 1000)


class LocalSystemMetricsReader(ReadsFolder, SystemMetricsReader):
    """Reads system metrics in a folder."""


class S3SystemMetricsReader(ReadsBucket, SystemMetricsReader):
    """Reads system metrics in a bucket."""


class S3NumpySystemMetricsReader(S3SystemMetricsReader):
    """Reads the use of processors, GPUs and memory as one matrix for each node.

    All samples, with their exact times, are also written to files of the store, which is a folder
    or `s3://bucket/prefix`: for the node N, `algo-N/<first time>#N.npy` has the values (int32) and
    `algo-N/<store_time_file_prefix>#<first time>#N.npy` their times (int64), each a matrix of
    store_chunk_size * 1.01 rows, in which a column's samples follow each other from the top.  In a
    folder the files hold bare numbers, row after row; in a bucket, pickled arrays.

    Parameters
    ----------
    s3_trial_path : str
        s3://bucket/prefix of the profiler folder.
    use_in_memory_cache : bool
        Has no effect.
    col_names, extra_col_names : sequence of str
        The columns of the matrix, and those that only files have.
    col_dict : dict of str to int
        The column of "name#dimension".  Other samples are left out.
    np_store : str
        The store.
    store_chunk_size : int
        The rows of the matrix that a pair of files covers.
    store_time_file_prefix : str
        Begins the names of files with times.
    group_size : int
        How many rows are averaged to one.
    n_nodes : int
        The nodes, which are called algo-1, algo-2 and so on.
    frequency : int
        Milliseconds from a sample to the next.
    accumulate_forward : bool
        Whether samples of forward reads are also collected for files of their own, `accu_...`.
    accumulate_minutes : int
        After how many minutes these are written.
    n_process : int, optional
        Has no effect.
    logger : logging.Logger, optional
        Takes log lines in place of the package's logger.
    """

    separator = "#"
    accu_prefix = "accu_"
    fill_val = 101

    def __init__(
        self,
        s3_trial_path: str,
        use_in_memory_cache: bool,
        col_names: Sequence[str],
        extra_col_names: Sequence[str],
        col_dict: Mapping[str, int],
        np_store: str,
        store_chunk_size: int,
        store_time_file_prefix: str,
        group_size: int,
        n_nodes: int,
        frequency: int,
        accumulate_forward: bool = False,
        accumulate_minutes: int = 20,
        n_process: Optional[int] = None,
        logger: Optional[Logger] = None,
    ) -> None:
        super().__init__(s3_trial_path, use_in_memory_cache)
        self.logger = logger or self.logger
        self.col_names, self.extra_col_names = col_names, extra_col_names
        self.col_dict, self.n_nodes = dict(col_dict), n_nodes
        self.np_store, self.np_chunk_size = np_store, store_chunk_size
        self.tprefix = store_time_file_prefix
        self.group_size, self.frequency = group_size, frequency
        _check_count("store_chunk_size", store_chunk_size)
        _check_count("group_size", group_size)
        _check_count("n_nodes", n_nodes)
        _check_count("frequency", frequency)
        self._width = len(col_names) + len(extra_col_names)
        self._accumulates = accumulate_forward
        self._most_accumulated = int(accumulate_minutes * _MOST_A_MINUTE * 1.1)
        self._accumulation = accumulate_minutes * _MINUTE
        self._accumulated: Dict[int, List[Samples]] = {}
        self._accumulated_since: Optional[int] = None

    def get_events(  # type: ignore[override]
        self,
        start_time: Time,
        end_time: Time,
        forward: bool,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
    ) -> Tuple[List["np.ndarray[Any, Any]"], List[List[int]], List[Files], Optional[List[Any]]]:
        """Reads the samples from `start_time` on that were taken before `end_time`.

        Parameters
        ----------
        start_time, end_time : int or float
            Multiples of frequency * group_size.
        forward : bool
            Whether these are new samples, to be accumulated.
        unit : TimeUnits
            The unit of the times.

        Returns
        -------
        tuple
            For each node, a matrix of uint8: the means of `group_size` rows; all matrices cover the
            same time.  A list of one pair: their first microsecond, and the first after their last.
            For each node, the first times of the files that were written, and the numbers of
            samples in their columns.  The same of accumulated files, or None if none were written.

        Raises
        ------
        SMDebugValueError
            If a time is no such multiple, or more is read forwards than is accumulated.
        SMDebugError, OSError
            If the profile cannot be read, or the store cannot be written.
        """
        start = self._whole("start_time", convert_utc_timestamp_to_microseconds(start_time, unit))
        end = self._whole("end_time", convert_utc_timestamp_to_microseconds(end_time, unit))
        written = self.collect_accu_metadata(start, end, forward)
        names = self._get_event_files_in_the_range(start, end)
        nodes = [self._samples_of(node, names, start, end) for node in range(self.n_nodes)]
        files = [self._store(node, samples, start) for node, samples in enumerate(nodes)]
        if forward and self._accumulates:
            for node, samples in enumerate(nodes):
                self._accumulated.setdefault(node, []).append(samples)
        first, rows = self._common_rows(nodes, start)
        matrices = [self._matrix(samples, first, rows) for samples in nodes]
        delta = self.frequency * 1000
        return matrices, [[first, first + rows * delta]], files, written

    def _whole(self, name: str, microseconds: Time) -> int:
        group = self.frequency * 1000 * self.group_size
        if microseconds % group:
            raise SMDebugValueError(
                f"{name} is {microseconds} us; it must be a multiple of frequency * group_size, "
                f"which is {group} us"
            )
        return int(microseconds)

    def _samples_of(self, node: int, names: Sequence[str], start: int, end: int) -> Samples:
        import numpy as np

        from smdebug.tables.columns import arrays

        ending = f".{self.node_name_from_index(node)}.json"
        columns = ("name", "dimension", "value", "timestamp")
        files = [name for name in names if name.endswith(ending)]
        scans = self._scans(files, (start, end), columns)
        if not scans:
            return Samples(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        found = arrays(scans, {})[0]
        texts, dimensions = found["name"], found["dimension"]
        table = np.full((len(texts.texts) + 1, len(dimensions.texts) + 1), -1)
        for i, name in enumerate(texts.texts):
            for j, dimension in enumerate(dimensions.texts):
                if _is_read(name, dimension):
                    table[i, j] = self.col_dict.get(name + self.separator + dimension, -1)
        of_memory = np.array([*(name == "MemoryUsedPercent" for name in texts.texts), False])
        values = np.where(of_memory[texts.codes], np.ceil(found["value"]), found["value"])
        samples = Samples(
            table[texts.codes, dimensions.codes],
            (found["timestamp"] * 1_000_000).astype(np.int64),
            values,
        )
        is_known = (samples.columns >= 0) & (samples.columns < self._width)
        return samples.where(is_known & (samples.times >= start) & (samples.times < end))

    def _common_rows(self, nodes: Sequence[Samples], start: int) -> Tuple[int, int]:
        """Returns the time of the first row of all matrices, and their number of rows."""
        group = self.frequency * 1000 * self.group_size
        times = [samples.times for samples in nodes if len(samples.times)]
        if not times:
            return start, 0
        first = min(int(each.min()) for each in times) // group
        last = max(int(each.max()) for each in times) // group
        return first * group, (last - first + 1) * self.group_size

    def _matrix(self, samples: Samples, first: int, rows: int) -> "np.ndarray[Any, Any]":
        """Returns the means of groups of rows.  What is missing is as before, else as after; where
        a profile was interrupted, 0."""
        import numpy as np

        matrix = np.full((rows, len(self.col_names)), np.nan)
        inside = samples.where(samples.columns < matrix.shape[1])
        matrix[(inside.times - first) // (self.frequency * 1000), inside.columns] = inside.values
        most = max(5, _INTERRUPTION // self.frequency)
        matrix = filled_forward(matrix, most)
        matrix = filled_forward(matrix[::-1], most)[::-1]
        matrix[np.isnan(matrix)] = 0
        groups = matrix.reshape(-1, self.group_size, matrix.shape[1])
        means: "np.ndarray[Any, Any]" = np.clip(groups.mean(axis=1), 0, 255).astype(np.uint8)
        return means

    def _store(self, node: int, samples: Samples, start: int) -> Files:
        """Writes files of values and of times for each chunk; a chunk of single samples has none."""
        import numpy as np

        begins: List[int] = []
        lengths: List[Any] = []
        height = self.np_chunk_size + self.np_chunk_size // 100
        chunks = (samples.times - start) // (self.frequency * 1000) // self.np_chunk_size
        for chunk in np.unique(chunks):
            inside = samples.where(chunks == chunk)
            rows, counts, is_kept = inside.by_column(self._width, height)
            if counts.max() < 2:
                continue
            first = int(inside.times[(rows == 0) & (counts[inside.columns] >= 2)].min())
            values, times = ragged(inside.where(is_kept), rows[is_kept], (height, self._width), -1)
            self.store_vals_times(
                node, first, self.np_store, self.tprefix, values.shape, values, times
            )
            begins.append(first)
            lengths.append(counts)
        return [begins, lengths]

    def collect_accu_metadata(
        self, start_time: int, end_time: int, forward: bool
    ) -> Optional[List[Any]]:
        """Writes what forward reads before this one have accumulated, if that is enough.

        Times are in microseconds.  Fails as `get_events`.  Returns for each node the first time and the numbers of samples in the columns, or None
        where a node has no samples; None if nothing is written.
        """
        if not self._accumulates or not forward:
            return None
        if end_time - start_time >= self._accumulation:
            raise SMDebugValueError(
                f"a forward read of {(end_time - start_time) / _MINUTE:g} minutes; it must be "
                f"shorter than accumulate_minutes, {self._accumulation / _MINUTE:g}"
            )
        if self._accumulated_since is None:
            self._accumulated_since = start_time
        if end_time - self._accumulated_since <= self._accumulation:
            return None
        written = [self._store_accumulated(node) for node in range(self.n_nodes)]
        self._accumulated.clear()
        self._accumulated_since = start_time
        return written

    def _store_accumulated(self, node: int) -> Optional[List[Any]]:
        import numpy as np

        parts = self._accumulated.get(node, [])
        if not any(len(part.times) for part in parts):
            return None
        of_parts = ([getattr(part, what) for part in parts] for what in ("columns", "times", "values"))
        samples = Samples(*map(np.concatenate, of_parts))
        rows, counts, is_kept = samples.by_column(self._width, self._most_accumulated)
        first = int(samples.times[rows == 0].min())
        shape = (int(counts.max()), self._width)
        values, times = ragged(samples.where(is_kept), rows[is_kept], shape, 0)
        self.store_vals_times(
            node, first, self.np_store, self.tprefix, shape, values, times, self.accu_prefix
        )
        return [first, counts]

    def get_group_size(self) -> int:
        """Returns how many rows are averaged to one."""
        return self.group_size

    def set_group_size(self, group_size: int) -> None:
        """Changes how many rows are averaged to one.

        Raises
        ------
        SMDebugValueError
            If it is less than 1.
        """
        _check_count("group_size", group_size)
        self.group_size = group_size

    @staticmethod
    def node_name_from_index(node_id: int) -> str:
        """Returns algo-1 for 0, and so on."""
        return f"algo-{node_id + 1}"

    @staticmethod
    def split_s3_path(s3_path: str) -> Tuple[str, str]:
        """Returns the bucket and the key of an address in S3."""
        _, bucket, key = is_s3(s3_path)
        return str(bucket), str(key or "")

    @staticmethod
    def stored_fnames(
        node_id: int, file_min_time: int, tprefix: str, accu_prefix: Optional[str] = None
    ) -> Tuple[str, str]:
        """Returns the names of the files with values and with times.

        Nodes count from 0; the time is in microseconds since 1970.
        """
        separator = S3NumpySystemMetricsReader.separator
        values = f"{file_min_time}{separator}{node_id + 1}.npy"
        return (accu_prefix or "") + values, (accu_prefix or "") + tprefix + separator + values

    @staticmethod
    def store_vals_times(
        node_ind: int,
        min_time_in_chunk: int,
        np_store: str,
        tprefix: str,
        shp: Tuple[int, ...],
        np_val: "np.ndarray[Any, Any]",
        np_time: "np.ndarray[Any, Any]",
        accu_prefix: Optional[str] = None,
    ) -> None:
        """Writes values and their times to files of a node."""
        names = S3NumpySystemMetricsReader.stored_fnames(
            node_ind, min_time_in_chunk, tprefix, accu_prefix
        )
        folder = S3NumpySystemMetricsReader.node_name_from_index(node_ind)
        for name, array, dtype in zip(names, (np_val, np_time), ("int32", "int64")):
            write_array(np_store, folder, name, array.reshape(shp).astype(dtype))

    @staticmethod
    def store_vals(
        node_ind: int,
        np_store: str,
        shp: Tuple[int, ...],
        np_data: "np.ndarray[Any, Any]",
        val_type: str = "",
        dtype: Any = "int32",
    ) -> None:
        """Writes an array to the file `<val_type>#N.npy` of a node."""
        folder = S3NumpySystemMetricsReader.node_name_from_index(node_ind)
        name = f"{val_type}{S3NumpySystemMetricsReader.separator}{node_ind + 1}.npy"
        write_array(np_store, folder, name, np_data.reshape(shp).astype(dtype))


def _check_count(name: str, count: int) -> None:
    if count < 1:
        raise SMDebugValueError(f"{name} is {count}; it must be at least 1")


def _is_read(name: str, dimension: str) -> bool:
    return dimension == "Algorithm" or name == "MemoryUsedPercent" or name.startswith(("cpu", "gpu"))
