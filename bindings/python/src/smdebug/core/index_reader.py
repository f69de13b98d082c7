"""Lists and reads the files of a trial, in a folder or a bucket, without opening the trial."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from bisect import bisect_left
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Union

from smdebug.core.access_layer.s3handler import S3Handler, in_threads
from smdebug.core.buckets import open_bucket
from smdebug.core.locations import IndexFileLocationUtils, TensorLocation, TensorShape
from smdebug.core.logger import get_logger
from smdebug.core.mode_keys import ModeKeys
from smdebug.core.reader import FileReader
from smdebug.core.s3_utils import list_s3_objects
from smdebug.core.utils import (
    get_path_to_events_directory,
    is_s3,
    list_files_in_directory,
    parse_worker_name_from_file,
    step_in_range,
)
from smdebug.exceptions import IndexReaderException, TensorUnavailableForStep

__all__ = ["IndexReader", "LocalIndexReader", "ReadIndexFilesCache", "S3IndexReader"]

RangeSteps = Optional[Tuple[Optional[int], Optional[int]]]
# The contents of index files, their steps, the key for the next call, and their workers.
IndexFiles = Tuple[List[bytes], List[int], Optional[str], List[str]]
# By tensor, step and worker: {"tensor_location": ...} or {"tensor_shape": ...}.
TensorData = Dict[str, Dict[int, Dict[str, Dict[str, Union[TensorLocation, TensorShape]]]]]


class ReadIndexFilesCache:
    """The names of the index files that were read.  Old names are dropped.

    Attributes
    ----------
    lookup_set : set of str
        The names.
    cache_limit : int
        The number of names above which those before the current position are dropped.
    """

    def __init__(self) -> None:
        self.lookup_set: Set[str] = set()
        self.cache_limit = 1000

    def has_not_read(self, index_file: str) -> bool:
        """Returns True if the file has not been read."""
        return index_file not in self.lookup_set

    def add(self, index_file: str, start_after_key: Optional[str]) -> None:
        """Adds a file that was read.  Names before `start_after_key` may be dropped."""
        if len(self.lookup_set) > self.cache_limit:
            position = start_after_key or ""
            self.lookup_set = {name for name in self.lookup_set if name >= position}
        self.lookup_set.add(index_file)


class IndexReader(ABC):
    """Lists and reads the index and event files of a trial.

    Parameters
    ----------
    path : str
        The trial.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.logger = get_logger()
        self.index_file_cache = ReadIndexFilesCache()

    @abstractmethod
    def read_index_files(
        self, start_after_key: Optional[str], range_steps: RangeSteps = None
    ) -> IndexFiles:
        """Reads the index files that have not been read.

        Parameters
        ----------
        start_after_key : str or None
            Read only files from this one on: the third item of an earlier call.
        range_steps : tuple, optional
            Read only files of steps first <= step < end.

        Returns
        -------
        tuple
            Contents, steps, the key for the next call, and workers of the files.
        """

    @abstractmethod
    def list_event_files(self, start_after_key: Optional[str] = None) -> List[str]:
        """Returns the event files, in order, from `start_after_key` on."""

    @abstractmethod
    def fetch_tensor_value(self, tensor_location: TensorLocation) -> Any:
        """Returns the tensor at a location, as a numpy array.

        Raises
        ------
        TensorUnavailableForStep
            If the tensor is not at that location.
        """

    def load_tensor_data_from_index_files(
        self, start_after_key: Optional[str] = None, range_steps: RangeSteps = None
    ) -> Tuple[TensorData, Optional[str]]:
        """Returns where tensors are, by name, step and worker, and the key for the next call.

        Raises
        ------
        IndexReaderException
            If an index file is damaged.
        """
        contents, steps, key, workers = self.read_index_files(start_after_key, range_steps)
        data: TensorData = {}
        for content, step, worker in zip(contents, steps, workers):
            for name, found in self._entries(content, worker):
                data.setdefault(name, {}).setdefault(step, {})[worker] = found
        return data, key

    def _entries(self, content: bytes, worker: str) -> List[Tuple[str, Dict[str, Any]]]:
        try:
            parsed = json.loads(content)
            meta = parsed["meta"]
            mode, mode_step = ModeKeys[meta["mode"].strip()], meta["mode_step"]
            tensors = parsed.get("tensor_payload") or []
            shapes = parsed.get("shape_payload") or []
            # An index file that holds only shapes has no event file.
            file = os.path.join(self.path, meta["event_file_name"]) if tensors else ""
            return [
                *(
                    (each["tensorname"], {"tensor_location": TensorLocation(
                        each["tensorname"], mode, mode_step, file,
                        each["start_idx"], each["length"], worker)})
                    for each in tensors
                ),
                *(
                    (each["tensorname"], {"tensor_shape": TensorShape(
                        each["tensorname"], mode, mode_step,
                        each["shape"], each["originalname"])})
                    for each in shapes
                ),
            ]  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IndexReaderException(f"an index file of {self.path}: {error!r}") from error

    def _read_new(
        self,
        files: Sequence[str],
        start_after_key: Optional[str],
        range_steps: RangeSteps,
        read_all: Callable[[List[str]], List[Optional[bytes]]],
    ) -> Tuple[List[bytes], List[int], List[str]]:
        """Returns contents, steps and workers of the files that were not read yet.

        `read_all` returns the contents, and None for a file that was removed.  If it fails, no
        file is marked as read.
        """
        chosen = [
            file
            for file in files
            if self.index_file_cache.has_not_read(file)
            and (range_steps is None or step_in_range(range_steps, _step_of(file)))
        ]
        contents, found = [], []
        for file, content in zip(chosen, read_all(chosen)):
            if content is not None:
                contents.append(content)
                found.append(file)
        for file in found:
            self.index_file_cache.add(file, start_after_key)
        steps = [_step_of(file) for file in found]
        return contents, steps, [parse_worker_name_from_file(file) for file in found]


class LocalIndexReader(IndexReader):
    """Lists and reads the index and event files of a trial in a folder."""

    def list_index_files(self) -> List[str]:
        """Returns the paths of the index files, in order."""
        folder = IndexFileLocationUtils.get_index_path(self.path)
        return sorted(list_files_in_directory(folder, r"(.+)\.(json|csv)$"))

    def list_event_files(self, start_after_key: Optional[str] = None) -> List[str]:
        folder = get_path_to_events_directory(self.path)
        files = sorted(list_files_in_directory(folder, r"(.+)\.tfevents$"))
        return files[bisect_left(files, start_after_key or "") :]

    def read_index_files(
        self, start_after_key: Optional[str], range_steps: RangeSteps = None
    ) -> IndexFiles:
        files = self.list_index_files()
        files = files[bisect_left(files, start_after_key or "") :]
        contents, steps, workers = self._read_new(
            files, start_after_key, range_steps, lambda chosen: [_content(path) for path in chosen]
        )
        return contents, steps, files[-1] if files else start_after_key, workers

    def fetch_tensor_value(self, tensor_location: TensorLocation) -> Any:
        path = os.path.join(self.path, tensor_location.event_file_name)
        return _tensor_in(path, tensor_location)


class S3IndexReader(IndexReader):
    """Lists and reads the index and event files of a trial in a bucket.

    Parameters
    ----------
    path : str
        The trial, as s3://bucket/prefix.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        _, bucket, prefix = is_s3(path)
        self.bucket_name = str(bucket)
        self.prefix_name = str(prefix)

    def list_index_files(
        self, start_after_key: Optional[str] = None
    ) -> Tuple[List[str], Optional[str]]:
        """Returns the keys of the index files after a key, in order, and the last of them."""
        folder = IndexFileLocationUtils.get_index_path(self.prefix_name)
        return list_s3_objects(self.bucket_name, folder, start_after_key)

    def list_event_files(self, start_after_key: Optional[str] = None) -> List[str]:
        folder = get_path_to_events_directory(self.prefix_name)
        return list_s3_objects(self.bucket_name, folder, start_after_key)[0]

    def read_index_files(
        self, start_after_key: Optional[str], range_steps: RangeSteps = None
    ) -> IndexFiles:
        keys, last = self.list_index_files(start_after_key)
        files = [key for key in keys if key.endswith(".json")]
        contents, steps, workers = self._read_new(
            files, start_after_key, range_steps, self._objects
        )
        return contents, steps, last or start_after_key, workers

    def _objects(self, keys: List[str]) -> List[Optional[bytes]]:
        read = open_bucket(self.bucket_name).read_if_exists
        return in_threads(read, keys, S3Handler.MULTIPROCESSING_POOL_SIZE)

    def fetch_tensor_value(self, tensor_location: TensorLocation) -> Any:
        path = tensor_location.event_file_name
        if not is_s3(path)[0]:
            path = os.path.join(self.path, path)
        _, bucket, key = is_s3(path)
        # Imported late: the module loads slowly, and only trials in buckets need it.
        import tempfile

        length = int(tensor_location.length) or None
        start = int(tensor_location.start_idx)
        record = open_bucket(str(bucket)).read_if_exists(str(key), start, length)
        with tempfile.TemporaryDirectory(prefix="smdebug-") as folder:
            file = os.path.join(folder, "record.tfevents")
            with open(file, "wb") as copy:
                copy.write(record or b"")
            return _tensor_in(file, tensor_location)


def _step_of(file: str) -> int:
    return IndexFileLocationUtils.parse_step_from_index_file_name(file)


def _content(path: str) -> Optional[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _tensor_in(path: str, location: TensorLocation) -> Any:
    if os.path.exists(path):
        for name, _, value, _, _ in FileReader(path).read_tensors():
            if name == location.tensorname:
                return value
    raise TensorUnavailableForStep(location.tensorname, location.mode_step, location.mode)
