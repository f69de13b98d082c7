"""Objects of a bucket, written as a whole."""

from __future__ import annotations

import re
from typing import Any, List, Optional, Union

from smdebug.core.access_layer.base import Content, TSAccessBase
from smdebug.core.buckets import Bucket, open_bucket

__all__ = ["TSAccessS3"]


class TSAccessS3(TSAccessBase):
    """An object of a bucket.

    Parameters
    ----------
    bucket_name : str
        The bucket, which must exist.
    key_name : str
        The object's key; several slashes in a row count as one.
    aws_access_key_id, aws_secret_access_key : str, optional
        Credentials.  By default they are found as docs/s3.md says.
    binary : bool
        Whether `write` takes bytes; text otherwise.
    """

    def __init__(
        self,
        bucket_name: str,
        key_name: str,
        aws_access_key_id: Optional[str] = None,
        aws_secret_access_key: Optional[str] = None,
        binary: bool = True,
    ) -> None:
        super().__init__()
        self.bucket_name = bucket_name
        self.key_name = re.sub("/+", "/", key_name)
        self.binary = binary
        self.flushed = False
        self.data: Union[bytearray, str] = bytearray() if binary else ""
        if aws_access_key_id is not None and aws_secret_access_key is not None:
            self._bucket = Bucket(
                bucket_name,
                {"s3_access_key": aws_access_key_id, "s3_secret_key": aws_secret_access_key},
            )
        else:
            self._bucket = open_bucket(bucket_name)

    def write(self, _data: Any) -> List[int]:
        start = len(self.data)
        self.data += _data
        return [start, len(_data)]

    def close(self) -> None:
        """Writes the object.  A second call does nothing."""
        if self.flushed:
            return
        content = self.data.encode() if isinstance(self.data, str) else bytes(self.data)
        self._bucket.write(self.key_name, content)
        self.data = bytearray() if self.binary else ""
        self.flushed = True

    def _content(self) -> Content:
        return self._bucket.read(self.key_name)
