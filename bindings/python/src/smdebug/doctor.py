"""Checks whether trials can be recorded to a place and read from it."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional

from smdebug import _raw
from smdebug._handles import HookOptions, StoreReportHandle, out, text

__all__ = ["Finding", "examine"]


class Finding(NamedTuple):
    """The result of one check.

    Attributes
    ----------
    name : str
        "address", "credentials", "list", "clock", "write", "read" or "remove".
    code : str
        "OK", or the name of an error, as "CLOCK_SKEWED".
    message : str
        The finding, or what is wrong and what to do.
    """

    name: str
    code: str
    message: str

    def __str__(self) -> str:
        mark = "ok" if self.code == "OK" else self.code
        return f"{self.name:<12} {mark:<4} {self.message}".rstrip()


def examine(path: str, options: Optional[Mapping[str, str]] = None) -> List[Finding]:
    """Runs the checks that recording to a place and reading from it depend on, in order.

    Stops at the first failure.  Writes, reads and removes one small file.

    Parameters
    ----------
    path : str
        A folder, or s3://bucket/prefix.
    options : mapping of str to str, optional
        Options of the C library, as {"s3_region": "eu-west-1"}.

    Examples
    --------
    >>> for finding in smdebug.doctor.examine("s3://bucket/prefix"):
    ...     print(finding)
    """
    settings = HookOptions()
    for name, value in (options or {}).items():
        settings.set(name, value)
    report = StoreReportHandle(
        out("store_report", _raw.smd_store_check, text(path, "path"), settings)
    )
    return [
        Finding(
            _raw.smd_store_report_name(report, index),
            _raw.smd_code_name(_raw.smd_store_report_code(report, index)),
            _raw.smd_store_report_message(report, index),
        )
        for index in range(_raw.smd_store_report_count(report))
    ]
