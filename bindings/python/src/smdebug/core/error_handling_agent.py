"""Decorates functions that a training calls, so that their failures do not end it."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from smdebug.core.logger import get_logger

__all__ = ["BASE_ERROR_MESSAGE", "ErrorHandlingAgent"]

BASE_ERROR_MESSAGE = "smdebug failed and records nothing more in this process"


class ErrorHandlingAgent:
    """Switches the hooks of a process off when a decorated function fails.

    Use the one of the process, `get_error_handling_agent`.

    Attributes
    ----------
    disable_smdebug : bool
        True after a failure: decorated functions and the frameworks' hooks do nothing.
        Set it to False to have them work again.
    hook : optional
        The process's hook.  A failure under a configuration of the user's own is raised.
    """

    _agent: Optional[ErrorHandlingAgent] = None

    def __init__(self) -> None:
        self.disable_smdebug = False
        self.hook: Any = None
        self.logger = get_logger()

    @classmethod
    def get_error_handling_agent(cls) -> ErrorHandlingAgent:
        """Returns the process's agent."""
        if cls._agent is None:
            cls._agent = cls()
        return cls._agent

    def set_hook(self, hook: Any) -> None:
        """Sets the hook whose configuration decides whether failures are raised."""
        self.hook = hook

    def _is_configured(self) -> bool:
        has_default = getattr(self.hook, "has_default_configuration", None)
        return has_default is not None and not has_default()

    def catch_smdebug_errors(self, default_return_val: Any = None) -> Callable[[Any], Any]:
        """Returns a decorator that logs a function's failure and disables smdebug.

        Parameters
        ----------
        default_return_val
            Returned in place of the function's own result after a failure.  If it is
            callable, it is called with the function's arguments.
        """

        def otherwise(*args: Any, **kwargs: Any) -> Any:
            if callable(default_return_val):
                return default_return_val(*args, **kwargs)
            return default_return_val

        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                if self.disable_smdebug:
                    return otherwise(*args, **kwargs)
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    if self._is_configured():
                        raise
                    self.logger.error(
                        "%s: %s: %s", BASE_ERROR_MESSAGE, type(error).__name__, error,
                        exc_info=error,
                    )  # fmt: skip
                    self.disable_smdebug = True
                return otherwise(*args, **kwargs)

            return call

        return decorate
