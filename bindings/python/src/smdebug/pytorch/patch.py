"""Functions of PyTorch's that are replaced while somebody listens."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

__all__ = ["Patch"]

_Function = Callable[..., Any]


class Patch:
    """A function in place of another one, which it wraps.

    Parameters
    ----------
    owner : callable
        Returns the module or class that has the function.
    name : str
        The function's.
    wrapping : callable
        Returns the function that calls the one given to it.
    """

    def __init__(
        self, owner: Callable[[], Any], name: str, wrapping: Callable[[_Function], _Function]
    ) -> None:
        self._owner = owner
        self._name = name
        self._wrapping = wrapping
        self._original: Optional[_Function] = None

    def begin(self) -> None:
        """Puts the function in place, if it is not."""
        if self._original is None:
            original = self._original = getattr(self._owner(), self._name)
            wrapped = functools.wraps(original)(self._wrapping(original))
            setattr(self._owner(), self._name, wrapped)

    def end(self) -> None:
        """Puts back what was there, unless others have wrapped the function since."""
        now = getattr(self._owner(), self._name)
        if self._original is not None and getattr(now, "__wrapped__", None) is self._original:
            setattr(self._owner(), self._name, self._original)
            self._original = None
