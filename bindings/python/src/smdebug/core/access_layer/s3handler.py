"""Listing, reading and deleting objects of buckets, several at a time."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, List, Optional, Sequence

from smdebug.core.buckets import open_bucket
from smdebug.core.logger import get_logger
from smdebug.core.utils import is_s3
from smdebug.exceptions import (
    SMDebugError,
    SMDebugPermissionError,
    SMDebugTypeError,
)

__all__ = ["DeleteRequest", "ListRequest", "ReadObjectRequest", "S3Handler", "in_threads"]


class ReadObjectRequest:
    """An object to read, or a part of it.

    Parameters
    ----------
    path : str
        s3://bucket/key.
    start : int, optional
        The first byte; the whole object is read if it is not given.
    length : int, optional
        The number of bytes; up to the object's end if it is not given.
    """

    def __init__(
        self, path: str, start: Optional[int] = None, length: Optional[int] = None
    ) -> None:
        self.is_s3, self.bucket, key = is_s3(path)
        self.key = key if self.is_s3 else path
        self.start = 0 if start is None else start
        self.length = length
        self.download_entire_file = start is None


class ListRequest:
    """Keys to list.

    Parameters
    ----------
    Bucket, Prefix, Delimiter, StartAfter : str
        As the service's own operation ListObjectsV2 takes them.
    """

    def __init__(
        self, Bucket: str, Prefix: str = "", Delimiter: str = "", StartAfter: str = ""
    ) -> None:
        self.bucket = Bucket
        self.prefix = Prefix
        self.delimiter = Delimiter
        self.start_after = StartAfter


class DeleteRequest:
    """Objects to delete: all whose keys begin with `Prefix`."""

    def __init__(self, Bucket: str, Prefix: str = "") -> None:
        self.bucket = Bucket
        self.prefix = Prefix


class S3Handler:
    """Functions over buckets.

    The library's client finds credentials, region and endpoint as docs/s3.md says, and
    tries again what is worth it.

    Attributes
    ----------
    MULTIPROCESSING_POOL_SIZE : int
        The number of requests under way at a time.
    """

    MULTIPROCESSING_POOL_SIZE = 2 * (os.cpu_count() or 1)

    @staticmethod
    def list_prefixes(list_requests: List[ListRequest]) -> List[List[str]]:
        """Returns the keys of each request."""
        if not isinstance(list_requests, list):
            raise SMDebugTypeError(
                f"list_requests is a list of ListRequest, not a {type(list_requests).__name__}"
            )
        return [S3Handler.list_prefix(request) for request in list_requests]

    @staticmethod
    def list_prefix(lr: ListRequest) -> List[str]:
        """Returns the keys of a request; with a delimiter, the folders before them.

        A bucket that does not exist or cannot be reached is logged, and has no keys.

        Raises
        ------
        SMDebugPermissionError
            If the service refuses to list.
        """
        try:
            keys = open_bucket(lr.bucket).keys(lr.prefix, lr.start_after or "", lr.delimiter)
        except SMDebugPermissionError:
            raise
        except SMDebugError as error:
            get_logger().warning("cannot list s3://%s/%s: %s", lr.bucket, lr.prefix, error)
            return []
        if not lr.delimiter:
            return keys
        return sorted(keys, key=lambda key: not key[len(lr.prefix) :].endswith(lr.delimiter))

    @staticmethod
    def get_object(object_request: ReadObjectRequest) -> Optional[bytes]:
        """Returns the bytes of a request; None, and a line in the log, if they cannot be read.

        Raises
        ------
        SMDebugPermissionError
            If the service refuses to give them.
        """
        if not object_request.is_s3:
            raise SMDebugError(f"{object_request.key}: not an address in S3 (s3://bucket/key)")
        try:
            return open_bucket(str(object_request.bucket)).read(
                str(object_request.key), object_request.start, object_request.length
            )
        except SMDebugPermissionError:
            raise
        except SMDebugError as error:
            get_logger().error("cannot read an object: %s", error)
            return None

    @staticmethod
    def get_objects(
        object_requests: List[ReadObjectRequest],
        use_multiprocessing: bool = True,
        n_process: Optional[int] = None,
    ) -> List[Optional[bytes]]:
        """Returns the bytes of each request, as `get_object` does.

        Parameters
        ----------
        object_requests : list of ReadObjectRequest
            The objects to read.
        use_multiprocessing : bool
            Whether several are read at a time, by threads.
        n_process : int, optional
            Half of how many at a time.
        """
        if not isinstance(object_requests, list):
            raise SMDebugTypeError(
                "object_requests is a list of ReadObjectRequest, "
                f"not a {type(object_requests).__name__}"
            )
        at_once = S3Handler.MULTIPROCESSING_POOL_SIZE if n_process is None else 2 * n_process
        return in_threads(S3Handler.get_object, object_requests, at_once if use_multiprocessing else 1)

    @staticmethod
    def delete_prefix(
        path: Optional[str] = None, delete_request: Optional[DeleteRequest] = None
    ) -> None:
        """Deletes all objects below a path, or those of a request.

        Raises
        ------
        SMDebugError
            If both are given, or the path is not in S3.
        """
        if path is not None and delete_request is not None:
            raise SMDebugError("give a path or a delete_request, not both")
        if path is not None:
            on_s3, bucket, prefix = is_s3(path)
            if not on_s3:
                raise SMDebugError(f"{path}: not an address in S3 (s3://bucket/prefix)")
            delete_request = DeleteRequest(str(bucket), str(prefix))
        if delete_request is not None:
            S3Handler.delete_prefixes([delete_request])

    @staticmethod
    def delete_prefixes(delete_requests: Sequence[DeleteRequest]) -> None:
        """Deletes the objects of each request."""
        for request in delete_requests:
            keys = S3Handler.list_prefix(ListRequest(request.bucket, request.prefix))
            in_threads(open_bucket(request.bucket).remove, keys, S3Handler.MULTIPROCESSING_POOL_SIZE)


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], at_once: int) -> List[Any]:
    """Returns the function's results in order; at most `at_once` calls run at the same time."""
    items = list(items)
    if at_once <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    # Slow to import, and needed for buckets alone.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(at_once, len(items)), "smdebug-s3") as pool:
        return list(pool.map(function, items))
