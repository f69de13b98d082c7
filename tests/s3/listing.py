"""Pages of listings, as S3 writes them."""

from __future__ import annotations

import base64
from typing import Mapping, Sequence
from urllib.parse import quote
from xml.sax.saxutils import escape


def listing(
    keys: list[str],
    next_after: str = "",
    truncated: bool | None = None,
    groups: Sequence[str] = (),
    facts: Mapping[str, str] | None = None,
) -> bytes:
    """Returns a page of a listing.  Another page follows if `next_after` is set."""
    contents = "".join(
        f"<Contents><Key>{escape(quote(key))}</Key>{(facts or {}).get(key, '')}</Contents>"
        for key in keys
    )
    contents += "".join(
        f"<CommonPrefixes><Prefix>{escape(quote(group))}</Prefix></CommonPrefixes>"
        for group in groups
    )
    is_truncated = bool(next_after) if truncated is None else truncated
    body = "<ListBucketResult><EncodingType>url</EncodingType>"
    body += f"<IsTruncated>{str(is_truncated).lower()}</IsTruncated>"
    if next_after:
        token = base64.b64encode(next_after.encode()).decode()
        body += f"<NextContinuationToken>{token}</NextContinuationToken>"
    return f"{body}{contents}</ListBucketResult>".encode()
