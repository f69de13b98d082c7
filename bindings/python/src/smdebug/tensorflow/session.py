"""Placeholders for the hooks of TensorFlow 1, which is not supported."""

from __future__ import annotations

from typing import Any

from smdebug.core.hook import Hook
from smdebug.exceptions import SMDebugNotImplementedError

__all__ = ["EstimatorHook", "SessionHook"]


class SessionHook(Hook):
    """Not supported: no maintained Python runs TensorFlow 1.

    Raises
    ------
    SMDebugNotImplementedError
        Always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise SMDebugNotImplementedError(
            f"{type(self).__name__} is for the sessions and estimators of TensorFlow 1, which is "
            "gone: train with Keras or a GradientTape, and use smdebug.tensorflow.KerasHook"
        )


class EstimatorHook(SessionHook):
    """Not supported, as `SessionHook`."""
