"""The objects that PyTorch calls.  Each passes the observed tensors to the hook.

At a step that saves nothing they read one attribute.  Compiled models guard on it, and leave
their graph only for steps that save.  Copies and pickles of a model contain its callbacks: a
copied callback does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Protocol, Tuple

if TYPE_CHECKING:
    from smdebug import _raw
    from smdebug.pytorch.parameters import NamedParameters

__all__ = ["AfterForward", "BeforeForward", "OnGradient"]


class _Recorder(Protocol):
    """The part of the hook that callbacks use."""

    # Whether the open step saves something.
    _is_saving: bool

    def _save_left(self, prefix: str, value: Any, left: Any) -> None: ...

    def _save_keywords(self, prefix: str, keywords: Mapping[str, Any]) -> None: ...


class _Nothing:
    """The copy of a callback."""

    def __call__(self, *unused: Any) -> None:
        pass


class _Callback:
    """The base of the callbacks."""

    __slots__ = ("_hook",)

    def __init__(self, hook: _Recorder) -> None:
        self._hook = hook

    def __reduce__(self) -> Tuple[Callable[[], Any], Tuple[()]]:
        return _Nothing, ()


class BeforeForward(_Callback):
    """Is called when a whole model begins a batch."""

    __slots__ = ("_parameters", "_tell")

    def __init__(
        self, hook: _Recorder, parameters: NamedParameters, tell: Callable[..., None]
    ) -> None:
        super().__init__(hook)
        self._parameters = parameters
        self._tell = tell

    def __call__(self, module: Any, inputs: Any) -> None:
        self._tell(self._parameters, module)


class AfterForward(_Callback):
    """Is called when a module, which the hook calls `name`, has computed its outputs.

    `tell` is `AfterForward.save`, as compiled models call it.
    """

    __slots__ = ("_inputs", "_outputs", "_save", "_tell", "name")

    def __init__(
        self, hook: _Recorder, name: str, saver: _raw.Saver, tell: Callable[..., None]
    ) -> None:
        super().__init__(hook)
        self._save = saver.save_numbered
        self._tell = tell
        self.rename(name)

    def rename(self, name: str) -> None:
        self.name = name
        self._inputs, self._outputs = f"{name}_input_", f"{name}_output_"

    def __call__(self, module: Any, inputs: Any, *rest: Any) -> None:
        if self._hook._is_saving:
            # PyTorch passes keyword arguments in between, since 2.0.
            self._tell(self, inputs, rest[0] if len(rest) > 1 else None, rest[-1])

    def save(self, inputs: Any, keywords: Optional[Mapping[str, Any]], outputs: Any) -> None:
        left = self._save(self._inputs, inputs)
        if left is not None:
            self._hook._save_left(self._inputs, inputs, left)
        if keywords:
            self._hook._save_keywords(self._inputs, keywords)
        left = self._save(self._outputs, outputs)
        if left is not None:
            self._hook._save_left(self._outputs, outputs, left)


class OnGradient(_Callback):
    """Is called when the gradient that the hook calls `name` has been computed."""

    __slots__ = ("_name", "_save")

    def __init__(self, hook: _Recorder, name: str, saver: _raw.Saver) -> None:
        super().__init__(hook)
        self._name = name
        self._save = saver.save

    def __call__(self, gradient: Any) -> None:
        if self._hook._is_saving:
            left = self._save(self._name, gradient)
            if left is not None:
                self._hook._save_left(self._name, gradient, left)
