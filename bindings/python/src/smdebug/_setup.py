"""Connects the extension module with the package when the package is imported."""

from __future__ import annotations

from smdebug import _raw
from smdebug._arrays import dtype_for
from smdebug._errors import exception_from
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

__all__ = ["version"]

_raw.configure(exception_from, SMDebugValueError, SMDebugTypeError, tuple(ModeKeys), dtype_for)
try:
    _raw.check(_raw.smd_require_abi(_raw.SMD_ABI_LEVEL))
except SMDebugError as error:
    raise ImportError(f"smdebug cannot use the C library it found: {error}") from error

version: str = _raw.smd_version_string()
