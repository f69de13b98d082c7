"""The modes in which a job runs steps."""

from __future__ import annotations

from enum import Enum
from typing import List

__all__ = [
    "ALLOWED_MODES",
    "ALLOWED_MODE_NAMES",
    "MODE_PLUGIN_NAME",
    "MODE_STEP_PLUGIN_NAME",
    "ModeKeys",
    "str_to_mode_keys",
]


class ModeKeys(Enum):
    """What a step is done for; GLOBAL numbers the steps of all modes in one row."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4


ALLOWED_MODES: List[ModeKeys] = list(ModeKeys)
ALLOWED_MODE_NAMES: List[str] = [mode.name for mode in ModeKeys]
MODE_STEP_PLUGIN_NAME = "mode_step"
MODE_PLUGIN_NAME = "mode"


def str_to_mode_keys(mode_str: str) -> ModeKeys:
    """The mode of a lower-case name, as "train".

    Raises
    ------
    SMDebugValueError
        If there is no such mode.
    """
    for mode in ModeKeys:
        if mode.name.lower() == mode_str:
            return mode
    from smdebug.exceptions import SMDebugValueError

    raise SMDebugValueError(f"no mode is called {mode_str!r}")
