"""What a training never sees: failures of the hook that watches it."""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Optional, Tuple, Type, TypeVar, Union, cast, overload

from smdebug.exceptions import InvalidCollectionConfiguration, TrainingStopped

__all__ = ["guarded", "raises_by_default"]

Function = TypeVar("Function", bound=Callable[..., Any])


def raises_by_default() -> bool:
    """Whether SMDEBUG_RAISE_ERRORS asks hooks to raise their own failures."""
    return os.environ.get("SMDEBUG_RAISE_ERRORS", "").lower() in ("1", "true", "yes", "on")


@overload
def guarded(function: Function) -> Function: ...


@overload
def guarded(
    *, returns: Any = None, passes: Tuple[Type[Exception], ...] = ()
) -> Callable[[Function], Function]: ...


def guarded(
    function: Optional[Function] = None,
    *,
    returns: Any = None,
    passes: Tuple[Type[Exception], ...] = (),
) -> Union[Function, Callable[[Function], Function]]:
    """Decorates a hook's method that a training calls: its failures stay in the hook.

    A failure is handed to the hook's `_note_failure`, and the call returns `returns`.
    What the user has to mend is raised: a collection that includes nothing, and the
    classes in `passes`; and what rules raise to stop the training.  On a copy of a hook, which records nothing, the call does
    nothing.
    """

    raised: Tuple[Type[Exception], ...] = (InvalidCollectionConfiguration, TrainingStopped, *passes)

    def decorate(method: Function) -> Function:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_copy:
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
