"""The logger of the Python part."""

from __future__ import annotations

import logging
import os

__all__ = ["get_logger"]

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "off": logging.CRITICAL + 1,
}


def get_logger(name: str = "smdebug") -> logging.Logger:
    """The logger "smdebug", at the level that SMDEBUG_LOG_LEVEL says ("warning" if unset).

    Lines go where the program sends its log; no handler is added.
    """
    logger = logging.getLogger(name)
    if logger.level == logging.NOTSET:
        level = os.environ.get("SMDEBUG_LOG_LEVEL", "").lower()
        logger.setLevel(_LEVELS.get(level, logging.WARNING))
    return logger
