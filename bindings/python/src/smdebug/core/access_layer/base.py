"""The base class of writers of whole files."""

from __future__ import annotations

from typing import Any, List, Union

from smdebug.core.logger import get_logger
from smdebug.exceptions import SMDebugError

__all__ = ["Content", "TSAccessBase"]

Content = Union[bytes, str]


class TSAccessBase:
    """A file in a folder or a bucket that is written, or read, as a whole.

    Readers see the file when it is closed.  To read, call `ingest_all`, then `read`.
    """

    def __init__(self) -> None:
        self.logger = get_logger()
        self._data: Any = b""
        self._datalen = 0
        self._position = 0

    def write(self, _data: Any) -> List[int]:
        """Appends data.  Returns their position and length."""
        raise NotImplementedError

    def flush(self) -> None:
        """Passes what was written on to where it is kept until the file is closed."""

    def close(self) -> None:
        """Gives the file its name."""
        raise NotImplementedError

    def ingest_all(self) -> None:
        """Reads the whole file."""
        self._data = self._content()
        self._datalen = len(self._data)
        self._position = 0

    def _content(self) -> Content:
        raise NotImplementedError

    def read(self, n: int) -> Any:
        """Returns the next `n` bytes or characters.

        Raises
        ------
        SMDebugError
            If the file holds fewer.
        """
        end = self._position + n
        if end > self._datalen:
            raise SMDebugError(f"cannot read up to {end}: the file ends at {self._datalen}")
        part = self._data[self._position : end]
        self._position = end
        return part

    def has_data(self) -> bool:
        """Returns whether `read` has more to return."""
        return self._position < self._datalen

    def __enter__(self) -> TSAccessBase:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
