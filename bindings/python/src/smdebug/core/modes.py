"""The modes in which a job runs steps."""

from __future__ import annotations

from typing import List

from smdebug.core.mode_keys import ModeKeys
from smdebug.exceptions import SMDebugValueError

__all__ = [
    "ALLOWED_MODES",
    "ALLOWED_MODE_NAMES",
    "MODE_PLUGIN_NAME",
    "MODE_STEP_PLUGIN_NAME",
    "ModeKeys",
    "str_to_mode_keys",
]


ALLOWED_MODES: List[ModeKeys] = list(ModeKeys)
ALLOWED_MODE_NAMES: List[str] = [mode.name for mode in ModeKeys]
MODE_STEP_PLUGIN_NAME = "mode_step"
MODE_PLUGIN_NAME = "mode"


def str_to_mode_keys(mode_str: str) -> ModeKeys:
    """Returns the mode of a lower-case name, as "train".

    Raises
    ------
    SMDebugValueError
        If no mode has that name.
    """
    for mode in ModeKeys:
        if mode.name.lower() == mode_str:
            return mode
    raise SMDebugValueError(f"no mode is called {mode_str!r}")
