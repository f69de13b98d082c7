"""Keeps the failures of a hook away from the training that calls it."""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Optional, Tuple, Type, TypeVar, Union, cast, overload

from smdebug.core.error_handling_agent import ErrorHandlingAgent
from smdebug.exceptions import InvalidCollectionConfiguration, TrainingStopped

__all__ = ["guarded", "is_switched_on", "raises_by_default"]

Function = TypeVar("Function", bound=Callable[..., Any])


def is_switched_on(variable: str) -> bool:
    """Returns True if an environment variable is "1" or another word for yes."""
    return os.environ.get(variable, "").lower() in ("1", "true", "yes", "on")


def raises_by_default() -> bool:
    """Returns True if SMDEBUG_RAISE_ERRORS has hooks raise their own failures."""
    return is_switched_on("SMDEBUG_RAISE_ERRORS")


@overload
def guarded(function: Function) -> Function: ...


@overload
def guarded(
    *,
    returns: Any = None,
    passes: Tuple[Type[Exception], ...] = (),
    even_if_disabled: bool = False,
) -> Callable[[Function], Function]: ...


def guarded(
    function: Optional[Function] = None,
    *,
    returns: Any = None,
    passes: Tuple[Type[Exception], ...] = (),
    even_if_disabled: bool = False,
) -> Union[Function, Callable[[Function], Function]]:
    """Decorates a hook's method that a training calls: its failures stay in the hook.

    A failure is passed to the hook's `_note_failure`, and the call returns `returns`.
    Three kinds of errors are raised: those that the user has to fix (a collection that
    includes nothing), the classes in `passes`, and those by which rules stop the training.
    The call does nothing on a copy of a hook, which records nothing.  It also does nothing while
    `error_handling_agent.disable_smdebug` is True, unless `even_if_disabled`.
    """

    agent = ErrorHandlingAgent.get_error_handling_agent()
    raised: Tuple[Type[Exception], ...] = (InvalidCollectionConfiguration, TrainingStopped, *passes)

    def decorate(method: Function) -> Function:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_copy or (agent.disable_smdebug and not even_if_disabled):
                return returns
            try:
                return method(self, *args, **kwargs)
            except raised:
                raise
            except Exception as error:
                self._note_failure(method.__name__, error)
                return returns

        return cast(Function, call)

    return decorate if function is None else decorate(function)
