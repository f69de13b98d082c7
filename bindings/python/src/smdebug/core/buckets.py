"""The objects of buckets, read and written with the library's own S3 client."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import List, Mapping, Optional, Tuple

from smdebug import _raw
from smdebug._handles import BucketHandle, HookOptions, check, out, out_strings, text
from smdebug.exceptions import SMDebugFileNotFoundError

__all__ = ["Bucket", "open_bucket"]

Options = Optional[Mapping[str, str]]


class Bucket:
    """A bucket; `open_bucket` returns it.

    Every method fails with `SMDebugPermissionError`, `SMDebugConnectionError` or
    `SMDebugFileNotFoundError` if the service refuses, cannot be reached, or has no such
    bucket.
    """

    def __init__(self, name: str, options: Options = None) -> None:
        settings = HookOptions()
        for option, value in (options or {}).items():
            settings.set(option, value)
        self.name = name
        self._handle = BucketHandle(
            out("bucket", _raw.smd_bucket_open, text(name, "bucket"), settings)
        )

    def keys(self, prefix: str = "", start_after: str = "", delimiter: str = "") -> List[str]:
        """Returns the keys that begin with `prefix` and sort after `start_after`, in order.

        Keys with `delimiter` behind the prefix are returned as one entry, which ends
        with the delimiter.
        """
        parts = [text(part) for part in (prefix, start_after, delimiter)]
        return out_strings(_raw.smd_bucket_list, self._handle, *parts)

    def has(self, key: str) -> bool:
        """Returns True if there is an object of that key."""
        return self.read_if_exists(key, 0, 1) is not None

    def read(self, key: str, start: int = 0, length: Optional[int] = None) -> bytes:
        """Returns an object's bytes from `start` on, at most `length` of them.

        Raises
        ------
        SMDebugFileNotFoundError
            If there is no object of that key.
        """
        most = -1 if length is None else length
        raw = out("text", _raw.smd_bucket_read, self._handle, text(key, "key"), start, most)
        return _raw.take_bytes(raw)

    def read_if_exists(
        self, key: str, start: int = 0, length: Optional[int] = None
    ) -> Optional[bytes]:
        """Returns what `read` returns, or None if there is no object of that key."""
        try:
            return self.read(key, start, length)
        except SMDebugFileNotFoundError as error:
            if error.code != "NOT_FOUND":  # there is no such bucket
                raise
            return None

    def write(self, key: str, content: bytes) -> None:
        """Writes an object, in place of an older one of that key."""
        check(_raw.smd_bucket_write(self._handle, text(key, "key"), content))

    def remove(self, key: str) -> None:
        """Removes an object.  Does nothing if there is none of that key."""
        check(_raw.smd_bucket_remove(self._handle, text(key, "key")))


def open_bucket(name: str) -> Bucket:
    """Returns the bucket of that name, as the environment says how to reach it.

    A bucket is opened once for each process and environment: connections and credentials
    are used again.
    """
    return _opened(name, os.getpid(), _environment())


def _environment() -> Tuple[Tuple[str, str], ...]:
    relevant = ("AWS_", "SMDEBUG_S3_")
    return tuple(
        sorted(
            (key, value)
            for key, value in os.environ.items()
            if key.startswith(relevant) or key == "HOME" or key.lower().endswith("_proxy")
        )
    )


@lru_cache(maxsize=8)
def _opened(name: str, process: int, environment: Tuple[Tuple[str, str], ...]) -> Bucket:
    return Bucket(name)
