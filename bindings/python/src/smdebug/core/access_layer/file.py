"""Files in folders, written as a whole."""

from __future__ import annotations

import os
from typing import Any, List

from smdebug.core.access_layer.base import Content, TSAccessBase
from smdebug.core.utils import ensure_dir, unique_name

__all__ = ["SMDEBUG_TEMP_PATH_SUFFIX", "WRITE_MODES", "TSAccessFile", "ensure_dir", "get_temp_path"]

SMDEBUG_TEMP_PATH_SUFFIX = ".tmp"
WRITE_MODES = ["w", "w+", "wb", "wb+", "a", "a+", "ab", "ab+"]


def get_temp_path(file_path: str) -> str:
    """Returns the name of a file while it is written."""
    return file_path + SMDEBUG_TEMP_PATH_SUFFIX


class TSAccessFile(TSAccessBase):
    """A file in a folder, which is made if it is missing.

    Parameters
    ----------
    path : str
        The file.
    mode : str
        As `open` takes it.  A file that is written has a temporary name until `close`.
    """

    def __init__(self, path: str, mode: str) -> None:
        super().__init__()
        self.path = path
        self.mode = mode
        self.temp_path = get_temp_path(unique_name(path))
        self._is_written = mode in WRITE_MODES
        ensure_dir(path)
        # Text files are UTF-8 wherever they are written.
        encoding = None if "b" in mode else "utf-8"
        self._accessor: Any = open(  # noqa: SIM115
            self.temp_path if self._is_written else path, mode, encoding=encoding
        )

    def write(self, _data: Any) -> List[int]:
        start = self._accessor.tell()
        self._accessor.write(_data)
        return [start, len(_data)]

    def flush(self) -> None:
        self._accessor.flush()

    def close(self) -> None:
        self._accessor.close()
        # A second call finds no file to move.
        if self._is_written and os.path.exists(self.temp_path):
            os.replace(self.temp_path, self.path)

    def _content(self) -> Content:
        content: Content = self._accessor.read()
        return content
