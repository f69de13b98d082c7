"""Checks whether a training can be recorded before its hook is made."""

from __future__ import annotations

import os
from typing import Optional

from smdebug.core.frameworks import FRAMEWORK, is_framework_version_supported
from smdebug.core.logger import get_logger

__all__ = ["ConfigValidator", "get_config_validator", "is_in_use", "reset_config_validator"]


def is_in_use() -> bool:
    """Returns False if the variable USE_SMDEBUG is "0", "false" or the like."""
    return os.environ.get("USE_SMDEBUG", "").lower() not in ("0", "false", "no", "off", "n", "f")


class ConfigValidator:
    """Decides whether a process records its training.

    Parameters
    ----------
    framework_type : FRAMEWORK
        The training's framework.
    """

    def __init__(self, framework_type: FRAMEWORK) -> None:
        self._framework_type = framework_type
        self._create_hook = is_in_use()

    def validate_training_job(self) -> bool:
        """Returns whether a hook is made.

        If the framework's version is not supported, USE_SMDEBUG is set to "False" for the
        rest of the process, and the log says so.
        """
        if self._create_hook and not is_framework_version_supported(self._framework_type):
            get_logger().warning(
                "this version of %s is not supported: nothing is recorded (USE_SMDEBUG=False)",
                self._framework_type.value,
            )
            os.environ["USE_SMDEBUG"] = "False"
            self._create_hook = False
        return self._create_hook


_validator: Optional[ConfigValidator] = None


def get_config_validator(framework: FRAMEWORK) -> ConfigValidator:
    """Returns the process's validator, made for `framework` at the first call."""
    global _validator
    if _validator is None:
        _validator = ConfigValidator(framework)
    return _validator


def reset_config_validator() -> None:
    """Forgets the process's validator."""
    global _validator
    _validator = None
