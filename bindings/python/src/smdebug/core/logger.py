"""The logger of the Python package."""

from __future__ import annotations

import logging
import os
import threading
from collections import defaultdict
from typing import DefaultDict, Set, Tuple

from smdebug import _raw
from smdebug.core.config_constants import LOG_DUPLICATION_THRESHOLD

__all__ = ["DuplicateLogFilter", "get_logger", "log_ignored", "log_line", "stop_relay"]

# How many different lines are counted before counting begins again.
_MOST_COUNTED = 10_000

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "off": logging.CRITICAL + 1,
}

# The levels of the C library.
_LEVELS_OF_LIBRARY = {
    _raw.SMD_LOG_ERROR: logging.ERROR,
    _raw.SMD_LOG_WARNING: logging.WARNING,
    _raw.SMD_LOG_INFO: logging.INFO,
    _raw.SMD_LOG_DEBUG: logging.DEBUG,
}

_ignored: Set[Tuple[str, str]] = set()


def log_ignored(function: str, **arguments: bool) -> None:
    """Logs, once a process and at level debug, arguments that have no effect.

    Parameters
    ----------
    function : str
        The function that takes them.
    **arguments : bool
        Whether the caller gave each argument a value other than the default.
    """
    for name, is_given in arguments.items():
        if is_given and (function, name) not in _ignored:
            _ignored.add((function, name))
            get_logger().debug("%s ignores its argument %s", function, name)


class DuplicateLogFilter(logging.Filter):
    """Drops a line that was logged three times.

    Attributes
    ----------
    msgs : dict of str to int
        The number of times that each line was logged.
    repeat_threshold : int
        The number of times that a line is logged.
    """

    def __init__(self) -> None:
        super().__init__()
        self.msgs: DefaultDict[str, int] = defaultdict(int)
        self.repeat_threshold = LOG_DUPLICATION_THRESHOLD

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether the line is logged."""
        line = record.getMessage()
        if len(self.msgs) >= _MOST_COUNTED:
            self.msgs.clear()
        self.msgs[line] += 1
        return self.msgs[line] <= self.repeat_threshold


def get_logger(name: str = "smdebug") -> logging.Logger:
    """Returns the logger "smdebug", at the level that SMDEBUG_LOG_LEVEL says.

    The level is "warning" if the variable is not set.  Lines go where the program sends its
    log: no handler is added.  A line is logged three times at most.
    """
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        level = os.environ.get("SMDEBUG_LOG_LEVEL", "").lower()
        logger.setLevel(_LEVELS.get(level, logging.WARNING))
        logger.addFilter(DuplicateLogFilter())
    return logger


def log_line(level: int, line: str, is_queued: bool) -> None:
    """Logs a line of the C library.

    Parameters
    ----------
    level : int
        The library's level.
    line : str
        The line.
    is_queued : bool
        Whether a thread of the library wrote it, and the thread that logs such lines calls.
    """
    if is_queued:
        threading.current_thread().name = "smdebug-log"
    get_logger().log(_LEVELS_OF_LIBRARY[level], "%s", line)


def stop_relay() -> None:
    """Sends all later lines of the C library to stderr, at the logger's level."""
    logger = get_logger()
    logged = [each for each, level in _LEVELS_OF_LIBRARY.items() if logger.isEnabledFor(level)]
    _raw.stop_log(max(logged, default=_raw.SMD_LOG_OFF))
