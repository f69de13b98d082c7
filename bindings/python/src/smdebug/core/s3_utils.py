"""Listing the objects of a bucket."""

from __future__ import annotations

from typing import List, Optional, Tuple

from smdebug.core.access_layer.s3handler import ListRequest, S3Handler

__all__ = ["list_s3_objects"]


def list_s3_objects(
    bucket: str, prefix: str, start_after_key: Optional[str] = None, delimiter: str = ""
) -> Tuple[List[str], Optional[str]]:
    """Returns the keys below a prefix, and the last of them (None if there is none).

    Parameters
    ----------
    bucket, prefix : str
        Where to look.
    start_after_key : str, optional
        List only keys that sort after this one: the last of an earlier call.
    delimiter : str
        List keys with this text behind the prefix as one.
    """
    start = prefix if start_after_key is None else start_after_key
    keys = S3Handler.list_prefix(ListRequest(bucket, prefix, delimiter, start))
    return keys, keys[-1] if keys else None
