"""Connects the extension module with the package when the package is imported."""

from __future__ import annotations

import atexit

from smdebug import _raw
from smdebug._arrays import dtype_for
from smdebug._errors import exception_from
from smdebug.core.logger import log_line, stop_relay
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError

__all__ = ["version"]

_raw.configure(
    exception_from, SMDebugValueError, SMDebugTypeError, tuple(ModeKeys), dtype_for, log_line
)
# Functions run at exit in reverse order: this one runs after the open hooks are closed, and
# before the handlers of `logging` are.
atexit.register(stop_relay)
try:
    _raw.check(_raw.smd_require_abi(_raw.SMD_ABI_LEVEL))
except SMDebugError as error:
    raise ImportError(f"smdebug cannot use the C library it found: {error}") from error

version: str = _raw.smd_version_string()
