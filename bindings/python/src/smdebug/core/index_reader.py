"""The files of a trial in a folder, for code that looks at them itself."""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import Any, List, Optional, Set

from smdebug.core.locations import IndexFileLocationUtils, TensorLocation
from smdebug.core.reader import FileReader
from smdebug.core.utils import get_path_to_events_directory, list_files_in_directory
from smdebug.exceptions import TensorUnavailableForStep

__all__ = ["LocalIndexReader", "ReadIndexFilesCache"]


class ReadIndexFilesCache:
    """Names of index files that were read, forgotten in order once there are many.

    Attributes
    ----------
    lookup_set : set of str
        The names.
    cache_limit : int
        Beyond so many, those before the current position are forgotten.
    """

    def __init__(self) -> None:
        self.lookup_set: Set[str] = set()
        self.cache_limit = 1000

    def has_not_read(self, index_file: str) -> bool:
        """Whether the file was not read so far."""
        return index_file not in self.lookup_set

    def add(self, index_file: str, start_after_key: Optional[str]) -> None:
        """Notes that a file was read; names before `start_after_key` may be forgotten."""
        if len(self.lookup_set) > self.cache_limit:
            position = start_after_key or ""
            self.lookup_set = {name for name in self.lookup_set if name >= position}
        self.lookup_set.add(index_file)


class LocalIndexReader:
    """Lists the index and event files of a trial in a folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.index_file_cache = ReadIndexFilesCache()

    def list_index_files(self) -> List[str]:
        """Paths of the index files, in order."""
        folder = IndexFileLocationUtils.get_index_path(self.path)
        return sorted(list_files_in_directory(folder, r"(.+)\.(json|csv)$"))

    def list_event_files(self, start_after_key: Optional[str] = None) -> List[str]:
        """Paths of the event files, in order, from `start_after_key` on."""
        folder = get_path_to_events_directory(self.path)
        files = sorted(list_files_in_directory(folder, r"(.+)\.tfevents$"))
        return files[bisect_left(files, start_after_key or "") :]

    def fetch_tensor_value(self, tensor_location: TensorLocation) -> Any:
        """The tensor at a location, as a numpy array.

        Raises
        ------
        TensorUnavailableForStep
            If it is not there.
        """
        path = os.path.join(self.path, tensor_location.event_file_name)
        if os.path.exists(path):
            for name, _, value, _, _ in FileReader(path).read_tensors():
                if name == tensor_location.tensorname:
                    return value
        raise TensorUnavailableForStep(
            tensor_location.tensorname, tensor_location.mode_step, tensor_location.mode
        )
