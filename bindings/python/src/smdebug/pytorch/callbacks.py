"""What PyTorch calls: small objects that tell the hook what they see.

Where the step saves nothing they read one attribute, which compiled models guard on: these
leave their graph for saving steps alone.  Models are copied and pickled with the callbacks
in them: what becomes of a callback then does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Tuple

if TYPE_CHECKING:
    from smdebug.pytorch.hook import Hook

__all__ = ["AfterForward", "BeforeForward", "OnGradient"]


class _Nothing:
    """A callback's copy."""

    def __call__(self, *unused: Any) -> None:
        pass


class _Callback:
    """Tells `tell` about what the hook calls `name`."""

    __slots__ = ("_hook", "_tell", "name")

    def __init__(self, hook: Hook, name: str, tell: Callable[..., None]) -> None:
        self._hook = hook
        self._tell = tell
        self.name = name

    def __reduce__(self) -> Tuple[Callable[[], Any], Tuple[()]]:
        return _Nothing, ()


class BeforeForward(_Callback):
    """A whole model begins a batch."""

    __slots__ = ()

    def __call__(self, module: Any, inputs: Any) -> None:
        self._tell(self.name, module)


class AfterForward(_Callback):
    """A module has made its outputs."""

    __slots__ = ()

    def __call__(self, module: Any, inputs: Any, *rest: Any) -> None:
        if self._hook._is_saving:
            # Keyword arguments come between, where this PyTorch hands them over.
            *keywords, outputs = rest
            self._tell(self.name, inputs, keywords[0] if keywords else {}, outputs)


class OnGradient(_Callback):
    """A parameter has got its gradient."""

    __slots__ = ()

    def __call__(self, gradient: Any) -> None:
        if self._hook._is_saving:
            self._tell(self.name, gradient)
