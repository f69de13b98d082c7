"""The modes themselves, which also the exceptions name."""

from __future__ import annotations

from enum import Enum

__all__ = ["ModeKeys"]


class ModeKeys(Enum):
    """The purpose of a step.  GLOBAL numbers the steps of all modes in one sequence."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
